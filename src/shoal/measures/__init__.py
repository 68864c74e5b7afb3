"""What was lost: measures of a recoding."""

from shoal.measures.loss import Loss, RowTypes, measure

__all__ = ["Loss", "RowTypes", "measure"]
