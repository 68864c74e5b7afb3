"""Categories whose type declares an order are ordinal as quasi-identifiers, however the table is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.schema import merged_columns
from shoal.web import fields
from shoal.web.tasks import Source, look

SCALE = ["never", "seldom", "often", "always"]
TYPE = [*SCALE[:2], "unused", *SCALE[2:]]
N = 48
ANSWERS = [SCALE[number * 7 % 11 % 4] for number in range(N)]
AGES = [20 + number % 5 for number in range(N)]
run = CliRunner().invoke


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame({"stage": pl.Series(ANSWERS, dtype=pl.Enum(TYPE)), "age": AGES})


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame({"stage": pd.Categorical(ANSWERS, categories=TYPE, ordered=True), "age": AGES})


def arrow_table() -> Any:
    codes = [TYPE.index(answer) for answer in ANSWERS]
    return pa.table({"stage": pa.DictionaryArray.from_arrays(codes, TYPE, ordered=True), "age": AGES})


def duckdb_relation() -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute(f"CREATE TYPE stages AS ENUM {tuple(TYPE)}")
    connection.register("answers", pl.DataFrame({"stage": ANSWERS, "age": AGES}).to_arrow())
    return connection.sql("SELECT stage::stages AS stage, age FROM answers")


FRAMES: dict[str, Callable[[], Any]] = {
    "polars": polars_frame,
    "lazy": lambda: polars_frame().lazy(),
    "pandas": pandas_frame,
    "pyarrow": arrow_table,
    "chunks": lambda: pa.concat_tables([arrow_table().slice(0, 9), arrow_table().slice(9)]),
    "duckdb": duckdb_relation,
}
WRITERS: dict[str, Callable[[Path], Any]] = {
    "polars.parquet": lambda path: polars_frame().write_parquet(path),
    "pandas.parquet": lambda path: pandas_frame().to_parquet(path),
    "polars.arrow": lambda path: polars_frame().write_ipc(path),
    "stream.arrow": lambda path: polars_frame().write_ipc_stream(path),
    "pandas.feather": lambda path: pandas_frame().to_feather(path),
}


@pytest.mark.parametrize("flavour", FRAMES)
def test_frames(flavour: str) -> None:
    frame = FRAMES[flavour]()
    schema = shoal.Schema.infer(frame, quasi=["stage", "age"])
    assert schema["stage"].kind is shoal.Kind.ORDINAL
    assert list(schema["stage"].domain or ()) == SCALE  # those that occur, in the order of the type
    model = shoal.KAnonymity(k=20)
    release = shoal.anonymize(frame, schema, model)
    assert shoal.audit(FRAMES[flavour](), release.table, schema, model).holds
    shown = set(release.written("csv")["stage"])
    assert shown <= set(SCALE) | {f"{a}..{b}" for a in SCALE for b in SCALE} | {"*"}
    assert "unused" not in json.dumps(release.certified.codebook())


@pytest.mark.parametrize("file", WRITERS)
def test_files_in_memory_and_in_blocks(file: str, tmp_path: Path) -> None:
    path = tmp_path / file
    WRITERS[file](path)
    read = shoal.read_table(path)
    whole = shoal.Schema.infer(read, quasi=["stage", "age"])
    assert list(whole["stage"].domain or ()) == SCALE
    batches = merged_columns([read.head(7), read.slice(7, 0), read.slice(7)])
    assert shoal.Schema.infer(read.head(3), quasi=["stage", "age"], inferred=batches) == whole
    if file.endswith(".parquet"):
        model = shoal.Freeform(k=3)
        release = shoal.anonymize_file(path, whole, model, tmp_path / "out")
        assert release.certified.audit.holds


def test_scan_writes_the_order_and_the_page_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    polars_frame().rename({"stage": "education"}).write_parquet(path)
    result = run(app, ["scan", str(path), "-o", str(tmp_path / "s.toml"), "--json"])
    assert result.exit_code == 0, result.output
    written = shoal.Schema.read(tmp_path / "s.toml")["education"]
    assert (written.kind.value, list(written.domain or ())) == ("ordinal", SCALE)
    assert "declares an order" in json.loads(result.stdout)["columns"][0]["reason"]
    shown = look(Source(path, "t.parquet"), lambda *_: None)["columns"][0]
    assert shown["kind"] == "ordinal"
    assert list(fields.read_list(shown["order"])) == SCALE


def test_a_field_of_the_page_keeps_values_with_commas() -> None:
    values = ("(0, 10]", 'a "b"', "c")
    assert fields.read_list(fields.written_list(values)) == values
    assert fields.read_list(" low, high ") == ("low", "high")
    with pytest.raises(shoal.InputError):
        fields.read_list("a\nb")


def test_intervals_and_whole_numbers_of_pandas() -> None:
    ages = pd.Series(AGES)
    frame = pd.DataFrame(
        {
            "group": pd.cut(ages, [0, 21, 23, 99]),
            "rank": pd.Categorical(ages, categories=[24, 23, 22, 21, 20], ordered=True),
        }
    )
    schema = shoal.Schema.infer(frame, quasi=["group", "rank"])
    assert schema["group"].domain == ("(0, 21]", "(21, 23]", "(23, 99]")
    assert schema["rank"].domain == (24, 23, 22, 21, 20)
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=12))
    assert shoal.audit(frame, release.table, schema, shoal.KAnonymity(k=12)).holds
    assert any("]..(" in cell for cell in release.table["group"])


def test_an_order_in_which_many_values_occur_is_no_scale() -> None:
    """It would say which record was where: a codebook lists the values of an ordinal column in order."""
    names = [f"name-{(number * 37) % 50}" for number in range(50)]
    for frame in (
        pl.DataFrame({"x": pl.Series(names, dtype=pl.Enum(names))}),
        pd.DataFrame({"x": pd.Categorical(names, categories=names, ordered=True)}),
    ):
        assert shoal.Schema.infer(frame, quasi=["x"])["x"].kind is shoal.Kind.CATEGORICAL
    ascending = pl.DataFrame({"x": pl.Series(names, dtype=pl.Enum(sorted(names)))})
    assert shoal.Schema.infer(ascending, quasi=["x"])["x"].kind is shoal.Kind.ORDINAL


def test_what_is_said_takes_precedence() -> None:
    frame = polars_frame()
    assert shoal.Schema.infer(frame)["stage"].kind is shoal.Kind.CATEGORICAL  # released as it is
    said = shoal.Schema.infer(frame, quasi=["stage"], kinds={"stage": "categorical"})
    assert said["stage"].domain is None
    tree = shoal.Hierarchy.from_levels([[each, "any"] for each in SCALE])
    with_tree = shoal.Schema.infer(frame, quasi=["stage"], hierarchies={"stage": tree})
    assert with_tree["stage"].kind is shoal.Kind.CATEGORICAL


def test_a_hierarchy_on_the_command_line_replaces_the_order(tmp_path: Path) -> None:
    polars_frame().write_parquet(tmp_path / "t.parquet")
    (tmp_path / "h.csv").write_text("".join(f"{each},any\n" for each in SCALE))
    words = ["anonymize", str(tmp_path / "t.parquet"), "--quasi", "stage,age", "--k", "3", "--quiet"]
    words += ["--hierarchy", f"stage={tmp_path / 'h.csv'}", "-o", str(tmp_path / "out")]
    result = run(app, words)
    assert result.exit_code == 0, result.output
    assert '"ordinal"' not in (tmp_path / "out" / "codebook.json").read_text()


def test_sets_of_other_tools_are_read_as_categories() -> None:
    """A set with a gap is no interval: to read it as one would claim too much."""
    frame, model = polars_frame(), shoal.KAnonymity(k=3)
    release = pl.DataFrame({"stage": ["never|always"] * N, "age": ["20..24"] * N})
    schema = shoal.Schema.infer(frame, quasi=["stage", "age"])
    with pytest.raises(shoal.InputError, match=r"neither an ordinal value .* make the column categorical"):
        shoal.audit(frame, release, schema, model)
    said = shoal.Schema.infer(frame, quasi=["stage", "age"], kinds={"stage": "categorical"})
    assert not shoal.audit(frame, release, said, model).holds  # "often" is not covered
    whole = release.with_columns(stage=pl.lit("|".join(SCALE)))
    assert shoal.audit(frame, whole, said, model).holds
