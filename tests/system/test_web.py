"""The web page in a browser: which tables it takes, and that work ends with its page."""

from __future__ import annotations

import gzip
import http.client
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser import Browser
from visitor import PATIENCE, Forger, Server, Visitor, files_below, running, until

from shoal.samples import hospital

LIMIT = 4  # megabytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    hospital(200).write_csv(folder / "patients.csv")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--limit", str(LIMIT), "--keep", "0")
    with running(folder, tmp_path_factory.mktemp("temporary"), *options) as started:
        yield started


def test_a_file_of_the_folder_can_be_chosen(browser: Browser, server: Server) -> None:
    visitor = Visitor(browser, server)
    names = browser.run(
        "return [...document.querySelectorAll('#folder_file option')].map(each => each.value)"
    )
    assert names == ["", "patients.csv"]
    browser.run("Shiny.setInputValue('folder_file', '../../../etc/passwd')")
    visitor.enter("folder_file", "patients.csv")
    visitor.wait("document.querySelectorAll('.column').length === 10")
    assert visitor.text("#table-read h3").startswith("patients.csv")


def test_bad_files_are_refused_with_a_reason(browser: Browser, server: Server, tmp_path: Path) -> None:
    visitor = Visitor(browser, server)
    cases = {
        "ragged.csv": (b"a,b\n1,2\n3\n", "data", "line 3 has 1 field"),
        "book.csv": (b"PK\x03\x04" + bytes(100), "data", "zip archive or an Excel workbook"),
        "notes.docx": (b"a,b\n1,2\n", "upload", "The ending of notes.docx is not one of"),
        "bomb.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 2_000_000), "data", f"larger than {LIMIT} MB"),
    }
    for name, (content, field, words) in cases.items():
        (tmp_path / name).write_bytes(content)
        visitor.upload(tmp_path / name)
        visitor.wait(f"document.getElementById('problem-{field}').textContent.includes({words!r})")
    shown = browser.run("return [...document.querySelectorAll('.problem')].map(e => e.textContent).join('')")
    assert str(server.temporary) not in shown
    (tmp_path / "latin.csv").write_bytes("Straße;Zahl\nä;1\nö;2\n".encode("latin-1"))
    visitor.upload(tmp_path / "latin.csv")
    visitor.wait("document.getElementById('hint-encoding')?.textContent.includes('Windows-1252')")
    visitor.enter("encoding", "utf-8")
    assert "is not valid utf-8" in visitor.problem("encoding")
    visitor.enter("encoding", "latin-1")
    visitor.wait("document.querySelector('.preview th')?.textContent === 'Straße'")


def test_cancel_and_a_closed_tab_end_the_work(browser: Browser, server: Server, folder: Path) -> None:
    visitor = Visitor(browser, server)
    visitor.press("demo")
    visitor.use_columns()
    visitor.enter("effort", "best")
    visitor.enter("k", 100)
    visitor.go()
    until(lambda: len(server.workers()) == 1)
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    other = Visitor(browser, server)  # another user at the same time
    other.upload(folder / "patients.csv")
    other.use_columns()
    other.make(k=3)
    until(lambda: len(server.workers()) == 1)
    browser.driver.close()
    browser.driver.switch_to.window(first)
    assert browser.run("return document.getElementById('verdict')") is None
    visitor.press("cancel")
    visitor.wait("document.getElementById('progress').hidden && !document.getElementById('go').disabled")
    until(lambda: server.workers() == [])
    visitor.go()
    until(lambda: len(server.workers()) == 1)
    browser.run("window.addEventListener('beforeunload', e => e.stopImmediatePropagation(), true)")
    browser.driver.get("about:blank")
    until(lambda: server.workers() == [])
    until(lambda: not any(server.temporary.glob("*/session-*")))


