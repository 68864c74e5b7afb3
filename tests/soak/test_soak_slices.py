"""A small fixed slice of every campaign; ``make soak`` runs the campaigns themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaigns import CAMPAIGNS
from guided import write_corpus
from guided_targets import TARGETS, unguided
from oracle import GUARANTEES
from soaking import Campaign, Finding, soak, summary

from shoal.methods.method import METHODS

SLOW = ("faults", "signals", "long", "allocations", "leaks")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name, each in CAMPAIGNS.items()
        if not each.by_name
    ],
)
def test_a_slice_of_a_campaign_has_no_findings(name: str) -> None:
    outcome = soak(CAMPAIGNS[name], cases=CAMPAIGNS[name].slice)
    assert outcome.findings == []
    assert outcome.ended.total() == outcome.cases == CAMPAIGNS[name].slice


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "SPSS"])  # which may end the process
def test_a_slice_of_the_inputs_of_each_reader(target: str, tmp_path: Path) -> None:
    write_corpus(target, tmp_path)
    unguided(target, tmp_path, "slice", 0, 40)
    assert int((tmp_path / "last").read_text()) == 39


def test_every_model_has_an_oracle() -> None:
    own = {model.name for model in METHODS if model.__module__.startswith("shoal.")}
    assert set(GUARANTEES) == own


def test_a_finding_is_kept_with_the_number_that_repeats_it() -> None:
    def case(draw: object, folder: object) -> str:
        if draw.random() < 0.5:  # type: ignore[attr-defined]
            raise Finding("low")
        assert not list(folder.iterdir())  # type: ignore[attr-defined]
        return "high"

    campaign = Campaign("numbers", case, slice=1)
    outcome = soak(campaign, first=3, cases=10)
    again = soak(campaign, first=3, cases=10)
    assert outcome.ended == again.ended
    assert set(outcome.ended) == {"finding", "high"}
    assert [number for number, _ in outcome.findings] == [number for number, _ in again.findings]
    assert "low" in outcome.findings[0][1]
    number = outcome.findings[0][0]
    assert f"  repeat a finding: make soak NAME=numbers CASE={number}" in list(summary(campaign, outcome))
    assert list(summary(campaign, outcome))[-1] == "  continue: make soak NAME=numbers SEED=13"


def test_a_campaign_ends_in_time() -> None:
    campaign = Campaign("nothing", lambda *_: "done", slice=1)
    outcome = soak(campaign, minutes=1 / 600)
    assert outcome.ended.keys() == {"done"}
