"""Options of the command line that several commands share or that take many words to declare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.base.choices import CHOICES
from shoal.cli.declared import COLUMNS, ENGINE, FILES, METHOD, MODEL, REPORT, baselines
from shoal.cli.declared import in_panel as _in
from shoal.errors import InputError, Reason
from shoal.files.formats import FORMATS
from shoal.files.reading import place_of
from shoal.models import in_order
from shoal.release import Format
from shoal.schema import Kind, Missing


def _ask(asked: bool) -> bool:
    """Ask for a password, and leave it where the client of the database looks for it."""
    if asked:
        os.environ["PGPASSWORD"] = typer.prompt("Password", hide_input=True, err=True)
    return asked


if TYPE_CHECKING:
    _Place = Path | str
else:
    _Place = Path  # as help shows it; the address of a database is a text

TableFile = Annotated[
    _Place,
    typer.Argument(
        metavar="TABLE",
        parser=place_of,
        help=f"File ({', '.join(known.name for known in FORMATS)}), or the address of a database, such as "
        "postgresql://host/database.",
    ),
]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Schema file, as `shoal scan` writes it.")]
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
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        help="Column that says whose record each is, if persons have several records. The column is left "
        "out, and k counts persons.",
    ),
]
SurveyWeight = Annotated[
    str | None,
    typer.Option(
        "--survey-weight",
        help="Column with the number of people in the population that a record represents. It is released "
        "in groups if single values could identify records, and individual risks are computed with it.",
    ),
]
_ForColumns = list[str] | None
Hierarchies = Annotated[
    _ForColumns,
    _in(
        COLUMNS,
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="Generalization hierarchy of a column, as a CSV file.",
    ),
]
Kinds = Annotated[
    _ForColumns,
    _in(
        COLUMNS,
        "--kind",
        metavar="COLUMN=KIND",
        help=f"Kind of a column, if it is inferred wrongly: {', '.join(kind.value for kind in Kind)}.",
    ),
]
Separators = Annotated[
    _ForColumns,
    _in(COLUMNS, "--separator", metavar="COLUMN=TEXT", help="Text between the items of a cell."),
]
Long = Annotated[
    str | None,
    _in(
        COLUMNS,
        "--long",
        metavar="RECORD,ITEM",
        help="The table has one row for each item of a record; the columns of record and item.",
    ),
]
Weights = Annotated[
    _ForColumns,
    _in(
        COLUMNS,
        "--weight",
        metavar="COLUMN=NUMBER",
        help="Weight of a column in the information loss; 1 if omitted.",
    ),
]
Missings = Annotated[
    _ForColumns,
    _in(
        COLUMNS,
        "--missing",
        metavar="COLUMN=POLICY",
        help=f"What to do with missing values: {', '.join(Missing)}.",
    ),
]
MissingMarks = Annotated[
    list[str] | None,
    _in(COLUMNS, "--missing-mark", metavar="TEXT", help="Text that stands for a missing value, such as ?."),
]
Delimiter = Annotated[
    str | None,
    _in(FILES, "--delimiter", help="Delimiter of the CSV file; detected automatically if omitted."),
]
Encoding = Annotated[
    str | None,
    _in(FILES, "--encoding", help="Encoding of the CSV file; detected automatically if omitted."),
]
Sheet = Annotated[str | None, _in(FILES, "--sheet", help="Sheet of the workbook; the first if omitted.")]
SkipRows = Annotated[
    int,
    _in(FILES, "--skip-rows", min=0, help="Number of rows above the header of the CSV file or the sheet."),
]
Decimal = Annotated[
    str | None,
    _in(
        FILES,
        "--decimal",
        metavar="MARK",
        help="Decimal mark of numbers in the CSV file; a point if omitted.",
    ),
]
Thousands = Annotated[
    str | None,
    _in(
        FILES,
        "--thousands",
        metavar="MARK",
        help="Mark between groups of three digits in the CSV file; none if omitted.",
    ),
]
MissingCodes = Annotated[
    bool,
    _in(
        FILES,
        "--missing-codes",
        help="Keep the codes for missing values of SPSS, Stata and SAS as separate values.",
    ),
]
DatabaseTable = Annotated[
    str | None, _in(FILES, "--table", metavar="NAME", help="Table of the database, such as public.visits.")
]
Query = Annotated[
    str | None, _in(FILES, "--query", metavar="SQL", help="Query to the database, instead of --table.")
]
AskPassword = Annotated[
    bool, _in(FILES, "--ask-password", callback=_ask, help="Ask for the password of the database.")
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", help=f"Privacy model: one of {', '.join(model.name for model in in_order())}."),
]
ModelNames = Annotated[str | None, typer.Option("--model", help="Privacy models, comma-separated.")]
CrowdSizes = Annotated[str, typer.Option("--k", help="Minimum crowd sizes, comma-separated.")]
Method = Annotated[
    str | None,
    _in(METHOD, "--method", help=f"Algorithm to use instead of the model's default. {baselines()}"),
]
Methods = Annotated[
    str | None, _in(METHOD, "--method", help=f"Methods, comma-separated; all if omitted. {baselines()}")
]
Seed = Annotated[
    int | None,
    _in(METHOD, "--seed", help=CHOICES["seed"].help),
]
MostPerPerson = Annotated[
    int | None,
    _in(
        METHOD,
        "--most-per-person",
        min=1,
        help=f"{CHOICES['most_per_person'].help.rstrip('.')}; needs --person.",
    ),
]
HoldOut = Annotated[
    str | None,
    _in(
        REPORT,
        "--hold-out",
        metavar="SHARE",
        help=CHOICES["hold_out"].help,
    ),
]
Predict = Annotated[
    str | None,
    _in(
        REPORT,
        "--predict",
        metavar="COLUMN",
        help=CHOICES["predict"].help,
    ),
]
RunAgain = Annotated[
    int | None,
    _in(
        REPORT,
        "--run-again",
        metavar="RUNS",
        help=CHOICES["run_again"].help,
    ),
]
RunsSeed = Annotated[int | None, _in(METHOD, "--seed", help="Make runs repeatable.")]
ReleaseFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder for the release.")]
FileFormat = Annotated[
    Format | None,
    _in(
        FILES,
        "--format",
        help="csv (text) or parquet (typed); csv if omitted, with Spark parquet. xlsx, sav and dta: csv, "
        "and a copy for Excel, SPSS or Stata.",
    ),
]
Target = Annotated[
    str | None,
    _in(
        FILES,
        "--to",
        metavar="ADDRESS",
        help="Also write the release into a database, in one transaction; needs --to-table.",
    ),
]
TargetTable = Annotated[
    str | None, _in(FILES, "--to-table", metavar="NAME", help="Table to create in the database of --to.")
]
SafeForSpreadsheets = Annotated[
    bool,
    _in(
        FILES,
        "--safe-for-spreadsheets",
        help="Also write a CSV copy with an apostrophe before texts that a spreadsheet could take for "
        "formulas.",
    ),
]
KeepKey = Annotated[bool, _in(FILES, "--keep-key", help=CHOICES["keep_key"].help)]
ResultsPage = Annotated[Path, typer.Option("--output", "-o", help="File for the page with all results.")]
Choose = Annotated[
    int | None,
    _in(
        FILES,
        "--choose",
        metavar="K",
        help="The k whose best run is highlighted; the largest if omitted.",
    ),
]
TimeLimit = Annotated[
    float | None, _in(ENGINE, "--time-limit", metavar="SECONDS", help="Time limit of a run.")
]
ParallelRuns = Annotated[
    int | None,
    _in(ENGINE, "--jobs", min=1, help="Number of runs at a time; one for each core if omitted."),
]
AsJson = Annotated[bool, _in(FILES, "--json", help="Print JSON for programs.")]
Quiet = Annotated[bool, _in(FILES, "--quiet", "-q", help="Show neither progress nor a summary.")]
Strict = Annotated[
    bool,
    _in(
        MODEL,
        "--strict",
        help="Also fail (exit code 1) if the guarantee holds, but there are warnings.",
    ),
]
Overwrite = Annotated[bool, _in(FILES, "--overwrite", help="Replace existing files.")]


def words(given: str | None) -> list[str]:
    """Return the words of a comma-separated list."""
    return [word.strip() for word in (given or "").split(",") if word.strip()]


def share(given: str, option: str) -> float:
    """Return a share that is written as 5% or 0.05.

    Raises
    ------
    InputError
        If it is not a number.
    """
    text = given.strip()
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise InputError(
            f"{option} {given!r} must be a share, such as 5% or 0.05", reason=Reason.PARAMETER
        ) from None


def crowd_sizes(given: str) -> list[int]:
    """Return the numbers of the option ``--k`` of a command that takes several.

    Raises
    ------
    InputError
        If there is none, or one is not a whole number.
    """
    try:
        numbers = [int(word) for word in words(given)]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(f"--k {given!r} must be whole numbers, separated by commas", reason=Reason.PARAMETER)
    return numbers
