"""`shoal query`: how many rows of a release meet some conditions, or the mean of a column over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.output import show_facts, show_json, show_table
from shoal.reading.wording import asked, facts, group_table, grouped
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.reading import Answer, Reader

ReleaseFolder = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="Folder of a release, or its table as a file.")
]
EstimatorName = Annotated[
    str, typer.Option("--estimator", help="How values are estimated: tight, columns, marginal or even.")
]


def query(
    release: ReleaseFolder,
    question: Annotated[
        str,
        typer.Argument(
            metavar="[QUESTION]", help='Conditions, such as "age 30..39, sex=Female, education=Masters|PhD".'
        ),
    ] = "",
    by: Annotated[
        str | None, typer.Option("--by", help="Columns to group by, comma-separated: one answer per group.")
    ] = None,
    mean: Annotated[
        str | None, typer.Option("--mean", help="Column of numbers: its mean instead of the number of rows.")
    ] = None,
    schema: options.SchemaFile = None,
    estimator: EstimatorName = "tight",
    as_json: options.AsJson = False,
) -> None:
    """Answer a question from a release alone: an estimate with its error, and what is possible."""
    reader = opened(release, schema, estimator)
    if by is None:
        answer = asked(reader, question, mean)
        show_json(_as_dict(answer)) if as_json else show_facts("Answer", facts(answer))
        return
    names = [name.strip() for name in by.split(",")]
    groups = grouped(reader, question, names, mean)
    if as_json:
        show_json(groups)
        return
    head, lines = group_table(groups, names, mean)
    show_table("Answers", head, lines)


def opened(release: Path, schema: Path | None, estimator: str) -> Reader:
    """Return the reader of a release, with its codebook or a schema."""
    from shoal.reading import open_release  # late: few commands need it

    described = None if schema is None else Schema.read(schema)
    return open_release(release, described, estimator=estimator)  # type: ignore[arg-type]


def _as_dict(answer: Answer) -> dict[str, Any]:
    return {**answer.as_dict(), "interval": list(answer.interval)}
