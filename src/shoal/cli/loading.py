"""Tables and schemas that options describe: read into memory, opened as a stream, or given to Spark."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.base.commands import option, words
from shoal.cli import limit_options, options
from shoal.cli.declared import Bundle
from shoal.cli.output import show_remedies, warn
from shoal.engines.on_disk import exceeds_memory
from shoal.engines.spark_files import read_files
from shoal.engines.spark_frames import headings, inferred_in
from shoal.errors import InputError, Reason, did_you_mean, listing, unknown_column
from shoal.files.access import exists, is_file, is_folder
from shoal.files.databases import hidden
from shoal.files.formats import Reading, format_of
from shoal.files.reading import read_as
from shoal.files.streams import BatchedTable, opened_source
from shoal.kinds.hierarchy import Hierarchy
from shoal.kinds.limits import read_bands, read_widest
from shoal.schema import Kind, Role, Schema, merged_columns
from shoal.schema.frames import Inferred
from shoal.schema.long_tables import collect_items
from shoal.schema.suggesting import warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READING_OPTIONS = (
    *("delimiter", "encoding", "sheet", "skip_rows", "missing_codes"),
    *("decimal", "thousands"),
)
ENGINES = ("auto", "memory", "blocks", "spark")


def load(
    table: options.TableFile,
    schema: options.SchemaFile = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    drop: options.Drop = None,
    person: options.Person = None,
    survey_weight: options.SurveyWeight = None,
    hierarchy: options.Hierarchies = None,
    kind: options.Kinds = None,
    separator: options.Separators = None,
    long: options.Long = None,
    weight: options.Weights = None,
    limit: limit_options.Limits = None,
    bands: limit_options.ForBands = None,
    strata: limit_options.Strata = None,
    missing: options.Missings = None,
    missing_mark: options.MissingMarks = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    skip_rows: options.SkipRows = 0,
    missing_codes: options.MissingCodes = False,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    relation: options.DatabaseTable = None,
    query: options.Query = None,
    ask_password: options.AskPassword = False,
) -> tuple[pl.DataFrame, Schema]:
    """Read a table and the schema that file and options describe; options take precedence over the file.

    Raises
    ------
    InputError
        If table or schema cannot be read, or do not fit each other.
    """
    del ask_password  # it was asked for when the options were read
    reading = Reading(
        delimiter, encoding, None, sheet, skip_rows, missing_codes, relation, query, decimal, thousands
    )
    frame = read(table, reading, long)
    return frame, _described(
        frame,
        table,
        schema,
        quasi,
        sensitive,
        drop,
        person,
        hierarchy,
        kind,
        separator,
        weight,
        missing,
        missing_mark,
        limit=limit,
        bands=bands,
        strata=strata,
        survey_weight=survey_weight,
    )


def read(table: Path | str, reading: Reading, long: str | None) -> pl.DataFrame:
    """Read a table as options describe it, without its schema."""
    frame = read_as(table, reading)
    return frame if long is None else collect_items(frame, *_record_and_item(long))


def read_alone(load: Loading) -> pl.DataFrame | None:
    """Return the table that `load` would read, if its options say nothing about its columns."""
    given = dict(load.keywords)
    table, long, reading = given.pop("table"), given.pop("long"), reading_of(given)
    return None if any(given.values()) else read(table, reading, long)


@contextmanager
def opened_table(load: Loading) -> Iterator[tuple[BatchedTable, Schema]]:
    """Open the table that `load` would read, without reading it all into memory, and find its schema.

    Raises
    ------
    InputError
        As `load`.
    """
    given = dict(load.keywords)
    del given["long"]  # needs all rows at once, see `engine_for`
    with opened_source(given["table"], reading_of(given)) as source:
        marks = tuple(given["missing_mark"] or ())
        # Columns named by options may be missing from the schema file.
        described = given["schema"] is not None and not given["quasi"]
        found = None if described else merged_columns(source.batches(), marks)
        yield source, _described(source.head, **given, inferred=found)


def reading_of(given: dict[str, Any]) -> Reading:
    """Take the options out that say how a table is read."""
    del given["ask_password"]  # it was asked for when the options were read
    table, query = given.pop("relation"), given.pop("query")
    how = {name: given.pop(name) for name in READING_OPTIONS}
    return Reading(**how, table=table, query=query)


def spark_table(load: Loading, session: SparkSession) -> tuple[DataFrame, Schema]:
    """Return the table that `load` would read as a frame of Spark, and its schema.

    Raises
    ------
    InputError
        As `load`.
    """
    given = dict(load.keywords)
    del given["long"]
    reading = reading_of(given)
    if isinstance(given["table"], str):
        raise InputError(
            "Spark reads files; release a table of a database in memory or in blocks", reason=Reason.PARAMETER
        )
    if reading.skip_rows or reading.decimal or reading.thousands:
        raise InputError(
            "Spark reads numbers with a decimal point, and files that begin with their header; use the "
            "engine memory or blocks",
            reason=Reason.PARAMETER,
        )
    table = read_files(session, given["table"], delimiter=reading.delimiter, encoding=reading.encoding)
    marks = tuple(given["missing_mark"] or ())
    described = given["schema"] is not None and not given["quasi"]
    found = None if described else inferred_in(table, marks)
    return table, _described(headings(table), **given, inferred=found)


def _described(
    frame: pl.DataFrame,
    table: Path | str,
    schema: Path | None,
    quasi: list[str] | None,
    sensitive: list[str] | None,
    drop: list[str] | None,
    person: str | None,
    hierarchy: list[str] | None,
    kind: list[str] | None,
    separator: list[str] | None,
    weight: list[str] | None,
    missing: list[str] | None,
    missing_mark: list[str] | None,
    *,
    limit: list[str] | None = None,
    bands: list[str] | None = None,
    strata: list[str] | None = None,
    survey_weight: str | None = None,
    inferred: Mapping[str, Inferred] | None = None,
) -> Schema:
    """Return the schema that file and options describe; kinds are those of the frame unless given."""
    known = None if isinstance(table, str) else format_of(table)
    if known is not None and known.only_column is not None and not (quasi or sensitive or drop or schema):
        quasi = [known.only_column]
    named = {
        Role.QUASI: _names(quasi, frame.columns),
        Role.SENSITIVE: _names(sensitive, frame.columns),
        Role.IDENTIFIER: _names(drop, frame.columns),
        Role.PERSON: [] if person is None else [person],
        Role.WEIGHT: [] if survey_weight is None else [survey_weight],
    }
    by_word = {"kind": kind, "weight": weight, "missing": missing}
    changes = _changes(by_word, separator, hierarchy, frame.columns)
    limits = _limits(limit, bands, _names(strata, frame.columns), frame.columns)
    for name, change in limits.items():
        changes.setdefault(name, {}).update(change)
    marks = tuple(missing_mark or ())
    found = Schema.infer(
        frame,
        quasi=named[Role.QUASI],
        sensitive=named[Role.SENSITIVE],
        drop=named[Role.IDENTIFIER],
        person=person,
        survey_weight=survey_weight,
        missing_marks=marks,
        inferred=inferred,
    )
    described = _with_file(found, Schema.read(schema), named, marks) if schema is not None else found
    described = with_labels(described, table)
    for name, change in changes.items():
        before = described[name].kind
        if schema is None and "hierarchy" in change and before.needs_domain:
            change = {"kind": Kind.CATEGORICAL, **change}  # instead of the order of its type
        if schema is None and change.get("kind", before) != before:
            change = {"domain": None, "date_format": None, **change}  # those of the kind that was inferred
        described = described.changed(name, **change)
    return described.completed(frame.columns)


def _changes(
    by_word: Mapping[str, list[str] | None],
    separator: list[str] | None,
    hierarchy: list[str] | None,
    columns: list[str],
) -> dict[str, dict[str, Any]]:
    """Return what options about single columns change, by column."""
    changes: dict[str, dict[str, Any]] = {}
    for key, given in by_word.items():
        for name, text in _pairs(given, f"--{key}", columns):
            changes.setdefault(name, {})[key] = _number(text, name) if key == "weight" else text
    for name, text in _pairs(separator, "--separator", columns):
        changes.setdefault(name, {}).update(kind=Kind.ITEMS, separator=text)
    for name, text in _pairs(hierarchy, "--hierarchy", columns):
        changes.setdefault(name, {})["hierarchy"] = Hierarchy.from_file(text)
    return changes


def with_labels(schema: Schema, table: Path | str) -> Schema:
    """Return a schema with what a file says that columns are about, where the schema does not say it."""
    known = format_of(table) if isinstance(table, Path) and is_file(table) else None
    labels = {} if known is None or known.labels is None else known.labels(table)  # type: ignore[arg-type]
    return Schema(tuple(replace(c, label=c.label or labels.get(c.name, "")) for c in schema))


def engine_for(engine: str, load: Loading, *, whole: bool) -> str:
    """Return the engine for the table that `load` would read: ``memory``, ``blocks`` or ``spark``.

    Parameters
    ----------
    engine
        The engine that was asked for; ``auto`` decides by the size of the table.
    load
        The call that reads the table.
    whole
        Whether a file is wanted that only ``memory`` can write, such as the key.

    Raises
    ------
    InputError
        If there is no such engine, or it does not support an option.
    """
    if engine not in ENGINES:
        raise InputError(
            f"engine {engine!r} is unknown{did_you_mean(engine, ENGINES)}; choose one of {listing(ENGINES)}",
            reason=Reason.PARAMETER,
        )
    whole = whole or load.keywords["long"] is not None
    if engine in ("blocks", "spark") and whole:
        raise InputError(
            "--keep-key, --hold-out, --run-again, --leave-out, --long, --safe-for-spreadsheets and --format "
            "xlsx, sav or dta need the whole table in memory; use --engine memory",
            reason=Reason.PARAMETER,
        )
    if engine != "auto":
        return engine
    table = load.keywords["table"]
    if whole or (isinstance(table, Path) and not exists(table)):
        return "memory"
    if isinstance(table, Path) and is_folder(table):
        return "blocks"
    with opened_source(table, reading_of(dict(load.keywords))) as source:
        return "blocks" if exceeds_memory(source) else "memory"


def show_warnings(frame: pl.DataFrame, schema: Schema) -> None:
    """Warn about columns that would be released unchanged but may identify records."""
    lines = warnings(frame, schema)
    for line in lines:
        warn(line)
    show_remedies(lines)


Loading = partial[tuple[pl.DataFrame, Schema]]
"""The call that reads the table and its schema."""


_PARAMETERS = tuple(inspect.signature(load, eval_str=True).parameters.values())

TABLE = Bundle(_PARAMETERS, lambda given: partial(load, **given))
_ABOUT_READING = (*READING_OPTIONS, "relation", "query", "ask_password")
READING = Bundle(tuple(each for each in _PARAMETERS if each.name in _ABOUT_READING), reading_of)
"""The options that describe a table; a command gets them as a call that reads the table."""


def words_of(load: Loading) -> list[str]:
    """Return the words of a command line that describe the same table."""
    said = [hidden(str(load.keywords["table"]))]
    for name, given in load.keywords.items():
        if name == "table" or given is None or given == 0:
            continue
        flag = "--table" if name == "relation" else option(name)
        if given is True:
            said.append(flag)
        else:
            values = given if isinstance(given, list) else [given]
            said += [word for value in values for word in (flag, str(value))]
    return said


def reading_words(table: Path | str, reading: Reading) -> str:
    """Return the part of a command that names a table and says how it is read, without a password."""
    said = {name: value for name in READING_OPTIONS if (value := getattr(reading, name))}
    said |= {name: value for name in ("table", "query") if (value := getattr(reading, name))}
    return " ".join(map(shlex.quote, [hidden(str(table)), *words(said)]))


def _with_file(
    inferred: Schema, read: Schema, named: dict[Role, list[str]], marks: tuple[str, ...]
) -> Schema:
    """Return the schema of a file with the roles and marks given by options."""
    known = {column.name: column for column in read}
    for name in known:
        if name not in inferred.names:
            raise unknown_column(name, inferred.names)
    described = []
    for column in inferred:
        before = known.get(column.name, column)
        role = next((role for role, names in named.items() if column.name in names), before.role)
        described.append(replace(before, role=role, missing_marks=marks or before.missing_marks))
    return Schema(tuple(described))


def _record_and_item(given: str) -> tuple[str, str]:
    record, comma, item = given.partition(",")
    if not (comma and record.strip() and item.strip()):
        raise InputError(f"--long {given!r} must be RECORD,ITEM", reason=Reason.PARAMETER)
    return record.strip(), item.strip()


def _names(given: list[str] | None, columns: list[str]) -> list[str]:
    """Return the names in comma-separated lists; a name that contains a comma itself is not split."""
    names: list[str] = []
    for text in given or ():
        names += [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
    return names


def _pairs(given: list[str] | None, option: str, columns: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in given or ():
        parts = text.split("=")
        # Names and values may contain "=" as well: the part before one of them is a column.
        ways = [("=".join(parts[:i]), "=".join(parts[i:])) for i in range(1, len(parts))]
        ways = [(name, value) for name, value in ways if name and value]
        if not ways:
            raise InputError(f"{option} {text!r} must be COLUMN=VALUE", reason=Reason.PARAMETER)
        known = [way for way in ways if way[0] in columns]
        if not known:
            raise unknown_column(ways[0][0], columns)
        pairs.append(known[0])
    return pairs


def _limits(
    limit: list[str] | None, bands: list[str] | None, strata: list[str], columns: list[str]
) -> dict[str, dict[str, Any]]:
    """Return what options say about the limits of columns, by name."""
    changes: dict[str, dict[str, Any]] = {}
    for name, text in _pairs(limit, "--limit", columns):
        change = {"exact": {"exact": True}, "shown": {"suppressible": False}}.get(
            text, {"widest": read_widest(text)}
        )
        changes.setdefault(name, {}).update(change)
    for name, text in _pairs(bands, "--bands", columns):
        changes.setdefault(name, {})["bands"] = read_bands(text)
    for name in strata:
        if name not in columns:
            raise unknown_column(name, columns)
        changes.setdefault(name, {})["exact"] = True
    return changes


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--weight {name}={text}: not a number", reason=Reason.PARAMETER) from None
