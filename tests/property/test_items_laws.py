"""Releases of random sets of items, alone and beside other columns: promises hold, and brute force agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import event, given
from hypothesis import strategies as st
from itemset_strategies import packed, unpacked, vote

from shoal import InfeasibleError, InputError, Prefixes, Schema, SetAnonymity, SetDiversity, anonymize, audit
from shoal.base.ragged import Lists
from shoal.base.randomness import Randomness
from shoal.kinds.items import Worlds
from shoal.measures import measure
from shoal.measures.items import error_rate, items_loss, query_error
from shoal.methods import METHODS, Circumstances, setgraphs
from shoal.methods.items import as_items
from shoal.methods.setdiversity import varied_groups
from shoal.methods.sets import SMALL as SMALL_SETS
from shoal.recoding import Recoding
from shoal.table import Table

ITEMS = "abcdef"
baskets = st.sets(st.sampled_from(ITEMS)).map(sorted)


@st.composite
def tables(draw: st.DrawFn, least: int = 3, most: int = 12) -> tuple[pl.DataFrame, Schema]:
    """Draw a table of items with a label, perhaps beside an age and a city."""
    n = draw(st.integers(least, most))
    rows = draw(st.lists(baskets, min_size=n, max_size=n))
    data: dict[str, Any] = {"basket": pl.Series(rows, dtype=pl.List(pl.String))}
    quasi = ["basket"]
    if draw(st.booleans()):
        data["age"] = draw(st.lists(st.none() | st.integers(20, 40), min_size=n, max_size=n))
        data["age"][0] = 30
        data["city"] = draw(st.lists(st.sampled_from(["Rome", "Oslo"]), min_size=n, max_size=n))
        quasi += ["age", "city"]
    data["label"] = draw(st.lists(st.sampled_from("pqrs"), min_size=n, max_size=n))
    frame = pl.DataFrame(data)
    weights = {"basket": draw(st.sampled_from([1.0, 3.0]))}
    return frame, Schema.infer(frame, quasi=quasi, sensitive=["label"], weights=weights)


def fits(row: dict[str, Any], record: dict[str, Any]) -> bool:
    """Say whether a released row could be a record's, from what is written alone."""
    row = {name: "" if value is None else value for name, value in row.items()}
    base, uncertain = (set(row[name].split()) for name in ("basket", "basket_uncertain"))
    wrong = base ^ set(record["basket"])
    if not (wrong <= uncertain and len(wrong) <= row["basket_max_errors"]):
        return False
    if "age" not in row:
        return True
    if row["age"] != "*":
        low, _, high = row["age"].partition("..")
        age = record["age"]
        if age is None:
            if low != "":
                return False
        elif low == "" or not int(low) <= age <= int(high or low):
            return False
    return row["city"] == "*" or record["city"] in row["city"].split("|")


@pytest.mark.parametrize("method", sorted(METHODS[SetAnonymity]))
@examples(15)
@given(drawn=tables(), k=st.integers(2, 5), seed=st.integers(0, 9))
def test_k_rows_cover_each_record_and_each_row_covers_k_records(
    method: str, drawn: tuple[pl.DataFrame, Schema], k: int, seed: int
) -> None:
    frame, schema = drawn
    k = min(k, len(frame))
    release = anonymize(frame, schema, SetAnonymity(k=k), method=method, seed=seed)
    assert release.audit.holds
    rows, records = release.written("csv").to_dicts(), frame.to_dicts()
    expected = np.array([[fits(row, record) for row in rows] for record in records])
    assert release.audit.consistency.rows_of_record.tolist() == expected.sum(axis=1).tolist()
    assert release.audit.consistency.records_of_row.tolist() == expected.sum(axis=0).tolist()
    assert expected.sum(axis=1).min() >= k
    assert expected.sum(axis=0).min() >= k
    assert sorted(release.table["label"]) == sorted(frame["label"])
    assert expected[release.key, np.arange(len(rows))].all()


@pytest.mark.parametrize("method", sorted(METHODS[SetDiversity]))
@examples(15)
@given(drawn=tables(), size=st.integers(2, 4), seed=st.integers(0, 9))
def test_rows_with_l_labels_cover_each_record_as_published(
    method: str, drawn: tuple[pl.DataFrame, Schema], size: int, seed: int
) -> None:
    frame, schema = drawn
    try:
        release = anonymize(frame, schema, SetDiversity(l=size), method=method, seed=seed)
    except InfeasibleError as error:
        printed = method == "printed_diversity" and "as printed" in str(error)  # which may fail by itself
        assert printed or frame["label"].value_counts()["count"].max() * size > len(frame)
        return
    assert release.audit.holds
    rows = release.written("csv").to_dicts()
    for record in frame.to_dicts():
        assert len({row["label"] for row in rows if fits(row, record)}) >= size


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=4, max_size=30), st.integers(2, 3))
def test_groups_have_different_labels_of_every_sort(labels: list[tuple[int, int]], size: int) -> None:
    for sort in range(2):
        if len({pair[sort] for pair in labels}) < size:
            return
    sets = packed(([sum(pair) % 3] for pair in labels), 3)
    groups = varied_groups(sets, np.array(labels, dtype=np.int32), size)
    assert set(groups) == set(range(max(groups) + 1))
    for group in set(groups):
        members = [labels[i] for i in np.flatnonzero(groups == group)]
        assert all(len({pair[sort] for pair in members}) >= size for sort in range(2))


