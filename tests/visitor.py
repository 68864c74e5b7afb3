"""The page as a test sees it: a running `shoal ui`, a visitor with a browser, and one without."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from browser import Browser

SHOAL = [sys.executable, "-m", "shoal"]
PATIENCE = 300  # seconds until something surely went wrong, also on a busy machine
ROUNDS = 20  # questions to the server, after which a page that still changes is taken as it is


class Server:
    """A running `shoal ui`."""

    def __init__(self, process: subprocess.Popen[str], address: str, temporary: Path) -> None:
        self.process = process
        self.address = address
        self.temporary = temporary
        self.token = address.partition("token=")[2]
        self.place = urlsplit(address).netloc

    def ask(
        self, path: str, *, method: str = "GET", token: bool = True, **options: object
    ) -> tuple[int, str]:
        """Return status and text of an answer, asked for without a browser."""
        headers = {"Origin": f"http://{self.place}"}
        if token:
            headers["Cookie"] = self.cookie
        connection = http.client.HTTPConnection(self.place, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=headers, **options)  # type: ignore[arg-type]
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    @property
    def cookie(self) -> str:
        """The cookie that opens everything."""
        return f"shoal-{self.place.rpartition(':')[2]}={self.token}"

    def workers(self) -> list[int]:
        """Return the processes that work for it."""
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in told.split()]


@contextmanager
def running(
    folder: Path, temporary: Path, *options: str, signal_number: int = signal.SIGINT
) -> Iterator[Server]:
    """Run a server, end it by a signal, and see that it left nothing behind, unless it was killed.

    If a test fails meanwhile, the error also tells what the server complained about.
    """
    failure: Exception | None = None
    before = set(temporary.iterdir())
    process = subprocess.Popen(
        [*SHOAL, "ui", "--no-browser", "--folder", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        yield Server(process, address, temporary)
    except Exception as error:
        failure = error
        raise
    finally:
        process.send_signal(signal_number)
        process.wait(timeout=60)
        complaints = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        if failure is not None:
            failure.add_note(f"The server said: {complaints or 'nothing'}")
    assert "Traceback" not in complaints, complaints
    if signal_number != signal.SIGKILL:
        assert set(temporary.iterdir()) <= before  # nothing is left behind


class Visitor:
    """A user of the page."""

    def __init__(self, browser: Browser, server: Server, **look: object) -> None:
        self.browser = browser
        self.server = server
        browser.driver.get("about:blank")  # what the page before says when it is left is not ours
        browser.open(f"{server.address}#new", **look)  # type: ignore[arg-type]
        self.wait("window.Shiny && Shiny.shinyapp && Shiny.shinyapp.isConnected()")

    def wait(self, condition: str) -> None:
        """Wait until a condition is true on the page; if it never is, the error has what the page shows."""
        from selenium.common.exceptions import TimeoutException

        try:
            self.browser.wait(f"return {condition}", seconds=PATIENCE)
        except TimeoutException as error:
            shown = self.browser.run("return document.body.innerText")
            error.add_note(f"Waited for {condition}\nThe page shows:\n{shown}")
            raise

    def press(self, name: str) -> None:
        self.browser.run(f"document.getElementById({name!r}).click()")

    def enter(self, name: str, value: object) -> None:
        self.browser.run(
            f"const entry = document.getElementById({name!r}); entry.value = {json.dumps(value)};"
            "entry.dispatchEvent(new Event('change', {bubbles: true}));"
        )

    def upload(self, path: Path, field: str = "upload") -> None:
        self.browser.driver.find_element("id", field).send_keys(str(path))

    def take(self, name: str) -> None:
        """Choose a table of the folder, as soon as the page offers it."""
        offered = "[...(document.getElementById('folder_file')?.options ?? [])].map(each => each.value)"
        self.wait(f"{offered}.includes({json.dumps(name)})")
        self.enter("folder_file", name)

    def choose(self, model: str) -> None:
        self.browser.run(f"document.querySelector('input[name=model][value={json.dumps(model)}]').click()")

    def text(self, selector: str) -> str:
        return str(self.browser.run(f"return document.querySelector({selector!r}).textContent.trim()"))

    def problem(self, name: str) -> str:
        """Wait for something to be wrong with a field, and return what."""
        self.wait(f"document.getElementById('problem-{name}').textContent")
        return self.text(f"#problem-{name}")

    def use_columns(self) -> None:
        """Wait for a table, and take the suggestions."""
        self.wait("document.getElementById('columns_done')")
        self.press("columns_done")
        self.settle()  # fields of columns that were used before are gone now
        self.wait("document.getElementById('k') && document.getElementById('go')")

    def make(self, run: int = 1, **parameters: object) -> None:
        """Set parameters, and wait for a release."""
        for name, value in parameters.items():
            self.enter(name, value)
        self.go()
        self.wait(
            "document.getElementById('verdict') && document.getElementById('progress').hidden"
            + (f" && document.querySelectorAll('input[name=shown_run]').length === {run}" if run > 1 else "")
        )

    def settle(self) -> None:
        """Wait until the server has answered everything that was said so far, and nothing follows from it.

        What is drawn tells its values, and these may change what is drawn: a page is settled if its fields
        and parts are the same after two answers. Otherwise, a box beside warnings may appear too late.
        """
        script = """
        const done = arguments[arguments.length - 1];
        const parts = () => [...document.querySelectorAll('[id]')].map(each => each.id + each.hidden);
        const tell = () => {
            const before = window.settled;
            window.settled = JSON.stringify([parts(), Shiny.shinyapp.$inputValues]);
            done(window.settled === before);
        };
        Shiny.shinyapp.makeRequest('uploadInit', [[]], () => setTimeout(tell, 50), done);
        """
        self.browser.run("delete window.settled")
        for _ in range(ROUNDS):
            if self.browser.driver.execute_async_script(script) is True:
                return

    def go(self) -> None:
        """Start a run; tick the box beside the warnings, if there is one."""
        self.settle()
        self.browser.run(
            "const box = document.getElementById('confirmed'); if (box && !box.checked) box.click()"
        )
        self.press("go")

    def download(self, name: str) -> bytes:
        """Return the file behind a link, asked for with all cookies of the browser."""
        self.wait(f"document.getElementById({name!r}).getAttribute('href')")
        path = self.browser.run(f"return document.getElementById({name!r}).getAttribute('href')")
        cookies = "; ".join(f"{each['name']}={each['value']}" for each in self.browser.driver.get_cookies())
        connection = http.client.HTTPConnection(self.server.place, timeout=PATIENCE)
        try:
            connection.request("GET", f"/{path}", headers={"Cookie": cookies})
            answer = connection.getresponse()
            assert answer.status == 200
            return answer.read()
        finally:
            connection.close()


class Forger:
    """A client that has the token, and writes its own messages to the websocket.

    Parameters
    ----------
    server
        The server to talk to.
    key
        The key of an earlier session to continue.
    """

    OUTPUTS = (
        *("table_shown", "columns_shown", "columns_use", "identifying", "models_shown", "parameters_shown"),
        *("run_shown",),
        *("comparison_shown", "result_shown", "verdict_shown", "downloads_shown", "delta_shown"),
    )

    def __init__(self, server: Server, key: str = "") -> None:
        import websocket

        self.server = server
        self.heard: list[str] = []
        self._socket = websocket.create_connection(
            f"ws://{server.place}/websocket/",
            origin=f"http://{server.place}",
            cookie=server.cookie,
            timeout=PATIENCE,
        )
        self._tag = 0
        shown = {f".clientdata_output_{name}_hidden": False for name in self.OUTPUTS}
        fields = {".clientdata_url_search": "", "folder_file": "", "key": key}
        self.say({"method": "init", "data": {**shown, **fields}})

    def __enter__(self) -> Forger:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.close(timeout=1)
        self._socket.shutdown()  # also where the server has hung up

    def vanish(self) -> None:
        """Lose the connection without a word, as a machine does that is switched off."""
        connection = self._socket.sock
        if connection is None:  # the server was faster
            return
        with suppress(OSError):
            now = struct.pack("ii", 1, 0)  # data that was not sent is discarded
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            connection.close()

    @property
    def key(self) -> str:
        """The key under which the server keeps the session."""
        found = re.search(r'"session": ?\{"key": ?"([^"]+)"', "".join(self.heard) or self.listen('"session"'))
        assert found is not None
        return found[1]

    def say(self, message: object) -> None:
        """Send something; a text as it is."""
        self._socket.send(message if isinstance(message, str) else json.dumps(message))

    def update(self, **values: object) -> None:
        """Say what stands in fields."""
        self.say({"method": "update", "data": values})

    def press(self, name: str, times: int = 1) -> None:
        self.update(**{f"{name}:shiny.action": times})

    def listen(self, words: str = "", *, seconds: float = PATIENCE) -> str:
        """Return what is heard until it contains some words, the server hangs up, or time is over."""
        import websocket

        start, deadline = len(self.heard), time.monotonic() + seconds
        while time.monotonic() < deadline:
            # Shorter than the pause between pings of the server, which would make it wait on and on.
            self._socket.settimeout(min(5.0, max(0.01, deadline - time.monotonic())))
            try:
                told = self._socket.recv()
            except websocket.WebSocketTimeoutException:
                continue
            except (websocket.WebSocketConnectionClosedException, OSError):
                break
            if not told:
                break
            self.heard.append(told)
            if words and words in told:
                break
        return "".join(self.heard[start:])

    @property
    def connected(self) -> bool:
        """Whether the server still answers on this connection."""
        try:
            return f'"tag":{self._tag + 1}' in self.request("uploadInit", [], wait=False).replace(" ", "")
        except OSError:
            return False

    def request(self, method: str, *arguments: object, wait: bool = True) -> str:
        """Ask for something, and return the answer as it was written."""
        self._tag += 1
        self.say({"method": method, "args": arguments, "tag": self._tag})
        told = self.listen(f'"tag": {self._tag}', seconds=PATIENCE if wait else 10)
        assert "response" in told or not wait, told
        return told

    def upload(self, content: bytes, name: str = "table.csv", field: str = "upload") -> None:
        """Upload a file as the page does."""
        told = self.request("uploadInit", [{"name": name, "size": len(content), "type": ""}])
        found = re.search(r'"jobId": ?"(\w+)", ?"uploadUrl": ?"([^"]+)"', told)
        assert found is not None, told
        assert self.server.ask(f"/{found[2]}", method="POST", body=content)[0] == 200
        self.request("uploadEnd", found[1], field)


def until(condition: object) -> None:
    assert callable(condition)
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def files_below(folder: Path) -> dict[Path, int]:
    """Return the size of each file below a folder, from which a server may be removing others."""
    found: dict[Path, int] = {}
    for place, _, names in os.walk(folder):  # which passes over folders that have gone
        for name in names:
            with suppress(FileNotFoundError):
                found[Path(place, name)] = Path(place, name).stat().st_size
    return found