def test_too_large_an_upload_is_cut_off(browser: Browser, server: Server, tmp_path: Path) -> None:
    visitor = Visitor(browser, server)
    large = tmp_path / "large.csv"
    large.write_bytes(b"a,b\n" + b"1,2\n" * (LIMIT * 250_000))
    visitor.upload(large)
    assert f"large.csv is larger than {LIMIT} MB" in visitor.problem("upload")
    # Who does not use the page's own script is refused as well, by the length told and by the length sent.
    script = """
    const done = arguments[arguments.length - 1];
    Shiny.shinyapp.makeRequest('uploadInit', [[{name: 'x.csv', size: 1, type: ''}]], told => {
      fetch(told.uploadUrl, {method: 'POST', body: new Blob([new Uint8Array(%d)])})
        .then(answer => answer.text().then(words => done([answer.status, words, told.uploadUrl])));
    }, error => done(['error', error, '']));
    """
    browser.driver.set_script_timeout(PATIENCE)
    status, words, address = browser.driver.execute_async_script(script % (LIMIT * 1_000_000 + 1))
    assert status == 413
    assert f"larger than {LIMIT} MB" in words
    piece = bytes(100_000)
    status, words = server.ask(
        f"/{address}",
        method="POST",
        body=(piece for _ in range(LIMIT * 10 + 1)),
        encode_chunked=True,
    )
    assert status == 413
    stored = sum(files_below(server.temporary).values())
    assert stored <= 2 * LIMIT * 1_000_000
    # Nor does a name lead out of the private folder.
    script = """
    const done = arguments[arguments.length - 1];
    Shiny.shinyapp.makeRequest('uploadInit', [[{name: '../../../x.csv', size: 8, type: ''}]], told => {
      fetch(told.uploadUrl, {method: 'POST', body: 'a,b\\n1,2\\n'}).then(() =>
        Shiny.shinyapp.makeRequest('uploadEnd', [told.jobId, 'upload'], done, done));
    }, done);
    """
    browser.driver.execute_async_script(script)
    visitor.wait("document.querySelector('#table-read h3')?.textContent.includes('x.csv')")
    assert not any(path.stat().st_mode & 0o077 for path in server.temporary.iterdir())
    assert not (server.temporary / "x.csv").exists()


def test_an_odd_cookie_of_another_server_locks_nobody_out(server: Server) -> None:
    for odd in ('odd={"a": [1]}', "a b=c", "=;,", "x=\xe4"):
        connection = http.client.HTTPConnection(server.place, timeout=PATIENCE)
        connection.request("GET", "/", headers={"Cookie": f"{odd}; {server.cookie}; last=1"})
        assert connection.getresponse().status == 200, odd
        connection.close()


def test_wide_tables_and_files_that_are_no_workbooks_are_refused_in_plain_words(server: Server) -> None:
    wide = "\n".join(",".join(f"{kind}{number}" for number in range(5_000)) for kind in "ab")
    with Forger(server) as forger:
        forger.upload(wide.encode(), "wide.csv")
        assert "wide.csv: the table has 5,000 columns" in forger.listen("5,000 columns")
        forger.upload(b"age,sex\n1,f\n", "text.xlsx")
        told = forger.listen("text.xlsx")
        assert "problems" in told
        forger.upload(b"day,sex\n" + b"30.02.2020,f\n" * 9 + b"31.12.2019,m\n", "dates.csv")
        told += forger.listen("columns_done")
        for word in ("--", "date_format", "missing_marks", "pass "):
            assert word not in told, word


def test_all_uploads_together_have_a_limit(folder: Path, tmp_path: Path) -> None:
    # Few rows: each server reads all of them.
    table = b"a,b\n" + (b"1" * 50 + b"," + b"2" * 44 + b"\n") * (LIMIT * 10_000)
    # A server of its own: files that a page of another test still has would count, too.
    with running(folder, tmp_path, "--limit", str(LIMIT), "--keep", "0") as server:
        with ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(Forger(server)).upload(table)
            last = stack.enter_context(Forger(server))
            with pytest.raises(AssertionError):  # the upload is answered with an error
                last.upload(table)
            stored = sum(files_below(tmp_path).values())
            assert stored <= 4 * LIMIT * 1_000_000
        with Forger(server) as again:
            until(lambda: not any(file.name == "table.csv" for file in files_below(tmp_path)))
            again.upload(table)  # there is room again
