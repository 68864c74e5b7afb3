"""What is read is what was written, and every bad file is refused with a reason."""

from __future__ import annotations

import csv
import gzip
import io as standard_io
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.errors import InputError, Reason
from shoal.files import parsing, writing
from shoal.files import reading as io
from shoal.files import text as text_files

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = {"name": ["Ann", "Bob"], "zip": ["01234", "00007"]}


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def refused(reason: Reason, path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        io.read_table(path, **options)
    assert caught.value.reason is reason
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"name,zip\nAnn,01234\nBob,00007\n"),
        ("a.CSV", b"name,zip\r\nAnn,01234\r\nBob,00007"),
        ("a.csv", b"name,zip\rAnn,01234\rBob,00007\r"),
        ("a.csv", b"name,zip\r\nAnn,01234\nBob,00007\n"),
        ("a.csv", b'"name" , zip\n"Ann",01234\nBob,"00007"\n'.replace(b'" ', b'"')),
        ("a.csv", b"\n  \nname;zip\n\nAnn;01234\n   \nBob;00007\n\n\r\n"),
        ("a.tsv", b"name\tzip\nAnn\t01234\nBob\t00007\n"),
        ("a.txt", b"name|zip\nAnn|01234\nBob|00007\n"),
        ("a.txt.gz", gzip.compress(b"name|zip\nAnn|01234\nBob|00007\n", mtime=0)),
        ("a.csv", "\ufeffname,zip\nAnn,01234\nBob,00007\n".encode()),
        ("a.csv", "name,zip\nAnn,01234\nBob,00007\n".encode("utf-16")),
        ("a.csv", "\ufeffname,zip\nAnn,01234\nBob,00007\n".encode("utf-16-be")),
    ],
)
def test_the_same_table_in_many_dialects(tmp_path: Path, name: str, content: bytes) -> None:
    frame = io.read_table(written(tmp_path / name, content))
    assert frame.to_dict(as_series=False) == PEOPLE
    assert set(frame.dtypes) == {pl.String}


def test_cells_are_kept_as_written_and_empty_ones_are_null(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", b'a,b\n 1.50 ,""\n,NA\n"x, ""y""\r\nz",true\n')
    assert io.read_table(path).rows() == [(" 1.50 ", None), (None, "NA"), ('x, "y"\r\nz', "true")]


def test_a_quote_inside_an_unquoted_cell_is_a_character(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", b'pipe,count\n5" pipe,3\n6" pipe,4\n')
    assert io.read_table(path).rows() == [('5" pipe', "3"), ('6" pipe', "4")]


def test_a_single_column_skips_blank_lines_and_keeps_quoted_empty_cells(tmp_path: Path) -> None:
    assert io.read_table(written(tmp_path / "a.csv", b'a\nx\n\n""\n" "\ny\n')).rows() == [
        ("x",),
        (None,),
        (" ",),
        ("y",),
    ]


def test_white_space_before_the_header_of_a_single_column_is_no_header(tmp_path: Path) -> None:
    frame = io.read_table(written(tmp_path / "a.csv", b"  \nname\nAnn\n"))
    assert frame.to_dict(as_series=False) == {"name": ["Ann"]}


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_typed_formats_keep_their_types(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"age": [30, None], "name": ["Ann", ""]})
    (frame.write_parquet if name == "a.parquet" else frame.write_ipc)(tmp_path / name)
    assert_frame_equal(io.read_table(tmp_path / name), frame)


def test_an_arrow_stream_is_read_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [30, None]})
    frame.write_ipc_stream(tmp_path / "a.arrow")
    assert_frame_equal(io.read_table(str(tmp_path / "a.arrow")), frame)


