"""What limits of columns cost on Adult: loss, records left out, and time against releases without limits."""

from __future__ import annotations

import resource
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import (
    ADULT_QUASI,
    adult,
    adult_schema,
    data_folder,
    markdown_table,
    remembered,
    write_page,
)
from shoal import Freeform, KAnonymity, KmAnonymity, Schema, anonymize
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
    "ARX expresses such requirements by hierarchies and a suppression limit. It generalizes each column "
    "to one level for all records (*global*) and suppresses the records whose classes are too small, or "
    "chooses the level for each record (*local*). On the same task without limits, at k = 5, it loses "
    "0.2740 globally with at most 5% of the records suppressed, and 0.0553 locally ([other "
    "tools](rivals.md)). ARX itself was not run with these limits. The table has the best that any tool "
    "with global levels can reach: all {nodes:,} combinations of levels of the same hierarchies were "
    "tried, with age in bands of five or ten years and sex (and race) exact, and the one with the least "
    "loss is shown for each share that may be left out. GCP is that of the records in the release, as "
    "above."
)
SHARES = (0.01, 0.05, 0.2, 1.0)


KNOWN = (
    "Adult with 13 quasi-identifiers (all columns but fnlwgt and income), k = 5. The audit counts, for every "
    "combination of known columns, how many rows cover each record. Here it looks at the original itself, "
    "which is the hardest case: no cell is generalized. Seconds are processor seconds. The last columns are "
    "what releases lose that hide every record from attackers who know that many columns (`km-anonymity`, "
    "with the seconds of method and audit), and from attackers who know all 13 columns (`ring`, `chain`). "
    "[Decision 055](../decisions/055-limits.md) has what else was tried."
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


def global_levels(exact: tuple[str, ...]) -> tuple[int, dict[float, tuple[float, int] | None]]:
    """Return how many combinations of levels there are, and the best with each share left out.

    Parameters
    ----------
    exact
        The columns that stay as they are; age is in bands of five or ten years.
    """
    frame = adult()
    n = len(frame)
    columns = []
    for name in ADULT_QUASI:
        levels = pl.read_csv(data_folder() / "adult_hierarchies" / f"{name}.csv", infer_schema=False)
        known = frame.select(value=pl.col(name).cast(pl.String)).join(
            levels, on="value", how="left", maintain_order="left"
        )
        chosen = known.columns[1:3] if name == "age" else known.columns[: 1 if name in exact else None]
        columns.append([_level(known, level, name == "age") for level in chosen])
    best: dict[float, tuple[float, int] | None] = dict.fromkeys(SHARES)
    nodes = 0
    for node in product(*columns):
        nodes += 1
        _, of_record, sizes = np.unique(
            np.ravel_multi_index([codes for codes, _ in node], [int(codes.max()) + 1 for codes, _ in node]),
            return_inverse=True,
            return_counts=True,
        )
        kept = sizes[of_record] >= K
        if not kept.any():
            continue
        found = float(np.mean([lost[kept].mean() for _, lost in node])), int(n - kept.sum())
        for share, least in best.items():
            if found[1] <= share * n and (least is None or found < least):
                best[share] = found
    return nodes, best


def _level(known: pl.DataFrame, level: str, bands: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the label of each record at a level, and what it loses: GCP as for Shoal's releases."""
    codes = known[level].rank("dense").to_numpy() - 1
    if bands:  # of whole years, on the same scale as bands of five years from the youngest to the oldest
        ages = known["value"].cast(pl.Int64)
        low, high = int(ages.min()) // 5 * 5, int(ages.max()) // 5 * 5 + 4  # type: ignore[arg-type]
        width = {"level1": 4, "level2": 9}[level]
        return codes, np.full(len(codes), width / (high - low))
    values = known.group_by(level).agg(pl.col("value").n_unique().alias("values"))
    below = known.join(values, on=level, how="left", maintain_order="left")["values"].to_numpy()
    return codes, (below - 1) / (known["value"].n_unique() - 1)


def others() -> str:
    """Return the section on global levels."""
    rows, tried = [], []
    for limits, exact in (
        ("age in bands, sex exact", ("sex",)),
        ("the same, and race exact", ("sex", "race")),
    ):
        nodes, best = global_levels(exact)
        tried.append(nodes)
        for share, found in best.items():
            said = "any number" if share == 1 else f"at most {share:.0%}"
            left = "" if found is None else f"{found[1]:,} ({found[1] / 30_162:.2%})"
            rows.append((limits, said, "none" if found is None else f"{found[0]:.4f}", left))
    table = markdown_table(("limits", "may be left out", "GCP", "left out"), rows)
    return f"{OTHERS.format(nodes=max(tried))}\n\n{table}"


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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    narrow = anonymize(frame, schema, KmAnonymity(k=k, knows=knows), seed=1)
    assert narrow.audit.holds
    losses |= {
        "narrow": narrow.loss.gcp,
        "narrow_seconds": resource.getrusage(resource.RUSAGE_SELF).ru_utime - before,
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
                *(f"{found['narrow']:.4f}", f"{found['narrow_seconds']:.1f}"),
                *(f"{found[name]:.4f}" for name in ("freeform", "k-anonymity")),
            )
        )
    head = ("known columns", "combinations", "seconds", "worst combination", "records below k")
    losses = ("GCP, km-anonymity", "its seconds", "GCP, ring, all columns", "GCP, chain, all columns")
    table = markdown_table((*head, *losses), rows)
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
    write_page("limits", f"# Limits of columns\n\n{ABOUT}\n\n{table}\n\n{others()}\n\n{attackers()}", {})


if __name__ == "__main__":
    main()
