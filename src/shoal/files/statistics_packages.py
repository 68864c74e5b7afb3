"""Files of statistics packages: SPSS, Stata and SAS, with the labels of their values and variables."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import InputError, Reason
from shoal.files.access import installed, read_bytes, refusal, require_size
from shoal.files.formats import FileFormat, Reading, register
from shoal.files.parsing import check_names
from shoal.files.whole_numbers import as_whole
from shoal.files.writing import writing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_STATA_NAME, _SPSS_NAME = 32, 64  # the longest name of a variable
_STATA_TEXT, _SPSS_TEXT = 2045, 32767  # the longest text, in bytes
_UNPACKED = ("read_dta", "read_xport")
"""How files are read whose format packs nothing: each cell takes a byte or more."""
_MOST_PACKED = 1032
"""The largest number of cells in a byte elsewhere: SPSS files may be packed by zlib, which stops there."""


def _package(why: str) -> Any:
    return installed("pyreadstat", "statistics", why)


def _loaded(path: Path, reader: str, **how: Any) -> tuple[Mapping[str, Any], Any]:
    """Return the columns of a file as arrays, and what else it tells."""
    package = _package(f"{path}, a file of a statistics package,")
    try:
        columns, meta = getattr(package, reader)(str(path), output_format="dict", **how)
    except MemoryError:
        raise
    except Exception as error:  # of a damaged file, whatever its parser stumbles over, such as an IndexError
        message = f"is broken, or not what its name says ({str(error).partition(chr(10))[0]})"
        raise refusal(path, message, Reason.FILE_FORMAT) from error
    return columns, meta


def _read(path: Path, reading: Reading, *, reader: str, marks_missing: bool = False) -> pl.DataFrame:
    """Return a table in which labelled values are their labels."""
    read_bytes(path, reading.most_bytes)  # refuses what is not there, empty or too large
    how: dict[str, Any] = {"user_missing": True} if marks_missing and reading.missing_codes else {}
    if reading.encoding is not None:
        how["encoding"] = reading.encoding
    _require_space(path, reader, **how)
    columns, meta = _loaded(path, reader, **how)
    labels = meta.variable_value_labels
    measures = getattr(meta, "variable_measure", None) or {}
    frame = pl.DataFrame(
        [
            _labelled(
                _series(name, columns[name]), labels.get(name) or {}, ordered=measures.get(name) == "ordinal"
            )
            for name in meta.column_names
        ]
    )
    check_names(path, frame.columns)
    require_size(path, frame.estimated_size(), reading.most_bytes)
    return frame


def _require_space(path: Path, reader: str, **how: Any) -> None:
    """Refuse a file that claims more cells than it can hold: memory for all is taken before they are read.

    Raises
    ------
    InputError
        If it does.
    """
    _, meta = _loaded(path, reader, metadataonly=True, **how)
    rows, columns = meta.number_rows or 0, len(meta.column_names)
    most = path.stat().st_size * (1 if reader in _UNPACKED else _MOST_PACKED)
    if rows * max(columns, 1) > most:
        message = f"is broken: it claims to have {rows:,} rows, which is more than its size allows"
        raise refusal(path, message, Reason.FILE_FORMAT)


def _series(name: str, values: Any) -> pl.Series:
    """Return a column with the type its values have; whole numbers are integers."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return as_whole(pl.Series(name, array))
    cells = [None if _is_missing(value) else value for value in array.tolist()]
    types = {type(value) for value in cells if value is not None}
    if len(types) > 1:  # codes that mean "missing" among numbers or texts
        cells = [None if value is None else _text(value) for value in cells]
    series = as_whole(pl.Series(name, cells, strict=False))
    return series.replace("", None) if series.dtype == pl.String else series


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _labelled(series: pl.Series, labels: Mapping[Any, str], *, ordered: bool) -> pl.Series:
    """Return a column with labels for values, if each that occurs has one; an ordinal one is an Enum."""
    known = {_text(value): label.strip() for value, label in labels.items()}
    texts = series.cast(pl.String) if series.dtype != pl.String else series
    occurring = texts.drop_nulls().unique()
    if not known or len(set(known.values())) < len(known) or not occurring.is_in(list(known)).all():
        return series
    named = texts.replace_strict(known, return_dtype=pl.String)
    return named.cast(pl.Enum(list(known.values()))) if ordered else named


