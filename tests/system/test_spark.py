"""The Spark engine on a real cluster of two worker processes: promise, losses, and what it survives."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from blockwise import PEOPLE as SCHEMA
from blockwise import people

import shoal
from shoal import (
    KK,
    Column,
    Concealment,
    Dissimilarity,
    Freeform,
    InfeasibleError,
    InputError,
    KAnonymity,
    Kind,
    KOne,
    Missing,
    OneK,
    Patterned,
    Role,
    Schema,
    SetAnonymity,
    SetDiversity,
)
from shoal.engines import spark_sessions as opening
from shoal.engines.spark_files import read_files
from shoal.engines.spark_frames import headings, inferred_in
from shoal.errors import Reason
from shoal.models import Model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    # Spark leaves it to the interpreter to close its sockets.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def released(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "release.parquet" / "*.parquet")


def check(frame: pl.DataFrame, folder: Path, model: Model, schema: Schema = SCHEMA) -> pl.DataFrame:
    """Check that a release has every record once, and keeps its guarantee as a whole; return it."""
    release = released(folder)
    assert "name" not in release.columns
    # The column that is carried along tells that no record is lost or doubled.
    assert sorted(release["row"]) == sorted(frame["row"])
    found = shoal.audit(frame, release, schema.completed(frame.columns), model)
    assert found.holds, found.verdict
    return release


def test_spark_and_blocks_make_the_same_of_the_same_seed(session: Any, tmp_path: Path) -> None:
    frame = people(2_000)
    frame.write_parquet(tmp_path / "in.parquet", row_group_size=500)
    call = {"seed": 7, "block_rows": 400, "effort": "fast"}
    stages: list[str] = []
    here = shoal.anonymize_file(
        tmp_path / "in.parquet", SCHEMA, Freeform(k=5), tmp_path / "here", format="parquet", jobs=1, **call
    )
    there = shoal.anonymize_spark(
        tmp_path / "in.parquet",
        SCHEMA,
        Freeform(k=5),
        tmp_path / "there",
        session=session,
        progress=lambda stage, _: stages.append(stage),
        **call,
    )
    assert there.loss["gcp"] == pytest.approx(here.loss["gcp"])
    table = check(frame, tmp_path / "there", Freeform(k=5))
    same = pl.read_parquet(tmp_path / "here" / "release.parquet")
    assert table.sort("row").equals(same.sort("row"))
    # The order is random over all files, and another one than that of the table.
    assert table["row"].to_list() != sorted(table["row"])
    assert there.table.count() == 2_000
    certificate = json.loads((tmp_path / "there" / "certificate.json").read_text())
    assert certificate == there.certificate
    assert certificate["engine"]["name"] == "spark"
    assert certificate["engine"]["blocks"] == here.certificate["engine"]["blocks"] > 3
    assert certificate["seeded"]
    files = sorted(f.name for f in (tmp_path / "there" / "release.parquet").glob("*.parquet"))
    assert sorted(certificate["files"]) == [f"release.parquet/{name}" for name in files]
    assert {"reading values", "dividing into blocks", "joining blocks"} <= set(stages)
    # What was kept meanwhile is gone.
    assert sorted(file.name for file in tmp_path.iterdir()) == ["here", "in.parquet", "there"]


MODELS: tuple[Model, ...] = (
    KAnonymity(k=3, l=1.2),
    Freeform(k=3, l=1.2),
    Concealment(k=3),
    KK(k=3),
    KOne(k=3),
    OneK(k=3),
    Patterned(k=3),
    Dissimilarity(k=3, epsilon=0, delta=0.2),
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_that_may_be_cut_keeps_its_promise(model: Model, session: Any, tmp_path: Path) -> None:
    frame = people(600, seed=1)
    table = session.createDataFrame(frame.to_arrow()).repartition(3)
    release = shoal.anonymize_spark(table, SCHEMA, model, tmp_path / "out", block_rows=180)
    check(frame, tmp_path / "out", model)
    assert release.audit.holds
    assert release.certificate["engine"]["blocks"] > 1
    assert not release.certificate["seeded"]


@pytest.mark.parametrize("model", [SetAnonymity(k=2), SetDiversity(l=2)], ids=lambda model: model.name)
def test_sets_of_items_are_cut_by_their_order(model: Model, session: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    baskets = [sorted(set(rng.choice([f"i{n}" for n in range(12)], 4).tolist())) for _ in range(300)]
    frame = pl.DataFrame({"items": baskets, "illness": rng.choice(["a", "b", "c", "d"], 300)})
    schema = Schema((Column("items", Role.QUASI, Kind.ITEMS), Column("illness", Role.SENSITIVE)))
    table = session.createDataFrame(frame.to_arrow())
    release = shoal.anonymize_spark(table, schema, model, tmp_path / "out", block_rows=100)
    found = shoal.audit(frame, released(tmp_path / "out"), schema, model)
    assert found.holds, found.verdict
    assert release.certificate["engine"]["blocks"] > 1


def descendants(what: str) -> list[int]:
    """Return the processes below this one whose command has a word, as Linux tells."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            commands[int(folder.name)] = (folder / "cmdline").read_text()
        except OSError:
            continue  # it ended meanwhile
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])

    def is_ours(process: int) -> bool:
        while process in parents:
            if process == os.getpid():
                return True
            process = parents[process]
        return False

    return [process for process, command in commands.items() if what in command and is_ours(process)]