@given(tables(), st.integers(2, 3))
def test_what_is_typed_says_the_same_as_what_is_text(drawn: tuple[pl.DataFrame, Schema], k: int) -> None:
    frame, schema = drawn
    release = anonymize(frame, schema, SetAnonymity(k=k), seed=1)
    typed = release._frame(typed=True)
    found = [
        audit(frame, each, schema, SetAnonymity(k=k), key=release.key) for each in (release.table, typed)
    ]
    assert all(each.holds for each in found)
    assert found[0].as_dict() == found[1].as_dict()


@given(tables(least=4), st.randoms())
def test_the_order_of_rows_changes_nothing(drawn: tuple[pl.DataFrame, Schema], random: Any) -> None:
    frame, schema = drawn
    order = list(range(len(frame)))
    random.shuffle(order)
    doubled = pl.concat([frame, frame])
    original = audit(frame, frame, schema)
    shuffled = audit(frame[order], frame, schema)
    assert shuffled.consistency.records_of_row.tolist() == original.consistency.records_of_row.tolist()
    twice = audit(doubled, doubled, schema)
    assert twice.consistency.records_of_row.tolist() == 2 * (2 * original.consistency.records_of_row).tolist()


def recoded(frame: pl.DataFrame, schema: Schema, k: int, method: str = "ring") -> Recoding:
    table = Table.encode(frame, schema)
    return METHODS[SetAnonymity][method](table, SetAnonymity(k=k), Circumstances(Randomness(1)))


@pytest.mark.parametrize("method", sorted(METHODS[SetAnonymity]))
@given(drawn=tables(), k=st.integers(2, 4))
def test_rows_show_what_their_records_vote_for(
    method: str, drawn: tuple[pl.DataFrame, Schema], k: int
) -> None:
    frame, schema = drawn
    recoding = recoded(frame, schema, min(k, len(frame)), method)
    worlds = recoding.values[0]
    assert isinstance(worlds, Worlds)
    assert recoding.graph is not None
    names = worlds.domain.item_of
    sets = [frozenset(names[item] for item in basket) for basket in frame["basket"]]
    for row, records in enumerate(recoding.graph.tolist()):
        base, uncertain, errors = vote(sets, records)
        assert worlds.base[row].tolist() == sorted(base)
        assert worlds.uncertain[row].tolist() == sorted(uncertain)
        assert worlds.most_errors[row] == max(errors)


@given(tables(), st.integers(2, 4), st.integers(0, 9))
def test_methods_and_measures_agree_on_the_error_rate(
    drawn: tuple[pl.DataFrame, Schema], k: int, seed: int
) -> None:
    frame = drawn[0].select("basket", "label")
    schema = Schema.infer(frame, quasi=["basket"], sensitive=["label"])
    table = Table.encode(frame, schema)
    sets, circumstances = as_items(table), Circumstances(Randomness(seed))
    k = min(k, len(frame))
    recodings = [method(table, SetAnonymity(k=k), circumstances) for method in METHODS[SetAnonymity].values()]
    if frame["label"].value_counts()["count"].max() * k <= len(frame):
        event("labels differ, too")
        recodings.append(METHODS[SetDiversity]["freeform"](table, SetDiversity(l=k), circumstances))
    for recoding in recodings:
        assert recoding.graph is not None
        expected = setgraphs.error_rate(sets, recoding.graph)
        if recoding.assignment is not None:  # rows of small tables show the same as others, so look at them
            base = [set(items) for items in recoding.values[0].columns("x", typed=True)[0]]
            carried = [set(frame["basket"][record]) for record in recoding.assignment.tolist()]
            shown = [base[box] for box in recoding.box.tolist()]
            expected = np.mean([len(a ^ b) / max(len(b), 1) for a, b in zip(shown, carried, strict=True)])
        assert items_loss(recoding)["basket"].error_rate == pytest.approx(expected)
    free, ring, gray = (items_loss(recoding)["basket"].error_rate for recoding in recodings[:3])
    assert free <= ring + 1e-12
    assert ring <= gray + 1e-12


@given(tables(least=6), st.integers(2, 3), st.data())
def test_several_sensitive_columns(
    drawn: tuple[pl.DataFrame, Schema], size: int, data: st.DataObject
) -> None:
    n = len(drawn[0])
    other = data.draw(st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))
    frame = drawn[0].select("basket", "label", other=pl.Series(other))
    schema = Schema.infer(frame, quasi=["basket"], sensitive=["label", "other"])
    with pytest.raises(InputError, match="'groups' knows several"):
        anonymize(frame, schema, SetDiversity(l=size), method="cahd")
    try:
        release = anonymize(frame, schema, SetDiversity(l=size), effort="fast")
    except InfeasibleError:
        most = max(frame[name].value_counts()["count"].max() for name in ("label", "other"))
        assert most * size > n
        return
    assert release.audit.holds
    if n > SMALL_SETS:
        assert "several sensitive columns" in release.circumstances["notes"][0]


