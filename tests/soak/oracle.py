"""An oracle that shares no code with Shoal: the guarantees, as docs/promises.md defines them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations
from typing import Any

import numpy as np
from oracle_reading import Plain, Reading, number
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

ROUNDING = 1e-9
"""Entropies and distances, which are no fractions, that differ by no more are the same."""


def undiverse(counts: Counter[str], asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a crowd of sensitive values breaks."""
    size = counts.total()
    if (least := asked.get("l")) is not None and max(counts.values()) * least > size * (1 + ROUNDING):
        yield f"a value is more frequent than 1 in {least}"
    if (least := asked.get("p")) is not None and len(counts) < least:
        yield f"fewer than {least} values"
    if (least := asked.get("entropy_l")) is not None:
        entropy = -sum(often / size * math.log(often / size) for often in counts.values())
        if math.exp(entropy) < least * (1 - ROUNDING):
            yield f"entropy of {math.exp(entropy):.4g} instead of {least}"


def breaches(reading: Reading, model: str, asked: Mapping[str, Any], extra: Extra | None = None) -> list[str]:
    """Return what a release breaks of a guarantee.

    Parameters
    ----------
    reading
        The release beside its original.
    model, asked
        The name of the model, and its parameters that are set.
    extra
        What else is to be checked, given the reading.
    """
    withheld = math.ceil(Fraction(repr(asked.get("withhold", 0.0))) * reading.records)
    if reading.rows != reading.records - withheld:
        return [f"{reading.rows} rows for {reading.records} records"]
    if not reading.perfect:
        return ["not every row can have a record of its own"]
    found = list(GUARANTEES[model](reading, asked))
    return found + (list(extra(reading)) if extra else [])


Extra = Callable[[Reading], Iterator[str]]


def _few(sizes: Sequence[int], k: int, what: str) -> Iterator[str]:
    if min(sizes) < k:
        yield f"only {min(sizes)} {what}"


def _varied(reading: Reading, asked: Mapping[str, Any], *places: Sequence[Sequence[int]]) -> Iterator[str]:
    for column in reading.sheet.having("sensitive"):
        for crowds in places:
            for counts in reading.values_in(column, crowds):
                yield from undiverse(counts, asked)


def _whole(reading: Reading) -> list[list[int]]:
    return [list(range(reading.rows))]


