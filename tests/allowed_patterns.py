"""Which combinations of columns a row may suppress, and whether a release or a table keeps to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations

from few_records import Original, Record, Row, all_at_home, grouped, text_of

from shoal import Pattern, Patterned
from shoal.schema import Role


def unpatterned(original: Original, rows: Sequence[Row], model: Patterned) -> Iterator[str]:
    allowed = _allowed(original, model)
    single = set()
    for column in original.having(Role.QUASI):
        values = {text_of(original, original.records[i])[column.name] for i in original.kept}
        if len(values) == 1 and column.domain is None and column.hierarchy is None:
            single.add(column.name)
    for row in rows:
        blank = set()
        for column in original.having(Role.QUASI):
            covered = {
                text_of(original, original.records[i])[column.name]
                for i in original.kept
                if original.covers(column, row, original.records[i][column.name])
            }
            if row[column.name] == "*":
                blank.add(column.name)
            elif len(covered) != 1:
                yield "a cell is neither exact nor suppressed"
        if not any((pattern - single) == (blank - single) for pattern in allowed):
            yield "a combination of suppressed cells that is not allowed"


def can_be_patterned(
    original: Original, records: Sequence[Record], model: Patterned, varied: Callable[[frozenset[int]], bool]
) -> bool:
    """Return whether some classes, of k records each at least, and varied enough, can hold all records."""
    names = [column.name for column in original.having(Role.QUASI)]
    groups = set()
    for pattern in _allowed(original, model):
        shown = [
            tuple(None if name in pattern else text_of(original, record)[name] for name in names)
            for record in records
        ]
        groups |= {frozenset(members) for members in grouped(shown).values() if len(members) >= model.k}
    if model.diversity is None:
        return _can_be_filled(groups, len(records), model.k)

    @cache
    def divided(left: frozenset[int]) -> bool:
        """Return whether these records can be divided into classes; the first is in one of them."""
        if not left:
            return True
        return any(
            varied(chosen) and divided(left - chosen)
            for chosen in {
                frozenset((min(left), *others))
                for members in groups
                if min(left) in members
                for size in range(model.k - 1, len(records))
                for others in combinations(sorted((members & left) - {min(left)}), size)
            }
        )

    return divided(frozenset(range(len(records))))


def _can_be_filled(groups: set[frozenset[int]], records: int, k: int) -> bool:
    for count in range(1, records // k + 1):
        for chosen in combinations(groups, count):
            if len(frozenset().union(*chosen)) == records:
                seats = [members for members in chosen for _ in range(k)]
                if all_at_home([[i in members for members in seats] for i in range(records)], len(seats)):
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
