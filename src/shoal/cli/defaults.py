"""The diversity that `shoal anonymize` requires of sensitive columns if the call says nothing about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.base.wording import percent
from shoal.cli.options import words
from shoal.cli.output import out, warn
from shoal.errors import InfeasibleError
from shoal.kinds import encoding
from shoal.methods import METHODS, supports_k_alone
from shoal.methods.feasibility import require_known
from shoal.models import (
    DIVERSITY,
    Model,
    UsualDiversity,
    make_model,
    model_named,
    suitable,
    usual_model,
)
from shoal.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Shares = Callable[[Schema], Mapping[str, float]]
"""Returns the share of the most frequent value of each sensitive column of the table."""


class Promised:
    """The model of a call; its l is the default if a sensitive column is named and nothing is said about it.

    Parameters
    ----------
    name
        The name of the model; that of such a table if None.
    given
        The parameters that were given; None for the others.
    method
        The method that was asked for.
    """

    def __init__(self, name: str | None, given: Mapping[str, Any], method: str | None) -> None:
        self._name, self._given, self._method = name, given, method
        self.by_default, self.usual = False, 1.0

    def __call__(self, schema: Schema, shares: Shares) -> Model:
        """Return the model for a table with this schema; `shares` is called if the default depends on it."""
        name = self._name or model_for(schema, self._method)
        if not self._open(name, schema):
            return make_model(name, self._given)
        found = shares(schema)
        if self._given.get("diverse") is not None:
            require_known(named := words(self._given["diverse"]), list(found))
            found = {column: found[column] for column in named}
        usual = UsualDiversity.of(found)

        def often(column: str) -> str:
            return f"{percent(found[column])} of the records have the same value of {column!r}"

        if usual.l <= 1:
            warn(
                f"{often(usual.lowest)}, so nothing is required of sensitive columns. Use --l to require "
                "something."
            )
            return make_model(name, self._given)
        self.by_default, self.usual = True, usual.l
        for column in usual.skewed:
            warn(
                f"{often(column)}, so nothing is required of it: an attacker may learn it. Use --l and "
                "--diverse to require something."
            )
        if usual.l < 2:
            warn(
                f"{often(usual.lowest)}, so l = 2 is not achievable; l = {usual.l:g} is required instead. "
                "Use --l to choose another one."
            )
        return make_model(name, {**self._given, **usual.parameters})

    def _open(self, name: str, schema: Schema) -> bool:
        """Return whether the call leaves open what is required of sensitive columns."""
        return leaves_open(name, self._given, schema, self._method)

    def tell(self) -> None:
        """Say that l is the default, if it is."""
        if self.by_default:
            out.print(
                f"l = {self.usual:g} is the default where a sensitive column is named; --l sets another "
                "one, and --l 1 requires nothing.",
                highlight=False,
                soft_wrap=True,
            )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add to an error about an l that the call did not give where it comes from."""
        try:
            yield
        except InfeasibleError as error:
            if not self.by_default or error.parameter != "l":
                raise
            raise InfeasibleError(
                f"{error}. This l is the default if a sensitive column is named: use --l to require less, or "
                "--l 1 to require nothing",
                column=error.column,
                parameter="l",
            ) from error


def model_for(schema: Schema, method: str | None) -> str:
    """Return the model to use if none is named: that of such a table, or the first that has the method."""
    usual = usual_model(schema)
    able = [each for each in (usual, *suitable(schema)) if method is None or method in METHODS[each]]
    return (able[0] if able else usual).name


def leaves_open(name: str, given: Mapping[str, Any], schema: Schema, method: str | None = None) -> bool:
    """Return whether a model could require something of sensitive columns, and the parameters do not say.

    Models for comparison require what they are told to.

    Parameters
    ----------
    name, given
        The name of the model, and the parameters that were given.
    schema
        The schema of the table.
    method
        The name of the method; the default of the model if None.
    """
    model = model_named(name)
    if not schema.sensitive or model.for_comparison or not model.takes_diversity():
        return False
    said = any(given.get(each) is not None for each in DIVERSITY)
    return not said and not supports_k_alone(model, method, persons=schema.person is not None)


def shares_in(batches: Iterable[pl.DataFrame]) -> Shares:
    """Return the shares in a table in batches, counted when they are asked for."""

    def count(schema: Schema) -> dict[str, float]:
        counts: dict[str, Counter[Any]] = {column.name: Counter() for column in schema.sensitive}
        rows = 0
        for batch in batches:
            rows += batch.height
            for column in schema.sensitive:
                found = encoding.sensitive(nw.from_native(batch[column.name], series_only=True), column)
                often = np.bincount(found.codes, minlength=len(found))
                counts[column.name].update(dict(zip(found.values, often.tolist(), strict=True)))
        return {name: max(each.values(), default=0) / max(rows, 1) for name, each in counts.items()}

    return count


def shares_on_spark(table: DataFrame) -> Shares:
    """Return the shares in a Spark frame, counted when they are asked for."""

    def count(schema: Schema) -> dict[str, float]:
        rows = max(table.count(), 1)
        return {
            column.name: max(
                (row["count"] for row in table.groupBy(f"`{column.name}`").count().collect()), default=0
            )
            / rows
            for column in schema.sensitive
        }

    return count
