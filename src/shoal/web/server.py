"""The server of the page: on this machine only, behind a token, gone without a trace when it ends."""

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
from pathlib import Path
from types import FrameType
from typing import NoReturn

import uvicorn
from shiny import App

from shoal.errors import InputError, Reason
from shoal.files.private_folders import private_folder
from shoal.web import LOOPBACK
from shoal.web.app import application, inline_scripts
from shoal.web.guard import Guard
from shoal.web.messages import Conversation


def serve(
    *,
    host: str = LOOPBACK,
    port: int = 0,
    shared: Path | None = None,
    most_bytes: int,
    ready: Callable[[str], None],
) -> None:
    """Serve the page until the process is told to end; first remove what servers that were killed left.

    Parameters
    ----------
    host, port
        Where to listen; port 0 is any that is free.
    shared
        A folder whose tables visitors may choose from; None for none.
    most_bytes
        How large a table may be.
    ready
        Called with the address of the page, token and all, as soon as it can be opened.

    Raises
    ------
    InputError
        If it is not possible to listen there.
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
        page = _guarded(application(folder, most_bytes, shared), host, taken, token, most_bytes)
        config = uvicorn.Config(
            page,
            log_level="warning",
            server_header=False,
            ws_max_size=1 << 22,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        address = _address(host, taken, token)
        asyncio.run(_Server(config, lambda: ready(address)).serve(sockets=[listening]))


def _guarded(page: App, host: str, port: int, token: str, most_bytes: int) -> Guard:
    """Return the page behind its guard, which knows by which names this machine may be called."""
    return Guard(
        page,
        token,
        hosts={"localhost", host.lower(), socket.gethostname().lower()} - {""},
        most_bytes=most_bytes,
        cookie=f"shoal-{port}",
        scripts=inline_scripts(page),
        messages=Conversation,
    )


def _address(host: str, port: int, token: str) -> str:
    """Return the address that opens the page, with the token."""
    shown = LOOPBACK if host in ("0.0.0.0", "::", "") else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token={token}"


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Put all temporary files, also those of Shiny, in one folder, with which they are removed."""
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = None


def is_loopback(host: str) -> bool:
    """Return whether a name is one by which only this machine calls itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Server(uvicorn.Server):
    """A server that tells when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in good order when the terminal is closed, too, and not only by the signals of uvicorn."""
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
    """Turn the signal that the terminal was closed into an exit, so that files are removed."""
    if not _handles_hangup() or signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGHUP, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _handles_hangup() -> bool:
    """Return whether a closed terminal ends this process: not where there are none, nor under nohup."""
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
    """Close all files that are written meanwhile to other users, also those of worker processes."""
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


def open_browser(address: str) -> None:
    """Show the page in the user's own browser."""
    webbrowser.open(address)