def _k_anonymity(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _few([len(members) for members in reading.classes], asked["k"], "identical rows")
    yield from _varied(reading, asked, reading.classes)


def _freeform(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _few([len(rows) for rows in reading.around], asked["k"], "rows around a record")
    yield from _few(reading.covered, asked["k"], "records in a row")
    yield from _few([len(rows) for rows in reading.matches], asked["k"], "matches of a record")
    yield from _varied(reading, asked, reading.around, reading.matches, _whole(reading))


def _set_diversity(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _freeform(reading, {"k": asked["l"], "p": asked["l"]})
    yield from _varied(reading, {"l": asked["l"]}, _whole(reading))


def _likely(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    """Check that rows can be assigned to records such that no pair is too likely."""
    most = Fraction(asked.get("chance", 1)).limit_denominator(1000)
    if most == 1:
        return
    # Each record sends the same number of units to rows around it, and each row must get as many.
    edges = [(record, row) for record, rows in enumerate(reading.around) for row in rows]
    records = len(reading.around)
    source, sink = records + reading.rows, records + reading.rows + 1
    begin = [source] * records + [record for record, _ in edges] + [records + j for j in range(reading.rows)]
    end = [*range(records), *(records + row for _, row in edges), *[sink] * reading.rows]
    capacity = [most.denominator] * records + [most.numerator] * len(edges)
    capacity += [most.denominator] * reading.rows
    network = csr_array((np.array(capacity, np.int32), (begin, end)), shape=(sink + 1, sink + 1))
    if maximum_flow(network, source, sink).flow_value < most.denominator * reading.rows:
        yield "a guess about a row is too likely to be right"


def _covering(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    crowds = [rows for rows in reading.around if rows]  # a record that is withheld may have none
    yield from _few([len(rows) for rows in crowds], asked["k"], "rows around a record")
    yield from _likely(reading, asked)
    yield from _varied(reading, asked, crowds, _whole(reading))


def _covered(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _few(reading.covered, asked["k"], "records in a row")
    yield from _likely(reading, asked)
    yield from _varied(reading, asked, [rows for rows in reading.around if rows], _whole(reading))


def _both(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _covering(reading, asked)
    yield from _covered(reading, {"k": asked["k"]})


def _km_anonymity(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    for some in combinations(reading.by_column, min(asked["knows"], len(reading.by_column))):
        seen = [
            [all(column[record][row] for column in some) for row in range(reading.rows)]
            for record in range(reading.records)
        ]
        yield from _few([sum(line) for line in seen], asked["k"], "rows around a record in a few columns")
        yield from _few([sum(line) for line in zip(*seen, strict=True)], asked["k"], "records in a row there")


def _concealment(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _few([len(rows) for rows in reading.matches], asked["k"], "matches of a record")
    if asked.get("two_sided"):
        often = Counter(row for rows in reading.matches for row in rows)
        yield from _few([often[row] for row in range(reading.rows)], asked["k"], "matches of a row")
    yield from _likely(reading, asked)
    yield from _varied(reading, asked, reading.matches, _whole(reading))


def _patterned(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _k_anonymity(reading, asked)
    sheet = reading.sheet
    quasi = sheet.having("quasi")
    either = set()  # with a single value, an exact cell says no more than a suppressed one
    for column in quasi:
        values = {column.value(sheet.cells[column.name][i]) for i in sheet.kept}
        if len(values) == 1:
            either.add(column.name)
        for cell in set(reading.released[column.name]) - {"*"}:
            if sum(column.covers([cell], value) for value in values) != 1:
                yield f"{cell!r} is neither exact nor suppressed"
    allowed = [pattern - either for pattern in allowed_patterns([c.name for c in quasi], asked)]
    for row in range(reading.rows):
        blank = {column.name for column in quasi if reading.released[column.name][row] == "*"} - either
        if blank not in allowed:
            yield f"suppressing {sorted(blank)} is not allowed"


def allowed_patterns(names: Sequence[str], asked: Mapping[str, Any]) -> list[set[str]]:
    """Return all combinations of columns that a row may suppress."""
    never = set(asked.get("never", ()))
    patterns = asked.get("patterns", "all")
    if patterns == "all":
        found = [
            set(chosen)
            for size in range(min(len(names), asked.get("up_to", len(names))) + 1)
            for chosen in combinations(names, size)
            if never.isdisjoint(chosen) and all(_in_turn(set(chosen), c) for c in asked.get("priorities", ()))
        ]
    else:
        found = [set(each["suppress"]) for each in patterns]
    return [*found, set(names) - never] if asked.get("leftovers", "suppress") == "suppress" else found


def _in_turn(chosen: set[str], chain: Sequence[str]) -> bool:
    """Return whether a column is suppressed only if those after it in a chain are."""
    blank = [name in chosen for name in chain]
    return blank == sorted(blank)


def _dissimilarity(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    """Check classes; distances as well where they are plain: equality, or of one column of numbers."""
    yield from _k_anonymity(reading, {"k": asked["k"]})
    secrets = reading.sheet.having("sensitive")
    numeric = [column.kind == "numeric" for column in secrets] == [True]
    if asked.get("distance") != "equality" and not (numeric and asked.get("distance") in (None, "absolute")):
        return
    shown = list(zip(*(reading.released[column.name] for column in secrets), strict=True))

    def near(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        if asked.get("distance") == "equality":
            apart = any(c.meaning(a) != c.meaning(b) for c, a, b in zip(secrets, one, other, strict=True))
            return apart <= asked["epsilon"]
        values = [secrets[0].value(each[0]) for each in (one, other)]
        if None in values:
            return values[0] is values[1]
        return bool(abs(values[0] - values[1]) <= asked["epsilon"] + ROUNDING)

    for members in reading.classes:
        allowed = (1 - asked["delta"]) * (len(members) - 1) + ROUNDING
        if any(sum(near(shown[a], shown[b]) for b in members) - 1 > allowed for a in members):
            yield "too many close values in a class"


Differs = Callable[[Plain, Counter[str], Counter[str], Mapping[str, Any]], bool]
"""Whether the values of a column in a class differ too much from those in the whole release."""


def _like_the_whole(differs: Differs) -> Callable[[Reading, Mapping[str, Any]], Iterator[str]]:
    def guarantee(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
        yield from _few([len(members) for members in reading.classes], asked["k"], "identical rows")
        for column in reading.sheet.having("sensitive"):
            whole = reading.values_in(column, _whole(reading))[0]
            if any(
                differs(column, each, whole, asked) for each in reading.values_in(column, reading.classes)
            ):
                yield f"a class of {column.name} is not like the whole"

    return guarantee


def _far(column: Plain, part: Counter[str], whole: Counter[str], asked: Mapping[str, Any]) -> bool:
    """Return whether the earth mover's distance is above t."""
    ordered = asked.get("ground_distance", "ordered" if column.kind == "numeric" else "equal") == "ordered"
    values = sorted(whole, key=lambda text: (number(text) is None, number(text))) if ordered else list(whole)
    more = [Fraction(part[each], part.total()) - Fraction(whole[each], whole.total()) for each in values]
    if ordered:
        work = sum(map(abs, accumulate(more)), Fraction(0)) / max(len(values) - 1, 1)
    else:
        work = sum(map(abs, more), Fraction(0)) / 2
    return work > asked["t"] + ROUNDING


def _gained(column: Plain, part: Counter[str], whole: Counter[str], asked: Mapping[str, Any]) -> bool:
    """Return whether a value is more frequent than beta allows."""
    del column
    for value, often in part.items():
        share = Fraction(whole[value], whole.total())
        limit = min(asked["beta"], -math.log(share)) if asked.get("enhanced") else asked["beta"]
        if Fraction(often, part.total()) / share - 1 > limit + ROUNDING:
            return True
    return False


def _disclosed(column: Plain, part: Counter[str], whole: Counter[str], asked: Mapping[str, Any]) -> bool:
    """Return whether a value is missing, or its share differs by delta bits or more."""
    del column
    return any(
        not part[value]
        or abs(math.log2(Fraction(part[value], part.total()) / Fraction(often, whole.total())))
        >= asked["disclosure_delta"] * (1 - ROUNDING)
        for value, often in whole.items()
    )


def _covered_people(reading: Reading, asked: Mapping[str, Any]) -> list[list[int]]:
    """Return which records of the population each row covers; `population` has the texts of each column."""
    columns = reading.sheet.having("quasi")
    people = list(zip(*(asked["population"][column.name] for column in columns), strict=True))
    return [
        [
            place
            for place, texts in enumerate(people)
            if all(
                column.covers(
                    [reading.released[name][row] for name in column.released_as], column.value(text)
                )
                for column, text in zip(columns, texts, strict=True)
            )
        ]
        for row in range(reading.rows)
    ]


def _k_map(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    covered = _covered_people(reading, asked)
    yield from _few([len(people) for people in covered], asked["k"], "people of the population in a row")


def _delta_presence(reading: Reading, asked: Mapping[str, Any]) -> Iterator[str]:
    covered = _covered_people(reading, asked)
    if not all(covered):
        yield "a row covers no one of the population"
    chances = [Fraction(0)] * len(next(iter(asked["population"].values())))
    for people in covered:
        for each in people:
            chances[each] += Fraction(1, len(people))
    if min(chances) < asked.get("delta_min", 0) - ROUNDING or max(chances) > asked["delta_max"] + ROUNDING:
        yield f"chances to be in the table from {float(min(chances)):.4g} to {float(max(chances)):.4g}"


GUARANTEES: dict[str, Callable[[Reading, Mapping[str, Any]], Iterator[str]]] = {
    "k-anonymity": _k_anonymity,
    "freeform": _freeform,
    "set-anonymity": _freeform,
    "set-diversity": _set_diversity,
    "1k": _covering,
    "k1": _covered,
    "kk": _both,
    "concealment": _concealment,
    "km-anonymity": _km_anonymity,
    "patterned": _patterned,
    "dissimilarity": _dissimilarity,
    "t-closeness": _like_the_whole(_far),
    "beta-likeness": _like_the_whole(_gained),
    "delta-disclosure": _like_the_whole(_disclosed),
    "k-map": _k_map,
    "delta-presence": _delta_presence,
}
"""What each model promises, by its name; a test requires that none is left out."""


def persons_broken(reading: Reading, model: str, k: int, key: Sequence[int]) -> Iterator[str]:
    """Yield what a release breaks of the guarantee of persons; `key` is the kept record of each row."""
    who = reading.sheet.owners
    if who is None:
        return
    kept = Counter(who[record] for record in key)
    matched = model == "concealment"
    near = reading.matches if matched else reading.around
    inside: list[set[str]] = [set() for _ in range(reading.rows)]
    union: dict[str, set[int]] = {name: set() for name in kept}
    for record, rows in enumerate(near):
        union.setdefault(who[record], set()).update(rows)  # all records of a person may be withheld
        for row in rows:
            inside[row].add(who[record])
    if model != "1k" and not (matched and max(kept.values()) == 1):
        yield from _few([len(names) for names in inside], k, "persons in a row")
    if model == "k1":
        return
    for name, often in kept.items():
        if len(union[name]) < k * often:
            yield f"{len(union[name])} rows around the {often} records of a person"
    if model in ("k-anonymity", "patterned"):
        for members in reading.classes:
            if max(Counter(who[key[row]] for row in members).values()) * k > len(members):
                yield "a person has more than 1 in k rows of a class"
    elif not matched:
        for record, rows in enumerate(reading.around):
            if sum(who[key[row]] == who[record] for row in rows) * k > len(rows):
                yield "rows around a record carry too many records of its person"
