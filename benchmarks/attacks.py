"""Attacks carried out on releases of Adult: the original as it is, a naive release, Shoal's and other tools'.

`python -m benchmarks attacks --how mondrian` attacks some releases only, and with `--page` writes a page of
these; a run without options attacks all of them and writes the page.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from benchmarks.harness import ADULT_QUASI, adult, markdown_table, remembered, timed, write_page
from benchmarks.rivals import RIVALS, readable, run_rival
from shoal import Concealment, Freeform, KAnonymity, Schema, anonymize, attack
from shoal.attacking import held_out
from shoal.attacking.results import HEAD, attack_cells
from shoal.base.randomness import Randomness
from shoal.models import Model

K = 10
SHARE = 0.05
TARGETS = 1000
SECONDS = 60
"""For the probabilities of links."""
SENSITIVE = "occupation"
QUASI = [name for name in ADULT_QUASI if name != SENSITIVE]

OURS: dict[str, Model] = {
    "mondrian": KAnonymity(k=K),
    "freeform": Freeform(k=K),
    "freeform, l = 2": Freeform(k=K, l=2),
    "concealment, `chance` = 1": Concealment(k=K, chance=1),
}
"""Shoal's models, each with its usual method."""


def _naive(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what a careful layperson would publish: ages in tens, everything else as it is."""
    decade = pl.col("age").cast(pl.Int64) // 10 * 10
    return frame.with_columns(age=pl.format("{}..{}", decade, decade + 9))


PLAIN: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "the original as it is": lambda frame: frame,
    "naive: ages in tens": _naive,
}
"""Releases without a guarantee."""


def work(how: str) -> dict[str, Any]:
    """Return what attacks on one release of Adult find."""
    frame = adult().select(*QUASI, SENSITIVE)
    schema = Schema.infer(frame, quasi=QUASI, sensitive=[SENSITIVE])
    out = pl.Series(held_out(frame, schema, SHARE, Randomness(1)))
    members, control = frame.filter(~out), frame.filter(out)
    if how in PLAIN:
        released = PLAIN[how](members)
    elif how in OURS:
        released = anonymize(members, schema, OURS[how]).table
    else:
        figures = run_rival(RIVALS[how], members, k=K, quasi=QUASI, sensitive=SENSITIVE)
        if "released" not in figures:
            return figures
        released = readable(figures["released"], members, RIVALS[how].by_hierarchies)
    found, seconds = timed(
        attack, members, released, schema, control, targets=TARGETS, posterior=SECONDS, seed=1
    )
    return {"found": found.as_dict(), "seconds": seconds}


cell = functools.partial(remembered, "attacks")


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page, or measure some releases only."""
    parser = argparse.ArgumentParser(prog="benchmarks attacks")
    parser.add_argument("--how", action="append", help="only what begins like this; may be given again")
    parser.add_argument("--page", action="store_true", help="write a page of these")
    chosen = parser.parse_args(options)
    ways = [how for how in (*PLAIN, *OURS, *RIVALS) if not chosen.how or how.startswith(tuple(chosen.how))]
    measured = {}
    for how in ways:
        measured[how] = cell(how=how)
        print(json.dumps({"how": how, **measured[how]}), flush=True)
    if not options or chosen.page:
        write_page("attacks", _page(measured), {})


def _page(measured: dict[str, dict[str, Any]]) -> str:
    """Return the page of what was measured."""
    attacked = {how: each for how, each in measured.items() if "found" in each}
    some = next(iter(attacked.values()))["found"]
    titles = [each["title"] for each in some["results"]]
    sections = [
        "# Attacks on releases of Adult",
        f"Attacks that `shoal attack` carries out on releases of Adult with k = {K}: {len(QUASI)} "
        f"quasi-identifiers, {SENSITIVE} is sensitive. Of the 30,162 complete records, {some['control']:,} "
        f"({SHARE:.0%}) were held out before any release was made; they are the control group. Each attack "
        f"is carried out on {TARGETS:,} records in the release and on {TARGETS:,} of the control group. "
        "Numbers in brackets are 95% confidence intervals. The *risk* is the share of failures elsewhere "
        "that the release turns into successes: elsewhere is the control group, or guesses without the "
        "release where these succeed more often. [Attack a release](../how-to/attack-a-release.md) explains "
        "the attacks.",
    ]
    for number, title in enumerate(titles):
        rows = [(how, *attack_cells(each["found"]["results"][number])[1:]) for how, each in attacked.items()]
        sections += [f"## {title[0].upper()}{title[1:]}", some["results"][number]["about"]]
        sections.append(markdown_table(("release", *HEAD[1:]), rows))
    sections += ["## What follows", *_remarks(attacked)]
    failed = [f"- {how}: {each['failed']}" for how, each in measured.items() if "failed" in each]
    if failed:
        sections += ["## Not measured", "\n".join(failed)]
    return "\n\n".join(sections)


def _remarks(attacked: dict[str, dict[str, Any]]) -> list[str]:
    """Return what the figures say, as far as they were measured."""
    remarks = []
    of = {how: {each["name"]: each for each in found["found"]["results"]} for how, found in attacked.items()}
    naive, diverse = of.get("naive: ages in tens"), of.get("freeform, l = 2")
    if naive is not None:
        out, guess = naive["singling-out"], naive["inference"]
        remarks.append(
            f"The naive release singles out {out['members']['rate']:.0%} of its records, and "
            f"{guess['members']['rate']:.0%} of the occupations are guessed right, against "
            f"{guess['control']['rate']:.0%} in the control group."
        )
    guarded = [how for how in of if how not in PLAIN]
    if guarded:
        most = max(of[how]["singling-out"]["members"]["rate"] for how in guarded)
        remarks.append(f"Rows of releases with k = {K} single out {most:.1%} of the records.")
    fewer = [
        f"{how} leaves out {1 - found['found']['rows'] / found['found']['records']:.0%} of the records, "
        "which are among those attacked, and lower its rates."
        for how, found in attacked.items()
        if found["found"]["rows"] < found["found"]["records"]
    ]
    remarks += fewer
    if diverse is not None:
        guess = diverse["inference"]["members"]
        remarks.append(
            f"Freeform with l = 2 guarantees that a sensitive value is guessed with a chance of 50% at most. "
            f"The attacker guesses {guess['rate']:.0%} right ({guess['low']:.0%} to {guess['high']:.0%}): "
            f"{'within' if guess['low'] <= 0.5 else 'above'} the bound."
        )
    tight = [how for how in guarded if of[how]["singling-out-narrowed"]["risk"]["low"] > 0]
    if tight:
        remarks.append(
            "k-anonymity does not rule out narrowed predicates: cells that are as small as their records "
            f"allow tell that their ends occur. That is a risk in {', '.join(tight)}. A predicate that holds "
            "for one record does not say which row is that record's, nor who it is; see Cohen and Nissim "
            "(2020), *Towards formalizing the GDPR's notion of singling out*."
        )
    return remarks
