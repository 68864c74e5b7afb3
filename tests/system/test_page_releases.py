"""The web page in a browser: from a file to a release, for everyone, and what the page shows of it."""

from __future__ import annotations

import gzip
import io
import json
import re
import shlex
import time
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest
from browser import Browser
from calling import called
from visitor import PATIENCE, Server, Visitor, running

from benchmarks.enlarging import enlarge
from shoal.files.reading import read_table
from shoal.samples import hospital


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    hospital(200).write_csv(tmp_path / "patients.csv")
    return tmp_path / "patients.csv"


def check(visitor: Visitor, tmp_path: Path, table: Path) -> None:
    """Download everything, audit it with the command line, and repeat it by the exported command."""
    packed = zipfile.ZipFile(io.BytesIO(visitor.download("get_everything")))
    packed.extractall(tmp_path)
    given = tmp_path / "release"
    certificate = json.loads((given / "certificate.json").read_text())
    assert visitor.download("get_csv") == (given / "release.csv").read_bytes()
    assert visitor.download("get_schema_toml") == (given / "schema.toml").read_bytes()
    model = certificate["model"]
    asked = [word for name in ("k", "l") if name in model for word in (f"--{name}", str(model[name]))]
    described = ("--schema", str(given / "schema.toml"), "--model", model["name"], *asked)
    called(tmp_path, "audit", str(table), str(given / "release.csv"), *described)
    again = tmp_path / "again"
    again.mkdir()
    (again / table.name).write_bytes(table.read_bytes())
    (again / "schema.toml").write_bytes((given / "schema.toml").read_bytes())
    command = visitor.text("#command")
    # The seed is on the screen, and in no file.
    public = re.sub(r" --seed \d+", "", command)
    assert public != command
    assert public == (given / "repeat.sh").read_text().splitlines()[-1]
    assert "seed=" in visitor.text("#script")
    assert "seed=" not in (given / "repeat.py").read_text().partition("import shoal")[2]
    called(again, *shlex.split(command)[1:])
    repeated = json.loads((again / "release" / "certificate.json").read_text())
    assert repeated["model"] == model
    assert repeated["loss"] == certificate["loss"]
    assert (again / "release" / "release.csv").read_bytes() == (given / "release.csv").read_bytes()


def test_from_an_upload_to_an_audited_release(
    browser: Browser, server: Server, patients: Path, tmp_path: Path
) -> None:
    table = tmp_path / "patients.csv.gz"
    table.write_bytes(gzip.compress(patients.read_bytes()))
    visitor = Visitor(browser, server)
    assert "token" not in browser.run("return location.href")
    visitor.upload(table)
    visitor.use_columns()
    assert "200 rows, 10 columns" in visitor.text("#table-read h3")
    assert visitor.text("#step-data .preview tbody td").startswith("P-")
    roles = browser.run("return [...document.querySelectorAll('[id^=role_]')].map(each => each.value)")
    assert roles[:3] == ["identifier", "identifier", "quasi"]
    assert browser.run("return document.querySelectorAll('.bars li').length") > 3
    assert browser.run("return document.querySelector('input[name=model]:checked').value") == "freeform"
    assert browser.run("return document.getElementById('k').max") == "200"
    visitor.make(k=5, seed="11")
    assert "Do not publish" in visitor.text("#verdict")
    assert "made from a seed" in visitor.text("#verdict")
    titles = browser.run("return [...document.querySelectorAll('.report h3')].map(each => each.textContent)")
    assert len(titles) > 6
    assert browser.run("return document.querySelectorAll('.report svg').length") > 6
    assert browser.run("return document.getElementById('get_key')") is None
    check(visitor, tmp_path, table)
    assert browser.complaints() == []
    assert {urlsplit(address).netloc for address in browser.requests()} == {server.place}


def test_made_up_patients_and_runs_side_by_side(browser: Browser, server: Server, tmp_path: Path) -> None:
    visitor = Visitor(browser, server)
    visitor.press("demo")
    visitor.use_columns()
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(k=10, seed="1")
    visitor.make(run=2, k=50, seed="1")
    head = browser.run(
        "return [...document.querySelectorAll('.comparison thead th')].map(e => e.textContent.trim())"
    )
    assert head == ["Run 1", "Run 2"]
    assert visitor.text(".comparison tbody tr td").startswith("k-anonymity, k = 10")
    assert "--k 50" in visitor.text("#command")
    browser.run("document.querySelector('input[name=shown_run][value=\"1\"]').click()")
    visitor.wait("document.getElementById('command').textContent.includes('--k 10 ')")
    table = tmp_path / "patients.csv"
    table.write_bytes(visitor.download("get_demo"))
    check(visitor, tmp_path, table)


