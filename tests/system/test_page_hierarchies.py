"""The editor of hierarchies on the page: with keys, with the mouse, and its file for other tools."""

from __future__ import annotations

from pathlib import Path

from browser import Browser
from visitor import Server, Visitor

from shoal.samples import hospital

DRAG = """
const label = (text) => document.querySelector(`.tree [data-label="${text}"]`);
const data = new DataTransfer();
const send = (kind, element) => element.dispatchEvent(
  new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
send("dragstart", label(arguments[0]));
send("dragover", label(arguments[1]));
send("drop", label(arguments[1]));
send("dragend", label(arguments[0]));
"""


def labels(visitor: Visitor) -> list[str]:
    found = visitor.browser.run(
        "return [...document.querySelectorAll('.tree li')].map((each) => each.dataset.label)"
    )
    return [str(each) for each in found]


def tick(visitor: Visitor, *wanted: str) -> None:
    for label in wanted:
        visitor.browser.run(f"document.querySelector('.tree input[value=\"{label}\"]').click()")


def test_groups_are_made_by_keys_by_mouse_and_by_rule(
    browser: Browser, server: Server, page_folder: Path
) -> None:
    hospital(100).select("age", "occupation", "diagnosis").write_csv(page_folder / "jobs.csv")
    visitor = Visitor(browser, server)
    visitor.take("jobs.csv")
    visitor.wait("document.querySelector('[data-edits=\"1\"]')")
    browser.run("document.querySelector('[data-edits=\"1\"]').click()")
    visitor.wait("document.querySelectorAll('.tree li').length > 3")
    assert browser.run("return document.activeElement.textContent") == "Hierarchy of occupation"
    first, second, third, *_ = labels(visitor)
    tick(visitor, first, second)
    visitor.enter("edit_name", "inside")
    visitor.press("edit_group")
    visitor.wait("document.querySelector('.tree li[data-label=inside] li')")
    browser.driver.execute_script(DRAG, third, "inside")
    visitor.wait("document.querySelectorAll('.tree li[data-label=inside] li').length === 3")
    tick(visitor, "inside")
    visitor.press("edit_rename")  # the name is taken
    assert "already" in visitor.problem("edit_name")
    fourth = labels(visitor)[-1]
    tick(visitor, "inside")
    tick(visitor, fourth)
    visitor.enter("edit_name", "outside")
    visitor.press("edit_group")
    visitor.wait("document.querySelector('.tree li[data-label=outside] li')")
    tick(visitor, "inside", "outside")
    visitor.enter("edit_name", "inside")
    visitor.press("edit_merge")
    visitor.wait("document.querySelectorAll('.tree li[data-label=inside] li').length === 4")
    visitor.press("edit_undo")
    visitor.press("edit_undo")
    # The group "outside" was gone after the merge, too, and ticks are lost when the tree is drawn anew.
    visitor.wait(
        "document.querySelectorAll('.tree li[data-label=inside] li').length === 3"
        " && !document.querySelector('.tree li[data-label=outside]')"
    )
    tick(visitor, "inside")
    visitor.press("edit_split")
    visitor.wait("!document.querySelector('.tree li li')")
    visitor.press("edit_undo")
    visitor.wait("document.querySelectorAll('.tree li[data-label=inside] li').length === 3")
    exported = visitor.download("get_hierarchy").decode()
    assert f"{first};inside;*" in exported.splitlines()
    visitor.press("edit_use")
    visitor.wait("!document.getElementById('editor')")
    visitor.wait("document.getElementById('hierarchy_1').value === 'file'")
    visitor.use_columns()
    visitor.make(k=5)
    released = visitor.download("get_csv").decode()
    assert "inside" in released or "*" in released
    browser.run("document.querySelector('[data-edits=\"0\"]').click()")
    visitor.wait("document.querySelector('#editor h3')?.textContent === 'Hierarchy of age'")
    visitor.enter("edit_numbers", "10, 20")
    visitor.press("edit_build")
    visitor.wait("document.querySelector('.tree [data-label=\"[40, 60)\"] li li')")
    assert not browser.complaints()
