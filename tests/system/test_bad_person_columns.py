"""Person columns that cannot be used: what the library, blocks, the command line and the page say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import called

import shoal
from shoal import Freeform, InfeasibleError, InputError, Schema, ShoalError
from shoal.web.columns import described

QUASI = ["age", "town"]
N = 240

Release = Callable[[pl.DataFrame, Path, dict[str, Any]], Any]


def table(persons: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient": persons,
            "age": [20 + row % 31 for row in range(N)],
            "town": [("Ulm", "Bonn", "Kiel")[row % 3] for row in range(N)],
        }
    )


def in_memory(frame: pl.DataFrame, _folder: Path, options: dict[str, Any]) -> Any:
    schema = Schema.infer(frame, **{"quasi": QUASI, "person": "patient", **options})
    return shoal.anonymize(frame, schema, Freeform(k=3), seed=1).certificate


def in_blocks(frame: pl.DataFrame, folder: Path, options: dict[str, Any]) -> Any:
    schema = Schema.infer(frame, **{"quasi": QUASI, "person": "patient", **options})
    frame.write_parquet(folder / "in.parquet")
    call = (folder / "in.parquet", schema, Freeform(k=3), folder / "out")
    return shoal.anonymize_file(*call, seed=1, block_rows=1, jobs=1).certificate


ENGINES = pytest.mark.parametrize("release", [in_memory, in_blocks], ids=["memory", "blocks"])
REPEATED = [f"patient {row % 80}" for row in range(N)]


@ENGINES
def test_missing_persons_are_an_error_or_are_left_out(release: Release, tmp_path: Path) -> None:
    frame = table([None, "", *REPEATED[2:]])
    with pytest.raises(InputError, match=r"'patient' must not have missing values, but 2 are missing"):
        release(frame, tmp_path, {})
    made = release(frame, tmp_path, {"missing": {"patient": "suppress"}})
    assert (made["rows"], made["left_out"]) == (N - 2, 2)


@ENGINES
def test_a_single_person_is_infeasible(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match=r"1 person has more than 80 of the 240 records.*no k is"):
        release(table(["patient 1"] * N), tmp_path, {})


@ENGINES
def test_a_person_column_is_no_quasi_identifier(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two roles"):
        release(table(list(REPEATED)), tmp_path, {"quasi": [*QUASI, "patient"]})


@ENGINES
def test_a_person_column_without_repetitions_counts_records(release: Release, tmp_path: Path) -> None:
    frame = table([f"patient {row}" for row in range(N)])
    with_persons = release(frame, tmp_path, {})
    (tmp_path / "other").mkdir()
    without = release(frame, tmp_path / "other", {"person": None, "drop": ["patient"]})
    assert with_persons["loss"] == without["loss"]
    assert with_persons["audit"]["persons"]["persons"] == N
    assert with_persons["audit"]["risks"] == without["audit"]["risks"]


@pytest.mark.parametrize("engine", ["memory", "blocks"])
@pytest.mark.parametrize(
    ("persons", "options", "code", "words"),
    [
        ([None, *REPEATED[1:]], ["--quasi", "age,town"], 2, "must not have missing values"),
        (["patient 1"] * N, ["--quasi", "age,town"], 1, "no k is achievable"),
        (REPEATED, ["--quasi", "age,town,patient"], 2, "two roles"),
        ([f"patient {row}" for row in range(N)], ["--quasi", "age,town"], 0, "240"),
    ],
    ids=["missing", "one person", "two roles", "unique"],
)
def test_the_command_line_says_what_is_wrong(
    persons: list[str | None], options: list[str], code: int, words: str, engine: str, tmp_path: Path
) -> None:
    table(persons).write_csv(tmp_path / "visits.csv")
    call = ["anonymize", "visits.csv", "--person", "patient", *options, "--k", "3", "-o", "out"]
    done = called(tmp_path, *call, "--engine", engine, code=code)
    assert words in " ".join((done.stdout + done.stderr).split())
    assert (tmp_path / "out").exists() == (code == 0)


def entries(roles: list[str]) -> Callable[[str], object]:
    """Return the fields of the page for columns with some roles."""
    usual = {"hierarchy": "none", "missing": "category", "weight": "1", "kind": "categorical"}

    def entry(name: str) -> object:
        what, _, place = name.rpartition("_")
        return roles[int(place)] if what == "role" else usual.get(what, "")

    return entry


def test_the_page_refuses_two_person_columns() -> None:
    schema, problems = described(["a", "b", "c"], entries(["person", "person", "quasi"]))
    assert schema is None
    assert "both have the role person" in problems["columns"]


@pytest.mark.parametrize(
    ("persons", "words"),
    [([None, *REPEATED[1:]], "must not have missing values"), (["patient 1"] * N, "no k is achievable")],
    ids=["missing", "one person"],
)
def test_the_page_gives_errors_a_place(persons: list[str | None], words: str) -> None:
    """What the page runs in another process raises an error that it shows at the column or at k."""
    schema, problems = described(["patient", "age", "town"], entries(["person", "quasi", "quasi"]))
    assert not problems
    assert schema is not None
    with pytest.raises(ShoalError, match=words) as told:
        shoal.anonymize(table(persons), schema, Freeform(k=3))
    about = told.value.as_dict()
    assert about["column"] == "patient" or about["parameter"] == "k"
