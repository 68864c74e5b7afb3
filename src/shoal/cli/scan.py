"""`shoal scan`: what is in a table, what identifies people, and a first schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.base.wording import percent
from shoal.cli import options
from shoal.cli.declared import takes
from shoal.cli.loading import READING, reading_words, with_labels
from shoal.cli.output import out, show_json, show_table, warn
from shoal.engines.scanning import Scan
from shoal.engines.scanning import scan as look_through
from shoal.files.databases import keys_of
from shoal.files.formats import Reading, format_of
from shoal.files.reading import read_as
from shoal.files.staging import staged_file
from shoal.files.text import DELIMITED, sniff
from shoal.schema import Role


@takes(reading=READING)
def scan(
    table: options.TableFile,
    reading: Reading,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the schema.")] = Path(
        "schema.toml"
    ),
    overwrite: options.Overwrite = False,
    up_to: Annotated[
        int, typer.Option("--up-to", min=1, max=5, help="Maximum number of columns in a combination.")
    ] = 3,
    as_json: options.AsJson = False,
) -> None:
    """Describe a table: kinds, suggested roles, and how identifying columns and combinations of them are."""
    with staged_file(output, overwrite=overwrite) as staged:
        frame = read_as(table, reading)
        named = reading.table
        keys = keys_of(table, named) if isinstance(table, str) and named is not None else None
        found = look_through(frame, up_to=up_to, keys=keys)
        staged.write_text(with_labels(found.schema, table).to_toml(), encoding="utf-8")
    if as_json:
        show_json(_as_dict(found, output))
    else:
        words = reading_words(table, reading)
        _show(found, words, output, _dialect_words(table, reading))


def _dialect_words(table: Path | str, reading: Reading) -> str:
    """Return how a text file was read, so that a wrong detection is visible."""
    if isinstance(table, str) or format_of(table) is not DELIMITED:
        return ""
    dialect = sniff(
        table, delimiter=reading.delimiter, encoding=reading.encoding, skip_rows=reading.skip_rows
    )
    return f"; read as {dialect.encoding}, cells separated by {dialect.delimiter!r}"


def _as_dict(found: Scan, output: Path) -> dict[str, object]:
    return {
        "rows": found.records,
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
            for s in found.suggestions
        ],
        "combinations": [
            {"columns": list(c.columns), "unique": c.unique, "share": c.share, "smallest": c.smallest}
            for c in found.combinations
        ],
        "schema": str(output),
    }


def _show(found: Scan, table: str, output: Path, dialect: str) -> None:
    show_table(
        f"{found.records} rows, {len(found.suggestions)} columns{dialect}",
        ("column", "kind", "distinct", "missing", "suggested role", "why"),
        [(s.name, s.kind.value, s.distinct, s.missing, s.role.value, s.reason) for s in found.suggestions],
    )
    if found.combinations:
        title, least = "Records uniquely identified by each combination of columns", "smallest class"
        if found.schema.person is not None:
            title, least = f"{title}: no other person shares the values", "persons in smallest class"
        show_table(
            title,
            ("columns", "unique records", "share", least),
            [(", ".join(c.columns), c.unique, f"{c.share:.1%}", c.smallest) for c in found.combinations[:10]],
        )
    for s in found.suggestions:
        if s.role is Role.OTHER and "identifying" in s.reason:
            warn(f"column {s.name!r}: {s.reason}")
    if found.others_unique > 0.1:
        warn(
            f"the {len(found.others)} columns without a suggested role are released unchanged; together they "
            f"are unique in {percent(found.others_unique)} of the records, so make those that others may "
            "know quasi-identifiers"
        )
    if not found.schema.quasi:
        out.print(
            f"Schema written to {output}: no column looks like a quasi-identifier. Set the role of columns "
            "that others may know to quasi, then run",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    else:
        out.print(f"Schema written to {output}: check it, then run", markup=False, highlight=False)
    out.print(
        f"  shoal anonymize {table} --schema {output} --k 10 -o out/",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
