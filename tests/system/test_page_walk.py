"""Through all steps of the page by keyboard alone, with Adult and with 300 columns, as many looks see it.

In each step an accessibility checker (axe-core, see `test_page_accessibility`) must find nothing at level AA,
at 1280 x 900 and 390 x 844, light and dark. With `SHOAL_PICTURES`, pictures of the steps, numbered in their
order, are saved in that folder.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from browser import Browser
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys
from test_page_accessibility import AXE, findings
from visitor import Server, Visitor

from shoal.samples import hospital

LOOKS = {
    "wide": {"width": 1280, "height": 900},
    "narrow": {"width": 390, "height": 844},
    "wide-dark": {"width": 1280, "height": 900, "dark": True},
    "narrow-dark": {"width": 390, "height": 844, "dark": True},
}
FARTHEST = 900
"""Maximum number of tab stops to a field."""
HIGHEST = 4000
"""Maximum height of a picture."""


class Walker(Visitor):
    """A user who has no mouse."""

    name = ""
    pictures = 0

    def keys(self, *keys: str) -> None:
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def tab_to(self, condition: str, *, back: bool = False) -> None:
        """Press the tab key until the element with the focus meets a condition."""
        for _ in range(FARTHEST):
            if self.browser.run(f"const at = document.activeElement; return Boolean({condition})"):
                return
            chain = ActionChains(self.browser.driver, duration=0)
            if back:
                chain.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
            else:
                chain.send_keys(Keys.TAB).perform()
        raise AssertionError(f"no tab stop with {condition}")

    def write(self, field: str, text: str) -> None:
        self.tab_to(f"at.id === '{field}'")
        chain = ActionChains(self.browser.driver)
        chain.key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(
            text or Keys.DELETE
        ).perform()

    def seen(self, step: str) -> None:
        """See that the checker finds nothing in any look, and take pictures."""
        folded = "document.querySelectorAll('details:not([open])')"
        self.browser.run(f"window.folded = [...{folded}]")
        self.pictures += 1
        for look, size in LOOKS.items():
            self.browser.show(**size)  # type: ignore[arg-type]
            self.browser.run("window.folded.forEach((each) => { each.open = false; })")
            self.picture(step, look)
            assert findings(self.browser) == [], (step, look)
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert self.browser.run(wide) <= 0, (step, look)
        self.browser.show(**LOOKS["wide"])  # type: ignore[arg-type]
        self.browser.run("window.folded.forEach((each) => { each.open = false; })")

    def picture(self, step: str, look: str) -> None:
        """Save a picture of a step, if pictures are wanted."""
        folder = os.environ.get("SHOAL_PICTURES")
        if not folder:
            return
        script = f"""
        const box = document.querySelector('#step-{step}').getBoundingClientRect();
        return {{x: 0, y: box.top + scrollY, width: innerWidth, height: box.height}};
        """
        box = self.browser.run(script)
        clip = {**box, "height": min(box["height"], HIGHEST), "scale": 1}
        drawn = self.browser.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
        )
        target = Path(folder, f"{self.name}-{self.pictures:02}-{step}-{look}.png")
        target.write_bytes(base64.b64decode(drawn["data"]))


def walk(visitor: Walker, table: str, more: Callable[[Walker], None] = lambda _: None) -> None:
    """Go through all steps, and do something more before the columns are used."""
    visitor.browser.driver.set_script_timeout(300)
    offered = "[...(document.getElementById('folder_file')?.options ?? [])].map(each => each.value)"
    visitor.wait(f"{offered}.includes('{table}.csv')")
    visitor.tab_to("at.id === 'folder_file'")
    visitor.keys(table)
    visitor.wait("document.getElementById('columns_done')")
    visitor.seen("data")
    visitor.seen("columns")
    visitor.tab_to("at.matches('.column.quasi summary')")
    visitor.keys(Keys.ENTER)
    visitor.tab_to("at.dataset.edits")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.querySelector('.tree li')")
    visitor.tab_to("at.name === 'edit_chosen'")
    visitor.keys(" ")
    visitor.write("edit_name", "a group")
    visitor.keys(Keys.TAB, Keys.ENTER)
    visitor.wait("document.querySelector('.tree li[data-label=\"a group\"]')")
    visitor.seen("columns")
    visitor.tab_to("at.id === 'edit_close'")
    visitor.keys(Keys.ENTER)
    visitor.wait("!document.getElementById('editor')")
    more(visitor)
    visitor.tab_to("at.id === 'columns_done'")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.getElementById('k') && document.getElementById('go')")
    visitor.tab_to("at.name === 'model'")
    visitor.keys(Keys.DOWN)
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.write("k", "5")
    visitor.seen("promise")
    visitor.tab_to("at.matches('#trying summary')")
    visitor.keys(Keys.ENTER)
    visitor.write("try_k", "5, 20")
    visitor.tab_to("at.id === 'try_models' || at.name === 'try_models'")
    visitor.keys(" ")  # freeform takes longest
    visitor.tab_to("at.id === 'try_go'")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.querySelector('[data-tries]')")
    visitor.seen("promise")
    visitor.seen("run")
    if visitor.browser.run("return Boolean(document.getElementById('confirmed'))"):
        visitor.tab_to("at.id === 'confirmed'")
        visitor.keys(" ")
        visitor.tab_to("at.id === 'go'", back=not after(visitor, "go", "confirmed"))
    visitor.tab_to("at.id === 'go'")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.getElementById('verdict') && document.getElementById('progress').hidden")
    visitor.seen("result")
    visitor.tab_to("at.matches('#see-rows summary')")
    visitor.keys(Keys.ENTER)
    visitor.write("rows_record", "1")
    visitor.tab_to("at.id === 'show_rows'")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.getElementById('rows')")
    visitor.seen("result")
    visitor.tab_to("at.id === 'attack_go'")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.getElementById('attacks-found')")
    visitor.seen("attack")
    visitor.seen("download")
    visitor.tab_to("at.id === 'get_csv'")
    visitor.write("question", "")
    visitor.tab_to("at.id === 'ask'")
    visitor.keys(Keys.ENTER)
    visitor.wait("document.getElementById('answer')")
    visitor.seen("use")


def after(visitor: Walker, second: str, first: str) -> bool:
    """Return whether a field comes after another one."""
    script = f"""
    const [a, b] = [document.getElementById('{first}'), document.getElementById('{second}')];
    return Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING);
    """
    return bool(visitor.browser.run(script))


@pytest.mark.campaign
@pytest.mark.skipif(not AXE, reason="SHOAL_AXE does not name axe.min.js")
def test_adult_by_keyboard(browser: Browser, server: Server, page_folder: Path, shared_data: Path) -> None:
    names = ["age", "workclass", "education", "marital-status", "race", "sex", "occupation"]
    pl.read_csv(shared_data / "adult_complete_45222.csv.gz").select(names).write_csv(
        page_folder / "adult.csv"
    )
    visitor = Walker(browser, server, width=1280)
    visitor.name = "adult"
    walk(visitor, "adult")


@pytest.mark.campaign
@pytest.mark.skipif(not AXE, reason="SHOAL_AXE does not name axe.min.js")
def test_three_hundred_columns_by_keyboard(browser: Browser, server: Server, page_folder: Path) -> None:
    patients = hospital(100)
    more = [pl.Series(f"q{number}", [(7 * row * number) % 5 for row in range(100)]) for number in range(290)]
    patients.with_columns(more).write_csv(page_folder / "wide.csv")
    visitor = Walker(browser, server, width=1280)
    visitor.name = "wide"
    walk(visitor, "wide", leave_out_many)


def leave_out_many(visitor: Walker) -> None:
    """Give all columns that are found one role: most are left out, and 101 are published unchanged."""
    for part, first, role, count in (("q", "q0", "identifier", 290), ("q2", "q2", "other", 101)):
        visitor.tab_to("at.id === 'columns_search'", back=True)
        visitor.write("columns_search", part)
        visitor.wait(f"document.querySelector('.column h3').textContent === '{first}'")
        visitor.tab_to("at.id === 'bulk_role'")
        visitor.keys(role)
        visitor.tab_to("at.id === 'bulk_apply'")
        visitor.keys(Keys.ENTER)
        visitor.wait(f"document.getElementById('said').textContent.startsWith('{count} columns')")
