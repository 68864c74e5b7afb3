"""One generalized value for each row and attribute, and which rows could be whose."""

from shoal.recoding.recoding import Cells, Generalized, Nodes, Ranges, Recoding, Sets, Worlds, closure

__all__ = ["Cells", "Generalized", "Nodes", "Ranges", "Recoding", "Sets", "Worlds", "closure"]
