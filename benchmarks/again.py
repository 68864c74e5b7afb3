"""Two independent releases of the same people, audited together: how far crowds shrink; how long it takes."""

from __future__ import annotations

import time
import warnings
from typing import Any

import polars as pl

from benchmarks.harness import in_fresh_process, markdown_table, write_page
from shoal import Concealment, Freeform, KAnonymity, Schema, anonymize, anonymize_again, joint_audit
from shoal.models import Model
from shoal.samples import hospital

QUASI = ["age", "sex", "zip", "admitted", "marital"]
FEW = ["age", "sex", "zip", "marital"]
CARRIED = ["diagnosis", "days", "occupation"]
Made = tuple[Model, str | None]
"""The model and the method of a release."""
RELEASES: dict[str, tuple[Made, Made]] = {
    "freeform": ((Freeform(k=10), None), (Freeform(k=10), None)),
    "classes": ((KAnonymity(k=10), "mondrian"), (KAnonymity(k=10), "agglomerative")),
    "concealment": ((Concealment(k=10), None), (Concealment(k=10), None)),
    "rings": ((Freeform(k=10), "ring"), (Freeform(k=10), "ring")),
    "Mondrian": ((KAnonymity(k=10), "mondrian"), (KAnonymity(k=15), "mondrian")),
}
PATIENTS, MANY = 5_000, 1_000_000


def patients(rows: int) -> tuple[pl.DataFrame, Schema]:
    """Return the demo's patients; occupation is carried instead of a quasi-identifier."""
    frame = hospital(rows)
    quasi = QUASI if rows < MANY else FEW
    schema = Schema.infer(
        frame, quasi=quasi, sensitive=["diagnosis"], drop=["patient", "name"], domains={"age": (0, 120)}
    )
    return frame, schema


def work(rows: int, name: str, columns: list[list[str]]) -> dict[str, Any]:
    """Return what two releases tell together, for several choices of carried columns."""
    warnings.simplefilter("ignore")
    frame, schema = patients(rows)
    made = [
        anonymize(frame, schema, model, method=method, seed=seed).table
        for seed, (model, method) in enumerate(RELEASES[name])
    ]
    model = RELEASES[name][0][0]
    found = []
    for on in columns:
        started = time.process_time()
        outcome = joint_audit(frame, made[1], schema, model, earlier=[(frame, made[0])], on=on)
        figures = outcome.as_dict()
        seconds = time.process_time() - started
        certain = outcome.certain("diagnosis")
        below = int((outcome.rows_of_record < 10).sum())
        found.append({**figures["linkages"][0], "seconds": seconds, "certain": certain, "below": below})
    return {"found": found}


def shrinking() -> list[tuple[str, ...]]:
    """Return a line for each model and number of carried columns."""
    lines: list[tuple[str, ...]] = []
    for name in ("freeform", "classes", "concealment"):
        columns = [CARRIED[: n + 1] for n in range(len(CARRIED))]
        for on, each in zip(
            columns,
            in_fresh_process("again", rows=PATIENTS, name=name, columns=columns)["found"],
            strict=True,
        ):
            line = (
                name,
                ", ".join(on),
                f"{each['mean_rows_alone']:.1f}",
                f"{each['mean_rows_together']:.1f}",
                f"{each['rows_together']}",
                f"{each['below'] / PATIENTS:.1%}",
                f"{each['single_row'] / PATIENTS:.1%}",
                f"{each['mean_best_guess']:.1%}",
                f"{each['certain'] / PATIENTS:.1%}",
            )
            print(line, flush=True)
            lines.append(line)
    return lines


def times() -> list[tuple[str, ...]]:
    """Return a line for each kind of release of a million rows."""
    lines: list[tuple[str, ...]] = []
    for name in ("Mondrian", "rings"):
        on = [["diagnosis"], CARRIED]
        measured = in_fresh_process("again", rows=MANY, name=name, columns=on)
        for columns, each in zip(on, measured["found"], strict=True):
            counted = "yes" if each["persons_per_tuple"] is not None else "no"
            line = (name, f"{MANY:,}", ", ".join(columns), f"{each['seconds']:.0f}", counted)
            lines.append((*line, f"{measured['peak_mib']:.0f}"))
            print(lines[-1], flush=True)
    return lines


def keeping() -> list[tuple[str, ...]]:
    """Return a line for each share of deleted records of a table that is published again with kept rows."""
    warnings.simplefilter("ignore")
    frame = hospital(PATIENTS + PATIENTS // 20)
    roles: dict[str, Any] = {"sensitive": ["diagnosis"], "drop": ["name"], "person": "patient"}
    schema = Schema.infer(frame, quasi=QUASI, **roles)
    model = KAnonymity(k=10)
    before = frame[:PATIENTS]
    first = anonymize(before, schema, model)
    lines = []
    for share in (0.0, 0.001, 0.01, 0.05):
        gone = round(share * PATIENTS)
        release = anonymize_again(frame[gone:], schema, model, after=[(before, first.table, first.key)])
        counts, together = release.certificate["again"], release.certificate["together"]
        line = (
            f"{gone:,}",
            f"{counts['kept']:,}",
            f"{counts['left_out']:,}",
            f"{counts['new']:,}",
            f"{together['k']}",
        )
        print(line, flush=True)
        lines.append(line)
    return lines


def main() -> None:
    """Measure and write the results page."""
    shrunk = markdown_table(
        (
            *("model", "linked by", "rows alone", "rows together", "worst", "below k", "one row left"),
            *("guess right", "diagnosis certain"),
        ),
        shrinking(),
    )
    text = "\n\n".join(
        (
            "# Publishing again",
            "Two independent releases of the same 5,000 made-up patients of the demo, k = 10, with the "
            f"quasi-identifiers {', '.join(QUASI)}. The attacker has both, knows the quasi-identifiers of "
            "everyone, and links rows by columns that are released unchanged. *Rows alone*: how many rows of "
            "one release could be a record's, on average. *Rows together*: how many are left, on average; "
            "*worst*: for the worst record. *Below k*: records with fewer than 10 rows left. *Guess right*: "
            "how often a row picked among those that are left is the record's own. *Diagnosis certain*: "
            "records of a release for which a single diagnosis is left. Each release alone keeps its "
            "guarantee. Classes are those of Mondrian in one release and of agglomerative clustering in the "
            "other; Mondrian alone makes the same classes again, which reveals nothing. [Publishing "
            "again](../how-to/publishing-again.md) explains the attack.",
            shrunk,
            "## Keeping rows",
            "The same patients, published in classes of Mondrian (k = 10), and again later with some of them "
            "deleted and 250 new ones, with the rows of unchanged records kept. *Left out*: records that are "
            "still in the table, but whose class was removed. *Rows*: the least number of rows that could be "
            "a record's own, if both releases are audited together.",
            markdown_table(("deleted", "rows kept", "left out", "new", "rows"), keeping()),
            "## A million rows",
            "Processor time of the joint audit of two releases of a million patients, which includes reading "
            f"both; the quasi-identifiers are {', '.join(FEW)}. The two releases of Mondrian have k = 10 "
            "and 15. *Tuples*: whether the persons of each tuple of linked rows were counted, which is left "
            "out if there are more than 16 million tuples. Peak memory is that of the process that also made "
            "both releases.",
            markdown_table(("release", "rows", "linked by", "seconds", "tuples", "peak MiB"), times()),
        )
    )
    write_page("again", text, {})
