"""`shoal query`: how many rows of a release meet some conditions, or the mean of a column over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.output import show_facts, show_json, show_table
from shoal.reading.questions import read_question
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
    """Answer a question from a release alone: an estimate, its error, and what is certain and possible."""
    reader = opened(release, schema, estimator)
    conditions = read_question(question, reader.columns)
    if by is None:
        answer = reader.count(conditions) if mean is None else reader.mean(mean, conditions)
        show_json(_as_dict(answer)) if as_json else show_facts("Answer", _facts(answer))
        return
    names = [name.strip() for name in by.split(",")]
    groups = reader.table(names, conditions, mean=mean, flavour="polars").to_dicts()
    if as_json:
        show_json(groups)
        return
    head = (*names, "rows" if mean is None else f"mean of {mean}", "95% interval", "certain", "possible")
    show_table("Answers", head, [_line(group, names) for group in groups])


def opened(release: Path, schema: Path | None, estimator: str) -> Reader:
    """Return the reader of a release, with its codebook or a schema."""
    from shoal.reading import open_release  # late: few commands need it

    described = None if schema is None else Schema.read(schema)
    return open_release(release, described, estimator=estimator)  # type: ignore[arg-type]


def _as_dict(answer: Answer) -> dict[str, Any]:
    return {**answer.as_dict(), "interval": list(answer.interval)}


def _facts(answer: Answer) -> list[tuple[str, str]]:
    low, high = answer.interval
    return [
        ("estimate", f"{answer.estimate:,.4g}" if abs(answer.estimate) < 1e4 else f"{answer.estimate:,.0f}"),
        ("95% interval", f"{low:,.1f} to {high:,.1f}"),
        ("certain", f"{answer.certain:,} rows"),
        ("possible", f"{answer.possible:,} rows"),
    ]


def _line(group: dict[str, Any], names: list[str]) -> list[str]:
    labels = ["(missing)" if group[name] == "" else str(group[name]) for name in names]
    if group["estimate"] is None:
        return [*labels, "", "", f"{group['certain']:,}", f"{group['possible']:,}"]
    interval = f"{group['low']:,.1f} to {group['high']:,.1f}"
    return [*labels, f"{group['estimate']:,.1f}", interval, f"{group['certain']:,}", f"{group['possible']:,}"]
