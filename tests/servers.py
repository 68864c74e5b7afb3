"""A PostgreSQL server for tests: started by an ordinary user, on a socket in a temporary folder."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def program(name: str) -> str | None:
    """Return where a program of the server is, if it is installed."""
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)
    return places[0] if places else shutil.which(name)


@contextmanager
def postgresql() -> Iterator[Path]:
    """Run a server, and yield the folder of its socket; users need a password but for the owner."""
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    assert initdb
    assert pg_ctl
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    data = folder / "data"
    # The server refuses to be run by root.
    user = _ordinary_user() if os.geteuid() == 0 else None
    if user is not None:
        folder.chmod(0o755)
        os.chown(folder, user, -1)

    def run(*words: str) -> None:
        # The output of pg_ctl goes to a file: the server keeps it open.
        with (folder / "said").open("ab") as said:
            subprocess.run(words, check=True, user=user, stdout=said, stderr=said, cwd=folder, timeout=120)

    try:
        run(
            initdb,
            "-D",
            str(data),
            "-U",
            "owner",
            "-A",
            "scram-sha-256",
            "--pwfile",
            str(_password(folder, user)),
        )
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(pg_ctl, "-D", str(data), "-o", settings, "-l", str(folder / "log"), "-w", "start")
        try:
            yield folder
        finally:
            run(pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _password(folder: Path, user: int | None) -> Path:
    file = folder / "password"
    file.write_text("s3cret%word\n")
    if user is not None:
        os.chown(file, user, -1)
    return file


def _ordinary_user() -> int:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise RuntimeError("there is no ordinary user to run the server")
