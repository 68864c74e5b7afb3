"""What counting persons costs: the loss and the time against counting records, and one record per person.

`--only NAME` measures one table, `--k 5,10` some k; cells measured at the same commit are remembered.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.harness import acs, acs_schema, adult, adult_schema, markdown_table, remembered, write_page
from shoal import Freeform, KAnonymity, Release, Schema, anonymize
from shoal.models import Model

KS = (5, 10, 50)
METHODS: dict[str, tuple[type[Model], str, dict[str, Any]]] = {
    "freeform": (Freeform, "matching", {}),
    "freeform, fast ring": (Freeform, "ring", {"effort": "fast"}),
    "mondrian": (KAnonymity, "mondrian", {}),
    "chain": (KAnonymity, "chain", {}),
}


def _sizes(law: str, rng: np.random.Generator) -> int:
    """Return how many records the next person has."""
    if law == "a few with very many":
        return int(rng.integers(100, 300)) if rng.random() < 0.001 else 1
    draw: dict[str, Callable[[], int]] = {
        "one each": lambda: 1,
        "1 to 3": lambda: int(rng.integers(1, 4)),
        "geometric, mean 2.5": lambda: int(rng.geometric(0.4)),
        "1 to 5, alike": lambda: int(rng.integers(1, 6)),
    }
    return draw[law]()


def dealt(records: int, law: str) -> NDArray[np.int64]:
    """Return the person of each record, for a number of records; those of a person stand together."""
    rng = np.random.default_rng(1)
    persons: list[int] = []
    person = 0
    while len(persons) < records:
        persons += [person] * _sizes(law, rng)
        person += 1
    return np.array(persons[:records])


def table(name: str) -> tuple[pl.DataFrame, Schema]:
    """Return a table with a column of persons, and its schema.

    Persons of Adult get records at random; those of the survey stand for households: neighbours in an order
    by area, tenure and race, so that they are alike.
    """
    source, law = name.split(": ")
    frame = adult() if source == "adult" else acs()
    persons = dealt(len(frame), law)
    if source == "adult":
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    else:
        frame = frame.sort("PUMA", "OWN_RENT", "RAC1P", maintain_order=True)
    schema = (adult_schema if source == "adult" else acs_schema)(frame)
    frame = frame.with_columns(pl.Series("person", persons))
    described = {column.name: column for column in schema}
    return frame, Schema((*described.values(),)).completed(frame.columns).changed("person", role="person")


TABLES = (
    *(f"adult: {law}" for law in ("one each", "1 to 3", "geometric, mean 2.5", "a few with very many")),
    "survey: 1 to 5, alike",
)


def work(name: str, method: str, k: int, way: str) -> dict[str, Any]:
    """Make one release and return its loss, rows and processor seconds."""
    frame, schema = table(name)
    if way == "records":
        schema = schema.changed("person", role="identifier")
    model, called, options = METHODS[method]
    before = resource.getrusage(resource.RUSAGE_SELF)
    made: Release = anonymize(
        frame,
        schema,
        model(k=k),  # type: ignore[call-arg]
        method=called,
        seed=1,
        most_per_person=1 if way == "one" else None,
        **options,
    )
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "gcp": made.loss.gcp,
        "rows": len(made.table),
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def main(arguments: list[str]) -> None:
    """Measure and write the results page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks persons", description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--k", default=",".join(map(str, KS)))
    asked = parser.parse_args(arguments)
    rows = []
    for name in (each for each in TABLES if asked.only in each):
        for method in METHODS:
            for k in map(int, asked.k.split(",")):
                found = {
                    way: remembered("persons", name=name, method=method, k=k, way=way)
                    for way in ("records", "persons", "one")
                }
                records, persons, one = found["records"], found["persons"], found["one"]
                rows.append(
                    (
                        name,
                        method,
                        k,
                        f"{records['gcp']:.4f}",
                        f"{persons['gcp']:.4f}",
                        f"{persons['gcp'] / records['gcp']:.3f}",
                        f"{persons['seconds'] / records['seconds']:.2f}",
                        f"{one['gcp']:.4f}",
                        f"{one['rows'] / records['rows']:.0%}",
                    )
                )
    head = (
        "table",
        "method",
        "k",
        "GCP, records",
        "GCP, persons",
        "ratio",
        "time ratio",
        "GCP, one each",
        "rows",
    )
    text = "\n\n".join(
        (
            "# Persons",
            "What it costs that k counts persons, where these have several records. *Records*: the same"
            " table without a person column, whose guarantee is not about persons. *Persons*: with it. "
            "*One each*: one random record of each person, the obvious alternative; the last column is "
            "the share of rows that is left. Records of Adult are dealt to persons at random, by "
            "several laws; persons of the survey stand for households of 1 to 5 neighbours in an order "
            "by area, tenure and race, so their records are alike. Times are processor seconds from the"
            " table to the audited release, persons against records.",
            markdown_table(head, rows),
        )
    )
    write_page("persons", text, {})
