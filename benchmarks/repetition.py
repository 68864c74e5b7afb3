"""An attacker who has the code runs methods again on small tables: how often its best guesses are right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.harness import markdown_table, write_page
from shoal import Concealment, Freeform, KAnonymity, RepeatedAttack, Schema, SetDiversity, repeated_attack
from shoal.methods import unseen
from shoal.models import Model

Case = tuple[str, pl.DataFrame, Model, float, tuple[int, int], bool]
"""Name, table, model, the bound on guesses of values, runs, and whether rows may grow because of labels."""


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


def baskets() -> pl.DataFrame:
    """Return a table of sets of items."""
    numbers = np.random.default_rng(7)
    sets = [sorted({str(item) for item in numbers.integers(0, 8, 3)}) for _ in range(12)]
    return pl.DataFrame({"items": sets, "diagnosis": list("abcd" * 3)})


def cases() -> Iterator[Case]:
    """Yield what is measured."""
    small, large = (1200, 150), (200, 60)
    eight, nine = ages("aaaabbbb"), ages("aaabbbccc")
    yield "8 records", eight, Freeform(k=2, l=2), 0.5, small, False
    yield "8 records, rows grow", eight, Freeform(k=2, l=2), 0.5, small, True
    yield "8 records", eight, KAnonymity(k=2, l=2), 0.5, small, False
    yield "8 records", eight, Concealment(k=2, l=2), 0.5, small, False
    yield "9 records", nine, Freeform(k=3, l=1.5), 1 / 1.5, small, False
    yield "9 records, rows grow", nine, Freeform(k=3, l=1.5), 1 / 1.5, small, True
    yield "12 sets of items", baskets(), SetDiversity(l=3), 1 / 3, (400, 60), False
    thirty, hundred = people(30, "abcd"), people(100, "abcd")
    yield "30 records", thirty, Freeform(k=3, l=2), 0.5, large, False
    yield "30 records, rows grow", thirty, Freeform(k=3, l=2), 0.5, large, True
    yield "100 records", hundred, Freeform(k=10, l=2), 0.5, large, False
    yield "100 records", hundred, KAnonymity(k=10, l=2), 0.5, large, False
    yield "100 records", hundred, Concealment(k=10, l=2), 0.5, large, False


def measured(case: Case) -> tuple[str, ...]:
    """Return a row of the results."""
    name, frame, model, bound, (training, tests), growing = case
    items = ["items"] if "items" in frame.columns else []
    quasi = items or [column for column in frame.columns if column != "diagnosis"]
    schema = Schema.infer(frame, quasi=quasi, sensitive=["diagnosis"])
    limit = unseen.SMALL
    unseen.SMALL = 0 if growing else limit
    try:
        found: RepeatedAttack = repeated_attack(frame, schema, model, training=training, tests=tests, seed=1)
    finally:
        unseen.SMALL = limit
    value = found.values["diagnosis"]
    certain = "-" if value.certain is None else f"{value.certain:.0%}"
    asked = f"{model.name}, k = {getattr(model, 'k', '-')}, l = {model.l:g}"  # type: ignore[attr-defined]
    least = "-" if found.least_chance is None else f"{found.least_chance:.2f}"
    return (
        name,
        asked,
        f"{found.row.right:.2f} ± {found.row.error:.2f}",
        f"{found.row.worst:.2f}",
        least,
        f"{value.right:.2f} ± {value.error:.2f}",
        f"{value.worst:.2f}",
        f"{bound:.2f}",
        certain,
    )


def main() -> None:
    """Measure and write the results page."""
    head = (
        *("table", "model", "row right", "worst person", "least chance"),
        *("value right", "worst person", "1/l", "certain"),
    )
    rows = []
    for case in cases():
        rows.append(measured(case))
        print(rows[-1], flush=True)
    text = "\n\n".join(
        (
            "# Running the method again",
            "An attacker knows all quasi-identifiers, how often each sensitive value occurs, and has the "
            "code. The method runs 1,200 times on tables of 8 and 9 records, 400 times on sets of items and "
            "200 times on larger tables, each time with the sensitive values assigned to the records at "
            "random. Then the attacker guesses the row and the value of each person in 150 or 60 further "
            "releases. *Certain* is the share of persons whose value the attacker is sure of, although the "
            "release allows other values; - means that no release occurred often enough in the first runs. "
            "*Rows grow* is what freeform does in tables of more than 32 records. The worst person is the "
            "one with the highest share of right guesses, which includes chance.",
            markdown_table(head, rows),
        )
    )
    write_page("repetition", text, {})
