"""What each column of a table is: its role, its kind, how missing values are treated."""

from shoal.kinds.kind import Kind
from shoal.schema.schema import (
    Column,
    Missing,
    Role,
    Schema,
    as_frame,
    infer_kind,
    merged_kinds,
)

__all__ = ["Column", "Kind", "Missing", "Role", "Schema", "as_frame", "infer_kind", "merged_kinds"]
