"""What each column of a table is: its role, its kind, how missing values are treated."""

from shoal.kinds.kind import Kind
from shoal.schema.column import Column, Missing, Role
from shoal.schema.frames import (
    as_frame,
    flavour_of,
    infer_column,
    infer_kind,
    is_index,
    merged_columns,
    merged_kinds,
    usual_role,
)
from shoal.schema.schema import Schema

__all__ = [
    "Column",
    "Kind",
    "Missing",
    "Role",
    "Schema",
    "as_frame",
    "flavour_of",
    "infer_column",
    "infer_kind",
    "is_index",
    "merged_columns",
    "merged_kinds",
    "usual_role",
]
