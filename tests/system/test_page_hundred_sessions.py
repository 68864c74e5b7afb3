"""A hundred sessions of the page, opened, dropped, reloaded and killed at random moments.

No finished result is lost, no session sees the data of another one, and no file is left after the server and
its successor have run.
"""

from __future__ import annotations

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from visitor import Forger, Server, running

from shoal.web.planning import SETTINGS

SESSIONS = int(os.environ.get("SHOAL_SESSIONS", "100"))
AT_ONCE = 6
"""Number of sessions that are open at the same time."""
MOST_VISITS = 12
STEPS = ("upload", "use", "make")
WAITED_FOR = {"upload": "columns_done", "use": "radiogroup", "make": "Audit passed"}
"""What the page shows after each step."""


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
    finished: bool = False
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
    if not step or chance.random() < 0.4:
        forger.listen(seconds=chance.random() * 2)  # dropped in the middle of it
        return
    told = forger.listen(WAITED_FOR[step])
    if WAITED_FOR[step] in told:
        guest.done += 1
        guest.finished = step == "make"


def visit(guest: Guest, server: Server, chance: random.Random) -> None:
    """Open the page of a guest again, see that nothing is lost, and go on."""
    with Forger(server, guest.key) as forger:
        key = forger.key
        assert guest.key in ("", key)
        guest.key = key
        if guest.finished:
            assert "Audit passed" in "".join(forger.heard) + forger.listen("Audit passed"), guest
        elif guest.done:
            shown = WAITED_FOR[STEPS[0]]
            assert shown in "".join(forger.heard) + forger.listen(shown), guest
        act(guest, forger, chance)
        guest.heard += forger.heard


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


def live(guest: Guest, server: Server, seed: int) -> int:
    """Open, drop and reload the page of a guest until it is left for good; return how often it was opened."""
    chance = random.Random(f"{seed}-{guest.number}")
    for visits in range(1, MOST_VISITS):
        visit(guest, server, chance)
        if guest.finished and chance.random() < 0.7:
            visit(guest, server, chance)
            return visits + 1
        if chance.random() < 0.1:  # ended by its button
            end(guest, server)
            return visits
        if chance.random() < 0.1:
            return visits  # closed without a word
    return MOST_VISITS


@pytest.mark.campaign
def test_a_hundred_sessions(tmp_path: Path) -> None:
    seed = int(os.environ.get("SHOAL_SESSIONS_SEED", "1"))
    everyone = [Guest(number) for number in range(1, SESSIONS + 1)]
    folder, temporary = tmp_path / "tables", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    with running(folder, temporary, signal_number=signal.SIGKILL) as server:  # killed with desks full of work
        with ThreadPoolExecutor(AT_ONCE) as threads:
            visits = sum(threads.map(lambda guest: live(guest, server, seed), everyone))
        assert list(temporary.glob("*/session-*"))
    for guest in everyone:
        told = "".join(guest.heard)
        assert not [other.word for other in everyone if other is not guest and other.word in told]
    with running(folder, temporary) as successor:
        assert successor.ask("/")[0] == 200
    assert list(temporary.iterdir()) == []
    finished = sum(guest.finished for guest in everyone)
    print(f"{len(everyone)} sessions, opened {visits} times, {finished} finished results, none lost")
