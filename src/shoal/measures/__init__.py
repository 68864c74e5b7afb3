"""What was lost: measures of a recoding.

Every module in this folder is loaded, and every measure in it registers itself with `loss_measure`.
"""

from importlib import import_module
from pkgutil import iter_modules

from shoal.measures.bounds import Bound, lower_bound
from shoal.measures.items import ItemsLoss
from shoal.measures.loss import Loss, measure
from shoal.measures.measure import MEASURES, Measure, headlines, loss_measure, mean_over_rows
from shoal.measures.priced_bound import priced_bound
from shoal.measures.row_types import RowTypes

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "MEASURES",
    "Bound",
    "ItemsLoss",
    "Loss",
    "Measure",
    "RowTypes",
    "headlines",
    "loss_measure",
    "lower_bound",
    "mean_over_rows",
    "measure",
    "priced_bound",
]
