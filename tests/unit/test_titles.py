"""Titles above a header are recognized: the error says how many rows to skip."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import called

import shoal
from shoal.files.formats import Reading
from shoal.files.streams import open_source
from shoal.files.titles import header_among

TABLE = "name;born;score\nAnna;25.04.1980;1,5\nBert;01.02.1970;2,5\nCleo;03.03.1990;3\n"


@pytest.mark.parametrize(
    ("titles", "skipped"),
    [
        ("Patients of 2024\n", 1),
        ("Patients of 2024;;\n", 1),
        ("Patients of 2024\n\nfrom the archive\n", 3),
        ('"Patients\nof 2024";;\n', 2),
        ("sep=;\nPatients of 2024\n", 1),
        (";;\n;;\nPatients\n", 3),
    ],
)
@pytest.mark.parametrize("mark", [";", ",", "\t"])
def test_the_error_says_how_many_rows_to_skip(titles: str, skipped: int, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text((titles + TABLE.replace(",", ".")).replace(";", mark))
    said = rf"skip the rows above the header \({skipped} rows?\)"
    with pytest.raises(shoal.InputError, match=said):
        shoal.read_table(path)
    with pytest.raises(shoal.InputError, match=said) as caught:
        list(open_source(path, reading=Reading()).batches())
    assert caught.value.parameter == "skip_rows"
    table = shoal.read_table(path, skip_rows=skipped)
    assert table.columns == ["name", "born", "score"]
    assert table.height == 3


def test_the_command_line_names_its_option(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Patients of 2024\n" + TABLE)
    refused = called(tmp_path, "scan", "t.csv", "-o", "s.toml", code=2)
    assert "skip the rows above the header (1 row)" in " ".join(refused.stderr.split())
    called(tmp_path, "scan", "t.csv", "--skip-rows", "1", "-o", "s.toml")


@pytest.mark.parametrize(
    "text",
    [
        "a,,\n1,2,3\n4,5,6\n7,8,9\n",  # the row below may be a record
        "a,,\nx,y,z\nu,v,w\nr,s,t\n",  # nothing shows that x, y and z are names
        "a\nx,y\n1,2\n",  # one record shows too little
        "title,,\nx,x,z\n1,2,3\n4,5,6\n",  # two columns with the same name
    ],
)
def test_doubtful_cases_keep_their_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(shoal.InputError) as caught:
        shoal.read_table(tmp_path / "t.csv")
    assert "title" not in str(caught.value)


@pytest.mark.parametrize("text", ["a\nx|y\n1|2\n3|4\n", "a\nx y\n1\n2\n", "a,b\n1,2\n3,4\n"])
def test_tables_without_titles_are_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert shoal.read_table(tmp_path / "t.csv").columns[0] == "a"


def test_nothing_is_found_in_nothing() -> None:
    assert header_among([]) is None
    assert header_among([["title", ""]]) is None