def test_a_release_is_used_on_the_page(
    browser: Browser, server: Server, patients: Path, tmp_path: Path
) -> None:
    """Answers and tables are those of the commands that are shown beside them."""
    visitor = Visitor(browser, server)
    visitor.upload(patients)
    visitor.use_columns()
    visitor.make(k=5)
    visitor.enter("question", "age 30..59, sex=female")
    visitor.press("ask")
    visitor.wait("document.getElementById('answer')")
    zipfile.ZipFile(io.BytesIO(visitor.download("get_everything"))).extractall(tmp_path)
    command = visitor.text("#query-command")
    done = called(tmp_path, *shlex.split(command)[1:])
    for name, words in zip(
        browser.run("return [...document.querySelectorAll('#answer dt')].map(each => each.textContent)"),
        browser.run("return [...document.querySelectorAll('#answer dd')].map(each => each.textContent)"),
        strict=True,
    ):
        assert re.search(rf"{re.escape(name)} +{re.escape(words)}", done.stdout)
    visitor.enter("question", "age 30..59")
    visitor.enter("by", "sex")
    visitor.press("ask")
    visitor.wait("document.querySelector('#answer table')")
    assert "female" in visitor.text("#answer table")
    visitor.enter("question", "sexx=female")
    visitor.press("ask")
    assert "did you mean 'sex'" in visitor.problem("question")
    visitor.press("write_tables")
    visitor.wait("document.getElementById('tables')")
    tables = zipfile.ZipFile(io.BytesIO(visitor.download("get_tables")))
    assert tables.namelist() == [f"drawn-{number}.csv" for number in range(1, 6)]
    drawn = pl.read_csv(tables.read("drawn-1.csv"))
    assert drawn.height == 200
    assert drawn["age"].dtype == pl.Int64
    assert not browser.complaints()


