"""Patterns where persons have several records: no person has more than 1 in k rows of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InfeasibleError
from shoal.methods.copies import occurrence

NONE = -1


def person_patterns(
    codes: NDArray[np.int32],
    owners: NDArray[np.int32],
    suppressed: NDArray[np.bool_],
    costs: NDArray[np.float64],
    k: int,
) -> NDArray[np.int32]:
    """Return a pattern for each record such that no person has more than 1 in k records of a class.

    The greedy heuristic of `kernels.cover`, where the records that look the same under a pattern are taken as
    far as persons allow: at most c of each person, if at least k x c are taken then; the largest such c.
    Records that are left over get the last pattern, together with whole classes, the cheapest first, until no
    person has too many. O(patterns x records x columns).

    Parameters
    ----------
    codes, owners
        The records, and the person of each.
    suppressed, costs
        The columns that each pattern suppresses and what a row costs under it, the cheapest first.
    k
        Minimum number of records in a class for each record that a person has in it.

    Raises
    ------
    InfeasibleError
        If no pattern was found for some records.
    """
    pattern_of = np.full(len(codes), NONE, dtype=np.int32)
    for pattern, hidden in enumerate(suppressed):
        free = np.flatnonzero(pattern_of == NONE)
        if len(free) == 0:
            return pattern_of
        looks, _ = kernels.group_rows(_shown(codes[free], hidden))
        pattern_of[free[_taken(looks, owners[free], k)]] = pattern
    left = np.flatnonzero(pattern_of == NONE)
    if len(left) == 0:
        return pattern_of
    places, _ = kernels.group_rows(_shown(codes, suppressed[-1]))
    most = _largest_share(places, owners)
    tight = most[places[left]] * k > 1 + 1e-9
    if tight.any() or (suppressed[-1] < suppressed.any(axis=0)).any():
        raise InfeasibleError(
            f"no way was found to give each record a pattern together with records of k = {k} persons: "
            f"{len(left)} are left over; allow more patterns, let leftovers be suppressed, or keep fewer "
            "records of each person (most_per_person)"
        )
    classes, _ = kernels.group_rows(
        np.column_stack((pattern_of, np.where(suppressed[pattern_of], NONE, codes))).astype(np.int32)
    )
    dearer = costs[-1] - costs[pattern_of]
    for place in np.unique(places[left]):
        inside = np.flatnonzero(places == place)
        _join(pattern_of, inside, classes[inside], owners[inside], dearer[inside], len(costs) - 1, k)
    return pattern_of


def _shown(codes: NDArray[np.int32], hidden: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return what can be seen of some records under a pattern."""
    return np.where(hidden, np.int32(NONE), codes).astype(np.int32)


def _taken(looks: NDArray[np.int32], owners: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """Return which records are taken: at most c of each person of a group, if k x c or more are taken."""
    number = occurrence(looks, owners)
    pairs, place, many = np.unique(
        np.column_stack((looks, number)), axis=0, return_inverse=True, return_counts=True
    )
    # The more of each person are taken, the fewer persons have as many: once there are too few, it stays so.
    sums = np.cumsum(many)
    first = np.flatnonzero(np.diff(pairs[:, 0], prepend=NONE))
    before = np.repeat(sums[first] - many[first], np.diff(np.append(first, len(pairs))))
    enough = sums - before >= k * (pairs[:, 1] + 1)
    return np.asarray(enough[place.ravel()])


def _largest_share(groups: NDArray[np.int32], owners: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each group which share of it the person with most records there has."""
    pairs, many = np.unique(np.column_stack((groups, owners)), axis=0, return_counts=True)
    sizes = np.bincount(groups)
    shares = np.zeros(len(sizes))
    np.maximum.at(shares, pairs[:, 0], many / sizes[pairs[:, 0]])
    return shares


def _join(
    pattern_of: NDArray[np.int32],
    records: NDArray[np.int64],
    classes: NDArray[np.int32],
    owners: NDArray[np.int32],
    dearer: NDArray[np.float64],
    last: int,
    k: int,
) -> None:
    """Give the last pattern to those of some records that have none, and to classes until persons are few."""
    joined = (pattern_of[records] == NONE) | (pattern_of[records] == last)
    names, number = np.unique(classes, return_inverse=True)
    price = np.bincount(number, dearer, len(names))
    members = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    count = np.bincount(owners[joined], minlength=int(owners.max()) + 1)
    size, most = int(joined.sum()), int(count.max())
    for each in np.argsort(price, kind="stable"):
        if most * k <= size:
            break
        if not joined[members[each][0]]:
            joined[members[each]] = True
            np.add.at(count, owners[members[each]], 1)
            size, most = size + len(members[each]), int(count.max())
    pattern_of[records[joined]] = last
