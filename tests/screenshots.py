"""Pictures of the web page for the documentation: `python tests/screenshots.py FOLDER` takes them anew."""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser, chromium
from visitor import Server, Visitor, running

from shoal.samples import hospital

HIGHEST = 1000


def take(browser: Browser, selector: str, target: Path) -> None:
    """Save a picture of a part of the page, from its top on."""
    time.sleep(1)  # scrolling and drawing
    browser.run("document.querySelector('nav').style.position = 'static'")
    box = browser.run(
        f"const box = document.querySelector({selector!r}).getBoundingClientRect();"
        "return {x: 0, y: Math.max(0, box.top + scrollY - 16), width: innerWidth, height: box.height + 24}"
    )
    clip = {**box, "height": min(box["height"], HIGHEST), "scale": 1}
    drawn = browser.driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
    )
    target.write_bytes(base64.b64decode(drawn["data"]))


def tour(browser: Browser, server: Server, table: Path, folder: Path) -> None:
    """Go through all steps, and take a picture of each."""
    visitor = Visitor(browser, server)
    visitor.upload(table)
    visitor.wait("document.getElementById('columns_done')")
    take(browser, "#step-data", folder / "web-data.png")
    take(browser, "#step-columns", folder / "web-columns.png")
    edit(visitor)
    take(browser, "#editor", folder / "web-editor.png")
    visitor.press("edit_close")
    visitor.wait("!document.getElementById('editor')")
    visitor.use_columns()
    take(browser, "#step-promise", folder / "web-promise.png")
    explore(visitor)
    take(browser, "#trying", folder / "web-trying.png")
    browser.run("document.querySelector('#trying details').open = false")
    browser.show(dark=True)
    take(browser, "#step-promise", folder / "web-dark.png")
    browser.show(width=390)
    take(browser, "#step-data", folder / "web-data-narrow.png")
    take(browser, "#step-columns", folder / "web-narrow.png")
    take(browser, "#step-promise", folder / "web-promise-narrow.png")
    browser.show()
    visitor.enter("k", 40)
    visitor.enter("effort", "best")
    visitor.go()
    visitor.wait(
        "!document.getElementById('progress').hidden && document.getElementById('share').value > 0.1"
    )
    for width, name in ((1100, "web-run.png"), (390, "web-run-narrow.png")):
        browser.show(width=width)
        browser.run("scrollTo(0, document.querySelector('#step-run').offsetTop - 300)")
        time.sleep(1)
        browser.driver.save_screenshot(str(folder / name))
    browser.show()
    visitor.press("cancel")
    visitor.wait("document.getElementById('progress').hidden")
    visitor.enter("effort", "")
    visitor.make(k=5)
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(run=2, k=5)
    take(browser, "#step-result", folder / "web-result.png")
    visitor.wait("document.getElementById('hold_out_go')")
    visitor.settle()
    visitor.press("hold_out_go")
    visitor.wait("document.querySelectorAll('input[name=shown_run]').length === 3")
    visitor.wait("document.getElementById('attacks-found')")
    take(browser, "#step-attack", folder / "web-attack.png")
    take(browser, "#step-download", folder / "web-download.png")
    ask(visitor)
    take(browser, "#step-use", folder / "web-use.png")
    browser.show(width=390)
    take(browser, "#step-result", folder / "web-result-narrow.png")
    take(browser, "#step-attack", folder / "web-attack-narrow.png")
    take(browser, "#step-download", folder / "web-download-narrow.png")
    browser.driver.get("about:blank")


def edit(visitor: Visitor) -> None:
    """Open the editor of hierarchies, and group some occupations."""
    names = visitor.browser.run("return [...document.querySelectorAll('.column h3')].map(e => e.textContent)")
    visitor.browser.run(f"document.querySelector('[data-edits=\"{names.index('occupation')}\"]').click()")
    visitor.wait("document.querySelectorAll('.tree li').length > 3")
    visitor.browser.run("[...document.querySelectorAll('.tree input')].slice(0, 3).forEach(e => e.click())")
    visitor.enter("edit_name", "first group")
    visitor.press("edit_group")
    visitor.wait("document.querySelector('.tree li li')")


def explore(visitor: Visitor) -> None:
    """Make quick runs."""
    visitor.wait("document.getElementById('try_go')")
    visitor.browser.run("document.querySelector('#trying details').open = true")
    visitor.enter("try_k", "2, 5, 10, 20")
    visitor.press("try_go")
    visitor.wait("document.querySelectorAll('[data-tries]').length === 8")


def ask(visitor: Visitor) -> None:
    """Ask the release a question, and write its tables."""
    visitor.enter("question", "age 30..59, sex=female")
    visitor.press("ask")
    visitor.wait("document.getElementById('answer')")
    visitor.press("write_tables")
    visitor.wait("document.getElementById('tables')")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, chromium() as started:
        table = Path(place) / "patients.csv"
        hospital(400).write_csv(table)
        temporary = Path(place) / "temporary"
        temporary.mkdir()
        with running(Path(place), temporary) as server:
            tour(started, server, table, Path(sys.argv[1]))
