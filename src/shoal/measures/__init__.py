"""What was lost: measures of a recoding."""

from shoal.measures.bounds import Bound, lower_bound
from shoal.measures.items import ItemsLoss
from shoal.measures.loss import Loss, RowTypes, measure

__all__ = ["Bound", "ItemsLoss", "Loss", "RowTypes", "lower_bound", "measure"]
