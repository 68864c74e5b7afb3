"""The engine for tables beyond memory: its files, what it keeps when it is interrupted, what it refuses."""

from __future__ import annotations

import io
import json
import pickle
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from blockwise import PEOPLE as SCHEMA
from blockwise import people

import shoal
from shoal import Dissimilarity, Freeform, InputError, KAnonymity, Missing, OneK, Role, Schema
from shoal.engines import disk_blocks, disk_run
from shoal.engines.disk_blocks import release_unit
from shoal.engines.on_disk import anonymize_file
from shoal.engines.workers import tell
from shoal.errors import InfeasibleError, Reason
from shoal.kinds.hierarchy_rules import Prefixes

ASKED: list[range] = []


class InThisProcess:
    """A crew whose work is done here: starting processes takes longer than the blocks of these tests."""

    def __init__(self, environment: Mapping[str, str], *, lasting: bool) -> None:
        self.environment, self.lasting = environment, lasting

    def ask(self, code: str, task: bytes) -> dict[str, Any]:
        assert code == disk_blocks.WORKER
        folder, unit = pickle.loads(task)
        ASKED.append(unit)
        told: dict[str, Any] = {}
        try:
            release_unit(Path(folder), unit)
        except InfeasibleError as error:
            told = {"reason": error.reason.value, "message": str(error)}
        return told

    def stop(self) -> None:
        """Have nothing to stop."""


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ASKED.clear()
    monkeypatch.setattr(disk_blocks, "Crew", InThisProcess)


