"""Pages in a browser: they open from disk, show every chart, complain about nothing and ask nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, chromium

from shoal import Freeform, Release, Schema, anonymize
from shoal.samples import hospital


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def page(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.save(tmp_path_factory.mktemp("release") / "out") / "report.html"


@pytest.fixture(scope="module")
def release() -> Release:
    frame = hospital(300)
    schema = Schema.infer(
        frame, quasi=["age", "sex", "occupation"], sensitive=["diagnosis"], drop=["patient", "name"]
    )
    return anonymize(frame, schema, Freeform(k=5, l=2))


SIZES = """
return [...document.querySelectorAll('svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  const ink = svg.querySelectorAll('path, line, circle').length;
  const left = Math.min(...[...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect().left));
  const right = Math.max(...[...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect().right));
  return {wide: box.width, high: box.height, ink: ink, left: left, right: right};
});
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1100, 380])
def test_the_report_shows_every_chart(
    browser: Browser, release: Release, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    charts = browser.run(SIZES)
    assert len(charts) == len(release.report.charts)
    for chart in charts:
        assert min(chart["wide"], chart["high"]) > 90
        assert chart["ink"] > 5
        assert chart["left"] >= 0
        assert chart["right"] <= width
    assert browser.run("return document.documentElement.scrollWidth") <= width
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) is dark
    fill = browser.run("return getComputedStyle(document.querySelector('svg .mark-rect path')).fill")
    assert fill == ("rgb(79, 195, 181)" if dark else "rgb(15, 118, 110)")
    assert browser.complaints() == []
    assert browser.requests() == []
