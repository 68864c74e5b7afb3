"""The server of the page: local by default, protected by a token; it deletes its data when it stops."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

import uvicorn
from shiny import App

from shoal.errors import InputError, Reason
from shoal.files.private_folders import private_folder
from shoal.web import LOOPBACK
from shoal.web.app import application, inline_scripts
from shoal.web.guard import Guard, redirect_page
from shoal.web.messages import Conversation
from shoal.web.sessions import Sessions

LONGEST_SILENCE = 60
"""Seconds without an answer until a connection counts as lost: a busy machine may need half a minute."""


def serve(
    *,
    host: str = LOOPBACK,
    port: int = 0,
    shared: Path | None = None,
    most_bytes: int,
    kept_for: float = 3600,
    ready: Callable[[str, Path], None],
) -> None:
    """Serve the page until the process is stopped; first delete the data of servers that were killed.

    Parameters
    ----------
    host, port
        Where to listen; port 0 is any free port.
    shared
        Folder whose tables can be chosen; None for none.
    most_bytes
        Maximum size of a table.
    kept_for
        For how many seconds the work of a user is kept after the page was closed.
    ready
        Called as soon as the page can be opened, with its address, including the token, and with a private
        file that opens it in a browser without the token in an address or a command line.

    Raises
    ------
    InputError
        If the server cannot listen there.
    """
    token = secrets.token_urlsafe(32)
    with (
        closing(_listening(host, port)) as listening,
        _ending_by_hangup(),
        _for_us_alone(),
        private_folder(Path(tempfile.gettempdir(), "shoal-page")) as folder,
        _temporary_files_in(folder),
    ):
        taken = listening.getsockname()[1]
        sessions = Sessions(folder, most_bytes, shared, kept_for)
        page = _guarded(sessions, application(sessions, most_bytes, shared), host, taken, token, most_bytes)
        config = uvicorn.Config(
            page,
            log_level="warning",
            server_header=False,
            ws_max_size=1 << 22,
            ws_ping_timeout=LONGEST_SILENCE,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        address = _address(host, taken)
        opener = folder / "open.html"
        opener.write_text(redirect_page(address, token), encoding="utf-8")
        told = partial(ready, f"{address}/?token={token}", opener)
        asyncio.run(_Server(config, told, sessions).serve(sockets=[listening]))


def _guarded(sessions: Sessions, page: App, host: str, port: int, token: str, most_bytes: int) -> Guard:
    """Return the page behind its guard, with the permitted host names."""
    return Guard(
        page,
        token,
        hosts={"localhost", host.lower(), socket.gethostname().lower()} - {""},
        most_bytes=most_bytes,
        cookie=f"shoal-{port}",
        room=sessions.room,
        scripts=inline_scripts(page),
        messages=Conversation,
    )


def _address(host: str, port: int) -> str:
    """Return the address of the server, without a path."""
    shown = LOOPBACK if host in ("0.0.0.0", "::", "") else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Put all temporary files, also those of Shiny, in one folder, to be deleted with it."""
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = None


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is a loopback one."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Server(uvicorn.Server):
    """A server that calls a function when it listens, and deletes all data when it stops."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], sessions: Sessions) -> None:
        super().__init__(config)
        self._ready = ready
        self._sessions = sessions

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets=sockets)
        await self._sessions.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop properly also when the terminal is closed, not only by the signals of uvicorn."""
        with super().capture_signals():
            if not _handles_hangup():
                yield
                return
            before = signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, before)


@contextmanager
def _ending_by_hangup() -> Iterator[None]:
    """Turn the hangup signal into an exit, so that files are deleted."""
    if not _handles_hangup() or signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGHUP, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _handles_hangup() -> bool:
    """Return whether a closed terminal stops this process: not under nohup or without such signals."""
    return (
        hasattr(signal, "SIGHUP")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    )


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise SystemExit(128 + number)


@contextmanager
def _for_us_alone() -> Iterator[None]:
    """Make all files that are written meanwhile private, also those of worker processes."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error}; choose another host or port",
            reason=Reason.PARAMETER,
            parameter="port",
        ) from None
    return listening


def open_browser(opener: Path) -> None:
    """Open the page in the user's browser, by a file that leads there.

    Other users of the machine can see the command line of the browser, and must not see the token there.
    """
    webbrowser.open(opener.as_uri())
