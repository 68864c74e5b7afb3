"""The step that attacks a release: without a control group, with one, and after a reload."""

from __future__ import annotations

import json
import re

from browser import Browser
from visitor import Server, Visitor

SHARE = r"(less than |more than )?[0-9.]+%"
RATE = re.compile(rf"{SHARE} \({SHARE} to {SHARE}\)")


def lines(visitor: Visitor) -> list[list[str]]:
    """Return the cells of the table of attacks."""
    script = """
    return [...document.querySelectorAll('#attacks-found tbody tr')].map(
      (row) => [...row.cells].map((cell) => cell.textContent));
    """
    return list(visitor.browser.run(script))


def test_a_release_is_attacked_without_and_with_a_control_group(browser: Browser, server: Server) -> None:
    visitor = Visitor(browser, server)
    assert visitor.text("nav [data-step=attack]") == "Attack it"
    visitor.wait("document.getElementById('step-attack').textContent.includes('Make a release first')")
    visitor.take("patients.csv")
    visitor.use_columns()
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(k=4)
    visitor.wait("document.getElementById('attack_go')")
    visitor.press("attack_go")
    visitor.wait("document.querySelector('#attacks-found table')")
    alone = lines(visitor)
    titles = ["singling out", "singling out, narrowed cells", "linkability", "inference of diagnosis"]
    assert [line[0] for line in alone] == titles
    assert {line[2] for line in alone} == {"no control group"}
    assert all(RATE.fullmatch(line[place]) for line in alone for place in (1, 3, 4)), alone
    assert visitor.text("#attack-command") == "shoal attack patients.csv release"
    assert visitor.text("#most-gained")
    assert visitor.text("nav [data-step=attack]") == "Attack it (done)"
    # What was found is kept with the run.
    browser.driver.refresh()
    visitor.wait("document.querySelector('#attacks-found table')")
    assert lines(visitor) == alone
    # The control group is held out before another release is made, with the same settings.
    visitor.wait("document.getElementById('hold_out_go')")
    visitor.settle()
    visitor.press("hold_out_go")
    visitor.wait("document.querySelectorAll('input[name=shown_run]').length === 2")
    visitor.wait("document.getElementById('step-attack').textContent.includes('Run 2 has a control group')")
    assert browser.run("return document.getElementById('hold_out').value") == "20%"
    held = lines(visitor)
    assert all(RATE.fullmatch(cell) for line in held for cell in line[1:]), held
    assert "control group of 20 records" in visitor.text("#attacks-found")
    assert browser.run("return document.getElementById('attacks')") is None  # not in the result as well
    found = json.loads(visitor.download("get_certificate_json"))["attacks"]
    assert [each["title"] for each in found["results"]] == [line[0] for line in held]
    # A run that was made with other settings is attacked, but not made again with those on the page.
    browser.run("document.querySelector('input[name=shown_run]').click()")
    visitor.wait("document.getElementById('attack_go')")
    visitor.wait("!document.getElementById('hold_out_go')")
    assert lines(visitor) == alone
    assert not browser.complaints()