WESTERN = "name,zip\nZoë,1\n".encode("windows-1252")


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (b"a,b\n1,2\n", {}, text_files.Dialect(",", "utf-8")),
        (b"a;b\n1,5;2,5\n", {}, text_files.Dialect(";", "utf-8")),
        (b'a;b\n"x|y|z";1\n"x|y|z";2\n', {}, text_files.Dialect(";", "utf-8")),
        (b"a\nDoe; John\nx\ny\n", {}, text_files.Dialect(",", "utf-8")),
        (b"a,b\n1,2\n", {"delimiter": "|", "encoding": "ascii"}, text_files.Dialect("|", "ascii")),
        ("a\tb\nä\t2\n".encode("utf-8-sig"), {}, text_files.Dialect("\t", "utf-8-sig")),
        ("a|b\nä|2\n".encode("utf-16"), {}, text_files.Dialect("|", "utf-16")),
        (WESTERN, {}, text_files.Dialect(",", "windows-1252")),
        (b'a,b\n"never closed', {}, text_files.Dialect(",", "utf-8")),
        (b'a,b\n1,2\n"' + b"x" * 200_000, {}, text_files.Dialect(",", "utf-8")),
    ],
)
def test_sniff(tmp_path: Path, content: bytes, options: dict[str, str], expected: text_files.Dialect) -> None:
    assert text_files.sniff(written(tmp_path / "a.csv", content), **options) == expected


def test_what_is_sniffed_reads_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", WESTERN)
    dialect = text_files.sniff(path)
    frame = io.read_table(path, delimiter=dialect.delimiter, encoding=dialect.encoding)
    assert frame.rows() == [("Zoë", "1")]


