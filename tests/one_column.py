"""One column as a table, encoded: what the tests of encoding share."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.kinds.domain import Attribute
from shoal.schema import Column, Role, Schema
from shoal.table import Table

NAN = float("nan")
FLAVOURS = ("pandas", "polars", "pyarrow")


def frame_of(cells: Any, flavour: str = "polars") -> Any:
    match flavour:
        case "pandas":
            return pd.DataFrame({"x": cells})
        case "polars":
            return pl.DataFrame({"x": cells}, strict=False)
        case _:
            return pa.table({"x": cells})


def encoded(cells: Any, flavour: str = "polars", **properties: Any) -> Attribute:
    """Return one column as codes; cells may be a whole frame."""
    frame = frame_of(cells, flavour) if isinstance(cells, list | pl.Series | pa.Array) else cells
    schema = Schema((Column("x", role=Role.QUASI, **properties),))
    return Table.encode(frame, schema).attributes[0]


def refused(cells: Any, flavour: str = "polars", **properties: Any) -> InputError:
    with pytest.raises(InputError) as error:
        encoded(cells, flavour, **properties)
    return error.value


def values_of(attribute: Attribute) -> list[Any]:
    return attribute.domain.values.to_list()
