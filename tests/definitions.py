"""The promises as docs/promises.md defines them, by brute force on the text of a release of a few records."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from typing import Any

from shoal import (
    KK,
    Concealment,
    Dissimilarity,
    Freeform,
    KAnonymity,
    Kind,
    KOne,
    OneK,
    Pattern,
    Patterned,
    SetAnonymity,
    SetDiversity,
)
from shoal.models import Model
from shoal.schema import Column, Missing, Role

Row = Mapping[str, str]
"""A released row: the text of each cell."""
Record = Mapping[str, Any]
"""A record of the original: plain values, None where one is missing, sets of items as frozen sets."""
ROUNDING = 1e-9
"""Shares and distances that differ by no more are the same."""


@dataclass(frozen=True)
class Original:
    """A table of a few records, in the terms of the definitions.

    Parameters
    ----------
    columns
        What the columns are.
    records
        All records.
    levels
        For columns with a hierarchy, the value and the groups above it, for each value.
    """

    columns: tuple[Column, ...]
    records: tuple[Record, ...]
    levels: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[int, ...]:
        """The records that are not left out for a missing value."""
        strict = [c.name for c in self.having(Role.QUASI, Role.SENSITIVE) if c.missing is Missing.SUPPRESS]
        return tuple(i for i, r in enumerate(self.records) if all(r[name] is not None for name in strict))

    @property
    def refused(self) -> bool:
        """Whether a value is missing where none may be, or nobody is left."""
        strict = [c.name for c in self.having(Role.QUASI, Role.SENSITIVE) if c.missing is Missing.ERROR]
        return not self.kept or any(record[name] is None for record in self.records for name in strict)

    def having(self, *roles: Role) -> list[Column]:
        """Return the columns with these roles."""
        return [column for column in self.columns if column.role in roles]

    def nodes(self, name: str) -> dict[str, frozenset[str]]:
        """Return the values below each label of a hierarchy."""
        found: dict[str, set[str]] = defaultdict(set)
        for chain in self.levels[name]:
            for label in chain:
                found[label].add(chain[0])
        return {label: frozenset(below) for label, below in found.items()}

    def fits(self, record: Record, row: Row) -> bool:
        """Return whether every cell of a row covers what is known about a person."""
        return all(self.covers(column, row, record[column.name]) for column in self.having(Role.QUASI))

    def covers(self, column: Column, row: Row, value: Any) -> bool:
        """Return whether one cell of a row can stand for a value."""
        cell = row[column.name]
        if column.kind is Kind.ITEMS:
            return _in_world(row, column.name, value or frozenset())
        if cell == "*":
            return True
        if column.hierarchy is not None:
            label = "" if value is None else str(value)
            shown = cell.removeprefix("\\") if cell.lstrip("\\") == "*" else cell
            return label == cell == "" or label in self.nodes(column.name).get(shown, ())
        if column.kind is Kind.CATEGORICAL:
            return ("" if value is None else _label(value)) in _members(cell)
        if value is None or cell == "":
            return value is None and cell == ""
        ends = [_datum(column, _unescaped(end)) for end in _split(cell, "..")]
        return bool(ends[0] <= _datum(column, _label(value)) <= ends[-1])


def breaches(original: Original, rows: Sequence[Row], model: Model) -> list[str]:
    """Return what speaks against a release that is to keep a promise."""
    return list(_breaches(original, rows, model))


def _breaches(original: Original, rows: Sequence[Row], model: Model) -> Iterator[str]:
    records = [original.records[i] for i in original.kept]
    fit = [[original.fits(record, row) for row in rows] for record in records]
    withheld = math.ceil(getattr(model, "withhold", 0.0) * len(records))
    if len(rows) != len(records) - withheld:
        yield "another number of rows"
        return
    if not _all_at_home(fit, len(rows)):
        yield "not every row can have a record of its own"
        return
    around = [[j for j in range(len(rows)) if fits[j]] for fits in fit]
    crowds = [rows_of for rows_of in around if rows_of]  # who is withheld may fit none
    persons = [sum(fits[j] for fits in fit) for j in range(len(rows))]
    quasi = _quasi_cells(original, rows)
    classes = list(_grouped(quasi).values())
    k = model.crowd
    whole = [list(range(len(rows)))]
    match model:
        case KAnonymity():
            yield from _fewer(map(len, classes), k, "rows look the same")
            yield from _undiverse(original, rows, classes, model.l, model.p, model.entropy_l)
        case Freeform() | SetAnonymity() | SetDiversity():
            matches = _matches(fit)
            yield from _fewer(map(len, around), k, "rows fit a record")
            yield from _fewer(persons, k, "records fit a row")
            yield from _fewer(map(len, matches), k, "matches of a record")
            asked: tuple[Any, Any, Any] = (None, None, None)
            if isinstance(model, SetDiversity):
                asked = (None, model.l, None)
            elif isinstance(model, Freeform):
                asked = (model.l, model.p, model.entropy_l)
            yield from _undiverse(original, rows, around + matches + whole, *asked)
            if isinstance(model, SetDiversity):
                yield from _undiverse(original, rows, whole, model.l, None, None)
        case OneK() | KOne() | KK():
            if not isinstance(model, KOne):
                yield from _fewer(map(len, crowds), k, "rows fit a record")
            if not isinstance(model, OneK):
                yield from _fewer(persons, k, "records fit a row")
            yield from _undiverse(original, rows, crowds + whole, model.l, model.p, model.entropy_l)
        case Concealment():
            matches = _matches(fit)
            yield from _fewer(map(len, matches), k, "matches of a record")
            if model.two_sided:
                of_row = Counter(row for rows_of in matches for row in rows_of)
                yield from _fewer([of_row[j] for j in range(len(rows))], k, "matches of a row")
            yield from _undiverse(original, rows, matches + whole, model.l, model.p, model.entropy_l)
        case Patterned():
            yield from _fewer(map(len, classes), k, "rows look the same")
            yield from _unpatterned(original, rows, model)
        case Dissimilarity():
            yield from _fewer(map(len, classes), k, "rows look the same")
            distance = distance_of(original, model)
            secrets = [_secrets(original, row) for row in rows]
            for members in classes:
                if not dissimilar([secrets[j] for j in members], model, distance):
                    yield "too many close values in a class"


def possible(original: Original, model: Model) -> bool:
    """Return whether a release of this table can keep a promise, as far as a few records tell.

    For promises about sensitive values it is the table as one crowd that is looked at.
    """
    records = [original.records[i] for i in original.kept]
    match model:
        case Patterned():
            return _can_be_patterned(original, records, model)
        case Dissimilarity():
            distance = distance_of(original, model)
            return _can_be_partitioned(tuple(range(len(records))), secrets_of(original), model, distance)
        case SetDiversity():
            rows = [_text(original, record) for record in records]
            return all(
                max(Counter(row[column.name] for row in rows).values()) * model.l <= len(rows)
                for column in original.having(Role.SENSITIVE)
            )
        case _:
            size = len(records) - math.ceil(getattr(model, "withhold", 0.0) * len(records))
            rows = [_text(original, record) for record in records]
            asked = (getattr(model, name, None) for name in ("l", "p", "entropy_l"))
            limits = tuple(asked)
            # Some may be withheld, and nobody knows who: possible only if it is for all of them.
            return all(
                not list(_undiverse(original, [rows[i] for i in chosen], [list(range(size))], *limits))
                for chosen in combinations(range(len(rows)), size)
            )


def secrets_of(original: Original) -> list[tuple[str, ...]]:
    """Return the sensitive values of all records that are kept, as texts."""
    return [_secrets(original, _text(original, original.records[i])) for i in original.kept]


def dissimilar(
    secrets: Sequence[tuple[str, ...]], model: Dissimilarity, distance: Callable[[Any, Any], float]
) -> bool:
    """Return whether no value of a class has too many others close to it (Definition 11 of the paper)."""
    allowed = (1 - model.delta) * (len(secrets) - 1) + ROUNDING
    near = model.epsilon + ROUNDING
    return all(sum(distance(one, other) <= near for other in secrets) - 1 <= allowed for one in secrets)


def distance_of(original: Original, model: Dissimilarity) -> Callable[[Any, Any], float]:
    """Return the distance of two tuples of sensitive values, as texts."""
    columns = original.having(Role.SENSITIVE)
    values = [[_text(original, original.records[i])[c.name] for i in original.kept] for c in columns]
    parts = [_single_distance(original, column) for column in columns]
    named = model.distance
    if callable(named):

        def asked(one: Any, other: Any) -> float:
            plain = [tuple(text or None for text in each) for each in (one, other)]
            return named(*(plain if len(columns) > 1 else [each[0] for each in plain]))

        return asked
    if named == "equality":
        return lambda one, other: float(one != other)
    if named in (None, "absolute", "tree") and len(parts) == 1:
        return lambda one, other: parts[0](one[0], other[0])
    if named == "least":
        return lambda one, other: min(part(a, b) for part, a, b in zip(parts, one, other, strict=True))
    largest = [
        max((d for a in each for b in each if (d := part(a, b)) < math.inf), default=0.0)
        if column.hierarchy is None and column.kind is not Kind.CATEGORICAL
        else 1.0
        for column, part, each in zip(columns, parts, values, strict=True)
    ]
    weights = [column.weight / sum(each.weight for each in columns) for column in columns]

    def norm(one: Any, other: Any) -> float:
        shares = []
        for part, most, a, b in zip(parts, largest, one, other, strict=True):
            apart = part(a, b)
            shares.append(min(apart / most, 1.0) if most else float(apart > 0))
        if named == "linf":
            return max(shares)
        power = 2 if named == "l2" else 1
        return float(sum(w * s**power for w, s in zip(weights, shares, strict=True)) ** (1 / power))

    return norm


def _single_distance(original: Original, column: Column) -> Callable[[str, str], float]:
    if column.hierarchy is not None:
        return _tree_distance(original, column)
    if column.kind is Kind.CATEGORICAL:
        return lambda a, b: float(a != b)

    def apart(a: str, b: str) -> float:
        if not a or not b:
            return 0.0 if a == b else math.inf
        x, y = _datum(column, a), _datum(column, b)
        return float((x - y).days if column.kind is Kind.DATE else x - y)

    return lambda a, b: abs(apart(a, b))


def _tree_distance(original: Original, column: Column) -> Callable[[str, str], float]:
    """Return how high two values meet: steps down to the deepest value, as a share of those from the top."""
    nodes = set(original.nodes(column.name).values())
    if any(original.records[i][column.name] is None for i in original.kept):
        top = max(nodes, key=len)
        nodes = {node for node in nodes if node != top or len(top) == 1} | {top | {""}, frozenset({""})}

    @cache
    def height(node: frozenset[str]) -> int:
        return max((1 + height(other) for other in nodes if other < node), default=0)

    steps = max(height(max(nodes, key=len)), 1)
    return lambda a, b: height(min((n for n in nodes if {a, b} <= n), key=len)) / steps


def _can_be_partitioned(
    rest: tuple[int, ...], secrets: Sequence[Any], model: Dissimilarity, distance: Callable[[Any, Any], float]
) -> bool:
    if not rest:
        return True
    first, others = rest[0], rest[1:]
    for size in range(model.k - 1, len(others) + 1):
        for chosen in combinations(others, size):
            if dissimilar([secrets[i] for i in (first, *chosen)], model, distance):
                left = tuple(i for i in others if i not in chosen)
                if _can_be_partitioned(left, secrets, model, distance):
                    return True
    return False


def _allowed(original: Original, model: Patterned) -> list[frozenset[str]]:
    """Return all combinations of columns that a row may suppress."""
    names = [column.name for column in original.having(Role.QUASI)]
    every = [frozenset(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)]
    most = len(names) if model.up_to is None else model.up_to
    if model.patterns == "all":
        found = [
            pattern
            for pattern in every
            if len(pattern) <= most
            and pattern.isdisjoint(model.never)
            and all(
                later in pattern
                for chain in model.priorities
                for place, name in enumerate(chain)
                if name in pattern
                for later in chain[place:]
            )
        ]
    else:
        found = []
        for given in model.patterns:
            listed = Pattern.of(given)
            chosen = frozenset(listed.keep or ()) if listed.suppress is None else frozenset(listed.suppress)
            found.append(frozenset(names) - chosen if listed.suppress is None else chosen)
    if model.leftovers == "suppress":
        found.append(frozenset(names).difference(model.never))
    return found


def _unpatterned(original: Original, rows: Sequence[Row], model: Patterned) -> Iterator[str]:
    allowed = _allowed(original, model)
    single = set()
    for column in original.having(Role.QUASI):
        values = {_text(original, original.records[i])[column.name] for i in original.kept}
        if len(values) == 1 and column.domain is None and column.hierarchy is None:
            single.add(column.name)
    for row in rows:
        blank = set()
        for column in original.having(Role.QUASI):
            covered = {
                _text(original, original.records[i])[column.name]
                for i in original.kept
                if original.covers(column, row, original.records[i][column.name])
            }
            if row[column.name] == "*":
                blank.add(column.name)
            elif len(covered) != 1:
                yield "a cell is neither exact nor suppressed"
        if not any((pattern - single) == (blank - single) for pattern in allowed):
            yield "a combination of suppressed cells that is not allowed"


def _can_be_patterned(original: Original, records: Sequence[Record], model: Patterned) -> bool:
    """Return whether some classes, of k records each at least, can hold all records."""
    names = [column.name for column in original.having(Role.QUASI)]
    classes = set()
    for pattern in _allowed(original, model):
        shown = [
            tuple(None if name in pattern else _text(original, record)[name] for name in names)
            for record in records
        ]
        for members in _grouped(shown).values():
            if len(members) >= model.k:
                classes.add(frozenset(members))
    for count in range(1, len(records) // model.k + 1):
        for chosen in combinations(classes, count):
            if len(frozenset().union(*chosen)) == len(records):
                seats = [members for members in chosen for _ in range(model.k)]
                if _all_at_home(
                    [[i in members for members in seats] for i in range(len(records))], len(seats)
                ):
                    return True
    return False


def _undiverse(
    original: Original,
    rows: Sequence[Row],
    crowds: Sequence[Sequence[int]],
    frequency: float | None,
    different: int | None,
    entropy: float | None,
) -> Iterator[str]:
    for column, crowd in product(original.having(Role.SENSITIVE), crowds):
        often = Counter(rows[j][column.name] for j in crowd).values()
        size = sum(often)
        if frequency is not None and max(often, default=0) * frequency > size * (1 + ROUNDING):
            yield "one sensitive value is too frequent"
        if different is not None and len(often) < different:
            yield "too few different sensitive values"
        if entropy is not None:
            bits = -sum(count / size * math.log(count / size) for count in often)
            if math.exp(bits) < entropy * (1 - ROUNDING):
                yield "too little entropy of sensitive values"


def _fewer(sizes: Any, k: int, what: str) -> Iterator[str]:
    least = min(sizes)
    if least < k:
        yield f"only {least} {what}"


def _all_at_home(fit: Sequence[Sequence[bool]], rows: int) -> bool:
    """Return whether each row can have a record of its own."""

    @cache
    def at_home(row: int, taken: int) -> bool:
        return row == rows or any(
            fits[row] and not taken >> i & 1 and at_home(row + 1, taken | 1 << i)
            for i, fits in enumerate(fit)
        )

    return at_home(0, 0)


def _matches(fit: Sequence[Sequence[bool]]) -> list[list[int]]:
    """Return the rows that each record has in some assignment of all records to all rows."""
    n = len(fit)

    def rest(i: int, j: int) -> list[list[bool]]:
        return [[fits[b] for b in range(n) if b != j] for a, fits in enumerate(fit) if a != i]

    return [[j for j in range(n) if fit[i][j] and _all_at_home(rest(i, j), n - 1)] for i in range(n)]


def _grouped(cells: Sequence[Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, cell in enumerate(cells):
        groups[cell].append(place)
    return groups


def _quasi_cells(original: Original, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    names = []
    for column in original.having(Role.QUASI):
        name = column.name
        names += [name, f"{name}_uncertain", f"{name}_max_errors"] if column.kind is Kind.ITEMS else [name]
    return [tuple(row[name] for name in names) for row in rows]


def _secrets(original: Original, row: Row) -> tuple[str, ...]:
    return tuple(row[column.name] for column in original.having(Role.SENSITIVE))


def _text(original: Original, record: Record) -> dict[str, str]:
    return {column.name: _label(record[column.name]) for column in original.columns}


def _label(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        return " ".join(sorted(value))
    return str(value)


def _datum(column: Column, text: str) -> Any:
    match column.kind:
        case Kind.NUMERIC:
            return float(text)
        case Kind.DATE:
            return datetime.date.fromisoformat(text.strip()[:10])
        case _:
            return [str(value) for value in column.domain or ()].index(text)


def _in_world(row: Row, name: str, items: frozenset[str]) -> bool:
    base, uncertain = (
        {_unescaped(item) for item in _split(row[column], " ") if item}
        for column in (name, f"{name}_uncertain")
    )
    wrong = base ^ items
    return wrong <= uncertain and len(wrong) <= int(row[f"{name}_max_errors"])


def _members(cell: str) -> list[str]:
    return [_unescaped(member) for member in _split(cell, "|")]


def _split(cell: str, mark: str) -> list[str]:
    """Split where a mark stands that is not behind a backslash."""
    parts, place = [""], 0
    while place < len(cell):
        if cell[place] == "\\":
            parts[-1] += cell[place : place + 2]
            place += 2
        elif cell.startswith(mark, place):
            parts.append("")
            place += len(mark)
        else:
            parts[-1] += cell[place]
            place += 1
    return parts


def _unescaped(text: str) -> str:
    plain, place = "", 0
    while place < len(text):
        place += text[place] == "\\"
        plain += text[place : place + 1]
        place += 1
    return plain
