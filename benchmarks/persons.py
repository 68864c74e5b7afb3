"""What counting persons costs: the loss and the time against counting records, and one record per person.

`--only NAME` measures one table, `--k 5,10` some k; cells measured at the same commit are remembered, and
`--known` measures nothing else.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.harness import (
    acs,
    acs_schema,
    adult,
    adult_schema,
    markdown_table,
    recalled,
    remembered,
    write_page,
)
from benchmarks.setvalued import data_set
from shoal import Concealment, Freeform, InfeasibleError, KAnonymity, Release, Schema, SetAnonymity, anonymize
from shoal.models import Model

KS = (5, 10, 50)
LARGE = (100_000, 1_000_000)
WAYS = ("records", "persons", "one")
METHODS: dict[str, tuple[type[Model], str, dict[str, Any]]] = {
    "freeform": (Freeform, "matching", {}),
    "freeform, fast": (Freeform, "matching", {"effort": "fast"}),
    "mondrian": (KAnonymity, "mondrian", {}),
    "chain": (KAnonymity, "chain", {}),
    "concealment, fast": (Concealment, "expansion", {"effort": "fast"}),
    "sets, fast": (SetAnonymity, "freeform", {"effort": "fast"}),
}
BALANCED = ("adult: 1 to 3", 10)
"""Where freeform is measured with its default effort, which takes 20 times as long as fast or longer."""
BASKETS = 5_000
"""The number of baskets of Retail, the first ones."""
EXPLAINED = (
    "Loss and time if k counts persons instead of records, for tables in which persons have several "
    "records. *Records*: the table without a person column, so that the guarantee is not about "
    "persons. *Persons*: the table with it. *One each*: one random record of each person, the obvious "
    "alternative; the last column is the share of rows that is left. In Adult, records are assigned "
    "to persons at random, by several distributions. In the survey (NIST ACS), persons stand for "
    "households: 1 to 5 neighbours in an order by area, tenure and race, so their records are "
    "similar. In Retail, a person has 1 to 10 consecutive baskets. Times are processor seconds from "
    "the table to the audited release, persons divided by records; short times vary by a quarter from "
    "run to run. Freeform is measured with the effort `fast`, and for one table with the default, "
    "which takes much longer. *Concealment* has the rows of freeform: always for persons, and with its "
    "default (`chance` at most 2/k) also for records here. With one record each nothing differs, so only "
    "k = 10 was measured."
)

RECOUNTED = (
    "## Random tables\n\n"
    "A plain recount of the two files, which shares no code with the auditor, confirmed points 1 to 4 of the "
    "[guarantee](../how-to/persons.md) on 10,010 random tables of 8 to 42 records, k from 2 to 5: 143 tables "
    "for each of 14 pairs of a model and a method (`freeform` with five methods, `k-anonymity` with four, "
    "`1k`, `k1`, `kk`, `concealment`, `patterned`) and each of five distributions of records per person, up "
    "to as many as can be hidden. `exact` got the first 10 or 14 records; where it had no release, the "
    "recount confirmed that a person had more than 1 in k records, or that there were fewer than k persons. "
    "No point that a model promises was broken, and every release passed its audit "
    "(`tests/property/test_persons.py` with `SHOAL_TABLES=10000`)."
)


def _sizes(law: str, rng: np.random.Generator) -> int:
    """Return how many records the next person has."""
    if law == "a few with very many":
        return int(rng.integers(100, 300)) if rng.random() < 0.001 else 1
    draw: dict[str, Callable[[], int]] = {
        "one each": lambda: 1,
        "1 to 3": lambda: int(rng.integers(1, 4)),
        "geometric, mean 2.5": lambda: int(rng.geometric(0.4)),
        "1 to 5, alike": lambda: int(rng.integers(1, 6)),
        "1 to 10, in a row": lambda: int(rng.integers(1, 11)),
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
    by area, tenure and race, so that they are alike. Baskets of a person follow each other in the file.
    """
    source, law = name.split(": ")
    if source == "retail":
        frame = data_set("Retail").head(BASKETS)
        schema = Schema.infer(frame, quasi=["items"], kinds={"items": "items"})
    elif source == "adult":
        frame = adult().sample(fraction=1.0, shuffle=True, seed=1)
        schema = adult_schema(frame)
    else:
        frame = acs().sort("PUMA", "OWN_RENT", "RAC1P", maintain_order=True)
        schema = acs_schema(frame)
    frame = frame.with_columns(pl.Series("person", dealt(len(frame), law)))
    return frame, schema.completed(frame.columns).changed("person", role="person")


TABLES = (
    *(f"adult: {law}" for law in ("one each", "1 to 3", "geometric, mean 2.5", "a few with very many")),
    "survey: 1 to 5, alike",
    "retail: 1 to 10, in a row",
)


