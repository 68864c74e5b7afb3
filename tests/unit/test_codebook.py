"""Codebooks: what was declared is in them, and nothing that was found in the data."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.reading import Codebook
from shoal.samples import hospital


@pytest.fixture(scope="module")
def patients() -> Any:
    return hospital(1500, seed=4)


def test_a_codebook_has_no_value_that_was_not_declared(patients: Any, tmp_path: Path) -> None:
    hierarchy = {"zip": shoal.Prefixes((3,)), "age": shoal.Intervals((10, 20))}
    for hierarchies, model in (({}, shoal.Freeform(k=5)), (hierarchy, shoal.KAnonymity(k=5))):
        schema = shoal.Schema.infer(
            patients,
            quasi=["age", "sex", "zip"],
            sensitive=["diagnosis"],
            drop=["patient", "name"],
            hierarchies=hierarchies,
        )
        release = shoal.anonymize(patients, schema, model, seed=1)
        release.save(tmp_path / "out", overwrite=True)
        text = (tmp_path / "out" / "codebook.json").read_text()
        words = {str(each) for each in _leaves(json.loads(text))}
        cells = pl.DataFrame(patients)
        for name in cells.columns:
            values = {str(value) for value in cells[name].to_list() if value is not None}
            assert not (values & words) - {"1", "3", "5", "10", "20", "other"}, name


@pytest.mark.parametrize(
    "make",
    [
        lambda _: shoal.Freeform(k=4, l=1.5),
        lambda _: shoal.Concealment(k=4),
        lambda _: shoal.KOne(k=4),
        lambda _: shoal.Patterned(k=4, up_to=2),
        lambda _: shoal.KmAnonymity(k=4, knows=2),
        lambda _: shoal.TCloseness(k=4, t=0.9),
        lambda frame: shoal.KMap(population=pl.concat([frame, frame]), k=4),
        lambda frame: shoal.DeltaPresence(population=pl.concat([frame, frame]), delta_max=0.7),
    ],
    ids=["freeform", "concealment", "k1", "patterned", "km", "t", "k-map", "presence"],
)
def test_a_codebook_has_no_value_whatever_the_model_and_the_kinds(make: Any, tmp_path: Path) -> None:
    rows = range(60)
    start = datetime.datetime(2021, 3, 4, 5)
    frame = pl.DataFrame(
        {
            "number": [1000 + row % 7 for row in rows],
            "fraction": [2000.5 + row % 3 for row in rows],
            "day": [start.date() + datetime.timedelta(days=row % 5) for row in rows],
            "stamp": [start + datetime.timedelta(hours=row % 5) for row in rows],
            "label": [f"label {row % 4}" for row in rows],
            "carried": [3000 + row for row in rows],
            "illness": [f"illness {row % 3}" for row in rows],
        }
    )
    quasi = ["number", "fraction", "day", "stamp", "label"]
    schema = shoal.Schema.infer(frame, quasi=quasi, sensitive=["illness"], kinds={"stamp": "hour"})
    shoal.anonymize(frame, schema, make(frame), seed=1).save(tmp_path / "out")
    text = (tmp_path / "out" / "codebook.json").read_text()
    for name in frame.columns:
        assert not [value for value in frame[name].cast(pl.String).unique() if value in text], name


def _leaves(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return [leaf for each in data.values() for leaf in _leaves(each)]
    if isinstance(data, list):
        return [leaf for each in data for leaf in _leaves(each)]
    return [data]


def test_what_was_declared_is_in_the_codebook_and_read_back(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "age": [20, 30, 40, 50] * 3,
            "born": [datetime.date(2000, 1, day) for day in range(1, 13)],
            "stage": ["i", "ii", "iii"] * 4,
            "place": ["Boston", "Salem", "Reno"] * 4,
        }
    )
    levels = [("Boston", "MA", "*"), ("Salem", "MA", "*"), ("Reno", "NV", "*"), ("Elko", "NV", "*")]
    schema = shoal.Schema.infer(
        frame,
        quasi=frame.columns,
        kinds={"stage": "ordinal"},
        domains={
            "age": (0, 120),
            "born": (datetime.date(1999, 1, 1), datetime.date(2001, 1, 1)),
            "stage": ["i", "ii", "iii", "iv"],
        },
        hierarchies={"place": shoal.Hierarchy.from_levels(levels)},
    )
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=3), seed=1)
    folder = release.save(tmp_path / "out")
    book = json.loads((folder / "codebook.json").read_text())
    columns = {column["name"]: column for column in book["columns"]}
    assert columns["age"]["domain"] == [0, 120]
    assert columns["born"]["domain"] == ["1999-01-01", "2001-01-01"]
    assert columns["place"]["hierarchy"]["levels"][3][0] == "Elko"
    assert book["tight"] == {"around": "classes"}
    reader = shoal.open_release(folder)
    assert reader.count(place="MA").possible >= 8
    assert reader.count(stage=("i", "iii")).estimate == pytest.approx(12)
    assert reader.count(born=(datetime.date(2000, 1, 1), datetime.date(2000, 1, 12))).certain == 12


@pytest.mark.parametrize("k", [0, -3, "many", None])
def test_a_codebook_with_an_impossible_k_is_refused(k: Any) -> None:
    book = {"codebook": 1, "columns": [], "model": {"name": "k1", "k": k}}
    with pytest.raises(shoal.InputError, match="is not understood"):
        Codebook.from_dict(book)
