"""km-anonymity on the command line: released, audited from its folder, behind stronger models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import called

from shoal.engines.comparison import ComparedRun
from shoal.samples import hospital

QUASI = ("--quasi", "age,sex,marital,occupation")


def test_a_release_is_audited_by_its_folder_and_by_the_option(tmp_path: Path) -> None:
    hospital(150).select("age", "sex", "marital", "occupation", "diagnosis").write_csv(tmp_path / "t.csv")
    model = ("--model", "km-anonymity", "--k", "4")
    called(tmp_path, "anonymize", "t.csv", *QUASI, *model, "--knows", "2", "-o", "out", "--quiet")
    made = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert made["model"].items() >= {"name": "km-anonymity", "k": 4, "knows": 2}.items()
    assert made["audit"]["partial"]["rows_per_record"] >= 4
    assert "The certificate in out says the same" in called(tmp_path, "audit", "t.csv", "out").stdout
    release = ("t.csv", "out/release.csv", *QUASI)
    called(tmp_path, "audit", *release, *model, "--knows", "2")
    called(tmp_path, "audit", *release, "--k", "4", "--knows", "2")
    called(tmp_path, "audit", *release, *model, "--knows", "4", code=1)
    called(tmp_path, "audit", *release, "--k", "4", code=1)
    refused = called(tmp_path, "anonymize", "t.csv", *QUASI, *model, "-o", "no", code=2)
    assert "'knows'" in refused.stderr or "--knows" in refused.stderr


@pytest.mark.parametrize(("model", "weakness"), [("freeform", 0), ("km-anonymity", 1), ("kk", 1), ("k1", 2)])
def test_models_against_weaker_attackers_come_later(model: str, weakness: int) -> None:
    run = ComparedRun(model, "any", 5, {}, None, 0.0, None, None)
    assert run.weakness == weakness
