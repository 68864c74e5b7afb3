"""Warnings of the page: before the run, above the result and beside the downloads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from browser import Browser
from visitor import Server, Visitor

from shoal.samples import hospital


def test_a_published_name_must_be_confirmed_and_stays_in_sight(browser: Browser, server: Server) -> None:
    visitor = Visitor(browser, server)
    visitor.take("patients.csv")
    visitor.wait("document.getElementById('role_1')")
    visitor.enter("role_1", "other")  # the names of the patients
    visitor.use_columns()
    visitor.wait("document.getElementById('dangers')")
    summary = " ".join(visitor.text("#summary").split())
    assert "Left out patient" in summary
    assert "Published unchanged name" in summary
    assert "diagnosis: l = 2 (at most" in summary
    assert "name is published unchanged, but" in visitor.text("#dangers [role=alert]")
    visitor.press("go")
    assert "tick this box" in visitor.problem("confirmed")
    assert server.workers() == []
    visitor.enter("k", 3)  # another danger must be confirmed again, and the same one need not
    visitor.press("confirmed")
    visitor.enter("l", "")
    visitor.wait("document.getElementById('dangers').textContent.includes('diagnosis is sensitive')")
    assert "diagnosis: not protected" in visitor.text("#summary")
    assert browser.run("return document.getElementById('confirmed').checked") is False
    visitor.press("go")
    assert "tick this box" in visitor.problem("confirmed")
    visitor.make()
    assert browser.run("return document.getElementById('verdict').className") == "verdict caution"
    for place in ("#result-dangers", "#download-dangers"):
        shown = visitor.text(place)
        assert "4 warnings" in shown  # with the one about nearly certain values, which came up in the run
        assert "name is published unchanged" in shown
    assert not browser.complaints()


def test_a_skewed_column_does_not_take_the_default_from_others_in_silence(
    browser: Browser, server: Server, page_folder: Path
) -> None:
    rare = pl.Series("hiv", ["no"] * 97 + ["yes"] * 3)
    skewed = hospital(100).select("age", "sex", "diagnosis").with_columns(rare)
    skewed.write_csv(page_folder / "skewed.csv")
    visitor = Visitor(browser, server)
    visitor.take("skewed.csv")
    visitor.wait("document.getElementById('role_3')")
    visitor.enter("role_2", "sensitive")
    visitor.enter("role_3", "sensitive")
    visitor.use_columns()
    visitor.wait("document.getElementById('dangers')")
    assert browser.run("return document.getElementById('l').value") == "2"
    ticked = "return [...document.querySelectorAll('#diverse input:checked')].map((box) => box.value)"
    assert browser.run(ticked) == ["diagnosis"]
    assert "97% of the records have the same value of hiv" in visitor.text("#hint-diverse")
    shown = visitor.text("#dangers")
    assert "diagnosis is sensitive" not in shown
    assert "hiv is sensitive and not protected" in shown
    assert "hiv: not protected" in visitor.text("#summary")
    visitor.press("go")
    assert "tick this box" in visitor.problem("confirmed")
    visitor.make(k=3)
    assert "hiv is sensitive and not protected" in visitor.text("#result-dangers")
    assert "--l 2 --diverse diagnosis" in visitor.text("#command")
    assert "diverse=['diagnosis']" in visitor.text("#script")


def test_a_column_that_lowers_l_for_all_is_named(browser: Browser, server: Server, page_folder: Path) -> None:
    """There is one l for all sensitive columns, and each shows how far it is protected."""
    often = pl.Series("smokes", ["no"] * 80 + ["yes"] * 20)
    skewed = hospital(100).select("age", "sex", "diagnosis").with_columns(often)
    skewed.write_csv(page_folder / "lowered.csv")
    visitor = Visitor(browser, server)
    visitor.take("lowered.csv")
    visitor.wait("document.getElementById('role_3')")
    visitor.enter("role_2", "sensitive")
    visitor.enter("role_3", "sensitive")
    visitor.use_columns()
    visitor.wait("document.getElementById('summary').textContent.includes('l = 1.11')")
    assert browser.run("return document.getElementById('l').value") == "1.11"
    hint = visitor.text("#hint-diverse")
    assert "80% of the records have the same value of smokes, so l is 1.11 for all columns." in hint
    assert "For l = 2, tick only diagnosis, and enter it." in hint
    summary = visitor.text("#summary")
    assert "smokes: l = 1.11 (at most 1.25 is achievable); at most 90% of a crowd have the same" in summary
    assert "diagnosis: l = 1.11 (at most" in summary
    assert browser.run("return document.getElementById('dangers')") is None
    # As the hint says: the other column gets more, and the lowering one has to be confirmed.
    browser.run("document.querySelector('#diverse input[value=diagnosis]').click()")
    visitor.enter("l", "2")
    visitor.wait("document.getElementById('dangers')?.textContent.includes('smokes is sensitive and not')")
    assert "diagnosis: l = 2 (at most" in visitor.text("#summary")
    assert "smokes: not protected" in visitor.text("#summary")
