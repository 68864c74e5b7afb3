"""An attacker unpickles a release, or reads a log of it, to find identifiers, the key and the originals."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pandas as pd
import polars as pl
import pytest

from shoal import KAnonymity, Schema, anonymize
from shoal.release import Release
from shoal.table import Table

N = 40
FLAVOURS = {
    "polars": lambda f: f,
    "pandas": lambda f: f.to_pandas(),
    "objects": lambda f: pd.DataFrame(
        {name: pd.Series(f[name].to_list(), dtype=object) for name in f.columns}
    ),
    "pyarrow": lambda f: f.to_arrow(),
}


def release_of(flavour: str) -> Release:
    people = pl.DataFrame(
        {
            "name": [f"Nathaniel Hawthorne the {i}th" for i in range(N)],
            "age": [20 + i % 8 for i in range(N)],
            "note": [f"note number {i}" for i in range(N)],
        }
    )
    frame = FLAVOURS[flavour](people)
    return anonymize(frame, Schema.infer(frame, quasi=["age"], drop=["name"]), KAnonymity(k=4))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_release_refers_to_no_identifier(flavour: str) -> None:
    table = release_of(flavour).recoding.table
    assert "name" not in table.frame.columns
    assert b"Hawthorne" not in pickle.dumps(table.frame.to_native())


@pytest.mark.parametrize("part", ["release", "recoding", "table", "report"])
def test_what_holds_the_originals_is_not_pickled(part: str) -> None:
    release = release_of("polars")
    things: dict[str, Any] = {
        "release": release,
        "recoding": release.recoding,
        "table": release.recoding.table,
        "report": release.report,
    }
    with pytest.raises(TypeError, match=r"release\.table"):
        pickle.dumps(things[part])


def test_what_may_be_published_can_be_pickled() -> None:
    release = release_of("polars")
    assert pickle.loads(pickle.dumps(release.table)).equals(release.table)
    assert pickle.loads(pickle.dumps(release.certificate)) == release.certificate


def test_copies_are_the_same_frozen_release() -> None:
    release = release_of("polars")
    assert copy.copy(release) is release
    assert copy.deepcopy(release) is release
    table = release.recoding.table
    assert isinstance(copy.deepcopy(table), Table)


def test_no_record_is_in_what_a_log_shows() -> None:
    release = release_of("polars")
    for text in (repr(release), repr(release.recoding), repr(release.recoding.table), repr(release.report)):
        assert "note number" not in text
        assert "Hawthorne" not in text
        assert len(text) < 500
