"""JSON lines and packed text: batches are the table, packed files are the same table, bombs are refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.errors import InputError, Reason
from shoal.files import json_lines
from shoal.files.streams import open_source
from shoal.samples import hospital

zstandard = pytest.importorskip("backports.zstd", reason="the extra zstd is not installed")

PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_text_is_the_same_table(tmp_path: Path, packing: str) -> None:
    plain = tmp_path / "a.csv"
    hospital(300).write_csv(plain)
    packed = tmp_path / f"a.csv{packing}"
    packed.write_bytes(PACKINGS[packing](plain.read_bytes()))
    assert_frame_equal(shoal.read_table(packed), shoal.read_table(plain))
    assert_frame_equal(pl.concat(open_source(packed).batches()), shoal.read_table(plain))


@pytest.mark.parametrize("packing", PACKINGS)
def test_bad_packed_files(tmp_path: Path, packing: str) -> None:
    file = tmp_path / f"a.csv{packing}"
    file.write_bytes(PACKINGS[packing](b"a,b\n" + b"1,2\n" * 500_000))
    with pytest.raises(InputError) as caught:
        shoal.read_table(file, most_bytes=100_000)
    assert caught.value.reason is Reason.TOO_LARGE
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError) as caught:
        shoal.read_table(file)
    assert caught.value.reason in (Reason.FILE_FORMAT, Reason.RAGGED_ROW)
    file.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError) as caught:
        shoal.read_table(file)
    assert caught.value.reason is Reason.FILE_FORMAT


@pytest.mark.parametrize("packing", [b for b in PACKINGS if b != ".gz"])
def test_packed_text_with_a_plain_name(tmp_path: Path, packing: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(PACKINGS[packing](b"a,b\n1,2\n"))
    with pytest.raises(InputError, match=f"let its name end in {packing}"):
        shoal.read_table(file)


def test_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = hospital(500).with_columns(
        pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("age")).alias("age")
    )
    file = tmp_path / "a.jsonl"
    table.write_ndjson(file)
    read = shoal.read_table(file)
    assert_frame_equal(read, table.with_columns(pl.col("admitted").cast(pl.String)))
    monkeypatch.setattr(json_lines, "ROWS", 100)
    assert_frame_equal(pl.concat(open_source(file).batches()), read)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert_frame_equal(shoal.read_table(packed), read)
    assert_frame_equal(pl.concat(open_source(packed).batches()), read)


@pytest.mark.parametrize("content", [b"not json\n", b'{"a": 1}\n[1, 2\n', b'{"a": 1}\n{"b"}\n'])
def test_bad_json_lines(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        shoal.read_table(file)
    assert caught.value.reason is Reason.FILE_FORMAT