@pytest.mark.parametrize(
    ("name", "content", "reason", "says"),
    [
        ("a.csv", b"", Reason.EMPTY_FILE, "empty"),
        ("a.csv", b"\n \r\n\n", Reason.EMPTY_FILE, "empty"),
        ("a.csv", b'""\n', Reason.EMPTY_FILE, "empty"),
        ("a.csv", b"\xef\xbb\xbf", Reason.EMPTY_FILE, "empty"),
        ("a.csv.gz", b"", Reason.EMPTY_FILE, "empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), Reason.EMPTY_FILE, "empty"),
        ("a.parquet", b"", Reason.EMPTY_FILE, "empty"),
        ("a.csv", b"name,zip", Reason.NO_ROWS, "no rows"),
        ("a.csv", b"name,zip\r\n\r\n", Reason.NO_ROWS, "no rows"),
        ("a.csv", b"a,b,c\n1,2,3\n\n4,5\n", Reason.RAGGED_ROW, "line 4 has 2 fields, the header has 3"),
        ("a.csv", b'a,b\n"x\ny",1\nsecret\n', Reason.RAGGED_ROW, "line 4 has 1 field, the header has 2"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", Reason.RAGGED_ROW, "line 3 has 3 fields, the header has 2"),
        ("a.csv", b'a,b\n"x" y,1\n', Reason.FILE_FORMAT, "starts on line 2"),
        ("a.csv", b'a,b\n1,2\n"never,closed\n', Reason.FILE_FORMAT, "starts on line 3"),
        ("a.csv", b"a,b, a,c,b\n1,2,3,4,5\n", Reason.DUPLICATE_COLUMN, "'a', 'b'"),
        ("a.csv", b"a, ,c\n1,2,3\n", Reason.FILE_FORMAT, "column 2 of 3"),
        ("a.csv", b"a,b,\n1,2,\n", Reason.FILE_FORMAT, "column 3 of 3"),
        ("a.csv", b"a,b\n1,2\n\x00,4\n", Reason.FILE_FORMAT, "NUL"),
        ("a.csv", b"\xff\x00\xfe,\n", Reason.FILE_FORMAT, "NUL"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), Reason.FILE_FORMAT, "utf-16-le"),
        ("a.csv", b"PK\x03\x04rest", Reason.FILE_FORMAT, "Excel"),
        ("a.txt", b"%PDF-1.7", Reason.FILE_FORMAT, "PDF"),
        ("a.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), Reason.FILE_FORMAT, "gzip"),
        ("a.csv", b"PAR1\x15\x04", Reason.FILE_FORMAT, "Parquet"),
        ("a.csv", b"a,b\nx,\xc3\xa4\n\xff\x01,2\n", Reason.ENCODING, "offset 9 (line 3)"),
        ("a.csv", b"\xef\xbb\xbfa,b\n1,\xff\n", Reason.ENCODING, "offset 9 (line 2)"),
        ("a.csv", b"\xff\xfea\0,\0b\0\n\0x", Reason.ENCODING, "offset 10 (line 2)"),
        ("a.csv", b"a,b\n1,\x81\n", Reason.ENCODING, "name its encoding"),
        ("a.data", b"a,b\n1,2\n", Reason.FILE_FORMAT, ".csv, .tsv, .txt"),
        ("a", b"a,b\n1,2\n", Reason.FILE_FORMAT, ".parquet"),
        ("a.csv.gz", b"a,b\n1,2\n", Reason.FILE_FORMAT, "gzip"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], Reason.FILE_FORMAT, "gzip"),
        ("a.csv.gz", b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 20, Reason.FILE_FORMAT, "gzip"),
        ("a.parquet", b"a,b\n1,2\n", Reason.FILE_FORMAT, "broken"),
        ("a.parquet", b"PAR1" + b"\x99" * 60 + b"PAR1", Reason.FILE_FORMAT, "broken"),
        ("a.arrow", b"a,b\n1,2\n", Reason.FILE_FORMAT, "broken"),
        ("a.feather", b"ARROW1\0\0" + b"\x99" * 60 + b"ARROW1", Reason.FILE_FORMAT, "broken"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, name: str, content: bytes, reason: Reason, says: str) -> None:
    message = refused(reason, written(tmp_path / name, content))
    assert says in message
    assert "secret" not in message


def test_a_broken_copy_of_a_good_file_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": range(1000)})
    for path, write in (
        (tmp_path / "a.parquet", frame.write_parquet),
        (tmp_path / "a.arrow", frame.write_ipc),
    ):
        write(path)
        whole = path.read_bytes()
        for end in (5, len(whole) // 2, len(whole) - 1):
            refused(Reason.FILE_FORMAT, written(path, whole[:end]))


def test_a_typed_file_without_rows_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": []}).write_parquet(tmp_path / "a.parquet")
    refused(Reason.NO_ROWS, tmp_path / "a.parquet")


def test_a_parquet_file_with_a_repeated_name_is_refused(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table([[1], [2], [3]], names=["a", "a", "b"]), tmp_path / "a.parquet")
    assert "'a'" in refused(Reason.DUPLICATE_COLUMN, tmp_path / "a.parquet")


def test_an_arrow_file_with_a_repeated_name_is_refused(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table([[1], [2], [3]], names=["a", "a", "b"])
    with arrow.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    refused(Reason.FILE_FORMAT, tmp_path / "a.arrow")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_given_encoding_is_the_only_one_tried(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "a.csv", WESTERN)
    assert f"{encoding} at byte offset 11 (line 2)" in refused(Reason.ENCODING, path, encoding=encoding)
    assert io.read_table(path, encoding="latin-1")["name"].to_list() == ["Zoë"]


@pytest.mark.parametrize("encoding", ["klingon", "", "hex", "rot13", "undefined", "utf\08"])
def test_an_encoding_that_is_none_is_refused(tmp_path: Path, encoding: str) -> None:
    message = refused(Reason.ENCODING, written(tmp_path / "a.csv", b"a,b\n1,2\n"), encoding=encoding)
    assert repr(encoding) in message


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n"])
def test_a_delimiter_that_is_none_is_refused(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(InputError, match="delimiter") as caught:
        io.read_table(written(tmp_path / "a.csv", b"a,b\n1,2\n"), delimiter=delimiter)
    assert caught.value.reason is Reason.PARAMETER


@pytest.mark.parametrize("delimiter", [":", " ", "§"])
def test_any_other_delimiter_can_be_given(tmp_path: Path, delimiter: str) -> None:
    path = written(tmp_path / "a.csv", f"a{delimiter}b\n1{delimiter}2\n".encode())
    assert io.read_table(path, delimiter=delimiter).rows() == [("1", "2")]


def test_a_file_that_is_not_there_is_named_with_a_neighbour(tmp_path: Path) -> None:
    written(tmp_path / "patients.csv", b"a,b\n1,2\n")
    assert "did you mean 'patients.csv'" in refused(Reason.MISSING_FILE, tmp_path / "patient.csv")
    assert "did you mean" not in refused(Reason.MISSING_FILE, tmp_path / "zzz")
    assert "folder" in refused(Reason.MISSING_FILE, tmp_path / "nowhere" / "patients.csv")


def test_what_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.csv", b"a,b\n1,2\n")
    assert "is a folder" in refused(Reason.MISSING_FILE, tmp_path)
    refused(Reason.MISSING_FILE, path / "b.csv")
    refused(Reason.MISSING_FILE, tmp_path / ("x" * 300 + ".csv"))
    refused(Reason.MISSING_FILE, tmp_path / "a\0.csv")

    def forbidden(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "read_bytes", forbidden)
    assert "permission denied" in refused(Reason.MISSING_FILE, path)


# "Cs" are the surrogates, which no file can hold.
CELL = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=6) | st.sampled_from(
    ['"', '""', ",", ";", "a\nb", "a\r\nb", ',"', "\t", "|", " ", "\n", "01"]
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    # A byte order mark at the very start of a file is not part of the first name.
    letters = st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufeff")
    names = st.text(letters, min_size=1, max_size=5)
    header = draw(st.lists(names.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True))
    row = st.lists(CELL, min_size=len(header), max_size=len(header))
    return header, draw(st.lists(row, min_size=1, max_size=6))


def as_csv(header: list[str], rows: list[list[str]], delimiter: str, quoting: int, line_end: str) -> bytes:
    buffer = standard_io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator=line_end)  # type: ignore[arg-type]
    writer.writerows([header, *rows])
    return buffer.getvalue().encode()


@examples(300)
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    trailing=st.sampled_from([b"", b"\n\n", b"\r\n"]),
)
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    table: tuple[list[str], list[list[str]]],
    delimiter: str,
    quoting: int,
    line_end: str,
    trailing: bytes,
) -> None:
    header, rows = table
    text = as_csv(header, rows, delimiter, quoting, line_end) + trailing
    path = written(tmp_path_factory.mktemp("csv") / "a.csv", text)
    frame = io.read_table(path, delimiter=delimiter)
    assert frame.columns == header
    assert frame.rows() == [tuple(cell or None for cell in row) for row in rows]


REGULAR = [
    b"a,b\n1,2\n",
    b'a,b\r\n"x\r\n,""y""",2\r\n,""\r\n',
    b'"a ""quoted""\nname",b\n"",\n"""",""""""\n',
    b"a\nx\n y \nz",
    'a,b\n"ä",ö\n\u2028,\u0085\n'.encode(),
    b"a,b\n" + b'"x,\n",""\n,1\n' * 1000,
]
IRREGULAR = [
    b"a,b\n1,2\n3\n",
    b"a,b\n1,2\n3,4,5\n6\n",
    b'a,b\nx "y",2\n',
    b'a,b\n"x" ,2\n',
    b'a,b\n1,"2\n',
    b"a,b\r1,2\r",
    b"a\n\nx\n",
    b"a,b\n\n1,2\n",
    b'a,b\n1,"2\r"\n',
    b"a,b\n\xef\xbb\xbf1,2\n",
]


@pytest.mark.parametrize("block", [1, 3, 7, 1 << 23])
@pytest.mark.parametrize("text", REGULAR)
def test_fast_and_strict_reader_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, block: int
) -> None:
    path = tmp_path / "a.csv"
    names = [name.strip() for name in next(csv.reader(standard_io.StringIO(text.decode(), newline="")))]
    monkeypatch.setattr(parsing, "_BYTES_AT_ONCE", block)
    monkeypatch.setattr(parsing, "_ROWS_AT_ONCE", block)
    fast = parsing._parse_fast(text, ",", names)
    assert fast is not None
    records = parsing.records(path, text, ",")
    next(records)
    assert_frame_equal(fast, parsing._parse_strict(path, records, names))


@pytest.mark.parametrize("block", [1, 5, 1 << 23])
@pytest.mark.parametrize("text", IRREGULAR)
def test_the_fast_reader_leaves_irregular_text_alone(
    monkeypatch: pytest.MonkeyPatch, text: bytes, block: int
) -> None:
    monkeypatch.setattr(parsing, "_BYTES_AT_ONCE", block)
    names = re.split(b",", re.split(rb"[\r\n]", text)[0])
    assert parsing._parse_fast(text, ",", [name.decode() for name in names]) is None


@pytest.mark.parametrize("text", [b'a,b\n"x"y,2\n', b'a,b\nx"y",2\n', b'a,b\n1,2\n"\n', b'a,b\n1,""2""\n'])
def test_stray_quotes_are_irregular(text: bytes) -> None:
    assert parsing._layout(text, ",", 2) is None


@examples(500)
@given(st.text('ab,"\n\r ', max_size=14))
def test_fast_reader_never_disagrees_on_random_text(tail: str) -> None:
    text = ("x,y\n" + tail).encode()
    fast = parsing._parse_fast(text, ",", ["x", "y"])
    if fast is not None:
        rows = [row for row in csv.reader(standard_io.StringIO(tail, newline=""), strict=True) if row]
        assert fast.rows() == [tuple(cell or None for cell in row) for row in rows]


@examples(500)
@given(content=st.binary(max_size=40), name=st.sampled_from(["a.csv", "a.csv.gz", "a.parquet", "a.arrow"]))
def test_only_input_errors_escape(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = written(tmp_path_factory.mktemp("any") / name, content)
    with suppress(InputError):
        assert io.read_table(path).height > 0


def test_rows_of_a_hierarchy_file(tmp_path: Path) -> None:
    path = written(tmp_path / "zip.hierarchy", b'\n 1234 ;123* ; *\n5678;"56;*"\n \n9;\n')
    assert io.read_rows(path) == [["1234", "123*", "*"], ["5678", "56;*"], ["9", ""]]
    assert io.read_rows(written(tmp_path / "one.csv", b"a,b\nc")) == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, Reason.MISSING_FILE),
        (b" \n", Reason.EMPTY_FILE),
        (b"a,\x81", Reason.ENCODING),
        (b'a,"b', Reason.FILE_FORMAT),
        (b"PK\x03\x04", Reason.FILE_FORMAT),
    ],
)
def test_rows_of_a_bad_file_are_refused(tmp_path: Path, content: bytes | None, reason: Reason) -> None:
    path = tmp_path / "a.csv"
    if content is not None:
        written(path, content)
    with pytest.raises(InputError) as caught:
        io.read_rows(path)
    assert caught.value.reason is reason


