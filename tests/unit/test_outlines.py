"""Hierarchies while they are edited on the page, without a browser."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.methods import silent
from shoal.schema import Column, Kind, Role
from shoal.web.hierarchies import by_rule
from shoal.web.outline import MOST_VALUES, Outline, levels_file, outline
from shoal.web.tasks import Source

JOBS = Outline.flat(["nurse", "doctor", "teacher", "clerk"])


def levels(found: Outline) -> list[list[str]]:
    return found.hierarchy().levels()


def test_values_are_grouped_moved_renamed_and_split_up() -> None:
    health = JOBS.grouped(["nurse", "doctor"], " health ")
    assert levels(health) == [
        ["nurse", "health", "*"],
        ["doctor", "health", "*"],
        ["teacher", "teacher", "*"],
        ["clerk", "clerk", "*"],
    ]
    public = health.grouped(["health", "teacher"], "public")
    assert levels(public)[0] == ["nurse", "health", "public", "*"]
    moved = public.moved(["clerk", "doctor"], "public")
    assert moved.path("doctor") == ["doctor", "public", "*"]
    assert moved.renamed(["health"], "care").path("nurse") == ["nurse", "care", "public", "*"]
    assert levels(public.dissolved(["public"])) == levels(health)
    assert levels(public.dissolved(["public", "health"])) == levels(JOBS)
    emptied = health.moved(["nurse", "doctor"], "*")
    assert emptied.groups == []  # no group is left without values


def test_groups_are_merged_into_one() -> None:
    two = JOBS.grouped(["nurse", "doctor"], "health").grouped(["teacher"], "school")
    assert levels(two.merged(["health", "school"], "")) == [
        ["nurse", "health", "*"],
        ["doctor", "health", "*"],
        ["teacher", "health", "*"],
        ["clerk", "clerk", "*"],
    ]
    assert two.merged(["health", "school"], "school").groups == ["school"]
    assert two.merged(["health", "school", "nurse"], "public").path("teacher") == ["teacher", "public", "*"]


def test_what_is_ticked_with_its_group_moves_with_it() -> None:
    health = JOBS.grouped(["nurse", "doctor"], "health").grouped(["teacher"], "school")
    moved = health.moved(["health", "nurse"], "school")
    assert moved.path("nurse") == ["nurse", "health", "school", "*"]


@pytest.mark.parametrize(
    ("change", "words", "field"),
    [
        (lambda each: each.grouped([], "new"), "Tick the values", "edit_chosen"),
        (lambda each: each.grouped(["clerk"], " "), "Enter a name", "edit_name"),
        (lambda each: each.grouped(["clerk"], "health"), "already", "edit_name"),
        (lambda each: each.grouped(["clerk"], "*"), "already", "edit_name"),
        (lambda each: each.renamed(["clerk"], "new"), "values keep their names", "edit_chosen"),
        (lambda each: each.dissolved(["clerk"]), "Tick a group", "edit_chosen"),
        (lambda each: each.merged(["health", "clerk"], ""), "at least two groups", "edit_chosen"),
        (
            lambda each: each.grouped(["clerk"], "office").merged(["health", "office"], "nurse"),
            "already",
            "edit_name",
        ),
        (lambda each: each.moved(["health"], "health"), "into itself", "edit_target"),
        (lambda each: each.moved(["clerk"], "nurse"), "Choose a group", "edit_target"),
    ],
)
def test_impossible_changes_say_what_to_do(change: object, words: str, field: str) -> None:
    health = JOBS.grouped(["nurse", "doctor"], "health")
    assert callable(change)
    with pytest.raises(shoal.InputError, match=words) as caught:
        change(health)
    assert caught.value.parameter == field


def test_rules_make_groups_of_all_values() -> None:
    ages = Outline.flat(["21", "25", "34", "45"])
    assert by_rule(ages, "intervals", "10, 20").path("25") == ["25", "[20, 30)", "[20, 40)", "*"]
    assert by_rule(ages, "prefixes", "1").path("25") == ["25", "2*", "*"]
    assert by_rule(JOBS.grouped(["clerk"], "office"), "none", "").groups == []
    with pytest.raises(shoal.InputError, match="not a number"):
        by_rule(JOBS, "intervals", "10")
    with pytest.raises(shoal.InputError, match="Choose one"):
        by_rule(JOBS, "other", "")


def test_a_file_for_arx_is_read_back(tmp_path: Path) -> None:
    groups = Outline.flat(["a;b", 'say "x"', "c"]).grouped(["a;b", "c"], "odd")
    for header in (False, True):
        file = tmp_path / f"levels-{header}.csv"
        file.write_text(levels_file(groups.hierarchy(), header=header))
        assert shoal.Hierarchy.from_file(file) == groups.hierarchy()
    assert levels_file(JOBS.hierarchy(), header=False).splitlines()[0] == "nurse;*"


def test_the_values_of_a_column_and_its_groups_are_found(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    pl.DataFrame({"age": [30, 30, 41, None], "zip": ["021", "022", "031", "031"]}).write_csv(file)
    source = Source(file, "t.csv")
    found = outline(source, Column("age", Role.QUASI, Kind.NUMERIC), silent)
    assert found["counts"] == {"30": 2, "41": 1}
    assert found["parents"] == {"30": "*", "41": "*"}
    tree = shoal.Hierarchy.from_levels([("021", "02*", "*"), ("022", "02*", "*"), ("099", "09*", "*")])
    found = outline(source, Column("zip", Role.SENSITIVE, hierarchy=tree), silent)
    assert found["parents"]["022"] == "02*"
    assert found["parents"]["031"] == "*"  # the file lacks it
    found = outline(source, Column("zip", Role.QUASI, hierarchy=shoal.Prefixes((2,))), silent)
    assert found["parents"]["022"] == "02*"
    pl.DataFrame({"x": [f"v{number}" for number in range(MOST_VALUES + 1)]}).write_csv(file)
    with pytest.raises(shoal.InputError, match="2,000 at most"):
        outline(source, Column("x", Role.QUASI), silent)
