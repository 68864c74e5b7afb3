"""What once went wrong on the page: settings that were reset, focus, words, and what is compared."""

from __future__ import annotations

from pathlib import Path

from browser import Browser
from visitor import Server, Visitor

from shoal.samples import hospital


def value(browser: Browser, name: str) -> object:
    return browser.run(f"return document.getElementById({name!r}).value")


def test_settings_and_runs_survive_new_columns_and_another_reading(
    browser: Browser, server: Server, page_folder: Path, tmp_path: Path
) -> None:
    people = "".join(f"{20 + n},f,x\n" for n in range(20))
    (page_folder / "other.csv").write_text(f"age,sex,remark\n{people}")
    visitor = Visitor(browser, server)
    visitor.take("patients.csv")
    visitor.use_columns()
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(k=4, l="1.5", effort="fast", seed="7")
    visitor.enter("role_9", "identifier")
    visitor.wait("!document.getElementById('go')")  # the fields before the edit are gone
    visitor.use_columns()
    visitor.settle()
    kept = {name: value(browser, name) for name in ("k", "l", "effort", "seed")}
    assert kept == {"k": "4", "l": "1.5", "effort": "fast", "seed": "7"}
    assert browser.run("return document.querySelector('input[name=model]:checked').value") == "k-anonymity"
    visitor.make(run=2)
    comparison = " ".join(visitor.text("#comparison_shown").split())
    assert "These runs have different tables or columns" in comparison
    assert "columns that differ from the first run days" in comparison
    # Another reading of the file keeps the runs, and says that they are of another one.
    visitor.enter("encoding", "latin-1")
    visitor.wait("!document.getElementById('k')")
    visitor.use_columns()
    assert browser.run("return document.querySelectorAll('input[name=shown_run]').length") == 2
    assert value(browser, "role_9") == "identifier"
    browser.run("document.querySelector('input[name=shown_run]').click()")
    visitor.wait("document.querySelector('#verdict.broken')")
    visitor.wait("document.getElementById('outdated_shown')?.textContent.includes('other settings')")
    # A hierarchy file belongs to one table.
    levels = tmp_path / "levels.csv"
    levels.write_text("f;*\n")
    browser.driver.find_element("id", "levels_1").send_keys(str(levels))
    visitor.enter("hierarchy_1", "file")
    visitor.settle()
    visitor.take("other.csv")
    visitor.wait("document.querySelectorAll('.column').length === 3")
    visitor.enter("role_1", "quasi")
    visitor.enter("hierarchy_1", "file")
    visitor.press("columns_done")
    assert "Choose the hierarchy file" in visitor.problem("hierarchy_1")
    hospital(30).write_csv(page_folder / "later.csv")
    visitor.wait(
        "[...document.getElementById('folder_file').options].some(each => each.value === 'later.csv')"
    )
    assert not browser.complaints()


def test_focus_words_and_places(browser: Browser, server: Server) -> None:
    visitor = Visitor(browser, server, width=390)
    assert visitor.text("nav [aria-current=step]") == "Data"
    visitor.press("demo")
    visitor.use_columns()
    visitor.enter("effort", "best")
    visitor.enter("k", "100")
    visitor.settle()
    browser.run("document.getElementById('go').focus()")
    visitor.go()
    visitor.wait("!document.getElementById('progress').hidden")
    assert browser.run("return document.activeElement.id") == "go"
    browser.run("document.getElementById('cancel').focus(); document.getElementById('cancel').click()")
    visitor.wait("document.getElementById('said').textContent.startsWith('Cancelled')")
    visitor.wait("document.getElementById('progress').hidden")
    assert browser.run("return document.activeElement.id") == "go"
    # The list of steps follows, also on a phone.
    visitor.wait("document.querySelector('nav [aria-current=step]').dataset.step !== 'data'")
    inside = """
    const link = document.querySelector('nav [aria-current]').getBoundingClientRect();
    return link.left >= 0 && link.right <= innerWidth;
    """
    assert browser.run(inside)
    browser.run("document.querySelector('nav ol').scrollLeft = 0")
    browser.show(width=391)  # turned or resized
    visitor.wait(f"(() => {{ {inside} }})()")
    assert visitor.text("nav [data-step=columns]") == "Columns (done)"
    # Screen readers are told what is short, not whole reports.
    loud = browser.run(
        "return [...document.querySelectorAll('.shiny-html-output:not([aria-live=off])')].map(e => e.id)"
    )
    short = {
        "dangers_shown",
        "verdict_shown",
        "outdated_shown",
        "answer_shown",
        "tables_shown",
        "attack_words",
    }
    assert set(loud) <= short | {"columns_found", "trying_words", "cost_shown", "together_shown"}
    assert not browser.complaints()