def check(frame: pl.DataFrame, folder: Path, model: Any, schema: Schema = SCHEMA) -> pl.DataFrame:
    """Check that a release has every record once, and keeps its guarantee as a whole; return it."""
    release = shoal.read_table(next(folder.glob("release.*")))
    assert "name" not in release.columns
    # The column that is carried along tells that no record is lost or doubled.
    assert sorted(release["row"].cast(pl.Int64)) == sorted(frame["row"])
    found = shoal.audit(frame, release, schema.completed(frame.columns), model)
    assert found.holds, found.verdict
    return release


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_in_several_files_becomes_one_release(
    form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.engines.joining.TOGETHER", 150)
    monkeypatch.setattr(disk_run, "BUFFERED", 100)
    frame = people(600)
    source = tmp_path / "in"
    source.mkdir()
    frame[:250].write_parquet(source / "1.parquet")
    frame.clear().write_parquet(source / "2.parquet")
    frame[250:].write_parquet(source / "3.parquet")
    stages: list[str] = []
    release = anonymize_file(
        source,
        SCHEMA,
        Freeform(k=2),
        tmp_path / "out",
        format=form,
        block_rows=150,
        progress=lambda stage, _: stages.append(stage),
    )
    table = check(frame, tmp_path / "out", Freeform(k=2))
    assert table["row"].cast(pl.Int64).to_list() != frame["row"].to_list()
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate == release.certificate
    assert certificate["engine"]["blocks"] > 2
    assert certificate["rows"] == certificate["audit"]["records"] == 600
    assert release.loss["gcp"] == certificate["loss"]["gcp"] > 0
    assert f"0 of {release.certificate['engine']['blocks']} blocks" in stages
    assert "Release report" in (tmp_path / "out" / "report.html").read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in", "out"]


def test_a_run_that_was_broken_off_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(600)
    frame.write_parquet(tmp_path / "in.parquet")

    class Interrupted(InThisProcess):
        def ask(self, code: str, task: bytes) -> dict[str, Any]:
            if len(ASKED) == 2:
                raise KeyboardInterrupt
            return super().ask(code, task)

    def call(**more: Any) -> Any:
        return anonymize_file(
            tmp_path / "in.parquet",
            SCHEMA,
            Freeform(k=2),
            tmp_path / "out",
            block_rows=120,
            jobs=1,
            work=tmp_path / "work",
            **more,
        )

    monkeypatch.setattr(disk_blocks, "Crew", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        call()
    monkeypatch.setattr(disk_blocks, "Crew", InThisProcess)
    assert not (tmp_path / "out").exists()
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o700
    finished = sorted(folder.name for folder in (tmp_path / "work" / "done").iterdir())
    assert len(finished) == 2
    with pytest.raises(InputError, match="another call left"):
        call(seed=7)
    ASKED.clear()
    release = call()
    assert {f"{unit.start}-{unit.stop}" for unit in ASKED}.isdisjoint(finished)
    assert len(ASKED) == release.certificate["engine"]["blocks"] - 2
    check(frame, tmp_path / "out", Freeform(k=2))
    assert not (tmp_path / "work").exists()


def test_what_another_call_left_is_removed_only_when_asked_for(tmp_path: Path) -> None:
    people(300).write_parquet(tmp_path / "in.parquet")
    work = tmp_path / "work"
    work.mkdir()
    (work / "letter.txt").write_text("dear diary")
    with pytest.raises(InputError, match="not Shoal's"):
        anonymize_file(
            tmp_path / "in.parquet", SCHEMA, Freeform(k=2), tmp_path / "out", work=work, fresh=True
        )
    assert (work / "letter.txt").exists()
    (work / "letter.txt").unlink()
    (work / "manifest.json").write_text('{"fingerprint": "another"}')
    (work / "plan.pickle").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="begin anew") as caught:
        anonymize_file(tmp_path / "in.parquet", SCHEMA, Freeform(k=2), tmp_path / "out", work=work)
    assert caught.value.parameter == "fresh"
    anonymize_file(tmp_path / "in.parquet", SCHEMA, Freeform(k=2), tmp_path / "out", work=work, fresh=True)
    assert not work.exists()


def test_records_that_cannot_be_told_apart_are_divided_at_random(tmp_path: Path) -> None:
    frame = people(800).with_columns(
        pl.when(pl.col("row") % 10 == 0).then(pl.col("age")).otherwise(40).alias("age"),
        pl.when(pl.col("row") % 10 == 0).then(pl.col("town")).otherwise(pl.lit("Ulm")).alias("town"),
    )
    frame.write_parquet(tmp_path / "in.parquet")
    release = anonymize_file(
        tmp_path / "in.parquet", SCHEMA, KAnonymity(k=2, l=1.5), tmp_path / "out", block_rows=120
    )
    check(frame, tmp_path / "out", KAnonymity(k=2, l=1.5))
    assert release.certificate["engine"]["largest"] < 400


def test_records_with_missing_values_are_left_out_and_counted_wherever_they_are(tmp_path: Path) -> None:
    frame = people(500).with_columns(
        pl.when(pl.col("row") >= 200).then(pl.col("age")).alias("age"),
        pl.when(pl.col("row") % 50 != 7).then(pl.col("town")).alias("town"),
    )
    frame[:200].write_csv(tmp_path / "1.csv")  # no age at all
    frame[200:].write_csv(tmp_path / "2.csv")
    schema = SCHEMA.changed("town", missing=Missing.SUPPRESS)
    release = anonymize_file(tmp_path, schema, Freeform(k=2), tmp_path / "out", block_rows=120)
    kept = frame.filter(pl.col("town").is_not_null())
    check(kept, tmp_path / "out", Freeform(k=2), schema)
    assert release.certificate["left_out"] == 10
    assert release.certificate["rows"] == 490
    strict = SCHEMA.changed("age", missing=Missing.ERROR)
    with pytest.raises(InputError, match="the first in row 1;"):
        anonymize_file(tmp_path, strict, Freeform(k=2), tmp_path / "other")


def test_what_a_block_cannot_keep_is_kept_with_its_neighbours(tmp_path: Path) -> None:
    frame = people(600).with_columns(
        pl.when(pl.col("age") > 45).then(pl.lit("flu")).otherwise(pl.col("illness")).alias("illness")
    )
    frame.write_parquet(tmp_path / "in.parquet")
    model = KAnonymity(k=2, p=2)
    release = anonymize_file(tmp_path / "in.parquet", SCHEMA, model, tmp_path / "out", block_rows=120)
    check(frame, tmp_path / "out", model)
    assert len(ASKED) > release.certificate["engine"]["blocks"]
    with pytest.raises(InfeasibleError):
        anonymize_file(tmp_path / "in.parquet", SCHEMA, KAnonymity(k=2, p=4), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_failed_block_is_an_error_and_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people(300).write_parquet(tmp_path / "in.parquet")
    for reason, error in (("died", InputError), ("bug", shoal.InternalError)):
        told = {"reason": reason, "message": "signal 9"}
        monkeypatch.setattr(InThisProcess, "ask", lambda *_, told=told: told)
        with pytest.raises(error, match="signal 9"):
            anonymize_file(tmp_path / "in.parquet", SCHEMA, Freeform(k=2), tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_promises_that_cutting_could_break_are_refused() -> None:
    assert not KAnonymity(k=2, l=2).blocks_must_not_overlap(SCHEMA)
    assert not Freeform(k=2, p=2).blocks_must_not_overlap(SCHEMA)
    assert Freeform(k=2, l=2).blocks_must_not_overlap(SCHEMA)
    dissimilar = Dissimilarity(k=2, epsilon=0, delta=0.5)
    assert dissimilar.blocks_must_not_overlap(SCHEMA)
    several = SCHEMA.changed("name", role=Role.SENSITIVE)
    ruled = SCHEMA.changed("illness", hierarchy=Prefixes((1,)))
    for model, schema in (
        (OneK(k=2, withhold=0.1), SCHEMA),
        (dissimilar, several),
        (Dissimilarity(k=2, epsilon=0, delta=0.5, distance=lambda *_: 0.0), SCHEMA),
        (dissimilar, ruled),
    ):
        with pytest.raises(InputError, match="in memory") as caught:
            model.blocks_must_not_overlap(schema)
        assert caught.value.reason is Reason.PARAMETER


def test_a_process_tells_what_came_of_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(task: bytes) -> dict[str, Any]:
        if task == b"refuse":
            raise InfeasibleError("no way")
        return {"done": task.decode()}

    tasks = (b"this", b"refuse", b"")
    given = b"".join(len(task).to_bytes(8, "big") + task for task in tasks)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO()))
    tell(work)
    out = sys.stdout.buffer.getvalue()  # type: ignore[attr-defined]
    told = []
    while out:
        size = int.from_bytes(out[:8], "big")
        told.append(json.loads(out[8 : 8 + size]))
        out = out[8 + size :]
    assert told == [{"done": "this"}, InfeasibleError("no way").as_dict(), {"done": ""}]


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    people(3).clear().write_parquet(tmp_path / "in.parquet")
    with pytest.raises(InputError) as caught:
        anonymize_file(tmp_path / "in.parquet", SCHEMA, Freeform(k=2), tmp_path / "out")
    assert caught.value.reason is Reason.NO_ROWS
