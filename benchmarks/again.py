"""Two independent releases of the same people, audited together: how far crowds shrink; how long it takes."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import in_fresh_process, markdown_table, write_page
from benchmarks.m_invariance import Patients, Row, m_invariant
from shoal import Concealment, Freeform, KAnonymity, Schema, anonymize, anonymize_again, joint_audit
from shoal.measures import measure
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.samples import hospital
from shoal.table import Table

QUASI = ["age", "sex", "zip", "admitted", "marital"]
FEW = ["age", "sex", "zip", "marital"]
CARRIED = ["diagnosis", "days", "occupation"]
Made = tuple[Model, str | None]
"""The model and the method of a release."""
RELEASES: dict[str, tuple[Made, Made]] = {
    "freeform": ((Freeform(k=10), None), (Freeform(k=10), None)),
    "classes": ((KAnonymity(k=10), "mondrian"), (KAnonymity(k=10), "agglomerative")),
    "concealment, `chance` = 1": ((Concealment(k=10, chance=1), None), (Concealment(k=10, chance=1), None)),
    "rings": ((Freeform(k=10), "ring"), (Freeform(k=10), "ring")),
    "Mondrian": ((KAnonymity(k=10), "mondrian"), (KAnonymity(k=15), "mondrian")),
}
PATIENTS, MANY = 5_000, 1_000_000

HISTORIES = """## Random histories

