"""Suggested role and kind of each column of a table, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.errors import unknown_column
from shoal.files.local_numbers import advice_on
from shoal.kinds import moments
from shoal.kinds.encoding import plain_cells
from shoal.schema import Kind, Role, Schema, as_frame, infer_column, usual_role
from shoal.schema.column_names import NUMBERS_OF_PERSONS, are_codes, named
from shoal.schema.frames import Inferred
from shoal.schema.repetition import repeats

OFTEN_UNIQUE = 0.5
"""A column looks identifying if more than this share of the records have a unique value."""
NEARLY_ALL = 0.95
"""Whole numbers that are unique in more than this share of the records are taken for record numbers."""
FEWEST_PERSONS = 10
"""A column with fewer different values is not suggested as the one that says whose record each is."""


@dataclass(frozen=True)
class Suggestion:
    """The suggestion for one column.

    Parameters
    ----------
    name
        Its name in the table.
    role, kind
        Its probable role and kind.
    reason
        The reason in words, without any value of the table.
    distinct
        Number of different values, without the missing one.
    missing
        Number of cells that are null, empty or not a number.
    unique_share
        Share of the records that have a unique value; "missing" counts as a value.
    date_format
        Format of dates that are not written as YYYY-MM-DD.
    domain
        Categories in the order that the type of the column declares, lowest first, if it is ordinal.
    """

    name: str
    role: Role
    kind: Kind
    reason: str
    distinct: int
    missing: int
    unique_share: float
    date_format: str | None = None
    domain: tuple[Any, ...] | None = None


def suggest(frame: IntoDataFrame) -> tuple[Suggestion, ...]:
    """Suggest a role and a kind for each column of any eager frame that narwhals supports.

    Suggestions follow from names and values. Takes O(records x columns) expected, plus O(records) for each
    pair of a column without a known role and a quasi-identifier that could single out records together.
    """
    data = as_frame(frame)
    table = _read(data)
    facts = {name: _facts(table[name], infer_column(data[name])) for name in table.columns}
    found = [_suggestion(name, facts[name], last=name == table.columns[-1]) for name in table.columns]
    found = _with_weights(_with_persons(found, facts, table), table)
    quasi = {each.name: facts[each.name] for each in found if each.role is Role.QUASI}
    partners = {
        Role.OTHER: quasi,
        Role.WEIGHT: quasi,
        Role.SENSITIVE: {},
    }  # the roles that are released as they are
    return tuple(
        replace(each, reason=f"{each.reason}; it looks identifying: {why}")
        if each.role in partners
        and (why := _singled_out(each.name, facts[each.name], table, partners[each.role]))
        else each
        for each in found
    )


def _with_persons(
    found: list[Suggestion], facts: Mapping[str, _Facts], table: pl.DataFrame
) -> list[Suggestion]:
    """Return suggestions in which an identifier that repeats says whose record each is.

    That is the number of a person with most values, if no identifier has a value of its own for each record.
    """
    identifiers = [each for each in found if each.role is Role.IDENTIFIER and each.distinct]
    if not all(repeats(each.distinct, facts[each.name].records - each.missing) for each in identifiers):
        return found
    numbers = [
        each
        for each in identifiers
        if not each.missing
        and each.distinct >= FEWEST_PERSONS
        and (hint := named(each.name, last=False)) is not None
        and hint.meaning in NUMBERS_OF_PERSONS
    ]
    person = max(numbers, key=lambda each: each.distinct, default=None)
    if person is None:
        return found
    often = np.sort(table[person.name].value_counts()["count"].to_numpy())
    why = (
        f"{person.reason}, and its values repeat: {person.distinct:,} persons with {often[0]:,} to "
        f"{often[-1]:,} records, {np.median(often):g} in the median"
    )
    return [replace(each, role=Role.PERSON, reason=why) if each is person else each for each in found]


def _with_weights(found: list[Suggestion], table: pl.DataFrame) -> list[Suggestion]:
    """Return suggestions in which only the first column of positive numbers with such a name is a weight."""
    weights = [
        each
        for each in found
        if each.role is Role.WEIGHT
        and not each.missing
        and not table[each.name].dtype.is_temporal()
        and (table[each.name].cast(pl.Float64, strict=False) > 0).fill_null(False).all()
    ]
    return [
        replace(each, role=Role.OTHER) if each.role is Role.WEIGHT and each not in weights[:1] else each
        for each in found
    ]


def warnings(frame: IntoDataFrame, schema: Schema) -> list[str]:
    """Return one line for each column that would be released unchanged although it looks identifying.

    See `suspects`, which has the same reasons by column.
    """
    return [
        f"column {name!r} would be released unchanged, but {why}"
        for name, why in suspects(frame, schema).items()
    ]


def suspects(frame: IntoDataFrame, schema: Schema) -> dict[str, str]:
    """Return the columns that would be released unchanged although they look identifying, and why.

    The texts give the reason and what to do, without any value of the table. Columns that the schema does not
    mention are released as well. A table without records is judged by the names of its columns. Complexity as
    for `suggest`.

    Raises
    ------
    InputError
        If the schema has a column that the frame lacks.
    """
    data = as_frame(frame)
    table = _read(data)
    for name in schema.names:
        if name not in table.columns:
            raise unknown_column(name, table.columns)
    quasi = [column.name for column in schema.quasi]
    roles = {name: schema[name].role for name in schema.names}
    carried = [name for name in table.columns if roles.get(name, usual_role(name)) is Role.OTHER]
    others = {name: _Values.of(table[name]) for name in quasi} if carried else {}
    lines = {}
    for name in carried:
        facts = _facts(table[name], infer_column(data[name]))
        role, why = _role(name, facts, last=False)
        advice = _ADVICE.get(role)
        if advice is None and (singled := _singled_out(name, facts, table, others)):
            why, ways = f"looks identifying: {singled}", list(_ADVICE.values())
            if role is Role.WEIGHT:
                ways.insert(0, "make it a survey weight, so that it is released in groups")
            advice = ", or ".join(ways)
        if advice is not None:
            lines[name] = f"{why}; {advice}"
    return lines


def unique_together(frame: IntoDataFrame, names: Sequence[str]) -> float:
    """Return the share of the records that are unique in some columns together."""
    table = _read(as_frame(frame))[list(names)]
    return float(table.hash_rows(seed=0).is_unique().mean() or 0.0)  # type: ignore[arg-type]


def doubts(frame: IntoDataFrame, schema: Schema) -> dict[str, str]:
    """Return the categorical quasi-identifiers that should probably be of another kind, and why.

    Parameters
    ----------
    frame
        The table.
    schema
        The roles and kinds of its columns; all of them are in the table.
    """
    data = as_frame(frame)
    found = {}
    for column in schema.quasi:
        if not column.kind.any_text or column.hierarchy is not None:
            continue
        marks = column.missing_marks
        cells = plain_cells(data[column.name])
        cells = cells.set(cells.is_in(marks), None) if marks and cells.dtype == pl.String else cells
        facts = _facts(cells, Inferred(Kind.CATEGORICAL))
        if facts.odd_one_out:
            found[column.name] = (
                "all its values but one are numbers, and it is released as sets of exact values; correct "
                "that value, or declare it as a missing mark, so that the column is numeric"
            )
        elif facts.numbers is not None:
            found[column.name] = (
                "its values look like numbers in another notation, and it is released as sets of exact "
                f"values; read the file with {facts.numbers}, or write them with a decimal point"
            )
        elif facts.odd_dates:
            found[column.name] = (
                "its values look like dates, and it is released as sets of exact dates; set its date_format"
            )
        elif facts.records >= _FEW_RECORDS and facts.distinct > OFTEN_UNIQUE * facts.records:
            found[column.name] = (
                f"it has {facts.distinct:,} different values in {facts.records:,} records, and is released "
                "as sets of exact values; give it a hierarchy, another kind, or leave it out"
            )
    return found


def identifier_by_looks(name: str, cells: pl.Series) -> str | None:
    """Return why a column looks like an identifier, by its name or the form of its values, or None.

    Parameters
    ----------
    name
        The name of the column.
    cells
        Its values, null wherever one is missing.
    """
    texts = cells.drop_nulls() if cells.dtype == pl.String else pl.Series(dtype=pl.String)
    some = _Counted.of(texts.gather_every(len(texts) // _ENOUGH + 1))
    form = _identifiers(some.forms())
    if form is not None:
        return f"its values look like {form}"
    rule = named(name, last=False)
    if rule is None or rule.role is not Role.IDENTIFIER:
        return None
    return f"its name suggests {rule.meaning}"


_ADVICE = {
    Role.IDENTIFIER: "make it an identifier, so that it is left out",
    Role.QUASI: "make it a quasi-identifier, so that it is generalized",
}


_IDENTIFIERS = {  # recognized by their form, regardless of the column's name
    "e-mail addresses": r"^\S+@\S+\.\S+$",
    "web addresses": r"^(https?://|www\.)\S+$",
    "IP addresses": r"^\d{1,3}(\.\d{1,3}){3}$",
    "official numbers": r"^\d{3}-\d{2}-\d{4}$|^[A-Z]{2}\d{2}[ 0-9A-Z]{11,36}$",
}
_ODD_DATES = "dates in another form"
_NUMBERS = "numbers"
_NUMBER = r"^\s*-?\d+(\.\d+)?\s*$"
_FORMS = {
    **_IDENTIFIERS,
    _ODD_DATES: r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?:[ ,T]|$)|^\s*\d{4}[./]\d{1,2}[./]\d{1,2}(?:[ ,T]|$)",
    _NUMBERS: _NUMBER,
}
_FEW_RECORDS = 20  # in fewer records, most values are different anyway
_ENOUGH = 10_000  # texts that show which form most of a column have


class _Facts(NamedTuple):
    """Facts about the values of a column."""

    inferred: Inferred
    kind: Kind
    distinct: int
    missing: int
    records: int
    unique: int
    text: bool  # neither numbers nor ISO dates
    whole: bool  # whole numbers only
    form: str | None  # what its texts are, if they are identifiers
    odd_dates: bool  # dates in another form
    odd_one_out: bool  # numbers but for one text
    numbers: str | None  # how to read its numbers, if they are in another notation
    timed: bool  # dates with times of day


def _read(data: nw.DataFrame[Any]) -> pl.DataFrame:
    """Return a frame with null wherever a value is missing."""
    return pl.DataFrame({name: plain_cells(data[name]) for name in data.columns})


class _Occurring(Protocol):
    """How many different values a column has, and how many of them occur once."""

    @property
    def distinct(self) -> int: ...
    @property
    def unique(self) -> int: ...


class _Counted(NamedTuple):
    """Different texts, and how often each occurs: the patterns look at each of them once."""

    different: pl.Series
    often: pl.Series

    @classmethod
    def of(cls, texts: pl.Series) -> _Counted:
        counts = texts.alias("text").value_counts(name="often")
        return cls(counts["text"], counts["often"])

    def forms(self) -> list[str]:
        """Return the forms that more than half of the texts have."""
        if not len(self.often):
            return []
        table = pl.DataFrame({"text": self.different, "often": self.often})
        matching = table.select(
            pl.col("often").filter(pl.col("text").str.contains(pattern)).sum().alias(form)
            for form, pattern in _FORMS.items()
        )
        most = int(self.often.sum()) // 2
        return [form for form, often in matching.row(0, named=True).items() if often > most]


class _Values(NamedTuple):
    """The values that occur in a column, and how often a value occurs once."""

    different: pl.Series
    unique: int

    @classmethod
    def of(cls, cells: pl.Series) -> _Values:
        counts = cells.alias("value").value_counts(name="records")
        return cls(counts["value"].drop_nulls(), int((counts["records"] == 1).sum()))

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len(self.different)


def _facts(cells: pl.Series, inferred: Inferred) -> _Facts:
    found = _Values.of(cells)
    values = found.different
    kind = inferred.kind
    written = cells.dtype == pl.String
    texts = values if written and kind.any_text else values.clear().cast(pl.String)
    some = cells.drop_nulls().gather_every(len(cells) // _ENOUGH + 1) if len(texts) else texts
    forms = _Counted.of(some).forms()
    return _Facts(
        inferred=inferred,
        kind=kind,
        distinct=found.distinct,
        missing=cells.null_count(),
        records=len(cells),
        unique=found.unique,
        text=len(texts) > 0,
        whole=kind.numeric and not (_matches(values, "[.eE]") if written else cells.dtype.is_float()),
        form=_identifiers(forms),
        odd_dates=_ODD_DATES in forms,
        odd_one_out=_NUMBERS in forms and 2 < len(texts) == _matches(texts, _NUMBER) + 1,
        numbers=advice_on(some) if len(some) else None,
        timed=kind.measured and not kind.numeric and _have_times(values, inferred.date_format),
    )


def _identifiers(forms: Sequence[str]) -> str | None:
    """Return the first of some forms that is one of identifiers, or None."""
    return next((form for form in forms if form in _IDENTIFIERS), None)


def _have_times(values: pl.Series, form: str | None) -> bool:
    clocks = moments.parts(values.gather_every(len(values) // _ENOUGH + 1), form)["clock"]
    return bool((clocks != 0).any())


def _matches(texts: pl.Series, pattern: str) -> int:
    return int(texts.str.contains(pattern).sum())


def _suggestion(name: str, facts: _Facts, *, last: bool) -> Suggestion:
    role, why = _role(name, facts, last=last)
    settings = facts.inferred.settings(name, last=last, ordinal=role is Role.QUASI)
    share = facts.unique / max(facts.records, 1)
    codes = are_codes(name, facts.distinct, last=last)
    if facts.kind.numeric and not settings["kind"].numeric:
        why += "; its numbers are codes, not quantities, so it is categorical"
    elif settings.get("domain"):
        why += "; its type declares an order of its values, so it is ordinal"
    elif settings.get("date_format"):
        why += f"; its dates are written as {settings['date_format']}"
    elif facts.odd_dates and facts.form is None:
        why += "; its dates are not in the format YYYY-MM-DD: set date_format to make it a date"
    elif facts.numbers is not None and facts.form is None:
        why += f"; its values look like numbers in another notation: read the file with {facts.numbers}"
    elif facts.odd_one_out and not codes:
        why += "; all values but one are numbers: if that one means missing, declare it as a missing mark"
    if facts.timed and settings["kind"].measured:
        why += "; its times are generalized to days: kind hour keeps the hours"
    return Suggestion(
        name, role, reason=why, distinct=facts.distinct, missing=facts.missing, unique_share=share, **settings
    )


def _role(name: str, facts: _Facts, *, last: bool) -> tuple[Role, str]:
    rule = named(name, last)
    if facts.form is not None:
        return Role.IDENTIFIER, f"its values look like {facts.form}"
    kind = Kind.DATE if facts.odd_dates else facts.kind
    known = Role.QUASI, f"looks identifying: others may know {kind.often_known}"
    if kind.known_if_sensitive and (rule is None or rule.role not in _ADVICE):
        return known
    if rule is not None:
        return rule.role, f"its name suggests {rule.meaning}"
    if kind.often_known:
        return known
    enough = OFTEN_UNIQUE if facts.text else NEARLY_ALL
    if (facts.text or facts.whole) and facts.unique > enough * facts.records:
        return Role.IDENTIFIER, f"looks identifying: {_alone(facts)}"
    return Role.OTHER, "nothing in its name or values suggests a role"


def _singled_out(name: str, own: _Facts, table: pl.DataFrame, quasi: Mapping[str, _Occurring]) -> str | None:
    """Return how a column singles out records, alone or with a quasi-identifier; None if it does not."""
    if own.unique > OFTEN_UNIQUE * own.records:
        return _alone(own)
    for other, theirs in sorted(quasi.items(), key=lambda each: -each[1].distinct):
        # With few records for each value, those equal here could be equal there by chance.
        if 1 < theirs.distinct <= own.distinct <= own.records / 5 and _decides(table[[name, other]]):
            return f"it gives away {other!r}: records that agree in it also agree in {other!r}"
        # No more records can be unique than there are pairs of values.
        pairs = (own.distinct + 1) * (theirs.distinct + 1)
        if own.distinct > 1 and theirs.unique <= own.records / 4 and pairs > OFTEN_UNIQUE * own.records:
            unique = int(table[[name, other]].hash_rows(seed=0).is_unique().sum())
            if unique > OFTEN_UNIQUE * own.records:
                return f"together with {other!r} it is unique in {unique / own.records:.0%} of the records"
    return None


def _alone(facts: _Facts) -> str:
    return f"{facts.unique / facts.records:.0%} of the records have a unique value"


def _decides(pair: pl.DataFrame) -> bool:
    """Return whether records equal in the first column are equal in the second; most often a few show it."""
    parts = (pair.head(500), pair.head(5_000), pair)
    return all(part.n_unique() == part.to_series(0).n_unique() for part in parts)
