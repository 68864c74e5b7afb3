"""The server's private folder, and what servers that were killed left of theirs.

The contract: `private_folder` makes a folder that only this user can open, marks it with the process that
owns it, and removes it at the end. `sweep` removes the folders whose owner is dead, and nothing else.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.files.staging import remove_folder

PREFIX = "shoal-page-"
"""How the names of these folders begin."""
MARKER = "owner.json"
"""The file in a folder that names its owner: process id, start time, start of the machine. The owner holds a
lock on it, which the operating system takes back when the process ends, however it ends."""


@contextmanager
def private_folder(parent: Path) -> Iterator[Path]:
    """Yield a new private folder in `parent` that belongs to this process, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    descriptor = None
    try:
        descriptor = _mark(folder)
        yield folder
    finally:
        _remove(folder)
        if descriptor is not None:
            os.close(descriptor)


def sweep(parent: Path) -> list[Path]:
    """Remove the private folders in `parent` whose owners are dead; return those that were removed.

    A folder is removed if and only if all of this is true: its name begins with `PREFIX`; it is a folder and
    not a link, belongs to this user and is closed to others; it holds a marker that is a plain file of this
    user; no process holds the lock on the marker; and the process that the marker names does not run. A
    folder without a readable marker stays. Links in a folder are removed, not followed.

    Parameters
    ----------
    parent
        The folder in which servers make theirs; if it cannot be read, nothing happens.
    """
    removed = []
    with suppress(OSError):
        for folder in sorted(parent.glob(f"{PREFIX}*")):
            descriptor = _taken_over(folder)
            if descriptor is not None:
                try:
                    _remove(folder)
                    removed.append(folder)
                finally:
                    os.close(descriptor)  # the lock goes last: another sweep keeps away until then
    return removed


def _remove(folder: Path) -> None:
    """Remove a folder, its marker last: if this is interrupted, the next sweep still knows whose it was."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                remove_folder(Path(entry.path))
            elif entry.name != MARKER:
                os.unlink(entry.path)
    remove_folder(folder)


def _mark(folder: Path) -> int:
    """Write the marker, and return the descriptor that holds its lock."""
    unfinished = folder / f"{MARKER}.part"
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    _lock(descriptor)
    os.write(descriptor, json.dumps(_identity(os.getpid())).encode())
    unfinished.rename(folder / MARKER)  # a marker that is visible is complete and locked
    return descriptor


def _taken_over(folder: Path) -> int | None:
    """Return a descriptor with the lock on the marker of a dead owner; None if the folder is to stay."""
    if not _is_ours(folder, stat.S_ISDIR):
        return None
    try:
        descriptor = os.open(folder / MARKER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, AttributeError):  # no marker; or a system without such links, where nothing is swept
        return None
    try:
        if _is_ours(folder / MARKER, stat.S_ISREG) and _lock(descriptor):
            owner = json.loads(os.read(descriptor, 10_000))
            # Where no start times are known, the lock alone decides.
            if owner["start"] is None or owner != _identity(int(owner["process"])):
                return descriptor
    except (OSError, ValueError, TypeError, KeyError):
        pass  # not a marker that we wrote
    os.close(descriptor)
    return None


def _is_ours(path: Path, is_kind: Callable[[int], bool]) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (
        hasattr(os, "getuid")
        and is_kind(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & 0o077
    )


def _lock(descriptor: int) -> bool:
    """Take the lock of a file for this process; return whether that was possible."""
    try:
        import fcntl
    except ImportError:  # a system without it: nothing is ever taken over there
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _identity(process: int) -> dict[str, object]:
    """Return what tells a process from a later one with the same id; times are None where they are unknown.

    A process that does not run, or whose start cannot be told, has no start time.
    """
    return {"process": process, "start": _start(process), "machine": _machine_start()}


def _start(process: int) -> int | None:
    try:
        content = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        # The name of the program stands in parentheses and may hold anything, also spaces.
        return int(content.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _machine_start() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
