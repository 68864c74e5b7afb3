"""The desks of all users: kept for a while after a page was closed or its connection was lost."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from shiny import Session

from shoal.web.state import Desk

MOST_TABLES = 4
"""All files of all users together may be as large as this number of tables of the maximum size."""


class Sessions:
    """All desks of a server, each under a key that only its own page knows.

    Parameters
    ----------
    folder
        A private folder; each desk gets a folder of its own in it.
    most_bytes
        Maximum size of a table.
    shared
        Folder whose files can be chosen; None for none.
    kept_for
        For how many seconds a desk is kept without a page.
    """

    def __init__(self, folder: Path, most_bytes: int, shared: Path | None, kept_for: float) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._shared = shared
        self._kept_for = kept_for
        self._desks: dict[str, Desk] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()  # the event loop keeps no reference to a task

    def open(self, session: Session, key: object, last_key: object = None) -> Desk:
        """Return the desk for a new page.

        Parameters
        ----------
        session
            The session of the page.
        key
            The key that this tab of the browser had before. Its desk is taken over even from another page:
            the server may not know yet that the page is gone.
        last_key
            The key that the browser had last, in any tab. Its desk is used only if no page shows it.
        """
        known, last = self._desk_of(key), self._desk_of(last_key)
        if known is None and last is not None and self._desks[last].session is None:
            known = last
        if known is None:
            known = secrets.token_urlsafe(32)
            folder = Path(tempfile.mkdtemp(prefix="session-", dir=self._folder))
            self._desks[known] = Desk(folder, self._most_bytes, self._shared)
        if known in self._timers:
            self._timers.pop(known).cancel()
        desk, own = self._desks[known], known
        desk.attach(session)
        desk.send("session", {"key": own})
        session.on_ended(lambda: self._leave(own, session))
        return desk

    def room(self) -> int:
        """Return how many bytes may be stored in addition, by all users together."""
        stored = 0
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with suppress(OSError):  # deleted meanwhile
                    stored += os.stat(os.path.join(folder, name)).st_size
        return MOST_TABLES * self._most_bytes - stored

    def end(self, desk: Desk) -> None:
        """Delete everything of a desk."""
        for key in [key for key, each in self._desks.items() if each is desk]:
            desk.send("ended", {})
            self._drop(key)

    async def close(self) -> None:
        """Delete everything of all desks, and wait until it is gone."""
        for key in list(self._desks):
            self._drop(key)
        await asyncio.gather(*self._ending)

    def _desk_of(self, key: object) -> str | None:
        return key if isinstance(key, str) and key in self._desks else None

    def _leave(self, key: str, session: Session) -> None:
        """Keep the desk of a closed page for a while; one without a table is deleted at once."""
        desk = self._desks.get(key)
        if desk is None or not desk.detach(session):
            return
        if desk.is_empty:
            self._drop(key)
            return
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(self._kept_for, self._drop, key)

    def _drop(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        task = asyncio.ensure_future(self._desks.pop(key).close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
