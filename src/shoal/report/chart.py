"""Charts as Vega-Lite specifications without colours, and what they become: SVG for a page, Altair."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.distribution import require

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

WIDTH = 330
"""How wide the plotting area and its labels may be together: a phone shows it without shrinking the text."""


@dataclass(frozen=True)
class Palette:
    """The colours of a chart, by what they mean.

    Parameters
    ----------
    page, ink, muted, grid
        Of the ground, of text, of axes and of lines behind the data.
    series
        To distinguish series, the most important one first.
    steps
        For values in an order, from little to much.
    alert
        For what is guaranteed, and for what breaks it.
    """

    page: str
    ink: str
    muted: str
    grid: str
    series: tuple[str, ...]
    steps: tuple[str, ...]
    alert: str


PAPER = Palette(
    page="#ffffff",
    ink="#1b2a2f",
    muted="#56676d",
    grid="#dde5e7",
    series=(
        *("#0f766e", "#d9822b", "#5b6fb5", "#a04f8d", "#6f8f2f", "#8a6d4b"),
        *("#1f4e9c", "#c2334d", "#3aa6c9", "#b59b00", "#6a3fb0", "#4a4f55"),
    ),
    steps=("#d5ebe7", "#a9d6cf", "#74bcb2", "#3f9c91", "#14776d", "#0a4a45"),
    alert="#b3261e",
)
"""For charts that stand on white."""


def variables(palette: Palette) -> dict[str, str]:
    """Return the colours of a palette as CSS variables, without their dashes."""
    return {
        "ink": palette.ink,
        "muted": palette.muted,
        "grid": palette.grid,
        "alert": palette.alert,
        **{f"series-{number}": colour for number, colour in enumerate(palette.series, start=1)},
        **{f"step-{number}": colour for number, colour in enumerate(palette.steps, start=1)},
    }


def named(palette: Palette) -> Palette:
    """Return the palette that asks the page's CSS variables, so that light and dark are the page's choice."""
    names = {name: f"var(--{name})" for name in variables(palette)}
    return Palette(
        page="transparent",
        ink=names["ink"],
        muted=names["muted"],
        grid=names["grid"],
        series=tuple(colour for name, colour in names.items() if name.startswith("series")),
        steps=tuple(colour for name, colour in names.items() if name.startswith("step")),
        alert=names["alert"],
    )


PAGE = named(PAPER)
"""For charts on a page that defines the `variables`."""


@dataclass(frozen=True)
class Chart:
    """One chart.

    Parameters
    ----------
    name
        How programs ask for it.
    title
        What it shows, as a sentence.
    description
        The same in words and numbers, for those who do not see it.
    spec
        The Vega-Lite specification, without title and colours.
    """

    name: str
    title: str
    description: str
    spec: Spec

    def html(self) -> str:
        """Return what a page shows: the chart, or the same in words if it cannot be drawn."""
        return self.svg() if can_draw() else f"<p>{escape(self.description)}</p>"

    def svg(self) -> str:
        """Return the chart as an SVG element in the colours of the page it is put into."""
        import vl_convert  # imported late: it starts a JavaScript engine

        drawn = vl_convert.vegalite_to_svg({**self.spec, "config": configuration(PAGE)})
        return _for_page(drawn, self)


def can_draw() -> bool:
    """Return whether charts can be drawn: whether the extra 'report' is installed."""
    return find_spec("vl_convert") is not None


def plot(charts: Sequence[Chart]) -> Any:
    """Return charts as one of Altair's, two side by side.

    Raises
    ------
    InputError
        If the extra 'report' is not installed.
    """
    require("altair", "report", "a chart")
    import altair  # imported late: few callers need it

    drawn = [
        altair.Chart.from_dict({**chart.spec, "title": _lines(chart.title), "description": chart.description})
        for chart in charts
    ]
    whole = drawn[0] if len(drawn) == 1 else altair.concat(*drawn, columns=2)
    return whole.configure(**configuration(PAPER))


def configuration(palette: Palette) -> Spec:
    """Return how all charts look; marks are coloured by their style, series and steps by their order."""
    text = {"labelColor": palette.ink, "titleColor": palette.muted}
    return {
        "background": palette.page,
        "aria": False,  # the whole has a text alternative, its parts need none
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        # Readers may have a wider font than the one that labels are measured with.
        "padding": {"left": 16, "right": 16, "top": 6, "bottom": 6},
        "axis": {
            **text,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "gridColor": palette.grid,
            "domainColor": palette.muted,
            "tickColor": palette.muted,
            "labelLimit": 130,
        },
        "legend": {
            **text,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "orient": "bottom",
            "symbolType": "square",
            "symbolOpacity": 1,
            "columns": 1,
            "offset": 10,
            "labelLimit": 200,
        },
        "title": {"color": palette.ink, "anchor": "start", "fontSize": 13, "offset": 12},
        "range": {"category": list(palette.series), "ordinal": list(palette.steps)},
        "bar": {"color": palette.series[0]},
        "line": {"color": palette.series[0], "strokeWidth": 2},
        "style": {
            "promise": {"color": palette.alert, "strokeDash": [4, 3], "strokeWidth": 1.5},
            "promise-label": {"color": palette.alert, "fontSize": 11, "baseline": "top"},
            "even": {"color": palette.muted, "strokeDash": [4, 3], "strokeWidth": 1},
            "label": {"color": palette.ink, "fontSize": 11, "baseline": "middle"},
            "link": {"color": palette.series[0], "strokeWidth": 1},
            "record": {"color": palette.series[0]},
            "row": {"color": palette.series[1]},
        },
    }


def values(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Return data as the specification carries them."""
    return {"values": [dict(row) for row in rows]}


