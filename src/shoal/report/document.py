"""The report of a release: panels in an order that readers follow, as a page, as plain data, as charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import shoal.report.panels  # noqa: F401 - they register themselves
from shoal.base.distribution import install_command
from shoal.base.markup import facts_html, table_html
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.report.chart import PAPER, Chart, can_draw, plot, variables
from shoal.report.evidence import chapters_of
from shoal.report.panel import PANELS, Material, Panel, number, percent

DARK = {
    "ink": "#e6eef0",
    "muted": "#9fb2b8",
    "grid": "#2d3d43",
    "alert": "#ff8a80",
    "series-1": "#4fc3b5",
    "series-2": "#f0a860",
    "series-3": "#9fb0ee",
    "series-4": "#e39ad0",
    "series-5": "#b7d36a",
    "series-6": "#cdb08b",
    "series-7": "#6fa3ff",
    "series-8": "#ff8fa3",
    "series-9": "#8fe0ff",
    "series-10": "#f2df6b",
    "series-11": "#c4a3ff",
    "series-12": "#b6bec6",
    "step-1": "#17423d",
    "step-2": "#1c6259",
    "step-3": "#268577",
    "step-4": "#3fae9f",
    "step-5": "#7fd0c5",
    "step-6": "#c9efe9",
}
"""The colours of charts on a dark page; the light ones are those of `PAPER`."""

VERDICTS = {
    "holds": ("verdict", "✓ Audit passed"),
    "caution": ("verdict caution", "⚠ Audit passed, with warnings"),
    "broken": ("verdict broken", "✗ Audit failed"),
    "unpublishable": ("verdict broken", "✗ Do not publish"),
}
"""How each status of a release is shown: the class of its box, and its heading."""


@dataclass(frozen=True, eq=False)
class Report:
    """A release on one page: guarantee, risks, and information loss.

    Parameters
    ----------
    material
        What it is drawn from.
    """

    material: Material

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """The parts of the report; those that do not apply are left out."""
        made = (declared.of(self.material) for declared in PANELS.values())
        return tuple(panel for panel in made if panel is not None)

    @property
    def charts(self) -> dict[str, Chart]:
        """All charts by name."""
        return {chart.name: chart for panel in self.panels for chart in panel.charts}

    def chart(self, name: str) -> Chart:
        """Return a chart by its name.

        Raises
        ------
        InputError
            If there is none of that name; the message names those that are there.
        """
        charts = self.charts
        if name not in charts:
            raise InputError(
                f"the report has no chart {name!r}{did_you_mean(name, charts)}; it has "
                f"{listing(charts, most=30)}",
                reason=Reason.PARAMETER,
            )
        return charts[name]

    def plot(self, name: str | None = None) -> Any:
        """Return a chart, or all of them side by side, as one of Altair's; see `chart`."""
        return plot(list(self.charts.values()) if name is None else [self.chart(name)])

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What was promised, lost and found, as plain data."""
        return self.material.certificate

    @property
    def status(self) -> str:
        """The key of the verdict in `VERDICTS`: a release that must not be published is never green."""
        found = self.material.audit.status
        if found == "broken":
            return found
        if not self.certificate["publishable"]:
            return "unpublishable"
        return "caution" if self.warnings else found

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that those who decide on the release should know, as sentences, the most serious first."""
        return tuple(self.certificate["warnings"])

    @property
    def verdict(self) -> tuple[str, str]:
        """The class of the box with the verdict, and its heading."""
        return VERDICTS[self.status]

    @property
    def verdict_text(self) -> str:
        """What the box says: why the release must not be published, or else what the audit found."""
        reasons = self.certificate.get("reasons_not_to_publish", ())
        return " ".join(reasons) if reasons else self.material.audit.verdict

    def html(self) -> str:
        """Return the page: everything is in it, and it asks no other host for anything."""
        return page("report.html", report=self, heading="h2")

    def evidence(self) -> str:
        """Return the page for reviewers, for print: what regulators ask, and the source of each answer."""
        return page("evidence.html", report=self, chapters=chapters_of(self.material))

    def as_dict(self) -> dict[str, Any]:
        """Return all facts as plain data: the certificate, and what each panel adds to it."""
        return {
            "certificate": self.certificate,
            **{panel.name: dict(panel.data) for panel in self.panels if panel.data},
            "charts": [
                {"name": chart.name, "title": chart.title, "description": chart.description}
                for chart in self.charts.values()
            ],
            "keep_in_mind": [p for panel in self.panels if panel.name == "limits" for p in panel.points],
        }

    def sections(self) -> str:
        """Return the parts as a piece of HTML, for a page that has the style of `page_style`."""
        return page("sections.html", report=self, heading="h3")

    @property
    def tiles(self) -> tuple[tuple[str, str], ...]:
        """The figures that matter most, and what they are."""
        found, lost, k = self.material.audit, self.material.loss, self.material.model.crowd
        at_most = ", at most" if self.material.in_blocks else ""
        several = found.persons is not None and found.persons.several
        promised = f"; k = {k:,}"
        known: tuple[tuple[str, str], ...] = ()
        if found.partial is not None:
            words = (
                f"rows or more cover each record for attackers who know at most {found.partial.knows} of the "
                "quasi-identifiers"
            )
            known, promised = ((f"{found.partial.rows_per_record:,}", words),), ""
        of_persons = f" of {number(found.persons.count)} persons" if found.persons and several else ""
        return (
            (number(found.rows), f"released rows{of_persons}"),
            *known,
            (
                f"{found.concealment:,}",
                f"rows or more hide each record, even from an attacker who knows every record{promised}",
            ),
            (
                percent(found.highest_risk),
                f"highest probability that such an attacker's guess is right{at_most}",
            ),
            (percent(lost.gcp), "of the precision was lost"),
        )

    def summary(self) -> str:
        """Return the figures that matter most as a piece of HTML, for notebooks."""
        lost = PANELS["loss"].of(self.material)
        grids = () if lost is None else lost.grids
        tables = (table_html(grid.title, grid.head, grid.rows) for grid in grids)
        said = [("warning", text) for text in self.warnings]
        title = f"{self.verdict[1]}: {self.verdict_text}" if self.status != "holds" else self.verdict_text
        return facts_html(title, [*said, *self.tiles]) + "".join(tables)


def page_style() -> str:
    """Return the style sheet of all pages."""
    return page("style.css")


@cache
def _templates() -> Any:
    """Return the templates beside this file; each is compiled once in a process."""
    import jinja2  # late: only pages need it

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def page(template: str, **content: Any) -> str:
    """Return a page from a template beside this file."""
    return cast(
        "str",
        _templates()
        .get_template(template)
        .render(
            light=variables(PAPER),
            dark=DARK,
            can_draw=can_draw(),
            install_report=install_command("report"),
            **content,
        ),
    )
