"""A hundred sessions of the page, opened, dropped, reloaded and killed at random moments.

Several servers run one after the other, and each is killed while sessions are at work. No finished result is
lost while its server runs, work goes on without a page, no session sees the data of another one, and no file
is left after a server and its successor have run.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest
from visitor import Forger, Server, running

from shoal.web.planning import SETTINGS

SESSIONS = int(os.environ.get("SHOAL_SESSIONS", "100"))
AT_ONCE = 6
"""Number of sessions that are open at the same time."""
MOST_ON_A_SERVER = 30
"""Maximum number of sessions that are over before their server is killed."""
MOST_VISITS = 12
STEPS = ("upload", "use", "make")
WAITED_FOR = {"upload": "columns_done", "use": "radiogroup", "make": "Audit passed"}
"""What the page shows after each step."""
AT_WORK = re.compile(r'"busy": ?true')
"""What the server says while a task runs."""


@dataclass
class Guest:
    """A session, and how far it has come.

    Parameters
    ----------
    number
        1, 2, 3, ...; its table contains a word that no other has.
    """

    number: int
    key: str = ""
    done: int = 0
    started: bool = False
    finished: bool = False
    ended: bool = False
    killed: bool = False
    visits: int = 0
    heard: list[str] = field(default_factory=list)

    @property
    def word(self) -> str:
        return f"guest{self.number:03}word"

    @property
    def table(self) -> bytes:
        rows = (f"{age},{self.word}{age % 3}" for age in range(20, 50))
        return "\n".join(["age,illness", *rows]).encode()


def act(guest: Guest, forger: Forger, chance: random.Random) -> None:
    """Do the next step of a guest on an open page; wait for its end, or leave at a random moment."""
    step = STEPS[guest.done] if guest.done < len(STEPS) else ""
    if step == "upload":
        forger.upload(guest.table)
    elif step == "use":
        forger.update(role_0="quasi", role_1="sensitive")
        forger.press("columns_done")
    elif step == "make":
        forger.update(**{**dict.fromkeys(SETTINGS, ""), "form": "csv", "keep_key": False})
        forger.update(model="freeform", k="3", l="2", p="", entropy_l="")
        forger.press("go")
    if not step or chance.random() < 0.4:  # dropped in the middle of it
        told = forger.listen(seconds=chance.random() * 2)
        guest.started = step == "make" and AT_WORK.search(told) is not None
        return
    told = forger.listen(WAITED_FOR[step])
    if WAITED_FOR[step] in told:
        guest.done += 1
        guest.finished = step == "make"


def visit(guest: Guest, server: Server, chance: random.Random) -> None:
    """Open the page of a guest again, see that nothing is lost, and go on."""
    guest.visits += 1
    with Forger(server, guest.key) as forger:
        key = forger.key
        assert guest.key in ("", key), guest
        guest.key = key
        if guest.started or guest.finished:  # a run goes on without a page
            assert "Audit passed" in "".join(forger.heard) + forger.listen("Audit passed"), guest
            guest.done, guest.started, guest.finished = len(STEPS), False, True
        elif guest.done:
            shown = WAITED_FOR[STEPS[0]]
            assert shown in "".join(forger.heard) + forger.listen(shown), guest
        act(guest, forger, chance)
        guest.heard += forger.heard
        if chance.random() < 0.3:
            forger.vanish()


def end(guest: Guest, server: Server) -> None:
    """End a session by its button; again if the connection is lost before the server has said so."""
    for _ in range(3):
        with Forger(server, guest.key) as forger:
            forger.press("end_session")
            told = forger.listen('"ended"')
            guest.heard += forger.heard
        if '"ended"' in told:
            break
    else:
        raise AssertionError("the button that ends a session does nothing")
    with Forger(server, guest.key) as forger:
        assert forger.key != guest.key
    guest.ended = True


def live(guest: Guest, server: Server, chance: random.Random) -> None:
    """Open, drop and reload the page of a guest until it is left for good."""
    while guest.visits < MOST_VISITS:
        visit(guest, server, chance)
        if guest.finished and chance.random() < 0.7:
            visit(guest, server, chance)
            return
        if chance.random() < 0.1:  # ended by its button
            end(guest, server)
            return
        if chance.random() < 0.1:  # closed without a word
            return


def serve(guests: list[Guest], server: Server, seed: int) -> list[Guest]:
    """Let guests come until the server is killed at a random moment; return those who have not come yet."""
    from websocket import WebSocketException

    killed = threading.Event()

    def come(guest: Guest) -> None:
        try:
            live(guest, server, random.Random(f"{seed}-{guest.number}"))
        except (AssertionError, OSError, http.client.HTTPException, WebSocketException):
            if not killed.is_set():
                raise
            guest.killed = True

    chance = random.Random(f"{seed}-{guests[0].number}-server")
    most = min(chance.randrange(1, MOST_ON_A_SERVER), len(guests))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        coming: dict[Future[None], Guest] = {threads.submit(come, guest): guest for guest in guests}
        for over in islice(as_completed(coming), most):
            over.result()
        time.sleep(chance.random() * 2)
        killed.set()
        server.process.kill()
        threads.shutdown(cancel_futures=True)
    for over in coming:
        if not over.cancelled():
            over.result()
    return [guest for over, guest in coming.items() if over.cancelled()]


@pytest.mark.campaign
def test_a_hundred_sessions(tmp_path: Path) -> None:
    seed = int(os.environ.get("SHOAL_SESSIONS_SEED", "1"))
    everyone = [Guest(number) for number in range(1, SESSIONS + 1)]
    folder, temporary = tmp_path / "tables", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    waiting, servers, left = everyone, 0, 0
    while waiting:
        with running(folder, temporary, signal_number=signal.SIGKILL) as server:
            (own,) = (each for each in temporary.iterdir() if each.is_dir())
            assert not list(own.glob("session-*"))  # those of the server before are gone
            waiting = serve(waiting, server, seed)
        left += len(list(temporary.glob("*/session-*")))
        servers += 1
    assert left
    with running(folder, temporary) as successor:
        assert successor.ask("/")[0] == 200
        assert list(temporary.glob("*/session-*")) == []
    assert list(temporary.iterdir()) == []
    for guest in everyone:
        told = "".join(guest.heard)
        assert not [other.word for other in everyone if other is not guest and other.word in told]
    assert all(guest.visits for guest in everyone)
    names = ("visits", "finished", "ended", "killed")
    counts = {name: sum(getattr(guest, name) for guest in everyone) for name in names}
    print(f"{SESSIONS} sessions on {servers} servers, {left} of them left to their successors: {counts}")
