"""The auditor: seconds and memory on releases of all shapes, and how likely the best guesses are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import (
    ADULT_QUASI,
    adult,
    adult_like,
    adult_schema,
    markdown_table,
    remembered,
    timed,
    write_page,
)
from shoal import Freeform, KAnonymity, anonymize, audit
from shoal.auditing import audit_table
from shoal.table import Table

K = 10
MILLION = 1_000_000
SUPPRESSED = 1_000
POSTERIOR_SECONDS = 60.0

RELEASES: dict[str, dict[str, Any]] = {
    "classes (mondrian)": {"model": KAnonymity(k=K)},
    "freeform (balanced)": {"model": Freeform(k=K)},
    "rings": {"model": Freeform(k=K), "method": "ring", "effort": "fast"},
}

cell = functools.partial(remembered, "audit")


def work(
    how: str, rows: int | None = None, suppressed: int = 0, posterior: float | None = None
) -> dict[str, Any]:
    """Release Adult, or as many rows like its, perhaps suppress some rows wholly, and audit the result.

    `seconds` are for all levels, contributions, uniqueness and diversity, `levels` for the levels alone.
    """
    frame = adult() if rows is None else adult_like(rows)
    schema = adult_schema(frame)
    choices = dict(RELEASES[how])
    model = choices.pop("model")
    released: pl.DataFrame = anonymize(frame, schema, model, **choices).table
    if suppressed:
        chosen = np.zeros(len(released), dtype=bool)
        chosen[np.random.default_rng(1).choice(len(released), suppressed, replace=False)] = True
        mask = pl.Series(chosen)
        released = released.with_columns(
            pl.when(mask).then(pl.lit("*")).otherwise(pl.col(name)).alias(name) for name in ADULT_QUASI
        )
    table = Table.encode(frame, schema)
    found, levels = timed(audit_table, table, released, model)
    thorough, seconds = timed(audit, frame, released, schema, model)
    figures = {
        "holds": found.holds and thorough.holds,
        "concealment": found.concealment,
        "levels": levels,
        "seconds": seconds,
    }
    if posterior is not None:
        guess = audit(frame, released, schema, model, posterior=posterior).posterior
        figures["posterior"] = None if guess is None else guess.as_dict()
    return figures


def main() -> None:
    """Measure and write the results page."""
    tasks: list[tuple[str, dict[str, Any]]] = [
        *((how, {"how": how}) for how in RELEASES),
        *(
            (f"{how}, {SUPPRESSED:,} rows suppressed", {"how": how, "suppressed": SUPPRESSED})
            for how in RELEASES
        ),
        *((how, {"how": how, "rows": MILLION}) for how in ("classes (mondrian)", "rings")),
    ]
    rows = []
    for name, arguments in tasks:
        figures = cell(**arguments)
        rows.append(
            (
                name,
                f"{arguments.get('rows', 30_162):,}",
                "yes" if figures["holds"] else "no",
                figures["concealment"],
                f"{figures['levels']:.1f}",
                f"{figures['seconds']:.1f}",
                f"{figures['peak_mib']:.0f}",
            )
        )
    guesses = {how: cell(how=how, posterior=POSTERIOR_SECONDS)["posterior"] for how in RELEASES}
    text = "\n\n".join(
        (
            "# The audit",
            "Releases of Adult (30,162 records, eight quasi-identifiers) and of perturbed bootstraps of "
            f"it, k = {K}, audited from the original and the release alone. *Levels*: coverage in both "
            "directions, perfect matching, components, concealment, classes. *All*: the levels, and also "
            "encoding the original, the contribution of each column to the risk, uniqueness in the "
            "original, and diversity of the sensitive column. Peak memory is that of the process that "
            "also made the release. If rows of a release are suppressed afterwards, its classes become "
            "smaller, so the audit is right to report that k-anonymity is broken.",
            markdown_table(
                ("release", "rows", "holds", "concealment", "levels, s", "all, s", "peak MiB"), rows
            ),
            "## The posterior attacker",
            "How strongly an attacker believes in the likeliest row of each record, if the attacker knows "
            "the quasi-identifiers of every record and considers every perfect matching equally likely. "
            f"Sampled for {POSTERIOR_SECONDS:g} seconds; a random draw guarantees 1/k = {1 / K:g}. "
            "*Refused*: records for which the chains did not agree.",
            markdown_table(
                ("release", "counted", "sampled", "refused", "median", "99%", "highest"),
                [_posterior_row(how, figures) for how, figures in guesses.items()],
            ),
        )
    )
    write_page("audit", text, {})


def _posterior_row(how: str, figures: dict[str, Any]) -> tuple[Any, ...]:
    link = figures["link"]
    shown = ("", "", "") if link is None else (f"{link['quantiles'][q]:.3f}" for q in ("0.5", "0.99", "1"))
    return (how, figures["counted"], figures["sampled"], figures["refused"], *shown)