@given(tables(), st.integers(2, 4))
def test_loss_is_what_its_definition_says(drawn: tuple[pl.DataFrame, Schema], k: int) -> None:
    frame, schema = drawn
    recoding = recoded(frame, schema, min(k, len(frame)))
    attribute, worlds = recoding.table.attributes[0], recoding.values[0]
    assert isinstance(worlds, Worlds)
    assert recoding.graph is not None
    sets = [set(basket) for basket in frame["basket"]]
    base, uncertain = (list(map(set, column)) for column in worlds.columns("x", typed=True)[:2])
    rates = [
        len(base[row] ^ sets[record]) / max(len(sets[record]), 1)
        for row, records in enumerate(recoding.graph)
        for record in records
    ]
    loss = measure(recoding, k)
    assert loss.items["basket"].error_rate == pytest.approx(np.mean(rates))
    assert error_rate(recoding, attribute, worlds) == loss.items["basket"].error_rate
    assert loss.items["basket"].uncertain == pytest.approx(np.mean([len(each) for each in uncertain]))
    jaccard = []
    for records in recoding.graph:
        members = [sets[record] for record in records]
        together, common = set.union(*members), set.intersection(*members)
        jaccard.append(1 - len(common) / len(together) if together else 0.0)
    assert worlds.ncp() == pytest.approx(jaccard)
    possible = [
        sum(bin(number).count("1") <= most for number in range(2 ** len(doubtful)))
        for doubtful, most in zip(uncertain, worlds.most_errors.tolist(), strict=True)
    ]
    assert 2 ** worlds.bits() == pytest.approx(possible)
    width = len({item for each in sets for item in each})
    if width:
        everything = query_error(recoding, attribute, worlds, width, absent=True, queries=3)
        some = abs(sum(map(bool, sets)) - sum(map(bool, base))) / len(frame)
        assert everything == pytest.approx(some)
        with_all = query_error(recoding, attribute, worlds, width, absent=False, queries=3)
        counts = [sum(len(each) == width for each in side) for side in (sets, base)]
        assert with_all == pytest.approx(abs(counts[0] - counts[1]) / len(frame))


@given(tables(), st.integers(2, 4))
def test_a_larger_crowd_never_costs_less(drawn: tuple[pl.DataFrame, Schema], k: int) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    domain, codes = table.attributes[0].domain, table.attributes[0].codes
    smaller, larger = (
        domain.closure(codes[:size], np.array([0, size])) for size in (k - 1, min(k, len(codes)))
    )
    assert smaller.ncp()[0] <= larger.ncp()[0]
    assert larger.covers(np.zeros(k - 1, np.int32), codes[: k - 1]).all()


@given(tables())
def test_records_as_items_agree_where_they_are_equal(drawn: tuple[pl.DataFrame, Schema]) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    found = as_items(table)
    items = Lists(*found.arrays)
    assert len(items) == len(table)
    assert items.values.max(initial=-1) < found.size
    for i in range(len(table)):
        assert (np.diff(items[i]) > 0).all()
        for j in range(i):
            same = (table.codes[i] == table.codes[j]).all()
            if same:
                assert items[i].tolist() == items[j].tolist()


@pytest.mark.parametrize(("weight", "steps"), [(1.0, 3), (2.0, 6), (0.5, 2)])
def test_other_columns_are_worth_as_many_items_as_they_weigh(weight: float, steps: int) -> None:
    frame = pl.DataFrame(
        {
            "basket": [["a", "b", "c"]] * 4,
            "age": [20, 40, 30, None],
            "city": ["Rome", "Rome", "Oslo", "Bonn"],
            "zip": ["11", "12", "21", "22"],
        }
    )
    columns = ["age", "city", "zip"]
    schema = Schema.infer(
        frame,
        quasi=["basket", *columns],
        weights=dict.fromkeys(columns, weight),
        hierarchies={"zip": Prefixes((1,))},
    )
    sets = unpacked(as_items(Table.encode(frame, schema)))
    halfway = round(steps / 2)
    city, leaf = (
        max(halfway, 1),
        max(steps // 2, 1),
    )  # two steps lead from one city to all, or from leaf to root
    assert len(sets[0] ^ sets[1]) == steps + 2 * leaf  # the other end of the scale; another leaf
    assert len(sets[0] ^ sets[2]) == halfway + 2 * city + 4 * leaf  # another city, and another branch
    # Missing is beyond the end of the scale.
    assert len(sets[2] ^ sets[3]) == 2 * steps - halfway + 2 * city + 2 * leaf
