"""One generalized value for each row and attribute, and which rows could be whose."""

from shoal.recoding.recoding import Recoding

__all__ = ["Recoding"]
