"""The report for those who decide: what was stated, an example that is no record, certain values, limits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.report.panels.decision import _common, _made_up, _most_frequent
from shoal.samples import hospital

STATED = {
    "data_set": "Admissions 2025",
    "purpose": "Research on lengths of stay",
    "recipient": "University <of> Example",
    "decided_by": "Data protection officer",
}


def release_of(frame: pl.DataFrame, **more: object) -> shoal.Release:
    schema = shoal.Schema.infer(
        frame, quasi=["age", "sex", "admitted"], sensitive=["diagnosis"], drop=["patient", "name"]
    )
    return shoal.anonymize(frame, schema, shoal.KAnonymity(k=5, l=2), **more)


def test_what_was_stated_is_in_certificate_and_report() -> None:
    release = release_of(hospital(120, seed=3), about=STATED)
    assert release.certificate["about"] == STATED
    page = release.report.html()
    for text in ("Admissions 2025", "Research on lengths of stay", "University &lt;of&gt; Example"):
        assert page.index(text) < page.index('id="adversary"')
    assert "about" not in release_of(hospital(120, seed=3)).certificate
    assert "not stated" in release_of(hospital(120, seed=3)).report.html()


def test_wrong_statements_are_refused() -> None:
    with pytest.raises(shoal.InputError, match="did you mean 'purpose'"):
        release_of(hospital(50), about={"purposes": "x"})
    with pytest.raises(shoal.InputError, match="must be a text"):
        release_of(hospital(50), about={"purpose": 3})


def test_the_command_line_states_them_in_memory_and_in_blocks(tmp_path: Path) -> None:
    hospital(120, seed=3).write_csv(tmp_path / "t.csv")
    call = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age,sex", "--k", "5", "--drop", "patient,name"]
    call += ["--model", "k-anonymity", "--purpose", "Research", "--decided-by", "DPO"]
    for engine in ("memory", "blocks"):
        done = CliRunner().invoke(app, [*call, "--engine", engine, "-o", str(tmp_path / engine)])
        assert done.exit_code == 0, done.output
        said = json.loads((tmp_path / engine / "certificate.json").read_text())["about"]
        assert said == {"purpose": "Research", "decided_by": "DPO"}


def test_the_limits_and_the_example_are_near_the_top() -> None:
    frame = hospital(120, seed=3)
    release = release_of(frame)
    names = [panel.name for panel in release.report.panels]
    assert names.index("limits") < names.index("adversary")
    grid = next(panel for panel in release.report.panels if panel.name == "decision").grids[0]
    cells = {row[0]: row[1:] for row in grid.rows}
    assert cells["name"] == ["a value", "left out"]
    assert cells["diagnosis"] == ["a value", "the same value"]
    assert set(cells["age"][1:]) <= set(release.table["age"])
    low, high = (int(end) for end in cells["age"][1].split(".."))
    assert low <= int(cells["age"][0]) <= high
    assert release.report.as_dict()["decision"]["nearly_certain"] == {"diagnosis": 0}


@pytest.mark.parametrize(
    ("cell", "exact"),
    [
        ("28..39", "33"),
        ("1.5..2.5", "2"),
        ("2025-01-01..2025-01-31", "2025-01-16"),
        ("a|b", "a"),
        ("*", "any value"),
        ("x", "x"),
    ],
)
def test_an_exact_value_is_made_up_within_the_cell(cell: str, exact: str) -> None:
    assert _made_up(cell) == exact


@pytest.mark.parametrize("seed", range(5))
def test_frequent_cells_are_those_of_all_rows(seed: int) -> None:
    draw = np.random.default_rng(seed)
    written = pl.Series(["b", "a", None, "c", "", "a", "never"])  # two look the same
    rows = draw.integers(0, len(written) - 1, 40)
    texts = written.gather(rows).fill_null("").to_list()
    expected = sorted(set(texts), key=lambda text: (-texts.count(text), texts.index(text)))
    assert list(_most_frequent(written, rows)) == expected


def test_an_example_shows_nothing_of_a_record_that_stands_out() -> None:
    """A set with a rare value may be the most frequent one if few sets are needed."""
    assert _common({"male": 100, "female": 90, "male|unheard-of": 6, "female|male": 4}) == [
        "male",
        "female",
        "female|male",
    ]
    assert _common({"30..39": 9, "18..29": 8, "41..987654": 7, "35..44": 5}) == ["30..39", "35..44"]
    assert _common({"2025-01-01..2025-02-01": 5, "1733-01-01..2025-03-01": 5}) == ["2025-01-01..2025-02-01"]
    assert _common({"*": 3, "37": 1, "38": 30}) == ["*", "38"]
