"""Every model by every method and effort on small tables: the released bytes are those on record.

The digests are in `digests.json`. A change that alters a release on purpose records them anew with
``python tests/golden/test_digests.py`` and says why in its commit.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.files.writing import write_csv, write_parquet
from shoal.methods import METHODS
from shoal.samples import hospital

RECORD = Path(__file__).with_name("digests.json")
EFFORTS = ("fast", "balanced", "best")
NEWS = {"publishable", "reasons_not_to_publish", "warnings"}
"""What a certificate tells those who decide on a release; it follows from the rest."""
WORDING = {"shoal", "created", "seconds", "promise", "verdict", "findings", "notes", "stages"}
"""What a certificate says in words, or says of the day and the machine."""

DIVERSE = [{"k": 3}, {"k": 3, "l": 1.5}, {"k": 4, "p": 2}, {"k": 3, "entropy_l": 1.3}]
PLAIN = [{**asked, "chance": 1} for asked in (*DIVERSE, {"k": 3, "two_sided": True})]
"""The models of the literature, which do not bound the chance of a right guess."""
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "k-anonymity": [*DIVERSE, {"k": 10}],
    "freeform": [*DIVERSE, {"k": 10}],
    "concealment": [*DIVERSE, {"k": 3, "two_sided": True}, {"k": 9, "chance": 0.34}, *PLAIN],
    "1k": [{"k": 3}],
    "k1": [{"k": 3}],
    "kk": [{"k": 3}, {"k": 3, "withhold": 0.1}, PLAIN[0], {**PLAIN[0], "withhold": 0.1}],
    "patterned": [*DIVERSE, {"k": 3, "up_to": 2}],
    "dissimilarity": [{"k": 4, "epsilon": 2, "delta": 0.5}],
    "t-closeness": [{"k": 3, "t": 0.3}],
    "beta-likeness": [{"k": 3, "beta": 2}, {"k": 3, "beta": 2, "enhanced": True}],
    "delta-disclosure": [{"k": 3, "disclosure_delta": 3}],
    "km-anonymity": [{"k": 3, "knows": 2}],
    "set-anonymity": [{"k": 3}],
    "set-diversity": [{"l": 2}, {"l": 3}],
}
"""What is promised on the made-up tables."""

VARIANTS: dict[str, list[Any]] = {
    "measure": ["lm", "em"],
    "randomized": [False],
    "relaxed": [True],
    "start": ["degree"],
    "whole": [True],
}
"""Options of methods besides the effort, each tried once in a plain promise."""


@dataclass(frozen=True)
class Case:
    """One release: which table, which model with which parameters, by which method and options."""

    table: str
    model: str
    parameters: dict[str, Any]
    method: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called on record."""
        words = [f"{key}={value}" for key, value in (*self.parameters.items(), *self.options.items())]
        return " ".join([self.table, self.model, self.method, *words])


MODELS = {model.name: model for model in METHODS}


def cases() -> Iterator[Case]:
    """Yield every case."""
    for model, kind in MODELS.items():
        if kind.needs_population:
            continue
        sets = model.startswith("set-")
        for method, function in METHODS[kind].items():
            known = inspect.signature(function).parameters
            table = "baskets" if sets else "tiny" if method == "exact" else "patients"
            for parameters in PARAMETERS[model]:
                diverse = parameters.keys() & {"l", "p", "entropy_l"} and not sets
                if method == "exact" and (diverse or parameters["k"] > 3):
                    continue
                for effort in EFFORTS if "effort" in known else (None,):
                    options = {} if effort is None else {"effort": effort}
                    yield Case(table, model, parameters, method, options)
            for option, values in VARIANTS.items():
                for value in values if option in known else ():
                    yield Case(table, model, PARAMETERS[model][0], method, {option: value})
            if not sets and method not in ("exact", "subsets"):
                needed = kind.needs_sensitive or model == "km-anonymity"
                own = {n: v for n, v in PARAMETERS[model][0].items() if needed and n != "k"}
                extra = {"epsilon": 0, "delta": 0.3} if model == "dissimilarity" else own
                yield Case("survey", model, {"k": 5, **extra}, method)


CASES = {case.name: case for case in cases()}


