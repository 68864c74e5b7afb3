"""The page as an accessibility checker sees it, in every step, wide and narrow, light and dark.

axe-core is not part of Shoal. Run `npm install axe-core` in a folder of your own, and name its `axe.min.js`
in the variable `SHOAL_AXE`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from browser import Browser, chromium
from visitor import Visitor, running

from shoal.samples import hospital

AXE = os.environ.get("SHOAL_AXE", "")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def findings(browser: Browser) -> list[object]:
    """Return what the checker finds on the open page, with everything unfolded."""
    browser.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    browser.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": Path(AXE).read_text()})
    script = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {runOnly: arguments[0]}).then(
      (found) => done(found.violations.map((each) => [each.id, each.nodes.map((node) => node.html)])), done);
    """
    return list(browser.driver.execute_async_script(script, LEVELS))


@pytest.mark.slow
@pytest.mark.skipif(not AXE, reason="SHOAL_AXE does not name axe.min.js")
def test_a_checker_finds_nothing(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    hospital(100).write_csv(tmp_path / "patients.csv")
    with running(tmp_path, tmp_path_factory.mktemp("temporary")) as server, chromium() as browser:
        browser.driver.set_script_timeout(120)
        for look in ({"width": 1280}, {"width": 390, "dark": True}):
            visitor = Visitor(browser, server, **look)
            assert findings(browser) == []
            visitor.enter("folder_file", "patients.csv")
            visitor.wait("document.getElementById('columns_done')")
            assert findings(browser) == []
            visitor.enter("role_1", "other")
            visitor.use_columns()
            visitor.wait("document.getElementById('dangers')")
            assert findings(browser) == []
            visitor.make(k=4)
            visitor.make(run=2, k=5)
            visitor.press("ask")
            visitor.wait("document.getElementById('answer')")
            assert findings(browser) == []
