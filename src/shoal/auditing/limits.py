"""Limits of columns in a release: cells that break one, and records that were left out because of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shoal.auditing.released import ReleasedTable
from shoal.errors import InputError, Reason
from shoal.kinds.limits import in_words
from shoal.models import Model


def beyond_limits(release: ReleasedTable) -> Iterator[str]:
    """Yield which columns have cells that break their limits, judged by what is written."""
    for column, attribute in zip(release.columns, release.table.attributes, strict=True):
        if column.exceeding is not None and column.exceeding.any():
            rows = int(column.exceeding[column.cell].sum())
            yield (
                f"{rows:,} released rows break the limit of {column.name!r}, which must be "
                f"{in_words(attribute.column)}"
            )


def too_many_left_out(release: ReleasedTable, leave_out: float) -> Iterator[str]:
    """Yield that more records were left out than may be, if so; nothing if no share is given.

    Raises
    ------
    InputError
        If the share is none.
    """
    if isinstance(leave_out, bool) or not isinstance(leave_out, int | float) or not 0 <= leave_out < 1:
        raise InputError(
            f"leave_out = {leave_out!r} must be a share of the records, from 0 to below 1",
            reason=Reason.PARAMETER,
            parameter="leave_out",
        )
    records = len(release.table)
    missing, allowed = records - len(release), math.floor(leave_out * records + 1e-9)
    if leave_out and missing > allowed:
        yield f"{missing:,} of {records:,} records were left out, and at most {allowed:,} may be"


def without_left_out(release: ReleasedTable, model: Model | None, leave_out: float) -> ReleasedTable:
    """Return a release beside the records that an attacker must consider to be in it.

    An attacker who knows k knows that a record was left out if fewer than k rows cover it. Then none of these
    rows is its own, and the others have to hide among themselves. Nothing changes if there are more of these
    records than were left out: then the guarantee is broken.

    Parameters
    ----------
    release
        The release beside all records.
    model
        The guarantee.
    leave_out
        The largest share of the records that may be left out.
    """
    missing = len(release.table) - len(release)
    if model is None or leave_out == 0 or missing <= 0:
        return release
    lost = release.consistency.rows_of_record < model.crowd
    known = release.key is not None and bool(lost[release.key].any())
    if known or not 0 < int(lost.sum()) <= missing:
        return release
    kept = np.flatnonzero(~lost)
    key = None if release.key is None else np.searchsorted(kept, release.key)
    return ReleasedTable(release.frame, release.table.only(kept), key)