def _labels(path: Path, *, reader: str) -> dict[str, str]:
    _, meta = _loaded(path, reader, metadataonly=True)
    return {name: label for name, label in meta.column_names_to_labels.items() if label}


def _register(name: str, endings: tuple[str, ...], reader: str, *, marks_missing: bool = False) -> FileFormat:
    return register(
        FileFormat(
            name,
            endings,
            partial(_read, reader=reader, marks_missing=marks_missing),
            labels=partial(_labels, reader=reader),
        )
    )


SPSS = _register("SPSS", (".sav", ".zsav"), "read_sav", marks_missing=True)
STATA = _register("Stata", (".dta",), "read_dta", marks_missing=True)
SAS = _register("SAS", (".sas7bdat",), "read_sas7bdat", marks_missing=True)
SAS_TRANSPORT = _register("SAS transport", (".xpt",), "read_xport")


def write_statistics(frame: pl.DataFrame, path: Path, labels: Mapping[str, str] | None = None) -> None:
    """Write a table for SPSS or Stata, by the ending of the name.

    Texts become numbers with labels where there are few of them, as these programs expect of categories.

    Parameters
    ----------
    frame
        The table: numbers, dates, truth values and texts.
    path
        The file to write, ``.sav`` or ``.dta``.
    labels
        What columns are about, by name.

    Raises
    ------
    InputError
        If a name or a text is too long for the program, or the file cannot be written.
    """
    package = _package(f"a file for {'Stata' if path.suffix == '.dta' else 'SPSS'}")
    stata = path.suffix == ".dta"
    names = _short_names(frame.columns, _STATA_NAME if stata else _SPSS_NAME)
    titles = {names[name]: (labels or {}).get(name, name) for name in frame.columns}
    coded, value_labels = [], {}
    for series in frame.iter_columns():
        new, meaning = _coded(series, _STATA_TEXT if stata else _SPSS_TEXT)
        coded.append(new.rename(names[series.name]))
        if meaning:
            value_labels[names[series.name]] = meaning
    write = package.write_dta if stata else package.write_sav
    with writing(path):
        write(
            pl.DataFrame(coded),
            str(path),
            column_labels={name: title[:80] for name, title in titles.items()},
            variable_value_labels=value_labels,
        )


def _coded(series: pl.Series, longest: int) -> tuple[pl.Series, dict[int, str]]:
    """Return a column as these programs hold it: texts as codes from 1, and what the codes mean."""
    if series.dtype == pl.Boolean:
        return series.cast(pl.Int32), {0: "false", 1: "true"}
    if series.dtype in (pl.UInt8, pl.UInt16, pl.UInt32, pl.Int8, pl.Int16):
        return series.cast(pl.Int32 if series.dtype != pl.UInt32 else pl.Float64), {}
    if series.dtype.is_integer():
        return series.cast(pl.Float64), {}
    if series.dtype == pl.Float32 or series.dtype.is_decimal():
        return series.cast(pl.Float64), {}
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return series, {}
    texts = series.cast(pl.String).replace("", None)
    known = texts.drop_nulls().unique().sort().to_list()
    if texts.null_count() < len(texts) and max(len(text.encode()) for text in known) > longest:
        raise InputError(
            f"column {series.name!r} has a text of more than {longest:,} bytes, too long for this format",
            reason=Reason.PARAMETER,
            column=series.name,
        )
    if all(len(text.encode()) <= 120 for text in known):  # the longest label of a value in SPSS
        codes = {text: code for code, text in enumerate(known, start=1)}
        return texts.replace_strict(codes, return_dtype=pl.Int32), {
            code: text for text, code in codes.items()
        }
    return texts.fill_null(""), {}


def _short_names(names: list[str], longest: int) -> dict[str, str]:
    """Return names that these programs allow: letters, digits and underscores, unlike each other."""
    short: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = "".join(each if each.isascii() and each.isalnum() else "_" for each in name) or "v"
        plain = (plain if plain[0].isalpha() else f"v_{plain}")[:longest]
        number = 2
        while plain.lower() in taken:
            ending = f"_{number}"
            plain, number = plain[: longest - len(ending)] + ending, number + 1
        taken.add(plain.lower())
        short[name] = plain
    return short
