"""Which records are held out of a release as a control group for attacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason
from shoal.kinds import encoding
from shoal.schema import Schema, as_frame

FEWEST = 20
"""A control group with fewer records says nothing."""


def checked_share(share: Any) -> float:
    """Return the share of records to hold out.

    Raises
    ------
    InputError
        If it is not a number above 0 and at most 0.5.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 0.5:
        raise InputError(
            f"hold_out = {share!r} must be a share of the records, above 0 and at most 0.5",
            reason=Reason.PARAMETER,
            parameter="hold_out",
        )
    return float(share)


def usual_share(records: int) -> float | None:
    """Return the share of records to hold out if nothing is said about it; None if there are too few records.

    It is 5%, or the smallest percentage that makes a control group large enough.
    """
    percentage = max(5, math.ceil(100 * FEWEST / max(1, records)))
    return percentage / 100 if percentage <= 50 else None


def held_out(frame: Any, schema: Schema, share: float, randomness: Randomness) -> NDArray[np.bool_]:
    """Draw which records are held out; all records of a person are, or none.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports.
    schema
        Its schema.
    share
        The share of the records, or of the persons if the schema has a person column.
    randomness
        The source of random choices.

    Raises
    ------
    InputError
        If so few records are held out that attacks on them say nothing.
    """
    data = as_frame(frame)
    column = schema.person
    owners = np.arange(len(data))
    if column is not None and column.name in data.columns:
        owners = encoding.sensitive(data[column.name], column).codes.astype(np.int64)
    persons = int(owners.max(initial=-1)) + 1
    drawn = np.zeros(persons, dtype=np.bool_)
    drawn[randomness.permutation(persons)[: math.ceil(checked_share(share) * persons)]] = True
    kept: NDArray[np.bool_] = drawn[owners]
    if kept.sum() < FEWEST:
        raise InputError(
            f"hold_out = {share:g} holds out {int(kept.sum())} records of {len(data):,}; a control group "
            f"needs {FEWEST} or more",
            reason=Reason.PARAMETER,
            parameter="hold_out",
        )
    return kept
