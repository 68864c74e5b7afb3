"""Tables in files, read in batches: the same cells as at once, and clear errors for what does not fit."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import InputError, Reason
from shoal.files import binary, streams, text
from shoal.files.reading import read_table
from shoal.schema import Kind, merged_kinds

TEXTS = {
    "plain": b"a,b\n1,x\n2,y\n3,z\n",
    "quoted": b'a,b\n1,"x\ny"\n2,"y,""z"""\n"3",\n',
    "windows": b"a;b\r\n1;x\r\n\r\n2;y\r\n3;z",
    "mark": b"\xef\xbb\xbfa\tb\n1\tx\n2\ty\n",
    "wide": "a,b\n1,日本\n2,é\n3,😀\n".encode("utf-16"),
    "western": "a,b\n1,Zürich\n2,é\n3,x\n".encode("latin-1"),
    "one column": b'a\nx\n""\n\nz\n',
    "blank start": b"\n\na,b\n1,x\n2,y\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [7, 16, 1 << 20])
def test_batches_of_a_text_hold_what_it_holds_at_once(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BYTES", size)
    file = tmp_path / "table.csv"
    file.write_bytes(TEXTS[name])
    batches = list(streams.open_source(file).batches())
    assert_frame_equal(pl.concat(batches), read_table(file))
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(TEXTS[name]))
    assert_frame_equal(pl.concat(streams.open_source(packed).batches()), read_table(file))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_batches_of_a_binary_file_hold_what_it_holds_at_once(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "ROWS", 3)
    frame = pl.DataFrame({"a": range(10), "b": [None, "x"] * 5})
    file = tmp_path / f"table.{ending}"
    frame.write_parquet(file) if ending == "parquet" else frame.write_ipc(file)
    batches = list(streams.open_source(file).batches())
    assert [batch.height for batch in batches] == [3, 3, 3, 1]
    assert_frame_equal(pl.concat(batches), frame)


def test_a_folder_is_one_table_in_which_a_file_may_be_empty(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "part-1.parquet")
    frame.clear().write_parquet(tmp_path / "part-2.parquet")
    frame.select("b", "a").write_parquet(tmp_path / "part-3.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.md").write_text("not a table")
    assert_frame_equal(pl.concat(streams.open_source(tmp_path).batches()), pl.concat([frame, frame]))
    assert streams.open_source(tmp_path).rows_about() == 4


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"a": [1]}, "lacks 'b'"),
        ({"a": [1], "b": ["x"], "c": [2]}, "also has 'c'"),
        ({"a": [1.5], "b": ["x"]}, "other types in a (Float64, not Int64)"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(
    other: dict[str, list[object]], said: str, tmp_path: Path
) -> None:
    pl.DataFrame({"a": [1, 2], "b": ["x", None]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame(other).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet does not have the columns") as caught:
        list(streams.open_source(tmp_path).batches())
    assert said in str(caught.value)
    assert caught.value.reason is Reason.SCHEMA


def test_errors_name_the_line_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BYTES", 8)
    file = tmp_path / "table.csv"
    file.write_bytes(b"a,b\n" + b"1,x\n" * 5 + b"2\n" + b"1,x\n")
    with pytest.raises(InputError, match="line 7 has 1 field,"):
        list(streams.open_source(file).batches())


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", Reason.EMPTY_FILE), (b"a,b\n1,\0\n", Reason.FILE_FORMAT), (b" \n", Reason.EMPTY_FILE)],
)
def test_files_that_are_no_text_are_refused(content: bytes, reason: Reason, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(streams.open_source(file).batches())
    assert caught.value.reason is reason


def test_a_folder_without_tables_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(InputError) as caught:
            streams.open_source(path)
        assert caught.value.reason is Reason.MISSING_FILE


def test_kinds_are_those_of_all_batches() -> None:
    frame = pl.DataFrame(
        {
            "number": ["1", "2", "?", None],
            "late text": ["1", "2", "3", "x"],
            "day": [None, None, "2020-01-02", "2020-02-03"],
            "both": ["1", "1", "2020-01-02", "2020-01-02"],
            "zip": ["1", "2", "01", "3"],
            "typed": [1, None, 3, 4],
            "nothing": ["", None, "?", ""],
        }
    )
    kinds = merged_kinds([frame[:2], frame[2:3], frame[3:]], ["?"])
    assert kinds == {
        "number": Kind.NUMERIC,
        "late text": Kind.CATEGORICAL,
        "day": Kind.DATE,
        "both": Kind.CATEGORICAL,
        "zip": Kind.CATEGORICAL,
        "typed": Kind.NUMERIC,
    }
