"""Whether a table can keep a guarantee at all: the table as one class is the most that any method can do.

For sensitive values this holds because each guarantee applies to the release as a whole, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError, InputError, Reason, did_you_mean, listing
from shoal.kinds.domain import Sensitive
from shoal.models import CrowdModel, DiverseModel
from shoal.models.diversity import NO_DIVERSITY
from shoal.table import Table


def require_feasible(table: Table, model: DiverseModel, kept: NDArray[np.int64] | None = None) -> None:
    """Refuse a guarantee that no release of this table can keep.

    Parameters
    ----------
    table, model
        The table and the guarantee.
    kept
        The records that will have a row; all by default.

    Raises
    ------
    InputError
        If k is larger than the table, or the model has diversity but the table no sensitive column.
    InfeasibleError
        If a sensitive column is less diverse than the model asks even in the table as a whole; the message
        names the largest achievable value.
    """
    require_rows(table, model, kept)
    require_persons(table, model.k)
    if model.diversity is not None:
        require_sensitive(table)
        require_known(model.diverse or (), [column.name for column in table.sensitive])
    for column in (model.diversity or NO_DIVERSITY).among(table.sensitive):
        _require_diversity(column, column.codes if kept is None else column.codes[kept], model)


def require_sensitive(table: Table) -> None:
    """Refuse a guarantee about sensitive columns if there is none."""
    if not table.sensitive:
        raise InputError(
            "l, p and entropy_l are guarantees about sensitive columns, but none is named; name the "
            "sensitive columns",
            reason=Reason.NO_SENSITIVE,
            parameter="sensitive",
        )


def require_known(diverse: Sequence[str], sensitive: Sequence[str]) -> None:
    """Refuse a guarantee about columns that are not sensitive."""
    for name in diverse:
        if name not in sensitive:
            raise InputError(
                f"{name!r} is not a sensitive column{did_you_mean(name, sensitive)}; those are "
                f"{listing(sensitive)}",
                reason=Reason.PARAMETER,
                parameter="diverse",
            )


def refuse_diversity(model: DiverseModel, method: str, *, instead: str) -> None:
    """Refuse varied sensitive values for a method that supports k alone."""
    if model.diversity is not None:
        raise InputError(
            f"method {method!r} supports k alone; leave out l, p and entropy_l, or choose the method "
            f"{instead!r}",
            reason=Reason.PARAMETER,
        )


def require_rows(table: Table, model: CrowdModel, kept: NDArray[np.int64] | None = None) -> None:
    """Refuse a k that is larger than the number of records that are kept.

    If the crowd is one of rows alone, withheld records count as well: rows cover them.
    """
    rows = len(table) if kept is None else len(kept)
    if rows == 0 < len(table):
        raise InputError(
            f"withholding leaves no row of {len(table)} records; withhold a smaller share",
            reason=Reason.PARAMETER,
            parameter="withhold",
        )
    crowd = len(table) if not model.of_records else rows
    if model.k > crowd:
        which = "records of the table" if crowd == len(table) else "records that are not withheld"
        most = f"it can be {crowd} at most" if crowd > 1 else "no record can hide there"
        raise InputError(
            f"k = {model.k} is above the {crowd} {which}; {most}", reason=Reason.PARAMETER, parameter="k"
        )


def require_persons(table: Table, k: int, name: str = "k") -> None:
    """Refuse a k with which a person has more records than can hide: more than one in k.

    Raises
    ------
    InfeasibleError
        With the number of such persons and the largest k that is achievable.
    """
    if table.owners is None:
        return
    records = np.bincount(table.owners)
    too_many = int((records * k > len(table)).sum())
    if too_many == 0:
        return
    most = int(records.max())
    persons = "1 person has" if too_many == 1 else f"{too_many:,} persons have"
    could = len(table) // most
    instead = f"at most {name} = {could} is achievable" if could > 1 else f"no {name} is achievable"
    raise InfeasibleError(
        f"{name} = {k} is not achievable: {persons} more than {len(table) // k:,} of the {len(table):,} "
        f"records (up to {most:,}), which is more than one in {k}; with these, {instead}, or keep fewer "
        "records of each person (most_per_person)",
        parameter=name,
    )


def _require_diversity(column: Sensitive, codes: NDArray[np.int32], model: DiverseModel) -> None:
    some = "" if len(codes) == len(column.codes) else " in the records that were not withheld"
    for name, possible in largest_diversity(codes).items():
        asked = getattr(model, name)
        if asked is not None and asked > possible * (1 + 1e-9):
            raise InfeasibleError(
                f"{name} = {asked:.10g} is not achievable: the sensitive column {column.name!r} allows at "
                f"most {name} = {rounded_down(possible):.10g}{some}, even with every row identical",
                column=column.name,
                parameter=name,
            )


def rounded_down(level: float) -> float:
    """Return a level with four significant digits, rounded down."""
    scale = 10.0 ** (3 - math.floor(math.log10(level)))
    return math.floor(level * scale * (1 + 1e-12)) / scale if scale >= 1 else math.floor(level)


def largest_diversity(codes: NDArray[np.int32]) -> dict[str, float]:
    """Return the largest `l`, `p` and `entropy_l` that are achievable for records with these values."""
    shares = np.bincount(codes) / len(codes)
    shares = shares[shares > 0]
    entropy = -float((shares * np.log(shares)).sum())
    return {"l": 1.0 / float(shares.max()), "p": len(shares), "entropy_l": math.exp(entropy)}