@pytest.mark.parametrize("victim", ["CoarseGrainedExecutorBackend", "pyspark.daemon"])
def test_a_killed_worker_costs_nobody_a_row(victim: str, session: Any, tmp_path: Path) -> None:
    frame = people(3_000, seed=2)
    table = session.createDataFrame(frame.to_arrow()).repartition(4)
    killed: list[int] = []

    def kill(stage: str, share: float) -> None:
        if stage.endswith("blocks") and "dividing" not in stage and share > 0 and not killed:
            killed.append(max(descendants(victim)))
            os.kill(killed[0], signal.SIGKILL)

    release = shoal.anonymize_spark(
        table, SCHEMA, Freeform(k=5), tmp_path / "out", block_rows=300, progress=kill
    )
    assert killed
    check(frame, tmp_path / "out", Freeform(k=5))
    assert release.certificate["engine"]["blocks"] > 5


def test_parts_without_rows_or_values_are_no_trouble(session: Any, tmp_path: Path) -> None:
    frame = people(500).with_columns(
        pl.when(pl.col("row") >= 100).then(pl.col("age")).alias("age"),
        pl.when(pl.col("row") >= 100).then(pl.col("town")).alias("town"),
    )
    source = tmp_path / "in"
    source.mkdir()
    frame[:100].write_parquet(source / "nulls.parquet")
    frame.clear().write_parquet(source / "empty.parquet")
    frame[100:].write_parquet(source / "rest.parquet")
    shoal.anonymize_spark(source, SCHEMA, Freeform(k=2), tmp_path / "out", session=session, block_rows=120)
    check(frame, tmp_path / "out", Freeform(k=2))
    suppressing = SCHEMA.changed("town", missing=Missing.SUPPRESS)
    made = shoal.anonymize_spark(
        source, suppressing, KAnonymity(k=2), tmp_path / "fewer", session=session, block_rows=120
    )
    check(frame[100:], tmp_path / "fewer", KAnonymity(k=2), suppressing)
    assert made.certificate["left_out"] == 100
    strict = SCHEMA.changed("town", missing=Missing.ERROR)
    with pytest.raises(InputError, match="must not have missing values") as refused:
        shoal.anonymize_spark(source, strict, Freeform(k=2), tmp_path / "none", session=session)
    assert refused.value.reason is Reason.MISSING_VALUE
    frame.clear().write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="no rows"):
        shoal.anonymize_spark(
            tmp_path / "empty.parquet", SCHEMA, Freeform(k=2), tmp_path / "none", session=session
        )
    assert not (tmp_path / "none").exists()


def test_records_that_cannot_be_told_apart_are_divided_at_random(session: Any, tmp_path: Path) -> None:
    frame = people(800).with_columns(
        pl.when(pl.col("row") % 10 == 0).then(pl.col("age")).otherwise(40).alias("age"),
        pl.when(pl.col("row") % 10 == 0).then(pl.col("town")).otherwise(pl.lit("Ulm")).alias("town"),
    )
    table = session.createDataFrame(frame.to_arrow()).repartition(3)
    release = shoal.anonymize_spark(table, SCHEMA, KAnonymity(k=2, l=1.2), tmp_path / "out", block_rows=120)
    check(frame, tmp_path / "out", KAnonymity(k=2, l=1.2))
    assert release.certificate["engine"]["largest"] < 400


