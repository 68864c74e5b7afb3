"""Exploring on the page: quick runs and their recommendation, limits, a control group, an earlier release."""

from __future__ import annotations

from pathlib import Path

from browser import Browser
from visitor import Server, Visitor

from shoal.samples import hospital


def shown(visitor: Visitor, field: str) -> bool:
    return bool(visitor.browser.run(f"return !document.getElementById({field!r}).closest('.field').hidden"))


def test_quick_runs_lead_to_a_full_one_and_to_a_limit(
    browser: Browser, server: Server, page_folder: Path, tmp_path: Path
) -> None:
    hospital(200).select("age", "sex", "diagnosis").write_csv(page_folder / "explored.csv")
    visitor = Visitor(browser, server)
    visitor.take("explored.csv")
    visitor.wait("document.getElementById('widest_0')")
    # Only the fields that suit a column are there.
    visitor.wait("document.getElementById('order_0').closest('.field').hidden")
    assert [shown(visitor, f"{each}_0") for each in ("widest", "bands", "dates", "rule")] == [
        *(True, True, False, False)
    ]
    assert not shown(visitor, "bands_1")
    visitor.enter("hierarchy_0", "intervals")
    assert [shown(visitor, f"{each}_0") for each in ("bands", "rule", "levels")] == [False, True, False]
    visitor.enter("hierarchy_0", "none")
    visitor.use_columns()
    visitor.wait("document.getElementById('try_go')")
    visitor.enter("try_k", "3, 6")
    visitor.press("try_go")
    visitor.wait("document.querySelectorAll('[data-tries]').length === 4")
    assert "loses" in visitor.text("#recommended")
    assert browser.run("return document.querySelector('figure svg[role=img]').getAttribute('aria-label')")
    visitor.settle()
    browser.run("document.querySelector('[data-tries=\"3\"]').click()")  # k-anonymity with k = 6
    visitor.wait("document.getElementById('verdict')")
    assert "--model k-anonymity --k 6 --l 2 --method mondrian" in visitor.text("#command")
    assert browser.run("return document.getElementById('k').value") == "6"
    visitor.settle()
    assert not browser.run("return document.getElementById('outdated')")
    first = visitor.download("get_csv")
    visitor.enter("cost_width", "10")
    visitor.press("cost_go")
    visitor.wait("document.getElementById('cost')")
    assert "To keep age within 10, with k = 6" in visitor.text("#cost")
    visitor.press("cost_use")
    visitor.wait("document.getElementById('widest_0').value === '10'")
    visitor.settle()
    visitor.use_columns()
    visitor.wait("document.getElementById('leave_out')")
    # Without l: the control group is drawn at random, and without it, l = 2 is infeasible one time in twenty.
    visitor.make(run=2, l="", leave_out="20%", hold_out="10%", about_purpose="research", form="xlsx")
    assert visitor.download("get_xlsx")[:2] == b"PK"
    assert visitor.download("get_csv")
    command = visitor.text("#command")
    assert "--hold-out 0.1 --leave-out 0.2" in command
    assert "--purpose research" in command
    assert "limits: at most 10 wide" in visitor.text("#used")
    assert "has a control group" in visitor.text("#step-attack")
    assert "on the control group" in visitor.text("#attacks-found")

    (tmp_path / "earlier.csv").write_bytes(first)
    visitor.wait("document.getElementById('earlier_release')")
    visitor.upload(tmp_path / "earlier.csv", "earlier_release")
    visitor.settle()
    visitor.press("together_go")
    assert "only its key says which" in visitor.problem("earlier_release")
    browser.run("document.querySelector('input[name=shown_run][value=\"1\"]').click()")
    visitor.settle()
    visitor.press("together_go")
    visitor.wait("document.getElementById('together')")
    assert "--with earlier.csv" in visitor.text("#together-command")
    assert not browser.complaints()


def test_a_table_is_published_again(
    browser: Browser, server: Server, page_folder: Path, tmp_path: Path
) -> None:
    """The second release has only the persons who are not in the first one."""
    patients = hospital(60).select("patient", "age", "sex")
    for name, number in (("first.csv", 40), ("second.csv", 60)):
        patients[:number].write_csv(page_folder / name)
    visitor = Visitor(browser, server)
    visitor.take("first.csv")
    visitor.wait("document.getElementById('role_2')")
    visitor.enter("role_0", "person")
    visitor.use_columns()
    visitor.press("keep_key")
    visitor.make(k=3)
    for link in ("get_csv", "get_key"):
        (tmp_path / link).with_suffix(".csv").write_bytes(visitor.download(link))
    visitor.take("second.csv")
    visitor.wait("!document.getElementById('k')")
    visitor.use_columns()
    visitor.press("keep_key")
    visitor.wait("document.getElementById('after_release')")
    visitor.upload(tmp_path / "get_csv.csv", "after_release")
    visitor.wait("document.getElementById('attached')?.textContent.includes('get_csv.csv')")
    visitor.go()
    assert "Choose the original table" in visitor.problem("after_table")
    visitor.upload(page_folder / "first.csv", "after_table")
    visitor.upload(tmp_path / "get_key.csv", "after_key")
    visitor.wait("document.getElementById('attached').textContent.includes('first.csv, get_key.csv')")
    visitor.make(run=2)
    assert visitor.text(".tiles b") == "20"
    assert "--after get_csv.csv --after-table first.csv --key get_key.csv" in visitor.text("#command")
    assert not browser.run("return document.getElementById('outdated')")
    assert not browser.complaints()