def axis(field: str, kind: str, title: str | None, **more: Any) -> Spec:
    """Return the channel of a field: its kind is quantitative, ordinal or nominal."""
    return {"field": field, "type": kind, "title": title, **more}


def promised(x: float, label: str, title: str, *, nearly_right: bool = False) -> list[Spec]:
    """Return layers with a line at what was promised and a label beside it.

    Parameters
    ----------
    x
        Where.
    label
        What to write there.
    title
        The title of the axis, as the other layers have it.
    nearly_right
        Whether there is no room at the right of the line.
    """
    place = {"align": "right", "dx": -4} if nearly_right else {"align": "left", "dx": 4}
    data, at = values([{"x": x, "label": label}]), axis("x", "quantitative", title)
    return [
        {"data": data, "mark": {"type": "rule", "style": "promise"}, "encoding": {"x": at}},
        {
            "data": data,
            "mark": {"type": "text", "style": "promise-label", **place},
            "encoding": {"x": at, "y": {"value": 0}, "text": {"field": "label"}},
        },
    ]


def _for_page(svg: str, chart: Chart) -> str:
    """Return an SVG that takes the width it gets, says what it shows, and shares no names with others."""
    head, rest = svg.split(">", 1)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    wide = f' style="max-width:{float(size[1]) * 1.2:.0f}px"' if size else ""
    box = size[0] if size else ""
    # Names inside a picture are names of the whole page.
    prefix = re.sub(r"\W", "-", chart.name)
    rest = re.sub(r'(id="|url\(#)', rf"\1{prefix}-", rest)
    # One label describes the picture; its parts have no roles or labels of their own.
    rest = re.sub(r' (?:role="graphics-[a-z]+"|aria-roledescription="[^"]*")', "", rest)
    label = escape(f"{chart.title}. {chart.description}", quote=True)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{label}"{wide}>{rest}'


def _lines(title: str, most: int = 42) -> list[str]:
    """Return a title in lines that a chart has room for."""
    lines = [""]
    for word in title.split():
        if lines[-1] and len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def before_and_after(
    name: str,
    title: str,
    labels: Sequence[str],
    before: NDArray[np.integer[Any] | np.floating[Any]],
    after: NDArray[np.integer[Any] | np.floating[Any]],
) -> Chart:
    """Return a chart with a pair of bars for each label: the original, and what the release makes expect."""
    series = {"original": before, "expected from the release": after}
    rows = [
        {"group": label, "which": which, "records": float(count)}
        for which, counts in series.items()
        for label, count in zip(labels, counts, strict=True)
    ]
    return Chart(
        name,
        title,
        "Pairs of bars, original and expected from the release: "
        + "; ".join(
            f"{label} {b:,.0f} and {a:,.0f}" for label, b, a in zip(labels, before, after, strict=True)
        )
        + ".",
        {
            "data": values(rows),
            "mark": "bar",
            "encoding": {
                "y": axis("group", "nominal", None, sort=list(labels)),
                "yOffset": {"field": "which", "sort": list(series)},
                "x": axis("records", "quantitative", "records", axis={"tickCount": 3, "format": ",d"}),
                "color": axis("which", "nominal", None, sort=list(series)),
            },
            "width": WIDTH - 130,
            "height": {"step": 9},
        },
    )
