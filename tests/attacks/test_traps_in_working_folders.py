"""An attacker prepares the working folder of a run in blocks: links, foreign files, broken manifests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from blockwise import PEOPLE, people
from leftovers import LONG, names, start, stop_at_blocks

import shoal
from shoal import Freeform, InputError, KAnonymity
from shoal.engines.on_disk import anonymize_file
from shoal.errors import Reason
from shoal.samples import hospital


@pytest.fixture
def table(tmp_path: Path) -> Path:
    people(400).write_parquet(tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def test_a_working_folder_that_is_a_link_is_used_where_it_leads_only_if_named(table: Path) -> None:
    disk = table.parent / "disk"
    disk.mkdir()
    (table.parent / ".out.work").symlink_to(disk)
    with pytest.raises(InputError, match="link") as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.OUTPUT_EXISTS
    assert names(disk) == []
    (table.parent / ".out.work").rename(table.parent / "named")
    anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", work=table.parent / "named")
    assert names(table.parent) == ["in.parquet", "named", "out"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_working_folder_of_another_user_is_not_even_read(table: Path) -> None:
    work = table.parent / ".out.work"
    work.mkdir()
    (work / "manifest.json").write_text("a trap")
    os.chown(work, 12345, 12345)
    with pytest.raises(InputError) as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.OUTPUT_UNWRITABLE
    assert names(work) == ["manifest.json"]


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"fingerprint": 1}'])
def test_a_broken_manifest_is_no_bug(text: str, table: Path) -> None:
    work = table.parent / ".out.work"
    work.mkdir()
    (work / "manifest.json").write_text(text)
    with pytest.raises(InputError) as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.OUTPUT_EXISTS
    assert (work / "manifest.json").read_text() == text


def test_two_runs_in_one_folder_do_not_meet(table: Path) -> None:
    seen: list[str] = []

    def progress(stage: str, _: float) -> None:
        if not seen and stage == "reading values":
            seen.append(stage)
            with pytest.raises(InputError, match="another process") as caught:
                anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", fresh=True)
            assert caught.value.reason is Reason.OUTPUT_EXISTS

    anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", progress=progress)
    assert seen
    assert names(table.parent) == ["in.parquet", "out"]


def test_another_engine_says_that_an_interrupted_run_left_something(tmp_path: Path) -> None:
    hospital(600).write_csv(tmp_path / "patients.csv")
    source = tmp_path / "patients.csv"
    schema = shoal.Schema.infer(
        shoal.read_table(source), quasi=["age"], sensitive=["diagnosis"], drop=["patient", "name"]
    )
    with pytest.raises(KeyboardInterrupt):
        anonymize_file(
            source, schema, KAnonymity(k=2), tmp_path / "out", progress=stop_at_blocks(KeyboardInterrupt()),
            block_rows=120, jobs=1,
        )  # fmt: skip
    assert names(tmp_path) == [".out.work", "patients.csv"]
    process = start(tmp_path, "--k", "5", "--engine", "memory", "-o", "out")
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    assert ".out.work holds personal data" in " ".join(err.split())
