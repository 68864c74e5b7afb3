"""The kinds of columns: their values, and how these are generalized, written and read."""

# isort: off
# In the order in which users see them.
from shoal.kinds import numbers as numbers
from shoal.kinds import dates as dates
from shoal.kinds import hours as hours
from shoal.kinds import times as times
from shoal.kinds import categories as categories
from shoal.kinds import ordered as ordered
from shoal.kinds import item_sets as item_sets
