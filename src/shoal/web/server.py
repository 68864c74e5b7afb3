"""The server of the page: on this machine only, behind a token, gone without a trace when it ends."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import uvicorn

from shoal.errors import InputError, Reason
from shoal.web import LOOPBACK
from shoal.web.app import application, inline_scripts
from shoal.web.guard import Guard


def serve(
    *,
    host: str = LOOPBACK,
    port: int = 0,
    shared: Path | None = None,
    most_bytes: int,
    ready: Callable[[str], None],
) -> None:
    """Serve the page until the process is told to end.

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
    with closing(_listening(host, port)) as listening, tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        taken = listening.getsockname()[1]
        # Whatever is written aside, by Shiny as well, lies in one private folder and goes with it.
        tempfile.tempdir = folder
        hosts = {"localhost", host.lower(), socket.gethostname().lower()}
        page = application(Path(folder), most_bytes, shared)
        guard = Guard(
            page,
            token,
            hosts=hosts,
            most_bytes=most_bytes,
            cookie=f"shoal-{taken}",
            scripts=inline_scripts(page),
        )
        config = uvicorn.Config(
            guard,
            log_level="warning",
            server_header=False,
            ws_max_size=1 << 22,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        shown = LOOPBACK if host in ("0.0.0.0", "::", "") else host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{taken}/?token={token}"
        try:
            asyncio.run(_Server(config, lambda: ready(address)).serve(sockets=[listening]))
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


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error}; choose another (--host, --port)",
            reason=Reason.PARAMETER,
        ) from None
    return listening


def open_browser(address: str) -> None:
    """Show the page in the user's own browser."""
    webbrowser.open(address)
