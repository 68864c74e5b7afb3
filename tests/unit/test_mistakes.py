"""Mistakes that new users make in Python and on the command line: each is answered with what to do."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from calling import called

import shoal
from shoal import Freeform, InputError, Schema
from shoal.base.distribution import version
from shoal.cli.app import _hints
from shoal.samples import hospital

FRAME = hospital(60, seed=1).select("age", "sex", "zip", "diagnosis")
SCHEMA = Schema.infer(FRAME, quasi=["age", "sex", "zip"], sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.anonymize(FRAME, SCHEMA, shoal.KAnonymity(k=5, l=2))


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        (shoal.Freeform, {}, r"Freeform needs 'k', by name, such as Freeform\(k=...\)"),
        (shoal.Freeform, {"K": 5}, r"has no parameter 'K' \(did you mean 'k'\?\)"),
        (shoal.Freeform, {"k": 5, "t": 0.2}, "has no parameter 't', which is a parameter of 't-closeness'"),
        (shoal.Dissimilarity, {"k": 5}, "needs 'epsilon', 'delta'"),
        (shoal.BetaLikeness, {"beta": 2}, "needs 'k'"),
    ],
)
def test_parameters_of_models(model: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as told:
        model(**given)
    assert told.value.reason == "parameter"


def test_models_are_copied_and_sent_to_other_processes() -> None:
    model = shoal.Dissimilarity(k=5, epsilon=1, delta=0.5)
    assert pickle.loads(pickle.dumps(model)) == copy.copy(model) == copy.deepcopy(model) == model


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "mondrain"}, r"did you mean 'mondrian'\?"),
        ({"methods": "ring"}, r"did you mean 'method'\?"),
        ({"k": 5}, r"'k', which is a parameter of the model, such as Freeform\(k=...\)"),
    ],
)
def test_options_of_a_release(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        shoal.anonymize(FRAME, SCHEMA, Freeform(k=5), **options)


def test_what_is_given_for_a_table(release: shoal.Release) -> None:
    with pytest.raises(InputError, match=r"shoal.read_table\('patients.csv'\)"):
        shoal.anonymize("patients.csv", SCHEMA, Freeform(k=5))  # type: ignore[type-var]
    with pytest.raises(InputError, match="is a text, not a table"):
        shoal.scan(Path("patients.csv"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"give its rows, release\.table"):
        shoal.audit(FRAME, release, SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ndarray is not a table"):
        shoal.anonymize(np.zeros((9, 2)), SCHEMA, Freeform(k=5))  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"quasi": [0, 1]}, "0 is not the name of a column"),
        ({"quasi": ["age"], "person": ["zip"]}, "is not the name of a column"),
        ({"quasi": ["age"], "hierarchies": {"zip": "zip.csv"}}, r"'zip.csv' is not a hierarchy; .*from_file"),
        ({"quasi": ["age"], "hierarchies": {"zip": {"a": "b"}}}, "is not a hierarchy"),
    ],
)
def test_descriptions_of_columns(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Schema.infer(FRAME, **given)


@pytest.mark.parametrize("k", ["5,10", [], [5, "10"], [True], 2.5])
def test_k_of_a_comparison(k: Any) -> None:
    with pytest.raises(InputError, match="whole number, or a list of them"):
        shoal.compare(FRAME, SCHEMA, k=k)


def test_names_of_measures(release: shoal.Release) -> None:
    with pytest.raises(InputError, match=r"no measure 'GCP' \(did you mean 'gcp'\?\)"):
        release.loss["GCP"]
    assert release.loss["ratio"] == release.loss.ratio


def test_what_python_prints_can_be_read(release: shoal.Release) -> None:
    shown = repr(release.audit)
    assert shown.startswith(release.audit.verdict)
    assert "array(" not in shown
    assert repr(release.loss).startswith("Loss(gcp=")
    assert "  age: quasi, numeric\n" in repr(SCHEMA)
    scanned = repr(shoal.scan(FRAME))
    assert scanned.startswith("Scan of 60 records\n")
    assert "  sex: quasi, categorical: its name suggests sex or gender\n" in scanned
    assert repr(release).startswith("Release(60 rows, KAnonymity(k=5, l=2.0), method='mondrian', gcp=")
    tried = shoal.compare(FRAME, SCHEMA, model="k-anonymity", method="chain", k=[5, 200], jobs=1)
    assert "k-anonymity, chain, k = 5: GCP 0." in repr(tried)
    assert "k = 200: k = 200 is above the 60 records" in repr(tried)
    assert shoal.__version__ == version()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("anonymize t.csv --quasi age zip --k 5", ["names by commas, without spaces: --quasi age,zip"]),
        ("anonymize t.csv --quasi age, zip --k 5", ["names by commas, without spaces: --quasi age,zip"]),
        ("anonymize t.csv --quasi age -k 5", ["The option is --k."]),
        ("anonymize --quasi age t.csv", []),
    ],
)
def test_hints_for_calls_that_cannot_be_parsed(
    words: str, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["shoal", *words.split()])
    found = _hints(words.split())
    assert len(found) == len(told)
    assert all(text in each for text, each in zip(told, found, strict=True))


def test_the_command_line_says_what_to_write_instead(tmp_path: Path) -> None:
    visits = pl.concat([FRAME.with_row_index("patient")] * 3)
    visits.write_csv(tmp_path / "t.csv")
    call = ["anonymize", "t.csv", "--k", "5", "-o", "out"]
    known = ["--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--drop", "patient"]
    done = called(tmp_path, *call, *known, code=0)
    said = " ".join(done.stderr.split())
    assert "Use --person for the column that says whose record each is." in said
    assert "Use --drop" not in said
    wrong = called(tmp_path, *call, *known, "--epsilon", "1", "--overwrite", code=2)
    assert "'epsilon', which is a parameter of 'dissimilarity'" in " ".join(wrong.stderr.split())
    spaced = called(tmp_path, *call, "--quasi", "age", "zip", code=2)
    assert "Separate names by commas, without spaces: --quasi age,zip" in " ".join(spaced.stderr.split())
