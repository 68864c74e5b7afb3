"""What can be chosen about a release besides its model: one wording for command line and page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """Something that can be chosen.

    Parameters
    ----------
    label
        What it is called on the page.
    help
        What it does, as a sentence.
    """

    label: str
    help: str


CHOICES = {
    "seed": Choice("Seed", "Make the release repeatable: for experiments only, never for publication."),
    "hold_out": Choice(
        "Control group",
        "Keep this share of the records, such as 5%, out of the release as a control group, and attack the "
        "release.",
    ),
    "leave_out": Choice(
        "Records that may be left out",
        "Largest share of the records that may be left out because they cannot be hidden within the limits "
        "of columns.",
    ),
    "most_per_person": Choice(
        "Records of each person", "Maximum number of records kept of each person, drawn at random."
    ),
    "predict": Choice(
        "Column to predict",
        "Train models that predict this column, on the release and on the original, and report how well both "
        "do.",
    ),
    "run_again": Choice(
        "Runs of an attacker who has the code",
        "Run the method again this number of times, such as 200, as an attacker who has the code would, and "
        "report how often such an attacker guesses right.",
    ),
    "keep_key": Choice("Secret key", "Also write key.csv, which re-identifies every row."),
    "stable": Choice("Keep rows", "Release the whole table again, and keep the rows of unchanged records."),
    "widest": Choice(
        "Widest cell",
        "Widest released cell of a column: a number, a duration such as '6 months', a level of a hierarchy "
        "such as 'level 1'",
    ),
    "bands": Choice(
        "Bands",
        "Where intervals of a column may end: 'every 5', 'every month', or cuts such as 0,18,65,120.",
    ),
}
"""The choices by the names of the parameters of the library; `widest` goes on with what each place allows."""
