"""The report of a release that was made block by block: what is known without the table in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.models import Model
from shoal.report.adversary import KNOWS_ONE, crowd_bins, crowd_chart
from shoal.report.document import Page
from shoal.report.panel import Grid, Panel, number, percent
from shoal.report.words import limits_panel, making_panel, promise_panel


def outline(model: Model, certificate: Mapping[str, Any], crowds: Sequence[tuple[int, int]]) -> Page:
    """Return the page about a release of which only figures are at hand.

    Parameters
    ----------
    model
        The promise.
    certificate
        What was promised, lost and found, with the ``engine`` that made it.
    crowds
        How many people fit how many rows of their block: pairs of a number of rows and one of people,
        ascending.
    """
    audit = certificate["audit"]
    tiles = (
        (number(audit["rows"]), "released rows"),
        (f"{audit['concealment']:,}", f"rows or more hide each person; promised: {model.crowd:,}"),
        (percent(audit["risks"]["prosecutor"]["highest"]), "highest chance that a guess is right, at most"),
        (percent(certificate["loss"]["gcp"]), "of the precision was lost"),
    )
    panels = (
        promise_panel(model, audit["rows"], audit["records"], holds=audit["holds"]),
        _adversary(model, audit, crowds),
        _loss(certificate),
        _blocks(certificate),
        making_panel(certificate),
        limits_panel(model, certificate, drawn=model.crowd_kind == "rows"),
    )
    return Page(certificate, tiles, panels)


def _adversary(model: Model, audit: Mapping[str, Any], crowds: Sequence[tuple[int, int]]) -> Panel:
    sizes, people = (np.array(column) for column in zip(*[c for c in crowds if c[0] > 0], strict=True))
    most = sizes[np.searchsorted(np.cumsum(people), 0.98 * people.sum())]
    bins = crowd_bins(int(sizes[0]), int(most), model.crowd)
    counts = np.histogram(sizes, [*bins, np.inf], weights=people)[0].astype(int).tolist()
    prosecutor = audit["risks"]["prosecutor"]
    return Panel(
        "adversary",
        "The adversary's view",
        paragraphs=(
            "Imagine somebody who knows all quasi-identifiers of a person in this table and looks for the "
            "person's row. Every released row that fits could be it. Rows were counted in the block of each "
            "person only; those of other blocks that fit, too, come on top.",
        ),
        facts=(
            ("each record fits", f"at least {audit['consistency']['rows_per_record']} of the released rows"),
            ("each row fits", f"at least {audit['consistency']['records_per_row']} of the records"),
            ("the strongest adversary", f"is left with at least {audit['concealment']} rows for each record"),
            ("a random pick is right", f"at most {percent(prosecutor['mean'])} of the time on average"),
            *(
                (
                    f"{each['column']} around records",
                    f"p = {each['p']}, l = {each['l']:.3g}, entropy l = {each['entropy_l']:.3g}",
                )
                for each in audit["diversity_around"]
            ),
        ),
        charts=(crowd_chart(bins, {KNOWS_ONE: counts}, model.crowd),),
        data={"bins": bins, "people": {KNOWS_ONE: counts}},
    )


def _loss(certificate: Mapping[str, Any]) -> Panel:
    lost = certificate["loss"]
    worst = sorted(lost["by_attribute"].items(), key=lambda each: -each[1])
    return Panel(
        "loss",
        "What was lost",
        paragraphs=(
            f"On average, a released value leaves open {percent(lost['gcp'])} of what the column could say "
            "(the global certainty penalty, GCP): 0% would be the original, 100% a table of stars.",
        ),
        grids=(
            Grid(
                "Loss by column",
                ("quasi-identifier", "lost"),
                [[name, percent(share)] for name, share in worst],
            ),
        ),
    )


def _blocks(certificate: Mapping[str, Any]) -> Panel:
    engine = certificate["engine"]
    return Panel(
        "blocks",
        "Blocks",
        paragraphs=(
            "The table was cut into blocks of neighbouring records. Each was released and audited by itself, "
            "and then all rows were put into one random order. What the promise says of each block it says "
            "of the whole: rows of other blocks only add to the crowd that somebody hides in.",
        ),
        facts=(
            ("blocks", f"{engine['blocks']:,}"),
            ("rows of a block", f"{engine['smallest']:,} to {engine['largest']:,}"),
            ("worked on at a time", f"{engine['jobs']}"),
            ("seconds of work in blocks", number(engine["seconds_in_blocks"])),
        ),
    )
