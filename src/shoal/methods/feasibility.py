"""Whether a table can keep a promise at all; the whole table as one class is the most any method can do."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kinds.domain import Sensitive
from shoal.models import CrowdModel, DiverseModel
from shoal.table import Table


def require_feasible(table: Table, model: DiverseModel, kept: NDArray[np.int64] | None = None) -> None:
    """Refuse a promise that no release of this table can keep.

    Parameters
    ----------
    table, model
        The table and the promise.
    kept
        The records that are going to have a row; all by default.

    Raises
    ------
    InputError
        If k is larger than the table, or diversity is promised without a sensitive column.
    InfeasibleError
        If a sensitive column is less diverse than promised even in the table as a whole; the message names
        the largest value that is possible.
    """
    require_rows(table, model, kept)
    if model.diversity is not None:
        require_sensitive(table)
    for column in table.sensitive:
        _require_diversity(column, column.codes if kept is None else column.codes[kept], model)


def require_sensitive(table: Table) -> None:
    """Refuse a promise about sensitive columns where there is none."""
    if not table.sensitive:
        raise InputError(
            "l, p and entropy_l are promises about sensitive columns, but none is named; name them "
            "(--sensitive, or sensitive=[...])",
            reason=Reason.NO_SENSITIVE,
        )


def require_rows(table: Table, model: CrowdModel, kept: NDArray[np.int64] | None = None) -> None:
    """Refuse a k that is larger than the table, or than what is kept of it."""
    rows = len(table) if kept is None else len(kept)
    if model.k > rows:
        which = "records of the table" if rows == len(table) else "records that are not withheld"
        most = f"it can be {rows} at most" if rows > 1 else "nobody can hide there"
        raise InputError(f"k = {model.k} is above the {rows} {which}; {most}", reason=Reason.PARAMETER)


def _require_diversity(column: Sensitive, codes: NDArray[np.int32], model: DiverseModel) -> None:
    for name, possible in largest_diversity(codes).items():
        asked = getattr(model, name)
        if asked is not None and asked > possible * (1 + 1e-9):
            raise InfeasibleError(
                f"{name} = {asked:g} cannot be had: the sensitive column {column.name!r} allows at most "
                f"{name} = {math.floor(possible * 1000) / 1000:g}, even if all rows were the same"
            )


def largest_diversity(codes: NDArray[np.int32]) -> dict[str, float]:
    """Return the largest `l`, `p` and `entropy_l` that a release can promise of records with these values."""
    shares = np.bincount(codes) / len(codes)
    shares = shares[shares > 0]
    entropy = -float((shares * np.log(shares)).sum())
    return {"l": 1.0 / float(shares.max()), "p": len(shares), "entropy_l": math.exp(entropy)}
