"""Sessions of the page: they outlive a reload, a lost connection and a closed tab, and then end."""

from __future__ import annotations

import threading
import time
import webbrowser
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser import Browser
from visitor import Forger, Server, Visitor, running, until

from shoal.web.server import open_browser


@pytest.fixture(scope="module")
def server(page_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server of its own, whose sessions are counted."""
    with running(page_folder, tmp_path_factory.mktemp("temporary")) as started:
        yield started


def folders(server: Server) -> list[Path]:
    return list(server.temporary.glob("*/session-*"))


def test_a_reload_a_lost_connection_and_a_new_tab_show_the_same(browser: Browser, server: Server) -> None:
    visitor = Visitor(browser, server)
    visitor.enter("folder_file", "patients.csv")
    visitor.wait("document.getElementById('role_9')")
    visitor.enter("role_9", "quasi")
    visitor.use_columns()
    visitor.choose("k-anonymity")
    visitor.wait("document.querySelector('#method option[value=mondrian]')")
    visitor.make(k=4, l="", effort="fast")
    visitor.enter("question", "age 30..59")
    table = visitor.download("get_csv")

    def is_as_it_was() -> None:
        visitor.wait("document.getElementById('effort') && document.getElementById('question')")
        visitor.settle()
        assert visitor.text("#verdict").startswith("⚠ Audit passed")
        values = {name: browser.run(f"return document.getElementById({name!r}).value") for name in expected}
        assert values == expected
        assert (
            browser.run("return document.querySelector('input[name=model]:checked').value") == "k-anonymity"
        )
        assert browser.run("return document.getElementById('confirmed').checked")
        assert visitor.download("get_csv") == table
        assert browser.run("return document.getElementById('outdated')") is None
        assert browser.run("return document.getElementById('gone').hidden")

    expected = {"role_9": "quasi", "k": "4", "l": "", "effort": "fast", "question": "age 30..59"}
    browser.driver.refresh()
    is_as_it_was()
    browser.run("window.before = true; Shiny.shinyapp.$socket.close()")
    visitor.wait("!window.before")  # it loads itself again
    is_as_it_was()
    browser.driver.switch_to.new_window("tab")
    second = browser.driver.current_window_handle
    browser.driver.switch_to.window(browser.driver.window_handles[0])
    browser.driver.close()
    browser.driver.switch_to.window(second)
    until(lambda: not server.workers())
    browser.driver.get(f"http://{server.place}/")  # the browser still has the cookie
    is_as_it_was()
    assert len(folders(server)) == 1
    visitor.press("end_session")
    visitor.wait("!document.getElementById('gone').hidden")
    assert "its data has been deleted" in visitor.text("#gone-ended")
    until(lambda: not folders(server))
    browser.click("#gone-ended .reload")
    visitor.wait("document.getElementById('gone').hidden && document.querySelector('.waiting')")
    assert "Choose a table first" in visitor.text("#step-columns")


def test_a_copy_of_the_tab_takes_over(browser: Browser, server: Server) -> None:
    visitor = Visitor(browser, server)
    visitor.enter("folder_file", "patients.csv")
    visitor.wait("document.getElementById('columns_done')")
    first = browser.driver.current_window_handle
    key = browser.run("return Object.values(sessionStorage)[0]")
    with Forger(server, key) as other:
        assert "patients.csv" in other.listen("columns_done")
        visitor.wait("!document.getElementById('gone-elsewhere').hidden")
        assert browser.run("return document.getElementById('gone-lost').hidden")
    browser.click("#gone-elsewhere .reload")
    visitor.wait("document.getElementById('gone').hidden && document.getElementById('columns_done')")
    assert browser.driver.current_window_handle == first


def test_work_goes_on_without_a_page_and_no_other_session_sees_it(server: Server) -> None:
    with Forger(server) as forger:
        key = forger.key
        forger.update(folder_file="patients.csv")
        forger.listen("columns_done")
    assert server.workers() == []
    with Forger(server, key) as again:
        assert again.key == key
        told = "".join(again.heard) + again.listen("columns_done")
        assert "patients.csv" in told
        again.press("demo")
        until(lambda: len(server.workers()) == 1)
    until(lambda: server.workers() == [])  # the worker ended by itself
    with Forger(server, key) as again:
        assert "5,000 rows" in "".join(again.heard) + again.listen("5,000 rows")
    for wrong in ("", "x", key[:-1], key.upper()):
        with Forger(server, wrong) as other:
            assert other.key != key
            told = "".join(other.heard) + other.listen("Choose a table first")
            assert "columns_done" not in told
            assert "100 rows" not in told
    with Forger(server, key) as again:
        again.listen("columns_done")
        again.press("end_session")
        again.listen('"ended"')
    with Forger(server, key) as again:
        assert again.key != key


def test_a_session_without_a_page_ends_after_a_while(page_folder: Path, tmp_path: Path) -> None:
    with running(page_folder, tmp_path, "--keep", "0") as server:
        with Forger(server) as forger:
            forger.update(folder_file="patients.csv")
            forger.listen("columns_done")
            assert len(folders(server)) == 1
        until(lambda: not folders(server))


@pytest.mark.campaign
def test_a_page_that_is_silent_for_a_while_keeps_its_connection(server: Server) -> None:
    """As that of a machine on which other programs take all processors."""
    with Forger(server) as forger:
        assert forger.key
        time.sleep(50)  # the server asks every 20 seconds whether the page is there
        assert forger.connected


def test_it_opens_by_a_link_of_another_site_and_by_the_private_file(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    """`localhost` is another site than 127.0.0.1 for a browser."""
    (tmp_path / "index.html").write_text(f'<a href="{server.address}" id="link">Shoal</a>')
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("localhost", 0), partial(quiet, directory=str(tmp_path))) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        for way in ("link", "file"):
            browser.driver.get(f"http://{server.place}/assets/fish.svg")
            browser.driver.delete_all_cookies()
            if way == "link":
                browser.driver.get(f"http://localhost:{other.server_port}/")
                browser.click("#link")
            else:
                (opener,) = server.temporary.glob("*/open.html")
                assert opener.stat().st_mode & 0o777 == 0o600
                browser.driver.get(opener.as_uri())
            browser.wait("return window.Shiny && Shiny.shinyapp && Shiny.shinyapp.isConnected()")
            assert browser.run("return location.href") == f"http://{server.place}/"
        other.shutdown()


def test_the_browser_is_started_without_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    open_browser(tmp_path / "open.html")
    assert opened == [(tmp_path / "open.html").as_uri()]
