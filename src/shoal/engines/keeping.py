"""Which rows of an earlier release stay, which classes are redrawn, and which records are new."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing.linking import recognized, same_values
from shoal.auditing.released import ReleasedTable
from shoal.auditing.together import Earlier
from shoal.base.wording import plural
from shoal.errors import InputError, Reason
from shoal.kinds.encoding import to_polars
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.release.rendering import for_file, published
from shoal.schema import Role, as_frame
from shoal.table import Table

Integers = NDArray[np.int64]
Recognized = tuple[tuple[Integers, ...], tuple[Integers, ...]]
"""The persons and the records of a table and of the earlier originals."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """What happens to the rows of the newest release, and which records of the table are new.

    Parameters
    ----------
    after
        All earlier releases, the newest first.
    kept_rows, kept_records
        The rows that stay, and the record of the table that each belongs to.
    redrawn_records, redrawn_classes
        The records of classes whose members stay together while their rows change, and the class of each,
        numbered from 0.
    new
        The records of persons who are in no earlier release.
    counts
        What the certificate says about all of these.
    """

    after: Sequence[Earlier]
    kept_rows: Integers
    kept_records: Integers
    redrawn_records: Integers
    redrawn_classes: Integers
    new: Integers
    counts: Mapping[str, int]

    @classmethod
    def of(cls, table: Table, model: Model, after: Sequence[Earlier], found: Recognized) -> KeptRows:
        """Compare a table with all earlier releases.

        Parameters
        ----------
        table, model, after
            The table, the guarantee, and the earlier releases, the newest first.
        found
            The persons and the records of the table and of the earlier originals.

        Raises
        ------
        InputError
            If records changed or are gone although the crowds of the model are not classes.
        """
        persons, records = found
        before = np.isin(persons[0], np.concatenate(persons[1:]))
        original, released, key = (*after[0], None)[:3]
        published_records = as_frame(original)[np.asarray(key)]
        earlier = Table.encode(published_records.to_native(), table.schema)
        if len(earlier) < len(persons[1]):
            raise InputError(
                "the key names a record with a missing value", reason=Reason.PARAMETER, parameter="key"
            )
        now_at, person_at = _places(records[0], records[1]), _places(persons[0], persons[1])
        gone = now_at < 0
        redrawn, classes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        kept = np.arange(len(gone))
        if gone.any():
            _require_classes(model, int(gone.sum()))
            of_row = ReleasedTable(released, earlier).classes.of_row
            hit = np.bincount(of_row, gone) > 0
            kept = np.flatnonzero(~hit[of_row])
            together = hit & _stays_together(table, model, published_records, person_at, of_row)
            redrawn = np.flatnonzero(together[of_row])
            classes = np.unique(of_row[redrawn], return_inverse=True)[1].astype(np.int64)
        new = np.flatnonzero(~before)
        counts = {
            "kept": len(kept),
            "redrawn": len(redrawn),
            "removed": len(gone) - len(kept) - len(redrawn),
            "gone": int((person_at < 0).sum()),
            "changed": int((gone & (person_at >= 0)).sum()),
            "left_out": int(before.sum()) - len(kept) - len(redrawn),
            "new": len(new),
            "waiting": 0,
        }
        return cls(after, kept, now_at[kept], person_at[redrawn], classes, new, counts)

    def enough(self, model: Model) -> bool:
        """Return whether new persons can be released; no new ones are enough, too."""
        return len(self.new) == 0 or len(self.new) >= model.crowd

    def waiting(self) -> KeptRows:
        """Return the plan in which new persons wait for a later release."""
        counts = {**self.counts, "new": 0, "waiting": len(self.new) + self.counts["waiting"]}
        return replace(self, new=self.new[:0], counts=counts)

    def without_redrawn(self) -> KeptRows:
        """Return the plan in which classes with a changed record are removed."""
        several = len(self.redrawn_records)
        counts = {
            **self.counts,
            "redrawn": 0,
            "removed": self.counts["removed"] + several,
            "left_out": self.counts["left_out"] + several,
        }
        none = self.redrawn_records[:0]
        return replace(self, redrawn_records=none, redrawn_classes=none, counts=counts)

    def redrawn(self, table: Table) -> tuple[pl.DataFrame, Integers]:
        """Return the rows of classes that are redrawn, ordered by what they show, and their records.

        Each class shows the smallest generalized values around what its members are now.
        """
        order = np.argsort(self.redrawn_classes, kind="stable")
        members, classes = self.redrawn_records[order], self.redrawn_classes[order]
        starts = np.concatenate(([0], np.cumsum(np.bincount(classes))))
        values = tuple(a.domain.closure(a.codes[members], starts) for a in table.attributes)
        recoding = Recoding(table, values, np.arange(len(starts) - 1, dtype=np.int32))
        shown = for_file(published(recoding, classes, members), nested=False)
        place = "place of the row"
        by_text = shown.select(pl.all().cast(pl.String)).with_row_index(place).sort(pl.exclude(place))
        turn = by_text[place].to_numpy().astype(np.int64)
        return shown[turn], members[turn]


def followed(table: Table, shown: Any, chosen: Integers, after: Sequence[Earlier]) -> list[Earlier] | None:
    """Return earlier releases as they would be if each person had always had her newest row and record.

    This is for an attacker who knows which classes were redrawn, and follows each of them through all
    releases. None if no row ever changed.

    Parameters
    ----------
    table, shown, chosen
        The table, its release, and the record of each row of it.
    after
        The earlier releases.
    """
    if table.schema.person is None:
        return None
    given = [(table.frame, shown, chosen), *((*each, None)[:3] for each in after)]
    originals = [_polars(as_frame(original)[np.asarray(key)]) for original, _, key in given]
    releases = [_polars(as_frame(released)) for _, released, _ in given]
    persons, _ = recognized([as_frame(each) for each in originals], table.schema)
    _, newest, whose = np.unique(np.concatenate(persons), return_index=True, return_inverse=True)
    rows, records = _stacked(releases), _stacked(originals)
    now_rows, now_records = rows[newest[whose]], records[newest[whose]]
    if now_rows.equals(rows):
        return None
    ends = np.cumsum([len(each) for each in releases])
    return [
        (now_records[int(begin) : int(end)], now_rows[int(begin) : int(end)], np.arange(end - begin))
        for begin, end in itertools.pairwise(ends)
    ]


def _places(now: Integers, earlier: Integers) -> Integers:
    """Return where in one list each number of another is; -1 if it is not there."""
    place = {number: at for at, number in enumerate(now.tolist())}
    return np.array([place.get(number, -1) for number in earlier.tolist()], dtype=np.int64)


def _stays_together(
    table: Table, model: Model, earlier: Any, person_at: Integers, of_row: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return for each class whether its rows can be redrawn around the same persons.

    They can if all members are still in the table and the same carried columns changed for all of them. Then
    no member is told from the others by what changed: with the rows of two members exchanged in all releases,
    all releases would be the same. A sensitive column may change only if no diversity is asked for, since
    otherwise what is removed would show that new values are not diverse.
    """
    count = int(of_row.max()) + 1
    if not model.redraws_classes:
        return np.zeros(count, dtype=bool)
    whole: NDArray[np.bool_] = np.bincount(of_row, person_at < 0, count) == 0
    members = np.flatnonzero(whole[of_row])
    of_member = of_row[members]
    sizes = np.bincount(of_member, minlength=count)
    for column in table.schema:
        if column.role is Role.QUASI or not column.role.released:
            continue
        names = (column.name,)
        same = same_values(earlier[members], table.frame[person_at[members]], names)
        changed = np.bincount(of_member, ~same, count)
        fixed = column.role is Role.SENSITIVE and model.diversity is not None
        whole &= (changed == 0) if fixed else (changed == 0) | (changed == sizes)
    return whole


def _require_classes(model: Model, gone: int) -> None:
    if model.crowd_kind != "classes":
        raise InputError(
            f"{plural(gone, 'record')} of the earlier release changed or are gone; "
            f"{model.name} allows new persons only, as other people hide among these rows: use "
            "k-anonymity, which removes whole classes",
            reason=Reason.PUBLISHED_BEFORE,
        )


def _polars(frame: Any) -> pl.DataFrame:
    return pl.DataFrame([to_polars(column) for column in frame.iter_columns()])


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of several frames, with the columns of the first, as text where types do not fit."""
    columns = []
    for name in frames[0].columns:
        parts = [each.select(name) for each in frames]
        try:
            columns.append(pl.concat(parts, how="vertical_relaxed")[name])
        except pl.exceptions.PolarsError:
            columns.append(pl.concat([part.cast(pl.String) for part in parts])[name])
    return pl.DataFrame(columns)
