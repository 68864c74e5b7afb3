"""Pages in a browser: they open from disk, show every chart, log no error and load nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser

from shoal import Freeform, Release, Schema, anonymize
from shoal.report.comparison import comparison_page
from shoal.samples import hospital


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


def test_the_report_is_printed_on_white(browser: Browser, page: Path) -> None:
    browser.open(page, dark=True, printed=True)
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    fill = browser.run("return getComputedStyle(document.querySelector('svg .mark-rect path')).fill")
    assert fill == "rgb(15, 118, 110)"


def test_the_comparison_can_be_pointed_at(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    rows = [
        {
            "run": number,
            "attacker": "an attacker who knows every record",
            "model": "freeform",
            "method": method,
            "way": f"freeform, {method}",
            "k": k,
            "gcp": gcp,
            "concealment": k,
            "risk": 1 / k,
            "query_error": gcp,
            "seconds": number,
            "message": None if gcp is not None else "took longer than 1 seconds",
            "command": f"shoal anonymize a.csv --method {method} --k {k}",
        }
        for number, (method, k, gcp) in enumerate(
            [("ring", 2, 0.1), ("ring", 5, 0.2), ("greedy", 2, 0.15), ("greedy", 5, None)], start=1
        )
    ]
    page.write_text(comparison_page(rows, 2, "Four ways"), encoding="utf-8")
    browser.open(page, width=700)
    browser.wait("return document.querySelectorAll('#chart svg .mark-symbol.role-mark path').length === 3")
    command = "return document.getElementById('command').textContent"
    assert browser.run(command) == rows[1]["command"]
    browser.run("document.querySelector('tr[data-run=\"3\"]').click()")
    assert browser.run(command) == rows[2]["command"]
    browser.wait("return document.querySelectorAll('#chart svg .mark-symbol.role-mark path').length === 3")
    browser.click("#chart svg .mark-symbol.role-mark path")
    browser.wait(f"return document.getElementById('command').textContent === '{rows[0]['command']}'")
    assert browser.run("return document.querySelector('[aria-selected=true]').dataset.run") == "1"
    assert browser.run("return document.documentElement.scrollWidth") <= 700
    assert browser.complaints() == []
    assert browser.requests() == []