def test_written_csv_is_plain(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "", None, 'q"', "l,\n"], "b": [1, None, 3, 4, 5], "ä": [0.5] * 5})
    writing.write_csv(frame, tmp_path / "a.csv")
    expected = 'a,b,ä\nx,1,0.5\n,,0.5\n,3,0.5\n"q""",4,0.5\n"l,\n",5,0.5\n'
    assert (tmp_path / "a.csv").read_bytes() == expected.encode()


@given(table=tables())
@settings(deadline=None)
def test_written_csv_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], list[list[str]]]
) -> None:
    header, rows = table
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["x" + name for name in header], pl.String), orient="row")
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    writing.write_csv(frame, path)
    assert_frame_equal(io.read_table(path, delimiter=","), frame.with_columns(pl.all().replace("", None)))


def test_written_parquet_is_read_back(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "", None], "b": [[1, 2], [], None]})
    writing.write_parquet(frame, tmp_path / "a.parquet")
    assert_frame_equal(io.read_table(tmp_path / "a.parquet"), frame)


@pytest.mark.parametrize("write", [writing.write_csv, writing.write_parquet])
def test_what_cannot_be_written_is_an_error(tmp_path: Path, write: object) -> None:
    assert callable(write)
    with pytest.raises(InputError) as caught:
        write(pl.DataFrame({"a": [1]}), tmp_path / "nowhere" / "a")
    assert caught.value.reason is Reason.OUTPUT_UNWRITABLE
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.dat.gz", "a.parquet", "a.arrow", "stream.arrow"])
def test_no_more_is_unpacked_than_allowed(tmp_path: Path, name: str) -> None:
    rows, path = 200_000, tmp_path / name
    frame = pl.select(pl.repeat("same", rows).alias("a"), pl.repeat("again", rows).alias("b"))
    if name.endswith((".csv", ".gz")):
        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    elif name == "a.parquet":
        frame.write_parquet(path)
    elif name == "a.arrow":
        frame.write_ipc(path, compression="zstd")
    else:
        frame.write_ipc_stream(path, compression="zstd")
    size = io.read_table(path).estimated_size()
    assert io.read_table(path, most_bytes=100_000_000).estimated_size() == size
    assert "larger than 0.5 MB" in refused(Reason.TOO_LARGE, path, most_bytes=500_000)
