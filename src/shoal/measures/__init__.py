"""What was lost: measures of a recoding."""

from shoal.measures.bounds import Bound, lower_bound
from shoal.measures.loss import Loss, RowTypes, measure

__all__ = ["Bound", "Loss", "RowTypes", "lower_bound", "measure"]
