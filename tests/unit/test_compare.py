"""Comparing: every way is a row, those that fail with their reason, and each can be repeated."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import shoal
from shoal import Freeform, InputError, KAnonymity, Schema, anonymize, compare
from shoal.engines.runs import PlannedRun, compare_runs, options_for
from shoal.measures import headlines
from shoal.report.comparison import comparison_chart, comparison_page
from shoal.samples import hospital

FRAME = hospital(120)
SCHEMA = Schema.infer(FRAME, quasi=["age", "sex"], sensitive=["diagnosis"], drop=["patient", "name"])


@pytest.mark.processes
def test_runs_that_fail_are_outcomes_like_others() -> None:
    runs = [
        PlannedRun(KAnonymity(k=3), "mondrian"),
        PlannedRun(KAnonymity(k=3), "no-such-method"),
        PlannedRun(KAnonymity(k=3, p=100), "mondrian"),
        PlannedRun(KAnonymity(k=3), "mondrian", {"relaxed": True}),
    ]
    told: list[tuple[str, float]] = []
    good, unknown, infeasible, relaxed = compare_runs(
        FRAME, SCHEMA, runs, seed=4, jobs=2, progress=lambda stage, share: told.append((stage, share))
    )
    assert (unknown.reason, infeasible.reason) == ("parameter", "infeasible")
    assert infeasible.certificate is None
    assert infeasible.message is not None
    assert "100" in infeasible.message
    for run, outcome in ((runs[0], good), (runs[3], relaxed)):
        again = anonymize(FRAME, SCHEMA, run.model, method=run.method, seed=4, **run.options)
        assert outcome.certificate is not None
        assert outcome.certificate["loss"] == json.loads(json.dumps(again.certificate["loss"]))
        assert outcome.certificate["audit"] == json.loads(json.dumps(again.certificate["audit"]))
    assert told[-1] == ("4 of 4 runs", 1.0)


@pytest.mark.processes
def test_files_of_the_user_are_not_taken_for_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "polars.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    (outcome,) = compare_runs(FRAME, SCHEMA, [PlannedRun(KAnonymity(k=3), "mondrian")])
    assert outcome.certificate is not None, outcome.message


@pytest.mark.processes
def test_a_run_that_takes_too_long_is_ended() -> None:
    (outcome,) = compare_runs(FRAME, SCHEMA, [PlannedRun(KAnonymity(k=3), "mondrian")], limit=0.01)
    assert (outcome.reason, outcome.certificate) == ("too-slow", None)


@pytest.mark.processes
def test_a_run_that_dies_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.runs._WORKER", "import os; os.abort()")
    (outcome,) = compare_runs(FRAME, SCHEMA, [PlannedRun(KAnonymity(k=3), "mondrian")])
    assert outcome.reason == "bug"
    assert outcome.message == "the process died: signal 6"


@pytest.mark.processes
def test_progress_may_end_all_runs() -> None:
    def stop(stage: str, share: float) -> None:
        raise KeyboardInterrupt(stage, share)

    with pytest.raises(KeyboardInterrupt):
        compare_runs(FRAME, SCHEMA, [PlannedRun(KAnonymity(k=3), "mondrian")] * 20, jobs=1, progress=stop)


def test_methods_get_only_options_that_they_know() -> None:
    wanted = {"effort": "fast", "relaxed": True}
    assert options_for(KAnonymity(k=2), "mondrian", wanted) == {"relaxed": True}
    assert options_for(Freeform(k=2), "matching", wanted) == {"effort": "fast"}


def test_names_of_files_and_messages_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>"
    row = dict.fromkeys(("gcp", "concealment", "risk", "certificate")) | {
        "run": 1,
        "attacker": "knows every record",
        "model": evil,
        "method": evil,
        "way": evil,
        "k": 2,
        "seconds": 1.0,
        "message": evil,
        "reason": "bug",
        "command": evil,
    }
    page = comparison_page([row], None, evil)
    assert evil not in page
    assert "alert(1)" in page


def test_without_the_extra_a_comparison_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    row = dict.fromkeys([each.name for each in headlines()], 0.25) | {
        "run": 1,
        "model": "k-anonymity",
        "method": "mondrian",
        "attacker": "an attacker who knows every record",
        "way": "k-anonymity, mondrian",
        "k": 2,
        "concealment": 2,
        "risk": 0.5,
        "query_error": 0.1,
        "seconds": 1.0,
        "message": None,
        "command": "shoal anonymize",
    }
    rows = [row]
    assert 'id="chart"' in comparison_page(rows, None, "patients")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = comparison_page(rows, None, "patients")
    assert 'id="chart"' not in page
    assert "vegaEmbed =" not in page
    assert "pip install &#39;shoal-privacy[report]&#39;" in page
    assert "The least loss " in page
    assert "for k = 2" in page


def test_models_methods_and_k_side_by_side() -> None:
    found = shoal.compare(FRAME, SCHEMA, k=[2, 4], method=["mondrian", "sort_greedy"], effort="fast", seed=1)
    assert [(run.model, run.method, run.k) for run in found.runs] == [
        ("freeform", "sort_greedy", 2),
        ("freeform", "sort_greedy", 4),
        ("k-anonymity", "mondrian", 2),
        ("k-anonymity", "mondrian", 4),
    ]
    assert [dict(run.options) for run in found.runs[1:3]] == [{"effort": "fast"}, {}]
    best = found.best()
    assert best is not None
    assert best.gcp == min(run.gcp for run in found.runs if run.k == 4 and run.gcp is not None)
    assert found.best(2) in found.runs[::2]
    again = anonymize(FRAME, SCHEMA, Freeform(k=4), method="sort_greedy", effort="fast", seed=1)
    assert found.runs[1].gcp == pytest.approx(again.loss.gcp)


def test_a_comparison_of_what_cannot_be_has_no_best() -> None:
    found = shoal.compare(FRAME, SCHEMA, k=121, model="k-anonymity", method="mondrian")
    assert [run.gcp for run in found.runs] == [None]
    assert found.runs[0].message is not None
    assert found.best() is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"efort": "fast"}, r"has an option 'efort' \(did you mean 'effort'\?\)"),
        ({"method": "mondrain"}, r"did you mean 'mondrian'\?"),
        ({"model": "k-anonimity"}, "k-anonymity"),
    ],
)
def test_a_wrong_comparison_is_refused(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        shoal.compare(FRAME, SCHEMA, **wrong)  # type: ignore[arg-type]


def test_models_against_a_weaker_attacker_are_not_recommended() -> None:
    frame = hospital(60, seed=4)
    schema = Schema.infer(frame, quasi=["age", "sex"], drop=["patient", "name"])
    found = compare(frame, schema, k=3, model=["k1", "kk", "1k", "k-anonymity"], method=[], jobs=1)
    best = found.best()
    assert best is not None
    assert best.model == "k-anonymity"
    assert min(run.gcp for run in found.runs if run.gcp is not None) < (best.gcp or 0)  # k1 loses less
    attackers = [run.attacker for run in found.runs]
    assert list(dict.fromkeys(attackers)) == [
        "knows every record",
        "knows one person",
        "none: for comparison only",
    ]
    rows = [{"run": n, **run.as_dict(), "command": ""} for n, run in enumerate(found.runs)]
    spec = comparison_chart(rows, None)
    assert len({row["way"] for row in rows}) <= len(spec["config"]["range"]["category"])
    assert len(set(spec["config"]["range"]["category"])) == len(spec["config"]["range"]["category"]) >= 12
    assert "legend" not in spec["layer"][1]["encoding"]["shape"]
    page = comparison_page(rows, None, "title")
    assert "against an attacker who knows every record" in page
    assert "for comparison only" in page
