"""Text files as spreadsheets of many countries write them: decimal commas, thousands, titles, ``sep=;``."""

from __future__ import annotations

import inspect
import random
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.cli.loading import load, spark_table
from shoal.files import text
from shoal.files.formats import Reading
from shoal.files.local_numbers import Notation, advice_on
from shoal.files.streams import open_source
from shoal.web.tasks import Source, look

N = 60
run = CliRunner().invoke


def german() -> str:
    rng = random.Random(5)
    lines = ["Umsatz;Tag;Code;Alter;Notiz"]
    for number in range(N):
        amount = f"{rng.randrange(1, 9)}.{rng.randrange(1000):03},{rng.randrange(100):02}"
        amount = "n/a" if number == 7 else amount
        lines.append(
            f"{amount};{rng.randrange(1, 29):02}.04.2025;41.{rng.randrange(10, 99)};"
            f"{rng.randrange(20, 60)};{rng.choice(['gut', '1,5 mal'])}"
        )
    return "\n".join(lines) + "\n"


def written(folder: Path, content: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def test_numbers_become_plain_and_all_else_stays(tmp_path: Path) -> None:
    path = written(tmp_path, german())
    before, after = shoal.read_table(path), shoal.read_table(path, decimal=",", thousands=".")
    rest = ["Tag", "Code", "Alter", "Notiz"]
    assert after.select(rest).equals(before.select(rest))
    expected = [each.replace(".", "").replace(",", ".") for each in before["Umsatz"]]
    assert after["Umsatz"].to_list() == expected
    schema = shoal.Schema.infer(after, quasi=["Umsatz", "Alter"], missing_marks=["n/a"])
    assert schema["Umsatz"].kind is shoal.Kind.NUMERIC
    assert shoal.Schema.infer(after)["Tag"].date_format == "%d.%m.%Y"


@pytest.mark.parametrize("first", ["", "sep=;\n", "\ufeffsep=;\r\n", '"sep=;"\r\n'])
@pytest.mark.parametrize("titles", [0, 2])
@pytest.mark.parametrize("chunk", [1 << 25, 40])
def test_batches_are_the_whole(
    first: str, titles: int, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BYTES", chunk)
    title = 'Umsätze, 5" Rohre\n\n' if titles else ""
    path = written(tmp_path, first + title + german())
    how: dict[str, Any] = {"decimal": ",", "thousands": ".", "skip_rows": titles}
    whole = shoal.read_table(path, **how)
    assert whole.columns == ["Umsatz", "Tag", "Code", "Alter", "Notiz"]
    assert whole.height == N
    assert pl.concat(open_source(path, reading=Reading(**how)).batches()).equals(whole)
    assert text.sniff(path, skip_rows=titles).delimiter == ";"


def test_lines_are_counted_from_the_first(tmp_path: Path) -> None:
    path = written(tmp_path, "sep=;\nTitel\na;b\n1;2\n1;2;3\n")
    with pytest.raises(shoal.InputError, match="line 5 has 3 fields"):
        shoal.read_table(path, skip_rows=1)
    with pytest.raises(shoal.InputError, match="line 5 has 3 fields"):
        list(open_source(path, reading=Reading(skip_rows=1)).batches())
    with pytest.raises(shoal.InputError, match="skip the rows above the header"):
        shoal.read_table(path)
    with pytest.raises(shoal.InputError, match="empty"):
        shoal.read_table(path, skip_rows=9)


def test_the_delimiter_that_a_file_names_is_used(tmp_path: Path) -> None:
    assert shoal.read_table(written(tmp_path, "sep=|\na,x|b\n1,5|2\n")).columns == ["a,x", "b"]
    named = shoal.read_table(written(tmp_path, "SEP=,\ra,b\r1,2\r", "mac.csv"))
    assert named.rows() == [("1", "2")]
    assert shoal.read_table(written(tmp_path, "sep=;x,b\n1,2\n", "c.csv")).columns == ["sep=;x", "b"]


@pytest.mark.parametrize(
    ("texts", "advice"),
    [
        (["1,5", "2,25", "n/a"], "decimal ','"),
        (["1.234,5", "12"], "decimal ',' and thousands '.'"),
        (["1,234", "2,345"], "decimal ',' or with thousands ','"),
        (["1,234,567"], "thousands ','"),
        (["1,234.5", "12"], "decimal '.' and thousands ','"),
        (["1 234", "12"], "thousands ' '"),
        (["1'234.5"], "decimal '.' and thousands \"'\""),
        (["1.234.567", "12"], "thousands '.'"),
        (["25.04.2025", "01.02.2024"], None),
        (["abc", "1,5"], None),
        (["1.5", "x", "2"], None),
        (["1.2.3.4"], None),
        (["02134", "1"], None),
        (["1,2", "3,4,5"], None),
    ],
)
def test_notations_are_recognized(texts: list[str], advice: str | None) -> None:
    assert advice_on(pl.Series(texts)) == advice


def test_scan_and_anonymize_say_how_to_read_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, german().replace("Umsatz", "age"))
    scanned = run(app, ["scan", str(path), "-o", str(tmp_path / "s.toml")])
    assert "read the file with decimal ',' and thousands '.'" in scanned.output
    words = ["anonymize", str(path), "--quasi", "age,Alter", "--k", "3", "--missing-mark", "n/a"]
    warned = run(app, [*words, "-o", str(tmp_path / "a"), "--quiet"])
    assert "read the file with decimal ',' and thousands '.'" in " ".join(warned.output.split())
    how = ["--decimal", ",", "--thousands", "."]
    for engine in ("memory", "blocks"):
        done = run(app, [*words, *how, "--engine", engine, "-o", str(tmp_path / engine), "--quiet"])
        assert done.exit_code == 0, done.output
        cells = shoal.read_table(tmp_path / engine / "release.csv")["age"].drop_nulls()
        assert cells.str.contains(r"^\d{3,4}\.\d+\.\.\d{3,4}\.\d+$").any()
        again = run(app, ["audit", str(path), str(tmp_path / engine), *how])
        assert again.exit_code == 0, again.output


def test_the_page_reads_them(tmp_path: Path) -> None:
    path = written(tmp_path, "Titel\n" + german())
    source = Source(path, "t.csv", skip_rows=1, decimal=",", thousands=".")
    columns = look(source, lambda *_: None)["columns"]
    assert [each["name"] for each in columns] == ["Umsatz", "Tag", "Code", "Alter", "Notiz"]
    assert source.reading == {"skip_rows": 1, "decimal": ",", "thousands": "."}


@pytest.mark.parametrize("how", [{"decimal": ","}, {"thousands": "."}, {"skip_rows": 1}])
def test_spark_refuses_what_it_cannot_read(how: dict[str, Any], tmp_path: Path) -> None:
    defaults = {name: each.default for name, each in inspect.signature(load).parameters.items()}
    given = {**defaults, "table": written(tmp_path, german()), **how}
    with pytest.raises(shoal.InputError, match="use the engine memory or blocks"):
        spark_table(partial(load, **given), None)  # type: ignore[arg-type]
    assert text.names_delimiter(written(tmp_path, "\ufeffsep=;\na;b\n"))
    assert not text.names_delimiter(written(tmp_path, "separator;b\n"))


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"decimal": ";"}, "decimal mark ';' must be"),
        ({"decimal": ",", "thousands": ","}, "cannot be both"),
        ({"thousands": "1"}, "thousands separator '1' must be"),
        ({"thousands": ""}, "thousands separator '' must be"),
    ],
)
def test_wrong_marks_are_refused(how: dict[str, str], problem: str, tmp_path: Path) -> None:
    with pytest.raises(shoal.InputError, match=problem):
        shoal.read_table(written(tmp_path, "a\n1\n"), **how)  # type: ignore[arg-type]


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=8),
    st.sampled_from([(",", "."), (",", " "), (".", ","), (".", "'"), (",", None)]),
)
def test_what_was_written_is_read(numbers: list[Any], marks: tuple[str, str | None]) -> None:
    notation = Notation(*marks)
    texts = [
        f"{number:,.2f}".translate(str.maketrans({",": marks[1] or "", ".": marks[0]})) for number in numbers
    ]
    frame = pl.DataFrame({"x": texts})
    plain = notation.made_plain(frame, notation.columns([frame]))
    assert plain["x"].to_list() == [f"{number:.2f}" for number in numbers]
