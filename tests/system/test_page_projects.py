"""Settings of the page that come back: those of an earlier run, and those of a project file."""

from __future__ import annotations

import json
from pathlib import Path

from browser import Browser
from visitor import Server, Visitor

from shoal.samples import hospital


def values(browser: Browser, *names: str) -> list[object]:
    return [browser.run(f"return document.getElementById({name!r}).value") for name in names]


def test_settings_of_a_run_and_of_a_project_come_back(
    browser: Browser, server: Server, page_folder: Path, tmp_path: Path
) -> None:
    (page_folder / "fewer.csv").write_text("age,sex\n" + "".join(f"{20 + n},f\n" for n in range(20)))
    visitor = Visitor(browser, server)
    visitor.take("patients.csv")
    visitor.wait("document.getElementById('role_9')")
    visitor.enter("role_9", "quasi")
    visitor.enter("hierarchy_6", "prefixes")
    visitor.enter("rule_6", "3, 2")
    visitor.use_columns()
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(k=4, seed="987654321", effort="fast")
    used = " ".join(visitor.text("#used").split())
    assert "days quasi-identifier: generalized; kind: numeric" in used
    assert "k-anonymity, k = 4, l = 2" in used
    visitor.enter("rows_record", "3")
    visitor.press("show_rows")
    visitor.wait("document.getElementById('rows')?.textContent.includes('cover record 3: its crowd')")
    assert browser.run("return document.querySelectorAll('#rows [aria-label^=Release] tbody tr').length") >= 4
    assert visitor.text("#rows [aria-label^=Table] tbody th") == "3"
    visitor.enter("rows_record", "none")
    visitor.press("show_rows")
    assert "is not a number" in visitor.problem("rows_record")
    project = visitor.download("get_project")
    told = json.loads(project)
    assert "987654321" not in project.decode()
    assert hospital(100)["name"][0] not in project.decode()
    assert told["runs"][0]["name"].startswith("Run 1: k-anonymity, k = 4, l = 2; loss ")
    # The settings of a run come back, also after another table.
    visitor.take("fewer.csv")
    visitor.wait("document.querySelectorAll('.column').length === 2")
    browser.run("document.querySelector('input[name=shown_run]').click()")
    visitor.wait("document.getElementById('restore_run')")
    visitor.press("restore_run")
    visitor.wait(
        "document.querySelector('#verdict:not(.broken), #verdict.caution') || "
        "document.getElementById('verdict')?.textContent.includes('Do not publish')"
    )
    visitor.wait("document.getElementById('effort') && document.getElementById('role_9')")
    visitor.settle()
    assert values(browser, "role_9", "rule_6", "k", "effort", "seed") == [
        "quasi",
        "3, 2",
        "4",
        "fast",
        "987654321",
    ]
    assert browser.run("return document.getElementById('outdated')") is None
    assert browser.run("return document.getElementById('go') !== null")
    (tmp_path / "project.json").write_bytes(project)
    fills_in_a_new_session(browser, server, tmp_path / "project.json")


def fills_in_a_new_session(browser: Browser, server: Server, project: Path) -> None:
    """Check that a project fills in a new session, as soon as its table is there."""
    visitor = Visitor(browser, server)
    browser.driver.find_element("id", "project").send_keys(str(project))
    visitor.wait("document.getElementById('project_run')")
    visitor.take("fewer.csv")
    assert "This table has no column" in visitor.problem("project")
    visitor.take("patients.csv")
    visitor.wait("document.getElementById('rule_6')?.value === '3, 2'")
    assert values(browser, "role_9", "hierarchy_6") == ["quasi", "prefixes"]
    visitor.use_columns()
    visitor.wait("document.getElementById('effort')?.value === 'fast'")
    assert values(browser, "k", "seed") == ["4", ""]
    assert browser.run("return document.querySelector('input[name=model]:checked').value") == "k-anonymity"
    assert not browser.complaints()
