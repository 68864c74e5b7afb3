"""The names of the kinds of columns."""

from enum import StrEnum


class Kind(StrEnum):
    """What values a column holds, and so what a generalized value of it is."""

    NUMERIC = "numeric"  # an interval of numbers
    DATE = "date"  # an interval of days
    CATEGORICAL = "categorical"  # a set of values, or a node of a hierarchy
    ORDINAL = "ordinal"  # an interval of values in a declared order
    ITEMS = "items"  # several items in one cell: a base, uncertain items, and how many of them are wrong
