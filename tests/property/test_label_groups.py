"""Groups of neighbours with different labels: the kernels agree with plain loops over records."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import itemsets
from shoal.methods.setdiversity import diverse_groups, united_groups
from tests import label_groups_twin as twin

LABELS = st.lists(st.integers(0, 8), min_size=1, max_size=80)


def most(labels: list[int]) -> int:
    """Return the largest l that the labels allow."""
    return len(labels) // int(np.bincount(labels).max())


@given(LABELS, st.data())
def test_an_order_is_cut_as_by_the_plain_loop(labels: list[int], data: st.DataObject) -> None:
    different = data.draw(st.integers(1, most(labels)))
    inner = data.draw(st.sets(st.integers(1, len(labels))))
    ends = sorted(inner | {len(labels)})
    cuts = itemsets.cut_where_diverse(np.array(labels), np.array(ends), different)
    assert cuts.tolist() == twin.cut_where_diverse(labels, ends, different)


@given(LABELS, st.data())
def test_stretches_are_distributed_as_by_the_plain_loop(labels: list[int], data: st.DataObject) -> None:
    different = data.draw(st.integers(1, most(labels)))
    assert diverse_groups(np.array(labels), different).tolist() == twin.diverse_groups(labels, different)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 9), st.data())
def test_groups_are_those_of_the_plain_loop(
    columns: int, different: int, window: int, data: st.DataObject
) -> None:
    row = st.lists(st.integers(0, 5), min_size=columns, max_size=columns)
    labels = data.draw(st.lists(row, min_size=1, max_size=40))
    found = itemsets.varied_groups(np.array(labels), different, window)
    assert found.tolist() == twin.varied_groups(labels, different, window)


@given(LABELS, st.data())
def test_groups_are_united_until_no_person_has_too_many(owners: list[int], data: st.DataObject) -> None:
    different = data.draw(st.integers(1, most(owners)))
    drawn = data.draw(st.lists(st.integers(0, 9), min_size=len(owners), max_size=len(owners)))
    groups = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    united = united_groups(groups, np.array(owners, dtype=np.int32), different)
    assert united.dtype == np.int32
    for number in range(int(united.max()) + 1):
        inside = np.flatnonzero(united == number)
        assert int(np.bincount(np.array(owners)[inside]).max()) * different <= len(inside)
        whole = np.isin(groups, groups[inside])
        assert (np.flatnonzero(whole) == inside).all()
