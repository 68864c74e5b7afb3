"""Fields of the page for limits, control groups, statements, sheets and earlier releases; no browser."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shiny import Inputs, reactive

import shoal
from shoal.methods import silent
from shoal.samples import hospital
from shoal.schema import Column, Kind, Role
from shoal.web import export
from shoal.web.cards import column_card
from shoal.web.columns import described, described_column, fields_of
from shoal.web.fields import share
from shoal.web.memory import Fields
from shoal.web.planning import extras_of, planned
from shoal.web.tasks import Source, both_releases, look

AGE = Column("age", Role.QUASI, Kind.NUMERIC)
NOTHING = {f"{name}_0": value for name, value in fields_of(AGE).items()} | {"levels_0": None}
PLAN = {"model": "freeform", "k": "5", "form": "csv", "keep_key": False}


def column(**changes: Any) -> Column:
    return described_column(0, "age", {**NOTHING, **changes}.__getitem__)


@pytest.mark.parametrize(
    "given",
    [
        Column("age", Role.QUASI, Kind.NUMERIC, widest=10, bands="every 5"),
        Column("age", Role.QUASI, Kind.NUMERIC, widest=2.5, suppressible=False),
        Column("age", Role.QUASI, Kind.NUMERIC, bands=(0, 18, 65, 120)),
        Column("age", Role.QUASI, Kind.DATE, widest="6 months"),
        Column("age", Role.QUASI, exact=True),
        Column("age", Role.QUASI, hierarchy=shoal.Prefixes((1,)), widest="level 1"),
    ],
)
def test_limits_survive_their_fields(given: Column) -> None:
    entries = {f"{name}_0": value for name, value in fields_of(given).items()}
    assert described_column(0, "age", {**NOTHING, **entries}.__getitem__) == given


def test_fields_that_do_not_suit_are_ignored_and_wrong_ones_are_refused() -> None:
    assert column(widest_0="10", role_0="other") == Column("age", Role.OTHER, Kind.NUMERIC)
    assert column(bands_0="every 5", kind_0="categorical").bands is None
    items = column(widest_0="3", exact_0=True, kind_0="items")
    assert (items.widest, items.exact) == (None, False)
    for wrong in ({"widest_0": "wide"}, {"bands_0": "every blue"}, {"exact_0": True, "widest_0": "3"}):
        schema, problems = described(["age"], {**NOTHING, **wrong}.__getitem__)
        assert schema is None
        assert set(problems) == {"role_0"}


def test_a_card_says_for_which_kinds_and_roles_a_field_is() -> None:
    known = {"name": "age", "role": "quasi", "kind": "numeric", "reason": "a number", "distinct": 3}
    known |= {"missing": 0, "unique_share": 0, "histogram": []}
    card = str(column_card(0, known, {}))
    assert card.count('data-kinds="ordinal"') == 1
    assert card.count('data-kinds="items"') == 1
    dates = card[card.index('for="dates_0"') - 400 : card.index('for="dates_0"')]
    assert 'data-kinds="date hour"' in dates
    assert 'data-roles="quasi sensitive"' in card


def test_control_group_and_statements_reach_run_command_and_script(tmp_path: Path) -> None:
    schema = shoal.Schema((Column("age", Role.QUASI, Kind.NUMERIC, widest=10), Column("id", Role.PERSON)))
    source = Source(tmp_path / "t.csv", "t.csv")
    entries: dict[str, Any] = {
        **PLAN,
        "hold_out": "5%",
        "leave_out": "0.01",
        "most_per_person": "2",
        "about_purpose": " research ",
    }
    plan, problems = planned(source, schema, "freeform", entries.get)
    assert problems == {}
    assert plan is not None
    assert plan.choices == {
        "hold_out": 0.05,
        "leave_out": 0.01,
        "most_per_person": 2,
        "about": {"purpose": "research"},
    }
    command = export.command(plan)
    for words in ("--hold-out 0.05", "--leave-out 0.01", "--most-per-person 2", "--purpose research"):
        assert words in command
    assert "about={'purpose': 'research'}" in export.script(plan)
    entries |= {"hold_out": "90%", "leave_out": "2", "most_per_person": "0", "about_risk_threshold": "high"}
    _, problems = planned(source, schema, "freeform", entries.get)
    assert set(problems) == {"hold_out", "leave_out", "most_per_person", "about_risk_threshold"}
    plain = shoal.Schema((AGE,))
    assert not {"leave_out", "most_per_person"} & set(extras_of(plain))
    plan, _ = planned(source, plain, "freeform", {**PLAN, "leave_out": "0.1"}.get)
    assert plan is not None
    assert plan.choices == {}


def test_shares_are_read_with_and_without_a_percent_sign() -> None:
    assert [share(each) for each in ("5%", " 0.05 ", "", None, "0")] == [0.05, 0.05, None, None, 0.0]
    for wrong in ("5", "100%", "-1%", "half"):
        with pytest.raises(shoal.InputError):
            share(wrong)


def test_two_releases_are_audited_together(tmp_path: Path) -> None:
    patients = hospital(60).select("age", "sex", "diagnosis")
    patients.write_csv(tmp_path / "t.csv")
    schema = shoal.Schema.infer(patients, quasi=["age", "sex"], sensitive=["diagnosis"])
    model = shoal.KAnonymity(k=3)
    for name in ("now.csv", "before.csv"):
        pl.DataFrame(shoal.anonymize(patients, schema, model).table).write_csv(tmp_path / name)
    source = Source(tmp_path / "t.csv", "t.csv")
    files = (schema, model, tmp_path / "now.csv", tmp_path / "before.csv")
    found = both_releases(source, *files, None, [], silent)
    assert found["status"] in ("holds", "broken")
    assert found["facts"][0][0] == "releases"
    assert both_releases(source, *files, tmp_path / "t.csv", [], silent) == found
    with pytest.raises(shoal.InputError, match="only its key"):
        both_releases(source, *files, None, ["hold_out"], silent)


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, values in (("notes", ["x", 1]), ("people", ["age", 30, 40])):
            sheet = book.add_worksheet(name)
            sheet.write_column(0, 0, values)
    assert look(Source(path, "book.xlsx"), silent)["columns"][0]["name"] == "x"
    found = look(Source(path, "book.xlsx", sheet="people"), silent)
    assert found["columns"][0]["name"] == "age"
    assert found["sheets"] == ["notes", "people"]
    assert Source(path, "book.xlsx", sheet="people").reading == {"sheet": "people"}
    with pytest.raises(shoal.InputError, match="has no sheet 'other'"):
        look(Source(path, "book.xlsx", sheet="other"), silent)


def test_fields_are_made_without_a_look_at_the_call_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "stack", lambda *_: pytest.fail("thousands of fields would take minutes"))
    inputs = Inputs({})
    made = Fields(inputs)
    made["k"].set("5")
    with reactive.isolate():
        assert inputs["k"]() == "5"  # the page and the server set the same value
        assert dict(made.said())["k"] is made.k
