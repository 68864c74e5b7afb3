"""Hierarchies: reading, checking, building by rule, and the arrays inside."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

from shoal.errors import InputError, Reason
from shoal.kinds.hierarchy import MISSING, Hierarchy, HierarchySource
from shoal.kinds.hierarchy_rules import Intervals, Prefixes

ADULT = {
    "age": 100,
    "capital-gain": 123,
    "capital-loss": 99,
    "education": 16,
    "education-num": 16,
    "hours-per-week": 96,
    "income": 2,
    "marital-status": 7,
    "native-country": 41,
    "occupation": 14,
    "race": 5,
    "relationship": 6,
    "sex": 2,
    "workclass": 8,
}
PLACES = [
    ["Paris", "France", "Europe", "*"],
    ["Lima", "Peru", "America", "*"],
    ["Lyon", "France", "Europe", "*"],
    ["Rome", "Italy", "Europe", "*"],
    ["Cusco", "Peru", "America", "*"],
]


@pytest.fixture
def places() -> Hierarchy:
    return Hierarchy.from_levels(PLACES)


def refuse(rows: list[list[str]], reason: Reason = Reason.HIERARCHY_NOT_A_TREE) -> str:
    with pytest.raises(InputError) as caught:
        Hierarchy.from_levels(rows, name="places")
    assert caught.value.reason is reason
    assert str(caught.value).startswith("places")
    return str(caught.value)


class TestShape:
    def test_nodes_are_in_preorder_and_siblings_in_order_of_appearance(self, places: Hierarchy) -> None:
        assert places.labels == ("*", "Europe", "France", "Paris", "Lyon", "Rome", "Peru", "Lima", "Cusco")
        assert places.parent.tolist() == [-1, 0, 1, 2, 2, 1, 0, 6, 6]
        assert places.depth.tolist() == [0, 1, 2, 3, 3, 2, 1, 2, 2]

    def test_each_node_covers_a_range_of_leaves(self, places: Hierarchy) -> None:
        assert places.leaves == ("Paris", "Lyon", "Rome", "Lima", "Cusco")
        assert places.first.tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 4]
        assert places.last.tolist() == [4, 2, 1, 0, 1, 2, 4, 3, 4]
        assert places.leaf_node.tolist() == [3, 4, 5, 7, 8]
        assert places.leaf_index == {"Paris": 0, "Lyon": 1, "Rome": 2, "Lima": 3, "Cusco": 4}
        assert places.size([0, 1, 2, 3]).tolist() == [5, 3, 2, 1]

    def test_types(self, places: Hierarchy) -> None:
        for name in ("parent", "depth", "first", "last", "leaf_node"):
            assert getattr(places, name).dtype == np.int32
        assert places.size(0).dtype == np.int64
        assert places.ancestor(0, 1).dtype == np.int32

    def test_nothing_can_be_changed(self, places: Hierarchy) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            places.labels = ()  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            places.parent[0] = 1

    def test_node_of(self, places: Hierarchy) -> None:
        assert places.node_of("France") == 2
        assert places.node_of("Spain") is None

    def test_equality_hash_repr_and_pickle(self, places: Hierarchy) -> None:
        again = Hierarchy.from_levels(PLACES)
        other = Hierarchy.from_levels(PLACES[:4])
        assert again == places
        assert hash(again) == hash(places)
        assert other != places
        assert places != "places"
        assert pickle.loads(pickle.dumps(places)) == places
        assert repr(places) == "<Hierarchy '*': 5 leaves, 9 nodes, height 3>"

    def test_sources_agree_on_one_method(self, places: Hierarchy) -> None:
        sources: list[HierarchySource] = [places, Intervals((10,)), Prefixes((1,))]
        assert all(callable(source.over) for source in sources)


class TestAncestor:
    def test_pairs(self, places: Hierarchy) -> None:
        low, high = [0, 0, 0, 0, 3, 2], [0, 1, 2, 4, 4, 3]
        expected = ["Paris", "France", "Europe", "*", "Peru", "*"]
        assert [places.labels[node] for node in places.ancestor(low, high)] == expected
        assert np.array_equal(places.ancestor(high, low), places.ancestor(low, high))

    def test_scalars_and_broadcasting(self, places: Hierarchy) -> None:
        assert places.labels[places.ancestor(0, 1)] == "France"
        grid = places.ancestor(np.arange(5, dtype=np.uint8)[:, None], np.arange(5, dtype=np.uint8))
        assert grid.shape == (5, 5)
        assert np.array_equal(np.diag(grid), places.leaf_node)
        assert places.ancestor([], []).shape == (0,)

    def test_single_leaf(self) -> None:
        assert Hierarchy.from_levels([["a", "*"]]).ancestor([0], [0]).tolist() == [0]


class TestLevels:
    def test_table_reads_back(self, places: Hierarchy) -> None:
        assert places.levels()[2] == ["Rome", "Rome", "Europe", "*"]
        assert Hierarchy.from_levels(places.levels()) == places

    def test_rows_of_different_lengths(self) -> None:
        tree = Hierarchy.from_levels([["a", "g", "*"], ["b", "g", "*"], ["c", "*"]])
        assert tree.levels() == [["a", "g", "*"], ["b", "g", "*"], ["c", "c", "*"]]

    def test_repeated_and_empty_cells_add_no_level(self) -> None:
        plain = Hierarchy.from_levels([["a", "g", "*"], ["b", "g", "*"], ["c", "*"]])
        padded = [["a", "a", "g", "*", ""], ["b", "", "g", "*"], ["c", "c", "c", "*", "", ""], []]
        assert Hierarchy.from_levels(padded) == plain

    def test_identical_rows_are_one(self, places: Hierarchy) -> None:
        assert Hierarchy.from_levels([*PLACES, *PLACES]) == places

    def test_root_is_put_on_top_if_rows_end_differently(self) -> None:
        tree = Hierarchy.from_levels([["a", "g"], ["b", "g"], ["c"], ["d", "*"]])
        assert tree.labels == ("*", "g", "a", "b", "c", "d")

    def test_root_differs_from_the_values(self) -> None:
        assert Hierarchy.from_levels([["*"], ["a"]]).labels == ("**", "*", "a")

    def test_root_of_another_name(self) -> None:
        assert Hierarchy.from_levels([["a", "Any"], ["b", "Any"]]).labels[0] == "Any"

    def test_missing_may_have_its_own_row(self) -> None:
        tree = Hierarchy.from_levels([["a", "g", "*"], [MISSING, "g", "*"], ["b", "*"]])
        assert tree.leaves == ("a", MISSING, "b")
        assert tree.over(["a", MISSING]) is tree
        assert Hierarchy.from_levels(tree.levels()) == tree


class TestChains:
    def test_lowest_label_stays_and_others_are_known(self) -> None:
        tree = Hierarchy.from_levels(
            [
                ["Oslo", "Norway", "North", "*"],
                ["Rome", "Italy", "South", "*"],
                ["Pisa", "Italy", "South", "*"],
            ]
        )
        assert tree.labels == ("*", "Oslo", "Italy", "Rome", "Pisa")
        assert tree.node_of("Norway") == tree.node_of("North") == tree.node_of("Oslo") == 1
        assert tree.node_of("South") == tree.node_of("Italy") == 2

    def test_root_keeps_the_highest_label(self) -> None:
        tree = Hierarchy.from_levels([["a", "g", "h", "*"], ["b", "g", "h", "*"]])
        assert tree.labels == ("*", "a", "b")
        assert tree.node_of("g") == tree.node_of("h") == 0

    def test_single_leaf_keeps_its_value(self) -> None:
        tree = Hierarchy.from_levels([["a", "g", "*"]])
        assert tree.labels == tree.leaves == ("a",)
        assert tree.node_of("*") == tree.node_of("g") == 0
        assert tree.levels() == [["a"]]


class TestNotATree:
    def test_value_with_two_parents(self) -> None:
        message = refuse([["a", "g", "*"], ["b", "g", "*"], ["a", "h", "*"]])
        assert "'a' lies below 'g' and below 'h'" in message

    def test_value_with_different_ancestors(self) -> None:
        assert "'g' lies below 'x' and below 'y'" in refuse([["a", "g", "x", "*"], ["a", "g", "y", "*"]])

    def test_level_left_out(self) -> None:
        assert "'a' lies below 'g' and below '*'" in refuse([["a", "g", "*"], ["a", "*"]])

    def test_group_with_two_parents(self) -> None:
        assert "'g' lies below 'x' and below 'y'" in refuse([["a", "g", "x", "*"], ["b", "g", "y", "*"]])

    def test_cycle_in_a_row(self) -> None:
        assert "'a' lies below 'b' and below '*'" in refuse([["a", "b", "a", "*"]])

    def test_cycle_over_rows(self) -> None:
        assert "'h' lies below '*' and below 'g'" in refuse([["a", "g", "h", "*"], ["b", "h", "g", "*"]])

    def test_root_below_something(self) -> None:
        assert "'*' lies at the top and below 'x'" in refuse([["a", "*", "x", "*"], ["b", "*"]])

    def test_value_that_is_also_a_group(self) -> None:
        message = refuse([["Other", "*"], ["Misc", "Other", "*"]])
        assert "'Other' is a value below '*' and a group above 'Misc'" in message

    def test_value_that_is_also_the_root(self) -> None:
        assert "'*' is a value at the top and a group above 'a'" in refuse([["*"], ["a", "*"]])

    @pytest.mark.parametrize("rows", [[], [[]]])
    def test_empty(self, rows: list[list[str]]) -> None:
        assert "is empty" in refuse(rows, Reason.HIERARCHY_INCOMPLETE)


class TestFiles:
    @pytest.mark.parametrize("name", ADULT)
    def test_adult(self, shared_data: Path, name: str) -> None:
        tree = Hierarchy.from_file(shared_data / "adult_hierarchies" / f"{name}.csv")
        assert tree.labels[0] == "*"
        assert len(tree.leaves) == ADULT[name]
        assert "value" not in tree.leaf_index
        assert Hierarchy.from_levels(tree.levels()) == tree

    def test_semicolons(self, tmp_path: Path) -> None:
        path = tmp_path / "places.csv"
        path.write_text("\n".join(";".join(row) for row in PLACES) + "\n", encoding="utf-8")
        assert Hierarchy.from_file(path) == Hierarchy.from_levels(PLACES)

    @pytest.mark.parametrize(
        "header", ["value,level1,level2", "Values,x,*", "LEVEL0,level1,*", "Level 0,,*", "age,level1,level2"]
    )
    def test_header_is_skipped(self, tmp_path: Path, header: str) -> None:
        path = tmp_path / "age.csv"
        path.write_text(f"{header}\n21,20s,*\n22,20s,*\n31,30s,*\n", encoding="utf-8")
        assert Hierarchy.from_file(path).leaves == ("21", "22", "31")

    def test_first_line_of_two_is_a_value(self, tmp_path: Path) -> None:
        path = tmp_path / "sex.csv"
        path.write_text("m,male\nf,female\n", encoding="utf-8")
        assert Hierarchy.from_file(path).leaves == ("m", "f")

    def test_no_header_among_differing_tops(self, tmp_path: Path) -> None:
        path = tmp_path / "groups.csv"
        path.write_text("a,g\nb,g\nc,h\n", encoding="utf-8")
        assert Hierarchy.from_file(path).leaves == ("a", "b", "c")

    def test_error_names_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "wrong.csv"
        path.write_text("a,g,*\na,h,*\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"wrong\.csv: 'a' lies below 'g' and below 'h'"):
            Hierarchy.from_file(path)

    def test_header_alone_is_no_hierarchy(self, tmp_path: Path) -> None:
        path = tmp_path / "header.csv"
        path.write_text("value,level1\n", encoding="utf-8")
        with pytest.raises(InputError) as caught:
            Hierarchy.from_file(path)
        assert caught.value.reason is Reason.HIERARCHY_INCOMPLETE


class TestOver:
    def test_known_values(self, places: Hierarchy) -> None:
        assert places.over(["Rome", "Rome", "Lima"]) is places
        assert places.over([]) is places

    def test_unknown_values(self, places: Hierarchy) -> None:
        with pytest.raises(InputError) as caught:
            places.over(["Rome", "Rom", "z", "y", "x", "w", "v", "France"])
        assert caught.value.reason is Reason.HIERARCHY_INCOMPLETE
        message = str(caught.value)
        assert "lacks 7 of the values: 'France', 'Rom' (did you mean 'Rome'?), 'v', 'w', 'x', ..." in message
        assert "'y'" not in message

    def test_missing_becomes_a_leaf_below_the_root(self, places: Hierarchy) -> None:
        tree = places.over(["Rome", MISSING])
        assert tree.leaves == (*places.leaves, MISSING)
        assert tree.labels == (*places.labels, MISSING)
        assert tree.parent.tolist() == [*places.parent.tolist(), 0]
        assert tree.node_of("Italy") == tree.node_of("Rome")
        assert places.node_of(MISSING) is None

    def test_missing_brings_back_what_the_root_had_swallowed(self) -> None:
        tree = Hierarchy.from_levels([["a", "g", "h", "*"], ["b", "g", "h", "*"]]).over([MISSING])
        assert tree.labels == ("*", "g", "a", "b", MISSING)
        assert tree.node_of("h") == 1

    @pytest.mark.parametrize(("row", "root"), [(["a"], "*"), (["a", "Any"], "Any"), (["*"], "**")])
    def test_missing_beside_a_single_leaf(self, row: list[str], root: str) -> None:
        assert Hierarchy.from_levels([row]).over([MISSING]).labels == (root, row[0], MISSING)

    def test_missing_does_not_hide_an_unknown_value(self, places: Hierarchy) -> None:
        with pytest.raises(InputError, match="lacks 1 of the values: 'Bonn'"):
            places.over([MISSING, "Bonn"])


class TestIntervals:
    def test_levels(self) -> None:
        tree = Intervals((10, 20)).over(["35", "5", "21", "22", "-3", "7.5", "-0.5", MISSING, "5"])
        assert tree.levels() == [
            ["-3", "-3", "[-10, 0)", "*"],
            ["-0.5", "-0.5", "[-10, 0)", "*"],
            ["5", "5", "[0, 10)", "*"],
            ["7.5", "7.5", "[0, 10)", "*"],
            ["21", "[20, 30)", "[20, 40)", "*"],
            ["22", "[20, 30)", "[20, 40)", "*"],
            ["35", "35", "[20, 40)", "*"],
            [MISSING, MISSING, MISSING, "*"],
        ]
        assert tree.node_of("[-20, 0)") == tree.node_of("[-10, 0)")

    def test_decimals_are_exact(self) -> None:
        values = [f"{tenth / 10:.1f}{digit}" for tenth in range(-30, 31) for digit in ("", "5")]
        tree = Intervals((0.1, 0.3, 3)).over(values)
        for value in values:
            node = tree.parent[tree.leaf_node[tree.leaf_index[value]]]
            while node > 0:
                low, high = tree.labels[node].strip("[)").split(", ")
                assert float(low) <= float(value) < float(high)
                node = tree.parent[node]
        assert tree.node_of("[0.3, 0.4)") == tree.parent[tree.leaf_node[tree.leaf_index["0.3"]]]

    def test_origin_and_fractions(self) -> None:
        tree = Intervals((2.5,), origin=-0.5).over(["-0.5", "1.9", "2", "4.4"])
        assert tree.labels == ("*", "[-0.5, 2)", "-0.5", "1.9", "[2, 4.5)", "2", "4.4")

    def test_same_number_written_twice(self) -> None:
        assert Intervals((10,)).over(["1.0", "1", "20"]).leaves == ("1", "1.0", "20")

    def test_large_and_small_numbers(self) -> None:
        big = 2**60
        tree = Intervals((1, 2)).over([str(big), str(big + 1), "1e-300", "0", "1e300"])
        assert tree.leaves == ("0", "1e-300", str(big), str(big + 1), "1e300")
        assert tree.node_of(f"[{big}, {big + 2})") is not None

    @pytest.mark.parametrize("value", ["abc", "nan", "inf", "1e999999999", "*", " "])
    def test_not_a_number(self, value: str) -> None:
        with pytest.raises(InputError) as caught:
            Intervals((10,)).over(["1", value])
        assert caught.value.reason is Reason.BAD_VALUE
        assert repr(value) in str(caught.value)

    @pytest.mark.parametrize(
        "widths", [(), (0,), (-5, 10), (10, 15), (10, 5), (10, 10), (float("nan"),), (5, float("inf"))]
    )
    def test_wrong_widths(self, widths: tuple[float, ...]) -> None:
        with pytest.raises(InputError) as caught:
            Intervals(widths)
        assert caught.value.reason is Reason.PARAMETER

    def test_no_values(self) -> None:
        with pytest.raises(InputError) as caught:
            Intervals((10,)).over([])
        assert caught.value.reason is Reason.HIERARCHY_INCOMPLETE

    def test_missing_alone(self) -> None:
        assert Intervals((10,)).over([MISSING]).leaves == (MISSING,)


class TestPrefixes:
    def test_levels(self) -> None:
        tree = Prefixes((3, 2, 1)).over(["02139", "02141", "02215", "03100", "94110", MISSING, "02139"])
        assert tree.levels() == [
            ["02139", "021**", "02***", "0****", "*"],
            ["02141", "021**", "02***", "0****", "*"],
            ["02215", "02215", "02***", "0****", "*"],
            ["03100", "03100", "03100", "0****", "*"],
            ["94110", "94110", "94110", "94110", "*"],
            [MISSING] * 4 + ["*"],
        ]
        assert tree.node_of("941**") == tree.node_of("94110")

    def test_values_of_different_lengths_share_a_prefix(self) -> None:
        tree = Prefixes((3, 2)).over(["02", "021", "02139", "02241", "9", "10"])
        assert tree.labels == ("*", "02***", "02", "021**", "021", "02139", "02241", "10", "9")

    def test_prefix_as_long_as_the_values(self) -> None:
        assert Prefixes((5, 2, 1)).over(["ab", "ac", "b"]).labels == ("*", "a*", "ab", "ac", "b")

    def test_labels_differ_from_values_and_from_each_other(self) -> None:
        values = ["02***", "02*34", "02*35", "02139", "*", "**", "x"]
        tree = Prefixes((3, 2)).over(values)
        assert sorted(tree.leaves) == sorted(values)
        assert len(set(tree.labels)) == len(tree.labels)
        assert tree.labels[0] == "***"
        assert tree.levels()[tree.leaf_index["02*34"]] == ["02*34", "02****", "02*****", "***"]

    @pytest.mark.parametrize("lengths", [(), (1, 2), (2, 2), (2, 0), (-1,)])
    def test_wrong_lengths(self, lengths: tuple[int, ...]) -> None:
        with pytest.raises(InputError) as caught:
            Prefixes(lengths)
        assert caught.value.reason is Reason.PARAMETER

    def test_no_values(self) -> None:
        with pytest.raises(InputError) as caught:
            Prefixes((1,)).over([])
        assert caught.value.reason is Reason.HIERARCHY_INCOMPLETE


class TestSize:
    def test_depth(self) -> None:
        depth = 5_000
        groups = [f"group {level}" for level in range(depth)]
        rows = [[f"leaf {level}", *groups[level::-1]] for level in (0, depth // 2, depth - 1)]
        rows.append(["last", *groups[::-1]])
        tree = Hierarchy.from_levels(rows)
        assert tree.leaves == ("leaf 0", f"leaf {depth // 2}", f"leaf {depth - 1}", "last")
        assert tree.node_of("group 1") == tree.node_of(f"group {depth // 2}")

    @pytest.mark.slow
    def test_depth_without_chains(self) -> None:
        depth = 5_000
        groups = [f"group {level}" for level in range(depth)]
        rows = [[f"leaf {level}", *groups[level::-1]] for level in range(depth)]
        tree = Hierarchy.from_levels([*rows, ["last", *groups[::-1]]])
        assert tree.depth.max() == depth
        low = np.arange(depth)
        assert np.array_equal(tree.ancestor(low, depth), tree.parent[tree.leaf_node[:-1]])

    @pytest.mark.slow
    def test_million_leaves(self) -> None:
        tree = Prefixes((4, 2)).over([f"{number:06d}" for number in range(1_000_000)])
        assert len(tree.leaves) == 1_000_000
        assert len(tree.labels) == 1_000_000 + 10_000 + 100 + 1
        assert tree.labels[tree.ancestor(0, 99)] == "0000**"
