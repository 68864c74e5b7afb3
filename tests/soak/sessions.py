"""The campaign "sessions": a server of the page holds after 1,000 sessions no more than after 100.

Clients speak the protocol of the page themselves, without a browser; each has a small table of its own.
``tests/system/test_page_hundred_sessions.py`` looks for results that are lost or mixed up.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from drawing import Draw
from soaking import Campaign, Finding
from visitor import Forger, Server, running

from shoal.web.planning import SETTINGS

SESSIONS = int(os.environ.get("SHOAL_SESSIONS", "1000"))
"""The number of sessions of a case."""
FIRST = max(SESSIONS // 10, 1)
"""The number of sessions after which the server is looked at first."""
GROWTH = 30 * 2**20
"""By how many bytes its memory may have grown at the end."""
PATIENCE = 300
"""After how many seconds the last session must be gone."""
RELEASES = 0.05
"""The share of sessions that make a release; the others only look at their table."""


def case(draw: Draw, folder: Path) -> str:
    """Open sessions one after the other on one server, end or leave them, and look at the server.

    Raises
    ------
    Finding
        If it holds more files, threads, processes or folders at the end, or more memory.
    """
    tables, temporary = folder / "tables", folder / "temporary"
    tables.mkdir()
    temporary.mkdir()
    with running(tables, temporary, "--keep", "0") as server:
        held: list[dict[str, int]] = []
        for number in range(SESSIONS):
            visit(draw, server, number)
            if number + 1 in (FIRST, SESSIONS):
                held.append(holdings(server))
        first, after = held[0], held[-1]
    COUNTS["sessions"] += SESSIONS
    told = f"after {FIRST} and {SESSIONS} sessions: {first}, {after}"
    memory = after.pop("memory") - first.pop("memory")
    if memory > GROWTH or any(after[name] > first[name] for name in after):
        raise Finding(told)
    return told


def visit(draw: Draw, server: Server, number: int) -> None:
    """Upload a table, perhaps make a release, and end the session, leave it, or lose the connection."""
    rows = (f"{age},ill{age % 3} {number}" for age in range(20, 50))
    with Forger(server) as forger:
        forger.upload("\n".join(["age,illness", *rows]).encode())
        forger.listen("columns_done")
        if draw.random() < RELEASES:
            forger.update(role_0="quasi", role_1="sensitive")
            forger.press("columns_done")
            forger.listen("radiogroup")
            forger.update(**{**dict.fromkeys(SETTINGS, ""), "form": "csv", "keep_key": False})
            forger.update(model="freeform", k="3", l="2", p="", entropy_l="")
            forger.press("go")
            if "Audit passed" not in forger.listen("Audit passed"):
                raise Finding(f"session {number} has no release")
            COUNTS["runs"] += 1
        match draw.choice(["end", "end", "leave", "vanish"]):
            case "end":
                forger.press("end_session")
                forger.listen('"ended"')
            case "vanish":
                forger.vanish()


def holdings(server: Server) -> dict[str, int]:
    """Return what a server holds as soon as all its sessions are gone."""
    until = time.monotonic() + PATIENCE
    while left := list(server.temporary.glob("*/session-*")):
        if time.monotonic() > until:
            raise Finding(f"the folders of {len(left)} sessions are left")
        time.sleep(0.2)
    place = Path(f"/proc/{server.process.pid}")
    pages = int((place / "statm").read_text().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": len(os.listdir(place / "fd")),
        "threads": len(os.listdir(place / "task")),
        "processes": len(server.workers()),
    }


CAMPAIGN = Campaign("sessions", case, slice=0, by_name=True)
COUNTS = CAMPAIGN.counts