1,000 histories of small made-up tables, each published three to five times, with insertions and,
for models of classes, deletions and changes; ten models in turn (k-anonymity with k alone, with l
and with p, patterned, freeform with and without l, concealment, kk, 1k and k1). They made 2,923
releases with kept rows and 2,300 of new persons alone. The audit of all releases together held for
each of them, and so did, for classes, a definition of an attacker who follows every class through
all releases. 45,862 rows were kept and 2,386 redrawn; 1,283 deletions and 3,549 changes removed
5,255 rows. Of 12,430 new persons, 645 (5.2%) had to wait. 1 release was refused, because linked by
columns alone an earlier release with redrawn classes no longer kept l.
(`tests/property/test_publishing_again.py`, seeds from 1,000 on, with the code of commit
`ca0e8613`.)"""
"""Counted by the campaign of tests/property/test_publishing_again.py, which takes about ten minutes."""


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
    for name in ("freeform", "classes", "concealment, `chance` = 1"):
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
    frame, schema = _described()
    model = KAnonymity(k=10)
    before = frame[:PATIENTS]
    first = anonymize(before, schema, model)
    lines: list[tuple[str, ...]] = []
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


def _described() -> tuple[pl.DataFrame, Schema]:
    """Return 5,250 patients with a person column, of whom the first 5,000 are published first."""
    frame = hospital(PATIENTS + PATIENTS // 20)
    roles: dict[str, Any] = {"sensitive": ["diagnosis"], "drop": ["name"], "person": "patient"}
    return frame, Schema.infer(frame, quasi=QUASI, **roles)


def changing() -> list[tuple[str, ...]]:
    """Return a line for each kind of change of a table that is published again with kept rows."""
    warnings.simplefilter("ignore")
    frame, schema = _described()
    model = KAnonymity(k=10)
    before = frame[:PATIENTS]
    first = anonymize(before, schema, model)
    some = pl.int_range(pl.len()) < PATIENTS // 100
    older, longer = pl.col("age") + some, pl.col("days") + 1
    tables = {
        "nothing": frame,
        "the age of 50 patients": frame.with_columns(older),
        "the days of 50 patients": frame.with_columns(pl.when(some).then(longer).otherwise("days")),
        "the days of all patients": frame.with_columns(longer),
    }
    lines: list[tuple[str, ...]] = []
    for name, table in tables.items():
        release = anonymize_again(table, schema, model, after=[(before, first.table, first.key)])
        counts, together = release.certificate["again"], release.certificate["together"]
        figures = (counts[each] for each in ("kept", "redrawn", "left_out", "new"))
        lines.append((name, *(f"{each:,}" for each in figures), f"{together['k']}"))
        print(lines[-1], flush=True)
    return lines


def deleted_and_new() -> list[tuple[str, ...]]:
    """Return what is left to patients who are released anew, among new ones, after a column changed."""
    warnings.simplefilter("ignore")
    frame, schema = _described()
    model = KAnonymity(k=10)
    before, changed = frame[:PATIENTS], PATIENTS // 100
    first = anonymize(before, schema, model)
    some = pl.int_range(pl.len()) < changed
    fresh_days = (pl.col("days") + 1, pl.col("days"))
    changes = {
        "age": [pl.col("age") + some],
        "days": [pl.when(some).then(fresh_days[0]).otherwise(fresh_days[1])],
        "occupation": [pl.when(some).then(pl.lit("none")).otherwise("occupation").alias("occupation")],
    }
    changes["days and occupation"] = changes["days"] + changes["occupation"]
    lines: list[tuple[str, ...]] = []
    for name, how in changes.items():
        table = frame.with_columns(how)
        stay = anonymize_again(before[changed:], schema, model, after=[(before, first.table, first.key)])
        new = np.concatenate((np.arange(changed), np.arange(PATIENTS, len(frame))))
        fresh = anonymize(table[new], schema, model)
        shown = pl.concat([stay.table, fresh.table])
        key = np.concatenate((stay.key + changed, new[fresh.key]))
        found = joint_audit(table, shown, schema, model, earlier=[(before, first.table, first.key)], key=key)
        left = found.rows_of_record[np.isin(np.sort(key), np.arange(changed))]
        figures = (float(left.mean()), int(left.min()), int((left < 10).sum()), int((left == 1).sum()))
        lines.append((name, f"{figures[0]:.1f}", *map(str, figures[1:]), f"{found.certain('diagnosis')}"))
        print(lines[-1], flush=True)
    return lines


def beside_m_invariance() -> list[tuple[str, ...]]:
    """Return a line for kept rows and one for m-invariance, for each m and number of new patients."""
    warnings.simplefilter("ignore")
    frame = hospital(PATIENTS + PATIENTS // 20)
    roles: dict[str, Any] = {"sensitive": ["diagnosis"], "drop": ["name"], "person": "patient"}
    schema = Schema.infer(frame, quasi=QUASI, domains={"age": (0, 120)}, **roles)
    before = frame[:PATIENTS]
    lines: list[tuple[str, ...]] = []
    for m in (2, 5, 10):
        first = anonymize(before, schema, KAnonymity(k=m, l=m))
        made = m_invariant(_patients(frame, range(PATIENTS)), [], m)
        for new in (0, PATIENTS // 20):
            people = range(PATIENTS // 100, PATIENTS + new)
            now = frame[people.start : people.stop]
            kept = anonymize_again(now, schema, first.model, after=[(before, first.table, first.key)])
            counts, together = kept.certificate["again"], kept.certificate["together"]
            line = (f"{m}", f"{new:,}", "kept rows", f"{len(kept.table):,}", f"{counts['left_out']:,}", "0")
            lines.append((*line, f"{kept.loss.gcp:.3f}", f"{together['k']}", "0.0%"))
            again = m_invariant(_patients(frame, people), made, m)
            false = sum(person is None for rows in again for person, _ in rows)
            class_of = {person: n for n, rows in enumerate(again) for person, _ in rows}
            table = Table.encode(now, schema)
            classes = np.array([class_of[person] for person in people], dtype=np.int32)
            loss = measure(Recoding.of_classes(table, classes), m).gcp
            left = _rows_left(frame, made, again)
            line = (f"{m}", f"{new:,}", "m-invariance", f"{len(people):,}", "0", f"{false:,}")
            lines.append((*line, f"{loss:.3f}", f"{min(left)}", f"{left.count(1) / len(left):.1%}"))
            print(*lines[-2:], sep="\n", flush=True)
    return lines


def _patients(frame: pl.DataFrame, people: range) -> Patients:
    """Return some rows of a frame as persons."""
    ranks = np.stack([frame[name].rank("dense").to_numpy() for name in QUASI], axis=1)
    places = ranks / ranks.max(axis=0)
    return Patients(
        {person: frame["diagnosis"][person] for person in people},
        {person: places[person] for person in people},
    )


def _rows_left(frame: pl.DataFrame, first: list[list[Row]], second: list[list[Row]]) -> list[int]:
    """Return how many rows of the first release are left to each person if days and diagnosis link rows.

    The days of a made-up row equal no others, so that none of them is linked.
    """
    days = frame["days"].to_list()
    shown = {
        person: Counter((value, days[other]) for other, value in rows if other is not None)
        for rows in second
        for person, _ in rows
        if person is not None
    }
    return [
        sum((value, days[other]) in shown[person] for other, value in rows if other is not None)
        for rows in first
        for person, _ in rows
        if person in shown
    ]


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
            "## Changed records",
            "The same, but no record is deleted: a column changes for some or all of the 5,000 patients. A "
            "class is redrawn around the same persons if the same carried columns changed for all its "
            "members, or none did; otherwise it is removed.",
            markdown_table(("changed", "rows kept", "redrawn", "left out", "new", "rows"), changing()),
            "If the 50 patients with a changed record were instead deleted and released anew among the 250 "
            "new ones (which Shoal refuses), each release alone would keep k = 10. Together, of the rows "
            "that could be theirs are left:",
            markdown_table(
                ("changed", "rows on average", "worst", "below k", "one row left", "diagnosis certain"),
                deleted_and_new(),
            ),
            HISTORIES,
            "## Beside m-invariance",
            "The same patients, published twice: 50 are deleted in between, and some are new. With kept rows "
            "(k-anonymity with k = l = m), all members of a class with a deleted patient leave with her. "
            "*m-invariance* (Xiao and Tao 2007) redraws the classes, keeps the set of diagnoses in the class "
            "of each patient the same, and adds made-up rows where one is missing. *Released*: patients in "
            "the second release; *left out*: patients of the table who are not; *made up*: rows of no "
            "patient; *GCP*: the loss of the second release, for those who are in it; "
            "*rows*: the least number of rows of the first release that are left to a patient if the "
            "attacker links rows by diagnosis and days; *one row left*: patients with a single one. By the "
            "diagnosis alone, both leave m values to every patient.",
            markdown_table(
                ("m", "new", "way", "released", "left out", "made up", "GCP", "rows", "one row left"),
                beside_m_invariance(),
            ),
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
