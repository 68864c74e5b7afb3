"""An attacker who has the code runs methods again on small tables: how often its best guesses are right."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import adult, markdown_table, remembered, write_page
from shoal import KK, Concealment, Freeform, KAnonymity, Schema, SetDiversity, repeated_attack
from shoal.methods import unseen
from shoal.models import Model

HEAD = (
    *("table", "model", "row right", "worst person", "least chance"),
    *("value right", "worst person", "1/l", "certain"),
)
TEXT = (
    "# Running the method again\n\n"
    "An attacker knows all quasi-identifiers, how often each sensitive value occurs, and has the code. The "
    "method runs 1,200 times on tables of 6 to 9 records, 400 times on 12 sets of items and 200 times on "
    "larger tables, each time with the sensitive values assigned to the records at random. Then the attacker "
    "guesses the row and the value of each person in 150, 60 or 40 further releases. *Certain* is the share "
    "of persons whose value the attacker is sure of, although the release allows other values; - means that "
    "no release occurred often enough in the first runs. *Rows grow* is what freeform does in tables of more "
    "than 128 records where no assignment is diverse. The worst person is the one with the highest share of "
    "right guesses, which includes chance: with 40 releases, it is up to 0.2 above the mean."
)

SMALL, LARGE = (1200, 150), (200, 40)
"""Numbers of runs to learn from and to guess in, on small and on larger tables."""


@dataclass(frozen=True)
class Case:
    """One attack: which table, which model, what guesses of values should be bounded by."""

    table: str
    frame: pl.DataFrame
    model: Model
    bound: float
    runs: tuple[int, int]
    growing: bool = False
    """Whether rows may grow because of labels also in small tables."""

    @property
    def name(self) -> str:
        """What it is called on the page."""
        chance = getattr(self.model, "chance", None)
        plain = ", chance = 1" if chance == 1 else ""
        k = f", k = {self.model.k}" if hasattr(self.model, "k") else ""
        return f"{self.model.name}{k}, l = {self.model.l:g}{plain}"  # type: ignore[attr-defined]


def ages(labels: str) -> pl.DataFrame:
    """Return a table with one quasi-identifier."""
    return pl.DataFrame(
        {"age": [20, 21, 30, 33, 50, 58, 63, 70, 72][: len(labels)], "diagnosis": list(labels)}
    )


def people(n: int, labels: str) -> pl.DataFrame:
    """Return a table with three quasi-identifiers and equally frequent labels."""
    numbers = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "age": numbers.integers(18, 80, n),
            "zip": numbers.integers(0, 30, n),
            "children": numbers.integers(0, 4, n),
            "diagnosis": [labels[i % len(labels)] for i in range(n)],
        }
    )


def clusters(n: int, labels: str) -> pl.DataFrame:
    """Return a table whose records form five groups and a few outliers, with skewed labels."""
    numbers = np.random.default_rng(8)
    centre = numbers.integers(0, 5, n) * 14 + 20
    spread = np.where(numbers.random(n) < 0.1, 20, 2)
    return pl.DataFrame(
        {
            "age": (centre + numbers.normal(0, spread, n)).round().astype(int),
            "zip": centre // 14 * 5 + numbers.integers(0, 3, n),
            "diagnosis": [labels[i % len(labels)] for i in range(n)],
        }
    )


def sample_of_adult(n: int) -> pl.DataFrame:
    """Return some records of Adult with the occupation as what is not to be learned."""
    chosen = (
        adult().sample(n, seed=1).select("age", "education", "marital-status", "race", "sex", "occupation")
    )
    return chosen.rename({"occupation": "diagnosis"})


def baskets(n: int = 12) -> pl.DataFrame:
    """Return a table of sets of items with four equally frequent labels."""
    numbers = np.random.default_rng(7)
    sets = [sorted({str(item) for item in numbers.integers(0, 8, 3)}) for _ in range(n)]
    return pl.DataFrame({"items": sets, "diagnosis": [*"abcd" * (n // 4)]})


def cases() -> Iterator[Case]:
    """Yield what is measured."""
    six, eight, nine = ages("aabbcc"), ages("aaaabbbb"), ages("aaabbbccc")
    for frame, k, l in ((six, 2, 2.0), (eight, 2, 2.0), (nine, 3, 1.5)):  # noqa: E741
        name = f"{len(frame)} records"
        yield Case(name, frame, Freeform(k=k, l=l), 1 / l, SMALL)
        yield Case(name, frame, KAnonymity(k=k, l=l), 1 / l, SMALL)
        yield Case(name, frame, Concealment(k=k, l=l), 1 / l, SMALL)
        yield Case(name, frame, Concealment(k=k, l=l, chance=1), 1 / l, SMALL)
    yield Case("8 records, rows grow", eight, Freeform(k=2, l=2), 0.5, SMALL, growing=True)
    yield Case("12 sets of items", baskets(), SetDiversity(l=3), 1 / 3, (400, 60))
    thirty = people(30, "abcd")
    yield Case("30 records", thirty, Freeform(k=3, l=2), 0.5, LARGE)
    yield Case("30 records, rows grow", thirty, Freeform(k=3, l=2), 0.5, LARGE, growing=True)
    equal, skewed = people(100, "abcd"), people(100, "aaaaabbbcd")
    for model in (Freeform(k=10, l=2), KAnonymity(k=10, l=2), Concealment(k=10, l=2)):
        yield Case("100 records", equal, model, 0.5, LARGE)
    for each in (Freeform(k=10, l=3), KAnonymity(k=10, l=3), Concealment(k=10, l=3, chance=1), KK(k=10, l=3)):
        yield Case("100 records", equal, each, 1 / 3, LARGE)
    yield Case("100 records, skewed values", skewed, Freeform(k=10, l=1.5), 1 / 1.5, LARGE)
    yield Case(
        "100 records in groups, skewed", clusters(100, "aaaaabbbcd"), Freeform(k=10, l=1.8), 1 / 1.8, LARGE
    )
    yield Case(
        "100 records in groups, skewed", clusters(100, "aaaaabbbcd"), KAnonymity(k=10, l=1.8), 1 / 1.8, LARGE
    )
    yield Case("100 records, rows grow", equal, Freeform(k=10, l=3), 1 / 3, LARGE, growing=True)
    yield Case("100 records", equal, Freeform(k=10, l=3.5), 1 / 3.5, LARGE)
    yield Case("100 records, rows grow", equal, Freeform(k=10, l=3.5), 1 / 3.5, LARGE, growing=True)
    yield Case("100 sets of items", baskets(100), SetDiversity(l=3), 1 / 3, LARGE)
    yield Case("200 records of Adult", sample_of_adult(200), Freeform(k=10, l=3), 1 / 3, LARGE)


def work(number: int) -> dict[str, Any]:
    """Carry out one attack."""
    case = list(cases())[number]
    items = ["items"] if "items" in case.frame.columns else []
    quasi = items or [column for column in case.frame.columns if column != "diagnosis"]
    schema = Schema.infer(case.frame, quasi=quasi, sensitive=["diagnosis"])
    if case.growing:
        unseen.SMALL = unseen.DRAWN = 0
    training, tests = case.runs
    found = repeated_attack(case.frame, schema, case.model, training=training, tests=tests, seed=1)
    return found.as_dict()


def row_of(case: Case, found: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the results."""
    row, value = found["row"], found["values"]["diagnosis"]
    return (
        case.table,
        case.name,
        f"{row['right']:.2f} ± {row['error']:.2f}",
        f"{row['worst']:.2f}",
        "-" if found["least_chance"] is None else f"{found['least_chance']:.2f}",
        f"{value['right']:.2f} ± {value['error']:.2f}",
        f"{value['worst']:.2f}",
        f"{case.bound:.2f}",
        "-" if value["certain"] is None else f"{value['certain']:.0%}",
    )


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page, or measure cases by their numbers."""
    parser = argparse.ArgumentParser(prog="benchmarks repetition")
    parser.add_argument("--case", type=int, nargs="+", help="measure these cases only, counted from 0")
    chosen = parser.parse_args(options)
    rows = []
    for number, case in enumerate(cases()):
        if not options or number in chosen.case:
            rows.append(row_of(case, remembered("repetition", number=number)))
            print(number, rows[-1], flush=True)
    if not options:
        write_page("repetition", "\n\n".join((TEXT, markdown_table(HEAD, rows))), {})
