"""Three hundred columns on the page: pages, search, and a role for all that were found."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from browser import Browser
from visitor import Server, Visitor

from shoal.samples import hospital


def test_three_hundred_columns(browser: Browser, server: Server, page_folder: Path) -> None:
    patients = hospital(60)
    more = [pl.Series(f"q{number}", [(7 * row * number) % 5 for row in range(60)]) for number in range(290)]
    patients.with_columns(more).write_csv(page_folder / "wide.csv")
    visitor = Visitor(browser, server)
    visitor.take("wide.csv")
    visitor.wait("document.querySelectorAll('.column').length === 40")
    # Compact: ten columns or more on a screen of 900 pixels.
    assert browser.run("return document.querySelector('.cards').offsetHeight") < 40 * 900 / 10
    assert visitor.text("#columns-found").startswith("300 columns.")
    visitor.settle()
    visitor.enter("role_9", "identifier")  # stays so when it is not on the page
    visitor.enter("columns_search", "Q")
    visitor.wait("document.querySelector('.column h3').textContent === 'q0'")
    visitor.wait("document.getElementById('columns-found').textContent.includes('290 of 300 columns found.')")
    visitor.enter("bulk_role", "identifier")
    visitor.press("bulk_apply")
    visitor.wait("document.getElementById('said').textContent.startsWith('290 columns')")
    visitor.wait("document.getElementById('role_10')?.value === 'identifier'")
    visitor.enter("columns_page", "8")
    visitor.wait("document.getElementById('role_299')?.value === 'identifier'")
    visitor.enter("role_299", "sensitive")
    visitor.enter("columns_search", "")
    visitor.enter("columns_role", "sensitive")  # fewer pages than the one that was chosen
    visitor.wait("document.querySelectorAll('.column').length === 2")
    visitor.enter("role_299", "other")
    visitor.enter("weight_8", "heavy")
    visitor.enter("columns_role", "person")
    visitor.wait("document.querySelectorAll('.column').length === 0")
    visitor.press("columns_done")
    assert "diagnosis: heavy is not a number" in visitor.problem("columns")
    visitor.enter("columns_role", "")
    visitor.wait("document.getElementById('weight_8')?.value === 'heavy'")
    visitor.enter("weight_8", "2")
    visitor.use_columns()
    visitor.make(k=3)
    header = visitor.download("get_csv").decode().splitlines()[0].split(",")
    assert header == ["age", "sex", "zip", "admitted", "marital", "occupation", "diagnosis", "q289"]
    assert not browser.complaints()