def measured(name: str, k: int) -> list[str]:
    """Return the methods that are measured for a table and a k."""
    if name.startswith("retail"):
        return ["sets, fast"]
    if name == "adult: one each" and k != 10:
        return []  # nothing differs, as tests show
    return [m for m in METHODS if m != "sets, fast" and (m != "freeform" or (name, k) == BALANCED)]


def work(name: str, method: str, k: int) -> dict[str, Any]:
    """Make a release for records, one for persons and one of one record each; return figures of each."""
    frame, schema = table(name)
    model, called, options = METHODS[method]
    found: dict[str, dict[str, Any]] = {}
    for way in WAYS:
        before = resource.getrusage(resource.RUSAGE_SELF)
        try:
            made: Release = anonymize(
                frame,
                schema.changed("person", role="identifier") if way == "records" else schema,
                model(k=k),
                method=called,
                seed=1,
                most_per_person=1 if way == "one" else None,
                **options,
            )
        except InfeasibleError as error:
            found[way] = {"infeasible": str(error)}
            continue
        after = resource.getrusage(resource.RUSAGE_SELF)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found[way] = {"gcp": made.loss.gcp, "rows": len(made.table), "seconds": used}
    return found


def row_of(name: str, method: str, k: int) -> tuple[Any, ...]:
    """Return one line of the table of losses."""
    found = remembered("persons", name=name, method=method, k=k)
    records, persons, one = (found[way] for way in WAYS)
    lost = ("infeasible", "", "")
    if "gcp" in persons:
        ratio, time = persons["gcp"] / records["gcp"], persons["seconds"] / records["seconds"]
        lost = (f"{persons['gcp']:.4f}", f"{ratio:.3f}", f"{time:.2f}")
    alone = ("infeasible", "")
    if "gcp" in one:
        alone = (f"{one['gcp']:.4f}", f"{one['rows'] / records['rows']:.0%}")
    return (name, method, k, f"{records['gcp']:.4f}", *lost, *alone)


def large_table(cells: Sequence[tuple[int, str]]) -> str:
    """Return the section on large tables, of some sizes and made by some engines."""
    lines = []
    for size, engine in cells:
        records, persons = (
            remembered("persons_large", rows=size, engine=engine, persons=counted)
            for counted in (False, True)
        )
        lines.append(
            (
                f"{size:,}",
                f"{persons['persons']:,}",
                engine,
                f"{records['gcp']:.4f}",
                f"{persons['gcp']:.4f}",
                f"{records['seconds']:.1f} s",
                f"{persons['seconds']:.1f} s",
                f"{persons['seconds'] / records['seconds']:.2f}",
                f"{records['mib']:,.0f} MiB",
                f"{persons['mib']:,.0f} MiB",
                f"{persons['mib'] / records['mib']:.2f}",
            )
        )
    head = (
        "records",
        "persons",
        "engine",
        "GCP, records",
        "GCP, persons",
        "time, records",
        "time, persons",
        "ratio",
    )
    return "\n\n".join(
        (
            "## Large tables",
            "Freeform with the effort `fast`, k = 10, on a perturbed bootstrap of Adult whose records"
            " are assigned to persons at random; released and audited, in memory and in "
            "blocks of 50,000, one at a time. Processor seconds from the table to the audited "
            "release, and the peak memory of the process, the table included. The draw of an "
            "assignment takes as many rounds as the seed says, from 1 to k.",
            markdown_table((*head, "memory, records", "memory, persons", "ratio"), lines),
        )
    )


def main(arguments: list[str]) -> None:
    """Measure and write the results page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks persons", description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--k", default=",".join(map(str, KS)))
    parser.add_argument("--known", action="store_true")
    asked = parser.parse_args(arguments)

    def wanted(module: str, **cell: Any) -> bool:
        return not asked.known or recalled(module, **cell) is not None

    rows = [
        row_of(name, method, k)
        for name in TABLES
        if asked.only in name
        for k in map(int, asked.k.split(","))
        for method in measured(name, k)
        if wanted("persons", name=name, method=method, k=k)
    ]
    large = [
        (size, engine)
        for size in LARGE
        for engine in ("memory", "blocks")
        if all(wanted("persons_large", rows=size, engine=engine, persons=each) for each in (False, True))
    ]
    head = ("table", "method", "k", "GCP, records", "GCP, persons", "ratio", "time ratio")
    losses = markdown_table((*head, "GCP, one each", "rows"), rows)
    text = "\n\n".join(("# Persons", EXPLAINED, losses, large_table(large), RECOUNTED))
    write_page("persons", text, {})
