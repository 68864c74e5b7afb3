"""`shoal scan`: what is in a table, what identifies people, and a first schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.audit.uniqueness import Combination, uniqueness
from shoal.cli import options
from shoal.cli.output import out, show_json, show_table, warn
from shoal.io import holds_transactions, read_table, sniff
from shoal.schema import Column, Role, Schema
from shoal.staging import staged_file
from shoal.suggestion import Suggestion, suggest
from shoal.table import Table


def scan(
    table: options.TableFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the schema.", rich_help_panel="Files")
    ] = Path("schema.toml"),
    overwrite: options.Overwrite = False,
    up_to: Annotated[int, typer.Option("--up-to", min=1, max=5, help="Columns in a combination.")] = 3,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    as_json: options.AsJson = False,
) -> None:
    """Describe a table: kinds, suggested roles, how identifying columns and their combinations are."""
    with staged_file(output, overwrite=overwrite) as staged:
        frame = read_table(table, delimiter=delimiter, encoding=encoding)
        suggestions = suggest(frame)
        schema = Schema(tuple(Column(s.name, role=s.role, kind=s.kind) for s in suggestions))
        combinations: tuple[Combination, ...] = ()
        if schema.quasi:
            encoded = Table.encode(frame, schema)
            names = [attribute.column.name for attribute in encoded.attributes]
            combinations = uniqueness(encoded.codes, names, up_to=up_to)
        staged.write_text(schema.to_toml(), encoding="utf-8")
    if as_json:
        show_json(_as_dict(len(frame), suggestions, combinations, output))
    else:
        _show(
            len(frame), suggestions, combinations, table, output, _dialect_words(table, delimiter, encoding)
        )


def _dialect_words(table: Path, delimiter: str | None, encoding: str | None) -> str:
    """Return how a text file was read, so that a wrong guess is seen."""
    if table.suffix in (".parquet", ".arrow", ".feather") or holds_transactions(table):
        return ""
    dialect = sniff(table, delimiter=delimiter, encoding=encoding)
    return f"; read as {dialect.encoding}, cells separated by {dialect.delimiter!r}"


def _as_dict(
    rows: int, suggestions: tuple[Suggestion, ...], combinations: tuple[Combination, ...], output: Path
) -> dict[str, object]:
    return {
        "rows": rows,
        "columns": [
            {
                "name": s.name,
                "role": s.role.value,
                "kind": s.kind.value,
                "distinct": s.distinct,
                "missing": s.missing,
                "unique_share": s.unique_share,
                "reason": s.reason,
            }
            for s in suggestions
        ],
        "combinations": [
            {"columns": list(c.columns), "unique": c.unique, "share": c.share, "smallest": c.smallest}
            for c in combinations
        ],
        "schema": str(output),
    }


def _show(
    rows: int,
    suggestions: tuple[Suggestion, ...],
    combinations: tuple[Combination, ...],
    table: Path,
    output: Path,
    dialect: str,
) -> None:
    show_table(
        f"{rows} rows, {len(suggestions)} columns{dialect}",
        ("column", "kind", "distinct", "missing", "suggested role", "why"),
        [(s.name, s.kind.value, s.distinct, s.missing, s.role.value, s.reason) for s in suggestions],
    )
    if combinations:
        show_table(
            "Who knows these columns of a person knows the row, for so many people",
            ("columns", "unique records", "share", "smallest group"),
            [(", ".join(c.columns), c.unique, f"{c.share:.1%}", c.smallest) for c in combinations[:10]],
        )
    for s in suggestions:
        if s.role is Role.OTHER and "identifying" in s.reason:
            warn(f"column {s.name!r}: {s.reason}")
    out.print(f"Schema written to {output}: look it over, then", markup=False, highlight=False)
    out.print(
        f"  shoal anonymize {table} --schema {output} --k 10 -o out/",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