@cache
def patients(rows: int) -> tuple[pl.DataFrame, shoal.Schema]:
    """Return made-up patients, with columns of every kind but items."""
    frame = hospital(rows, seed=7).with_columns(
        severity=pl.Series(["mild", "severe", "moderate", "mild", "moderate"] * rows).head(rows)
    )
    places = [[code, code[:3], code[:2], "*"] for code in frame["zip"].unique().sort()]
    schema = shoal.Schema(
        (
            shoal.Column("patient", shoal.Role.IDENTIFIER),
            shoal.Column("name", shoal.Role.IDENTIFIER),
            shoal.Column("age", shoal.Role.QUASI, shoal.Kind.NUMERIC, weight=2.0),
            shoal.Column("sex", shoal.Role.QUASI),
            shoal.Column("zip", shoal.Role.QUASI, hierarchy=shoal.Hierarchy.from_levels(places)),
            shoal.Column("admitted", shoal.Role.QUASI, shoal.Kind.DATE),
            shoal.Column("marital", shoal.Role.QUASI),
            shoal.Column("occupation", shoal.Role.QUASI, missing=shoal.Missing.SUPPRESS),
            shoal.Column(
                "severity", shoal.Role.QUASI, shoal.Kind.ORDINAL, domain=("mild", "moderate", "severe")
            ),
            shoal.Column("days", shoal.Role.SENSITIVE, shoal.Kind.NUMERIC),
        )
    )
    return frame, schema


@cache
def baskets() -> tuple[pl.DataFrame, shoal.Schema]:
    """Return made-up baskets with a label, and the age of who carries them."""
    base = hospital(150, seed=11)
    goods = ("apple", "bread", "cheese", "dates", "eggs", "flour", "grapes")
    chosen = [
        [good for place, good in enumerate(goods) if (stay * (place + 3) + age) % (place + 3) == 0]
        for stay, age in base.select("days", "age").iter_rows()
    ]
    frame = pl.DataFrame(
        {
            "items": chosen,
            "age": base["age"] // 20,
            "label": [("red", "green", "blue", "white", "black")[row % 5] for row in range(base.height)],
        }
    )
    schema = shoal.Schema(
        (
            shoal.Column("items", shoal.Role.QUASI, shoal.Kind.ITEMS),
            shoal.Column("age", shoal.Role.QUASI, shoal.Kind.NUMERIC),
            shoal.Column("label", shoal.Role.SENSITIVE),
        )
    )
    return frame, schema


def survey(data: Path) -> tuple[pl.DataFrame, shoal.Schema]:
    """Return a real table: the first women of a survey (CMC)."""
    frame = pl.read_csv(data / "cmc.csv").head(300)
    *quasi, sensitive = frame.columns
    numeric = {"wife_age", "children"}
    columns = [
        shoal.Column(name, shoal.Role.QUASI, *((shoal.Kind.NUMERIC,) if name in numeric else ()))
        for name in quasi
    ]
    return frame, shoal.Schema((*columns, shoal.Column(sensitive, shoal.Role.SENSITIVE)))


def digests(case: Case, data: Path | None, folder: Path) -> dict[str, str]:
    """Return the digests of a release: its two files, and its certificate without wording."""
    if case.table == "survey":
        assert data is not None
        frame, schema = survey(data)
    else:
        frame, schema = {"patients": lambda: patients(120), "tiny": lambda: patients(14), "baskets": baskets}[
            case.table
        ]()
    model = MODELS[case.model](**case.parameters)
    try:
        release = shoal.anonymize(frame, schema, model, method=case.method, seed=1, **case.options)
    except shoal.ShoalError as error:
        return {"refused": error.reason.value}
    write_csv(release.written("csv"), folder / "csv")
    write_parquet(release.written("parquet"), folder / "parquet")
    (folder / "certificate").write_text(json.dumps(plain(_lasting(release.certificate)), sort_keys=True))
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16]
        for name in ("csv", "parquet", "certificate")
    }


def _lasting(certificate: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in certificate.items() if name not in NEWS}


def plain(data: Any) -> Any:
    """Return what a certificate says without wording, digests of files, and the last digits of numbers."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items() if key not in WORDING | {"files"}}
    if isinstance(data, list):
        return [plain(value) for value in data]
    return float(f"{data:.9g}") if isinstance(data, float) else data


@pytest.mark.parametrize("name", CASES)
def test_a_release_is_the_one_on_record(name: str, shared_data: Path, tmp_path: Path) -> None:
    recorded = json.loads(RECORD.read_text())
    found = digests(CASES[name], shared_data, tmp_path)
    if recorded["polars"] != pl.__version__:  # the bytes of Parquet files are those of one version
        found.pop("parquet", None)
        recorded["digests"][name].pop("parquet", None)
    assert found == recorded["digests"][name]


def test_the_record_has_every_case_and_no_other() -> None:
    assert set(json.loads(RECORD.read_text())["digests"]) == set(CASES)


if __name__ == "__main__":
    shared = Path(os.environ.get("SHOAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    record = {}
    for number, (title, each) in enumerate(CASES.items()):
        with tempfile.TemporaryDirectory() as temporary:
            record[title] = digests(each, shared, Path(temporary))
        print(f"{number + 1}/{len(CASES)} {title}", file=sys.stderr)
    RECORD.write_text(json.dumps({"polars": pl.__version__, "digests": record}, indent=1) + "\n")
