"""What limits of columns cost on Adult: loss, records left out, and time against releases without limits."""

from __future__ import annotations

import resource
from typing import Any

from benchmarks.harness import adult, adult_schema, markdown_table, remembered, write_page
from shoal import Freeform, KAnonymity, Schema, anonymize
from shoal.auditing.knowledge import partial_knowledge
from shoal.auditing.released import ReleasedTable
from shoal.table import Table

K = 10
LEAVE_OUT = 0.01
AGE: dict[str, Any] = {"widest": 10, "bands": "every 5"}
LIMITS: dict[str, dict[str, dict[str, Any]]] = {
    "none": {},
    "age at most 10 in bands of 5, sex exact": {"age": AGE, "sex": {"exact": True}},
    "the same, and race exact": {"age": AGE, "sex": {"exact": True}, "race": {"exact": True}},
}
METHODS = {
    "freeform": (Freeform, "matching"),
    "freeform, ring": (Freeform, "ring"),
    "chain": (KAnonymity, "chain"),
    "mondrian": (KAnonymity, "mondrian"),
}
ABOUT = (
    f"Adult, 30,162 complete training records, eight quasi-identifiers, k = {K}; at most {LEAVE_OUT:.0%} of "
    "the records may be left out. Loss is GCP, measured on what is published: with bands of five years, an "
    "age costs at least four years. Seconds are processor seconds from the table to the audited release, and "
    "*time* is their ratio to the same method without limits."
)
OTHERS = (
    "ARX expresses such requirements by hierarchies and a suppression limit, and generalizes a whole column "
    "to one level (*global*) or each record (*local*). On the same task without limits, at k = 5, it loses "
    "0.2740 globally with at most 5% of the records suppressed, and 0.0553 locally ([other "
    "tools](rivals.md)). No figures of other tools with these limits were measured."
)


KNOWN = (
    "Adult with 13 quasi-identifiers (all columns but fnlwgt and income), k = 5. The audit counts, for every "
    "combination of known columns, how many rows cover each record. Here it looks at the original itself, "
    "which is the hardest case: no cell is generalized. Seconds are processor seconds. The last columns are "
    "what hiding every record from attackers who know all 13 columns costs. No method that needs to hide "
    "records only from attackers who know three columns is part of Shoal: "
    "[decision 055](../decisions/055-limits.md)."
)


def work(limits: str, method: str) -> dict[str, Any]:
    """Return the figures of one release."""
    frame = adult()
    schema: Schema = adult_schema(frame)
    for name, limit in LIMITS[limits].items():
        schema = schema.changed(name, **limit)
    model, named = METHODS[method]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    share = LEAVE_OUT if LIMITS[limits] else 0.0
    release = anonymize(frame, schema, model(k=K), method=named, seed=1, leave_out=share)
    return {
        "gcp": release.loss.gcp,
        "age": release.loss.by_attribute["age"],
        "left_out": release.certified.stranded,
        "seconds": resource.getrusage(resource.RUSAGE_SELF).ru_utime - before,
    }


def audited(k: int, knows: int) -> dict[str, Any]:
    """Return what attackers find who know a few of the 13 quasi-identifiers, and the time of the audit."""
    frame = adult()
    names = [name for name in frame.columns if name not in ("fnlwgt", "income")]
    schema = Schema.infer(frame, quasi=names)
    original = ReleasedTable(frame.select(names), Table.encode(frame, schema))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    found = partial_knowledge(original, knows, k)
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    worst = found.worst[0]
    losses = {
        model.name: anonymize(frame, schema, model(k=k), method=method, seed=1).loss.gcp
        for model, method in ((Freeform, "ring"), (KAnonymity, "chain"))
    }
    return {
        "columns": len(names),
        "combinations": found.combinations,
        "seconds": seconds,
        "worst": ", ".join(worst.columns),
        "below": worst.records_below,
        **losses,
    }


def attackers() -> str:
    """Return the section on attackers who know only some columns."""
    rows = []
    for knows in (2, 3):
        found = audited(5, knows)
        rows.append(
            (
                *(knows, f"{found['combinations']:,}", f"{found['seconds']:.1f}", found["worst"]),
                f"{found['below']:,} ({found['below'] / 30_162:.1%})",
                *(f"{found[name]:.4f}" for name in ("freeform", "k-anonymity")),
            )
        )
    head = ("known columns", "combinations", "seconds", "worst combination", "records below k")
    table = markdown_table((*head, "GCP, ring, all columns", "GCP, chain, all columns"), rows)
    return f"## Attackers who know only some columns\n\n{KNOWN}\n\n{table}"


def main() -> None:
    """Measure all releases and write the page."""
    rows = []
    for method in METHODS:
        plain = remembered("limits", limits="none", method=method)
        for limits in LIMITS:
            found = remembered("limits", limits=limits, method=method)
            rows.append(
                (
                    method,
                    limits,
                    f"{found['gcp']:.4f}",
                    f"{found['age']:.4f}",
                    f"{found['left_out']} ({found['left_out'] / 30_162:.2%})",
                    f"{found['seconds']:.1f}",
                    f"{found['seconds'] / plain['seconds']:.2f}",
                )
            )
    table = markdown_table(("method", "limits", "GCP", "GCP of age", "left out", "seconds", "time"), rows)
    write_page("limits", f"# Limits of columns\n\n{ABOUT}\n\n{table}\n\n{OTHERS}\n\n{attackers()}", {})


if __name__ == "__main__":
    main()
