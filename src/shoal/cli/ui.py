"""`shoal ui`: the web page, on this machine only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.base.distribution import require
from shoal.cli.output import out, warn
from shoal.errors import InputError, Reason
from shoal.files.access import is_folder
from shoal.web import LOOPBACK


def ui(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 0,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; by default only this machine can connect.")
    ] = LOOPBACK,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page at once.")] = True,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Folder with tables to choose from; by default the current one, without --host.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="MB", min=1, help="Maximum size of a table, uncompressed.")
    ] = 500,
    keep: Annotated[
        int,
        typer.Option(
            "--keep",
            metavar="MINUTES",
            min=0,
            help="How long data and results are kept after the page was closed.",
        ),
    ] = 60,
) -> None:
    """Open the web page: from a file to a release without a command line."""
    require("shiny", "web", "the web page")
    from shoal.web import server  # late: only this command needs it

    if folder is not None and not is_folder(folder):
        raise InputError(f"{folder} is not a folder; name a folder with tables", reason=Reason.PARAMETER)
    if not server.is_loopback(host):
        warn(
            f"others on the network can reach {host}; anyone who has the address below can use the page, "
            "and what is sent is not encrypted"
        )
    elif folder is None:
        folder = Path.cwd()

    def ready(address: str, opener: Path) -> None:
        out.print("The page is open at", highlight=False)
        out.print(f"  {address}", markup=False, highlight=False, soft_wrap=True)
        out.print("The token in it is new each time. Press Ctrl-C to stop the server.", highlight=False)
        out.file.flush()  # a program may read the address from a pipe
        if browser:
            server.open_browser(opener)

    server.serve(
        host=host,
        port=port,
        shared=folder,
        most_bytes=limit * 1_000_000,
        kept_for=keep * 60,
        ready=ready,
    )