def test_titles_and_numbers_of_a_file_can_be_described(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    visitor = Visitor(browser, server)
    lines = "".join(f"1.{number:03},5;{20 + number}\n" for number in range(40))
    (tmp_path / "umsatz.csv").write_text(f"Titel\nUmsatz;Alter\n{lines}")
    visitor.upload(tmp_path / "umsatz.csv")
    assert "skip the rows above the header" in visitor.problem("data")
    visitor.enter("skipped", "1")
    visitor.wait("document.querySelector('.preview th')?.textContent === 'Umsatz'")
    visitor.wait("document.querySelector('.column .reason')?.textContent.includes(\"decimal ','\")")
    visitor.enter("numbers", ",.")
    visitor.wait("document.getElementById('kind_0')?.value === 'numeric'")
    assert visitor.text("#step-data .preview tbody td") == "1000.5"


def test_a_promise_that_cannot_be_kept_comes_with_advice(
    browser: Browser, server: Server, patients: Path
) -> None:
    visitor = Visitor(browser, server)
    visitor.upload(patients)
    visitor.use_columns()
    possible = float(browser.run("return document.getElementById('l').max"))
    visitor.enter("l", 150)
    visitor.go()
    assert f"at most l = {possible:g}" in visitor.problem("l")
    assert browser.run("return document.getElementById('l').getAttribute('aria-invalid')") == "true"
    visitor.enter("l", "")
    visitor.enter("k", 201)
    visitor.go()
    assert "it can be 200 at most" in visitor.problem("k")
    assert visitor.text("#problem-l") == ""
    visitor.choose("dissimilarity")
    visitor.wait("document.getElementById('epsilon')")
    visitor.enter("epsilon", 0)
    visitor.press("advise")
    visitor.wait("document.querySelector('#delta_shown table')")


def test_html_in_names_and_values_is_text(browser: Browser, server: Server, tmp_path: Path) -> None:
    evil = "<img src=x onerror=window.hacked=1>"
    frame = hospital(60).select("age", "sex", "diagnosis")
    frame = frame.rename({"sex": f"sex{evil}"}).with_columns(diagnosis=evil + pl.col("diagnosis"))
    frame.write_csv(tmp_path / "<script>window.hacked=1<&.csv")
    visitor = Visitor(browser, server)
    visitor.upload(tmp_path / "<script>window.hacked=1<&.csv")
    visitor.wait("document.querySelectorAll('.column').length === 3")
    visitor.enter("role_1", "quasi")
    visitor.enter("role_2", "sensitive")
    visitor.use_columns()
    visitor.make(k=3, l="")
    assert visitor.text("#table-read h3").startswith("<script>window.hacked=1<&.csv")
    assert evil in visitor.text(".column:nth-child(2) h3")
    assert evil in visitor.text(".report:has(> .tiles)")
    assert browser.run("return window.hacked") is None
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.complaints() == []


def test_the_key_is_offered_only_to_those_who_ask(browser: Browser, server: Server, patients: Path) -> None:
    visitor = Visitor(browser, server)
    visitor.upload(patients)
    visitor.use_columns()
    assert "re-identifies every row" in visitor.text("#hint-keep_key")
    visitor.press("keep_key")
    visitor.make(k=3)
    assert visitor.download("get_key").startswith(b"released_row,original_row\n")
    assert "do not pass it on" in visitor.text("#downloads_shown .notice.alert")


def test_everybody_can_use_it(browser: Browser, server: Server, patients: Path) -> None:
    visitor = Visitor(browser, server)
    visitor.upload(patients)
    visitor.use_columns()
    browser.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert browser.run("return document.documentElement.lang") == "en"
    unnamed = """
    return [...document.querySelectorAll('input, select, button')].filter(entry => entry.offsetParent &&
      !entry.textContent.trim() && !entry.labels?.length && !entry.getAttribute('aria-label'))
      .map(entry => entry.outerHTML);
    """
    for width, dark in ((1100, False), (380, False), (380, True), (1100, True)):
        browser.show(width=width, dark=dark)
        browser.wait(f"return innerWidth === {width}")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        assert browser.run(unnamed) == []
        background = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) < 200) is dark
    names = browser.run("return [...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(names) == len(set(names))
    assert browser.complaints() == []


def test_the_keyboard_is_enough(browser: Browser, server: Server) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    visitor = Visitor(browser, server)

    def pressuntil(name: str, key: str = Keys.TAB, most: int = 120) -> None:
        for _ in range(most):
            ActionChains(browser.driver).send_keys(key).perform()
            if browser.run("return document.activeElement.id") == name:
                return
        raise AssertionError(f"{name} is never reached")

    pressuntil("demo")
    ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
    visitor.wait("document.getElementById('columns_done')")
    pressuntil("columns_done")
    ActionChains(browser.driver).send_keys(Keys.SPACE).perform()
    visitor.wait("document.getElementById('k') && document.getElementById('go')")
    visitor.wait("document.activeElement.closest('#step-promise')")
    ActionChains(browser.driver).send_keys(Keys.TAB, Keys.ARROW_RIGHT).perform()
    assert browser.run("return document.querySelector('input[name=model]:checked').value") == "k-anonymity"
    pressuntil("go")


@pytest.mark.campaign
def test_adult_from_file_to_release(
    browser: Browser, server: Server, shared_data: Path, tmp_path: Path
) -> None:
    table = tmp_path / "adult.csv.gz"
    table.write_bytes((shared_data / "adult_train.csv.gz").read_bytes())
    visitor = Visitor(browser, server)
    visitor.upload(table)
    visitor.use_columns()
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(k=10, l="", seed="5")
    (tmp_path / "all").mkdir()
    check(visitor, tmp_path / "all", table)
    browser.driver.get("about:blank")


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100_000, pytest.param(1_000_000, marks=pytest.mark.campaign)])
def test_the_page_answers_while_it_works_on_many_rows(
    rows: int, browser: Browser, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = tmp_path / "large.csv"
    # A million rows are 100 MB: what others may know, a diagnosis, and a remark.
    frame = enlarge(hospital(20_000).drop("patient", "name"), rows, numeric={"age": 5, "days": 3}, seed=1)
    frame.with_columns(remark=pl.lit("x" * 50)).write_csv(table)
    assert table.stat().st_size > 100 * rows
    with running(tmp_path, tmp_path_factory.mktemp("temporary")) as server:
        visitor = Visitor(browser, server)
        visitor.upload(table)
        waits = _answers_while(visitor, "document.getElementById('columns_done')")
        visitor.press("columns_done")
        waits += _answers_while(visitor, "document.getElementById('k')")
        visitor.choose("k-anonymity")
        visitor.wait("document.querySelector('#method option[value=mondrian]')")
        visitor.enter("l", "")
        visitor.go()
        waits += _answers_while(visitor, "document.getElementById('verdict')")
        assert len(waits) > 5
        assert sorted(waits)[len(waits) // 2] < 1
        assert read_table(_saved(tmp_path, visitor.download("get_csv"))).height == rows
        browser.driver.get("about:blank")


def _answers_while(visitor: Visitor, condition: str) -> list[float]:
    """Return how long the server took to answer, time and again, until a condition holds."""
    script = """
    const done = arguments[arguments.length - 1], began = performance.now();
    Shiny.shinyapp.makeRequest('uploadInit', [[]], () => done(performance.now() - began), done);
    """
    waits, until = [], time.monotonic() + 2 * PATIENCE
    while not visitor.browser.run(f"return Boolean({condition})"):
        assert time.monotonic() < until
        waits.append(visitor.browser.driver.execute_async_script(script) / 1000)
        time.sleep(0.2)
    return waits


def _saved(folder: Path, content: bytes) -> Path:
    (folder / "release.csv").write_bytes(content)
    return folder / "release.csv"