def test_blocks_that_cannot_keep_the_promise_alone_are_united(session: Any, tmp_path: Path) -> None:
    """All young people have one illness: where they are alone, they cannot be varied."""
    frame = people(600).with_columns(
        pl.when(pl.col("age") < 50).then(pl.lit("flu")).otherwise(pl.col("illness")).alias("illness")
    )
    frame.write_parquet(tmp_path / "in.parquet")
    call: dict[str, Any] = {"seed": 3, "block_rows": 120}
    model = KAnonymity(k=2, p=2)
    here = shoal.anonymize_file(tmp_path / "in.parquet", SCHEMA, model, tmp_path / "here", jobs=1, **call)
    there = shoal.anonymize_spark(
        tmp_path / "in.parquet", SCHEMA, model, tmp_path / "there", session=session, **call
    )
    check(frame, tmp_path / "there", model)
    assert there.loss["gcp"] == pytest.approx(here.loss["gcp"])
    assert there.certificate["engine"]["blocks"] == here.certificate["engine"]["blocks"]
    same = frame.with_columns(pl.lit("flu").alias("illness"))
    with pytest.raises(InfeasibleError):
        shoal.anonymize_spark(
            session.createDataFrame(same.to_arrow()), SCHEMA, model, tmp_path / "none", **call
        )


def test_files_with_other_columns_are_refused(session: Any, tmp_path: Path) -> None:
    frame = people(100)
    for name, other in (("less", frame.drop("illness")), ("type", frame.with_columns(pl.col("age") * 0.5))):
        source = tmp_path / name
        source.mkdir()
        frame.write_parquet(source / "1.parquet")
        other.write_parquet(source / "2.parquet")
        with pytest.raises(InputError, match="illness" if name == "less" else "age") as refused:
            shoal.anonymize_spark(source, SCHEMA, Freeform(k=2), tmp_path / "out", session=session)
        assert refused.value.reason is Reason.SCHEMA
    texts = tmp_path / "texts"
    texts.mkdir()
    frame.write_csv(texts / "1.csv")
    frame.rename({"age": "years"}).write_csv(texts / "2.csv")
    with pytest.raises(InputError, match=r"(?i)header"):
        shoal.anonymize_spark(texts, SCHEMA, Freeform(k=2), tmp_path / "out", session=session)
    frame.write_csv(texts / "2.csv")
    with (texts / "2.csv").open("a") as file:
        file.write("1,2\n")
    with pytest.raises(InputError, match=r"(?i)malformed"):
        shoal.anonymize_spark(texts, SCHEMA, Freeform(k=2), tmp_path / "out", session=session)
    assert not (tmp_path / "out").exists()


def test_no_rows_are_sent_to_the_driver(session: Any, tmp_path: Path) -> None:
    """All rows together are many times larger than what Spark lets pass."""
    frame = people(4_000).with_columns(
        pl.Series("letter", [os.urandom(3_000).hex() for _ in range(4_000)]), age=pl.col("age") % 7
    )
    frame.write_parquet(tmp_path / "in.parquet", compression="uncompressed", row_group_size=500)
    assert (tmp_path / "in.parquet").stat().st_size > 10 * 2 * 2**20
    shoal.anonymize_spark(
        tmp_path / "in.parquet",
        SCHEMA,
        KAnonymity(k=5),
        tmp_path / "out",
        session=session,
        block_rows=1_000,
        method="mondrian",
    )
    release = check(frame, tmp_path / "out", KAnonymity(k=5))
    assert sorted(release["letter"]) == sorted(frame["letter"])


