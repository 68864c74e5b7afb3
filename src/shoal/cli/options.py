"""Options that several commands share, and what they mean together: a table, its schema, a promise."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from shoal.base.commands import option
from shoal.cli.declared import COLUMNS, ENGINE, FILES, MODEL, Bundle, takes
from shoal.cli.output import warn
from shoal.engines.on_disk import exceeds_memory
from shoal.engines.spark_files import read_files
from shoal.engines.spark_frames import headings, kinds_in
from shoal.errors import InputError, Reason, did_you_mean, listing, unknown_column
from shoal.files.formats import FORMATS, format_of
from shoal.files.reading import read_table
from shoal.files.streams import Source, open_source
from shoal.kinds.hierarchy import Hierarchy
from shoal.models import in_order
from shoal.schema import Kind, Role, Schema, merged_kinds
from shoal.schema.long_tables import collect_items
from shoal.schema.suggesting import warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINES = ("auto", "memory", "blocks", "spark")

TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help=f"File: {', '.join(known.name for known in FORMATS)}.")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", help="Schema file, as `shoal scan` writes it."),
]
Quasi = Annotated[
    list[str] | None,
    typer.Option("--quasi", help="Quasi-identifiers, comma-separated: columns an attacker may know."),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", help="Sensitive columns, comma-separated: an attacker must not learn them."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", help="Identifying columns, comma-separated: left out of the release."),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="Generalization hierarchy of a column, as a CSV file.",
        rich_help_panel=COLUMNS,
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="Kind of a column, if it is inferred wrongly: numeric, date, ordinal, categorical or items.",
        rich_help_panel=COLUMNS,
    ),
]
Separators = Annotated[
    list[str] | None,
    typer.Option(
        "--separator",
        metavar="COLUMN=TEXT",
        help="Text between the items of a cell.",
        rich_help_panel=COLUMNS,
    ),
]
Long = Annotated[
    str | None,
    typer.Option(
        "--long",
        metavar="RECORD,ITEM",
        help="The table has one row for each item of a record; the columns of record and item.",
        rich_help_panel=COLUMNS,
    ),
]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="COLUMN=NUMBER",
        help="Weight of a column in the information loss; 1 if omitted.",
        rich_help_panel=COLUMNS,
    ),
]
Missings = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="COLUMN=POLICY",
        help="What to do with missing values: category, suppress or error.",
        rich_help_panel=COLUMNS,
    ),
]
MissingMarks = Annotated[
    list[str] | None,
    typer.Option(
        "--missing-mark", help="Text that stands for a missing value, such as ?.", rich_help_panel=COLUMNS
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="Delimiter of the CSV file; detected automatically if omitted.",
        rich_help_panel=FILES,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Encoding of the CSV file; detected automatically if omitted.",
        rich_help_panel=FILES,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", help=f"Privacy model: one of {', '.join(model.name for model in in_order())}."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=FILES)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show neither progress nor a summary.", rich_help_panel=FILES)
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        help="memory (the whole table at once), blocks (larger than memory), spark (a cluster) or auto.",
        rich_help_panel=ENGINE,
    ),
]
BlockRows = Annotated[
    int,
    typer.Option(
        "--block-rows",
        help="blocks, spark: approximate number of records in a block.",
        rich_help_panel=ENGINE,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        help="blocks: number of blocks to work on at a time; one for each core if omitted.",
        rich_help_panel=ENGINE,
    ),
]
Work = Annotated[
    Path | None,
    typer.Option(
        "--work",
        help="blocks, spark: folder for temporary files, removed at the end; beside the output if omitted.",
        rich_help_panel=ENGINE,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="spark: address of the cluster, such as spark://host:7077 or local[2].",
        rich_help_panel=ENGINE,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="blocks: discard an interrupted run and start over.", rich_help_panel=ENGINE
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Also fail (exit code 1) if the guarantee holds, but another column could identify records.",
        rich_help_panel=MODEL,
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing files.", rich_help_panel=FILES)
]


def load(
    table: TableFile,
    schema: SchemaFile = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    drop: Drop = None,
    hierarchy: Hierarchies = None,
    kind: Kinds = None,
    separator: Separators = None,
    long: Long = None,
    weight: Weights = None,
    missing: Missings = None,
    missing_mark: MissingMarks = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> tuple[pl.DataFrame, Schema]:
    """Read a table and the schema that file and options describe; options take precedence over the file.

    Raises
    ------
    InputError
        If table or schema cannot be read, or do not fit each other.
    """
    frame = read_table(table, delimiter=delimiter, encoding=encoding)
    if long is not None:
        frame = collect_items(frame, *_record_and_item(long))
    return frame, _described(
        frame,
        table,
        schema,
        quasi,
        sensitive,
        drop,
        hierarchy,
        kind,
        separator,
        weight,
        missing,
        missing_mark,
    )


def open_table(load: Loading) -> tuple[Source, Schema]:
    """Return the table that `load` would read, without reading it all into memory, and its schema.

    Raises
    ------
    InputError
        As `load`.
    """
    given = dict(load.keywords)
    del given["long"]  # needs all rows at once, see `engine_for`
    source = open_source(given["table"], delimiter=given.pop("delimiter"), encoding=given.pop("encoding"))
    marks = tuple(given["missing_mark"] or ())
    # Who names columns beside a file may name some that the file does not describe.
    described = given["schema"] is not None and not given["quasi"]
    kinds = None if described else merged_kinds(source.batches(), marks)
    return source, _described(source.head, **given, kinds=kinds)


def spark_table(load: Loading, session: SparkSession) -> tuple[DataFrame, Schema]:
    """Return the table that `load` would read as a frame of Spark, and its schema.

    Raises
    ------
    InputError
        As `load`.
    """
    given = dict(load.keywords)
    del given["long"]
    delimiter, encoding = given.pop("delimiter"), given.pop("encoding")
    table = read_files(session, given["table"], delimiter=delimiter, encoding=encoding)
    marks = tuple(given["missing_mark"] or ())
    kinds = None if given["schema"] is not None else kinds_in(table, marks)
    return table, _described(headings(table), **given, kinds=kinds)


def _described(
    frame: pl.DataFrame,
    table: Path,
    schema: Path | None,
    quasi: list[str] | None,
    sensitive: list[str] | None,
    drop: list[str] | None,
    hierarchy: list[str] | None,
    kind: list[str] | None,
    separator: list[str] | None,
    weight: list[str] | None,
    missing: list[str] | None,
    missing_mark: list[str] | None,
    kinds: Mapping[str, Kind] | None = None,
) -> Schema:
    """Return the schema that file and options describe; kinds are those of the frame unless given."""
    known = format_of(table)
    if known is not None and known.only_column is not None and not (quasi or sensitive or drop or schema):
        quasi = [known.only_column]
    named = {
        Role.QUASI: _names(quasi, frame.columns),
        Role.SENSITIVE: _names(sensitive, frame.columns),
        Role.IDENTIFIER: _names(drop, frame.columns),
    }
    changes: dict[str, dict[str, Any]] = {}
    for key, given in (("kind", kind), ("weight", weight), ("missing", missing)):
        for name, text in _pairs(given, f"--{key}", frame.columns):
            changes.setdefault(name, {})[key] = _number(text, name) if key == "weight" else text
    for name, text in _pairs(separator, "--separator", frame.columns):
        changes.setdefault(name, {}).update(kind=Kind.ITEMS, separator=text)
    for name, text in _pairs(hierarchy, "--hierarchy", frame.columns):
        changes.setdefault(name, {})["hierarchy"] = Hierarchy.from_file(text)
    marks = tuple(missing_mark or ())
    inferred = Schema.infer(
        frame,
        quasi=named[Role.QUASI],
        sensitive=named[Role.SENSITIVE],
        drop=named[Role.IDENTIFIER],
        missing_marks=marks,
        kinds=kinds,
    )
    described = _with_file(inferred, Schema.read(schema), named, marks) if schema is not None else inferred
    for name, change in changes.items():
        described = described.changed(name, **change)
    return described.completed(frame.columns)


def engine_for(engine: str, load: Loading, *, keep_key: bool) -> str:
    """Return who makes a release of the table that `load` would read: ``memory``, ``blocks`` or ``spark``.

    Parameters
    ----------
    engine
        Who was asked for; ``auto`` leaves it to the size of the table.
    load
        The call that reads the table.
    keep_key
        Whether the key is wanted, which only ``memory`` knows.

    Raises
    ------
    InputError
        If there is no such engine, or it cannot do what is asked for.
    """
    if engine not in ENGINES:
        raise InputError(
            f"engine {engine!r} is unknown{did_you_mean(engine, ENGINES)}; there is {listing(ENGINES)}",
            reason=Reason.PARAMETER,
        )
    whole = keep_key or load.keywords["long"] is not None
    if engine in ("blocks", "spark") and whole:
        raise InputError(
            "--keep-key and --long need the whole table in memory; use --engine memory",
            reason=Reason.PARAMETER,
        )
    if engine != "auto":
        return engine
    table = load.keywords["table"]
    if whole or not table.exists():
        return "memory"
    return "blocks" if table.is_dir() or exceeds_memory(open_source(table)) else "memory"


def show_warnings(frame: pl.DataFrame, schema: Schema) -> None:
    """Show which columns would be released as they are, but should not be, and the options against it."""
    lines = warnings(frame, schema)
    for line in lines:
        warn(line)
    if lines:
        warn("the option for identifiers is --drop, that for quasi-identifiers is --quasi")


Loading = partial[tuple[pl.DataFrame, Schema]]
"""What `takes_table` hands to a command: reads the table and its schema."""


TABLE = Bundle(
    tuple(inspect.signature(load, eval_str=True).parameters.values()),
    lambda given: partial(load, **given),
)
"""The options that describe a table; they reach a command as the call that reads it, to make later."""

takes_table = takes(load=TABLE)
"""Give a command the options that describe a table, and as its argument `load` the call that reads it."""


def words_of(load: Loading) -> list[str]:
    """Return the words of a command line that describe the same table."""
    words = [str(load.keywords["table"])]
    for name, given in load.keywords.items():
        if name != "table" and given is not None:
            values = given if isinstance(given, list) else [given]
            words += [word for value in values for word in (option(name), str(value))]
    return words


def _with_file(
    inferred: Schema, read: Schema, named: dict[Role, list[str]], marks: tuple[str, ...]
) -> Schema:
    """Return the schema of a file with the roles and marks that were named on the command line."""
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
    """Return the names in comma-separated lists; a column whose own name has a comma is taken whole."""
    names: list[str] = []
    for text in given or ():
        names += [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
    return names


def _pairs(given: list[str] | None, option: str, columns: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in given or ():
        parts = text.split("=")
        # Names and values may have the sign, too: what is before one of them is a column.
        ways = [("=".join(parts[:i]), "=".join(parts[i:])) for i in range(1, len(parts))]
        ways = [(name, value) for name, value in ways if name and value]
        if not ways:
            raise InputError(f"{option} {text!r} must be COLUMN=VALUE", reason=Reason.PARAMETER)
        known = [way for way in ways if way[0] in columns]
        if not known:
            raise unknown_column(ways[0][0], columns)
        pairs.append(known[0])
    return pairs


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--weight {name}={text}: not a number", reason=Reason.PARAMETER) from None