def test_kinds_are_those_of_other_engines(session: Any, tmp_path: Path) -> None:
    rows = range(400)
    frame = pl.DataFrame(
        {
            "age": [str(20 + row % 60) for row in rows],
            "sex": [str(1 + row % 2) for row in rows],
            "born": [f"{1 + row % 28:02}.{1 + row % 12:02}.1980" for row in rows],
            "seen": [f"2024-01-{1 + row % 28:02}T10:00:00Z" for row in rows],
            "at": [f"{row % 24:02}:{row * 7 % 60:02}" for row in rows],
            "zip": [f"0{row % 90 + 1000}" for row in rows],
            "score": ["?" if row % 9 == 0 else str(row) for row in rows],
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    table = read_files(session, tmp_path / "t.csv").repartition(3)
    found = inferred_in(table, ["?"])
    whole = Schema.infer(frame, missing_marks=["?"])
    assert Schema.infer(headings(table), missing_marks=["?"], inferred=found) == whole
    assert [column.kind.value for column in whole] == [
        *("numeric", "categorical", "date", "date", "time", "categorical", "numeric"),
    ]
    assert (whole["born"].date_format, found["age"].numbers) == ("%d.%m.%Y", None)


def test_text_means_what_it_means_elsewhere(session: Any, tmp_path: Path) -> None:
    frame = people(300).with_columns(
        pl.when(pl.col("row") % 9 == 0).then(pl.lit('a "b"; c\nd')).otherwise(pl.col("town")).alias("town"),
        pl.when(pl.col("row") % 5 != 0).then(pl.col("illness")).alias("illness"),
    )
    frame.write_csv(tmp_path / "in.csv", separator=";")
    made = shoal.anonymize_spark(
        tmp_path / "in.csv", SCHEMA, Freeform(k=2), tmp_path / "out", session=session, block_rows=120
    )
    text = shoal.read_table(tmp_path / "in.csv")
    release = released(tmp_path / "out")
    assert sorted(release["row"].cast(pl.Int64)) == sorted(frame["row"])
    assert release["illness"].null_count() == frame["illness"].null_count()
    assert shoal.audit(text, release, SCHEMA.completed(text.columns), Freeform(k=2)).holds
    assert made.certificate["rows"] == 300
    with pytest.raises(InputError, match=r"holds .certificate\.json"):
        shoal.anonymize_spark(tmp_path / "in.csv", SCHEMA, Freeform(k=2), tmp_path / "out", session=session)
    shoal.anonymize_spark(
        tmp_path / "in.csv", SCHEMA, Freeform(k=2), tmp_path / "out", session=session, overwrite=True
    )


def test_odd_names_and_types_are_carried_along_to_an_address(session: Any, tmp_path: Path) -> None:
    rows = 200
    born = [datetime.date(1950, 1, 1) + datetime.timedelta(days=97 * number) for number in range(rows)]
    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    frame = pl.DataFrame(
        {
            "born.on": born,
            "Town": ["Ulm", "Bonn"] * (rows // 2),
            "unit": [noon + datetime.timedelta(hours=number) for number in range(rows)],
            "paid, in €": pl.Series([Decimal(number) / 4 for number in range(rows)], dtype=pl.Decimal(10, 2)),
            "told": [[number, None] for number in range(rows)],
            "c1": [{"b": str(number), "a": 0.5} for number in range(rows)],
            "row": range(rows),
        }
    )
    schema = Schema((Column("born.on", Role.QUASI, Kind.DATE), Column("Town", Role.QUASI)))
    address = f"file://{tmp_path}/out"
    table = session.createDataFrame(frame.to_arrow())
    zone = session.conf.get("spark.sql.session.timeZone")
    made = shoal.anonymize_spark(table, schema, Freeform(k=2), address, block_rows=120)
    assert session.conf.get("spark.sql.session.timeZone") == zone
    release = check(frame, tmp_path / "out", Freeform(k=2), schema)
    carried = ["unit", "paid, in €", "told", "c1", "row"]
    with_zone = release.select(carried).sort("row").with_columns(pl.col("unit").dt.convert_time_zone("UTC"))
    assert with_zone.equals(frame.select(carried))
    assert made.table.columns == frame.columns
    assert json.loads((tmp_path / "out" / "certificate.json").read_text()) == made.certificate
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith(".crc")) == ["out"]
    with pytest.raises(InputError, match="holds"):
        shoal.anonymize_spark(table, schema, Freeform(k=2), address, block_rows=120)


def test_limits_of_columns_are_kept(session: Any, tmp_path: Path) -> None:
    frame = people(600, seed=1)
    limited = SCHEMA.changed("age", widest=60, bands="every 10")
    table = session.createDataFrame(frame.to_arrow()).repartition(3)
    release = shoal.anonymize_spark(table, limited, KAnonymity(k=3), tmp_path / "out", block_rows=180)
    assert release.certificate["engine"]["blocks"] > 1
    check(frame, tmp_path / "out", KAnonymity(k=3), limited)


def test_what_cannot_be_done_says_so(session: Any, tmp_path: Path) -> None:
    frame = people(50)
    table = session.createDataFrame(frame.to_arrow())
    with pytest.raises(InputError, match="withhold"):
        shoal.anonymize_spark(table, SCHEMA, OneK(k=2, withhold=0.1), tmp_path / "out")
    with pytest.raises(InputError, match="block_rows = 0 is below 1"):
        shoal.anonymize_spark(table, SCHEMA, Freeform(k=2), tmp_path / "out", block_rows=0)
    with pytest.raises(InputError, match="more than one column"):
        shoal.anonymize_spark(table.select("age", "age"), SCHEMA, Freeform(k=2), tmp_path / "out")
    varied = table.selectExpr("*", "parse_json('[1]') as more")
    with pytest.raises(InputError, match="'more' is of a type"):
        shoal.anonymize_spark(varied, SCHEMA, Freeform(k=2), tmp_path / "out")
    frame.write_ipc(tmp_path / "in.arrow")
    with pytest.raises(InputError, match="delimited text or Parquet"):
        shoal.anonymize_spark(tmp_path / "in.arrow", SCHEMA, Freeform(k=2), tmp_path / "out", session=session)

    def cancel(stage: str, _: float) -> None:
        if stage == "dividing into blocks":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shoal.anonymize_spark(table, SCHEMA, Freeform(k=2), tmp_path / "out", progress=cancel)
    assert [file.name for file in tmp_path.iterdir()] == ["in.arrow"]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_a_table_that_changes_while_it_is_read_is_refused(session: Any, tmp_path: Path) -> None:
    def some(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch.slice(0, 100 + int.from_bytes(os.urandom(4), "little") % (batch.num_rows - 100))

    table = session.createDataFrame(people(5_000).to_arrow()).coalesce(1)
    with pytest.raises(InputError) as refused:
        shoal.anonymize_spark(table.mapInArrow(some, table.schema), SCHEMA, KAnonymity(k=2), tmp_path / "out")
    assert refused.value.reason is Reason.SPARK


def test_without_spark_or_a_session_one_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'shoal-privacy\[spark\]'"):
        shoal.anonymize_spark("in.parquet", SCHEMA, Freeform(k=2), tmp_path / "out")


ROLES = ("--quasi", "age,town", "--sensitive", "illness", "--drop", "name")


def call(folder: Path, *arguments: str, **environment: str | None) -> subprocess.Popen[str]:
    variables = {**os.environ, **environment}
    return subprocess.Popen(
        [sys.executable, "-m", "shoal", "anonymize", *arguments, *ROLES, "--k", "3", "--engine", "spark"],
        cwd=folder,
        env={name: value for name, value in variables.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_brings_its_own_java(tmp_path: Path, spark_configuration: str) -> None:
    people(400).write_csv(tmp_path / "in.csv")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "chmod", "dirname", "id", "ls", "ps", "readlink", "rm", "sh", "stat", "uname"):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    master = ("--master", "local[1]", "--block-rows", "180", "--json")
    variables = {"PATH": str(tools), "JAVA_HOME": None, "SPARK_CONF_DIR": spark_configuration}
    process = call(tmp_path, "in.csv", "-o", "out", *master, **variables)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    # Nothing of Spark or Java, only that the table numbers its rows, and what to do about it.
    assert "'row' could identify" in err
    assert all(line.startswith(("Warning: ", "Use --drop ")) for line in err.splitlines())
    certificate = json.loads(out)
    assert certificate["engine"]["name"] == "spark"
    assert certificate["rows"] == 400
    assert (tmp_path / "out" / "certificate.json").exists()
    text = shoal.read_table(tmp_path / "in.csv")
    schema = Schema.infer(text, quasi=["age", "town"], sensitive=["illness"], drop=["name"])
    assert schema.quasi[0].kind is Kind.NUMERIC
    assert shoal.audit(text, released(tmp_path / "out"), schema, Freeform(k=3)).holds


def test_a_session_can_be_used_after_a_call_was_interrupted(session: Any) -> None:
    """Java answers a second after the signal; the next call must not take that for its own answer."""
    java = session.sparkContext._jvm.java.lang
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        with pytest.raises(SystemExit), opening.interruptible(session):
            java.Thread.sleep(1_500)
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)
    assert java.Integer.parseInt("17") == 17
    assert session.range(3).count() == 3


def test_the_command_can_be_interrupted(tmp_path: Path, spark_configuration: str) -> None:
    people(4_000).write_parquet(tmp_path / "in.parquet")
    refused = call(tmp_path, "in.parquet", "-o", "out", "--format", "csv")
    assert "writes Parquet" in refused.communicate(timeout=100)[1]
    assert refused.returncode == 2
    arguments = ("in.parquet", "-o", "out", "--master", "local[1]", "--work", "work")
    process = call(tmp_path, *arguments, SPARK_CONF_DIR=spark_configuration)
    deadline = time.monotonic() + 200
    while not any((tmp_path / "work").glob(".shoal.*/blocks")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == 130
    assert [file.name for file in tmp_path.iterdir() if file.name != "work"] == ["in.parquet"]
    assert list((tmp_path / "work").iterdir()) == []
