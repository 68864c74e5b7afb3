"""Private folders for personal data, which do not outlive their process for long.

Each folder has a mark beside it: a file that the process keeps locked. The operating system releases the lock
when the process ends, even if it is killed. The next process that makes a private folder in the same place
finds the mark without a lock and removes both.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import stat
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError, Reason
from shoal.files.system import NO_FOLLOW, NO_WAIT, has_owners, is_mine, lock_file, remove_locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REMOVAL = 5.0
"""The number of seconds in which removing a folder is tried again."""
_MARK = "A run of Shoal is at work, or was killed: a later run in the same place then removes what it left."
_LOCK = ".lock"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the operating system if there is no more space."""
_MARKS = re.compile(r"(?P<folder>\.(?P<target>.+)\.shoal-[a-z0-9_]{8})\.lock", re.DOTALL)
"""The name of a mark: the name of the private folder, which begins with the name of the target."""


@contextmanager
def private_folder(target: Path) -> Iterator[Path]:
    """Make a folder that only its owner can read, and remove it at the end.

    Before that, folders of dead processes in the same place are removed.

    Parameters
    ----------
    target
        What it is for: the folder is beside it and has its name in its own. Its parent must exist.

    Yields
    ------
    Path
        The folder; the block may move it away.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    with errors_named(target):
        with suppress(OSError):  # a place that cannot be listed may still be written
            sweep(target.parent)
        mark, lock = _marked(target)
    folder = mark.with_suffix("")
    old = replaced(folder)
    try:
        with errors_named(target):
            folder.mkdir(mode=0o700)
        yield folder
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise unwritable(target, error) from error
    finally:
        if os.path.lexists(folder):
            remove_folder(folder)
        # As long as there is something to remove, the mark tells the next process to do it. An earlier target
        # is not to be removed if it could neither be replaced nor put back.
        if not os.path.lexists(folder) and not (os.path.lexists(old) and os.path.lexists(target)):
            remove_locked(mark, lock)
        else:
            os.close(lock)


def replaced(folder: Path) -> Path:
    """Return where the earlier content of a target is while a private folder takes its place."""
    return folder.with_name(folder.name + ".old")


def sweep(place: Path) -> None:
    """Remove the private folders in a place whose processes are dead, and nothing else.

    A folder is removed if and only if all of this is true: it is a folder and not a link, and belongs to this
    user; its mark is a plain file that belongs to this user, is closed to others, and says that Shoal made it
    for this folder on this machine; and no process holds the lock on the mark. Links in a folder are removed,
    not followed. The mark goes last: if this is interrupted, the next process still knows the folder.

    Parameters
    ----------
    place
        The folder that they are in.
    """
    if not has_owners():
        return  # another user could have put them there
    for found in filter(None, map(_MARKS.fullmatch, sorted(os.listdir(place)))):
        # Another process may be sweeping as well.
        with suppress(OSError):
            _sweep_one(place / found.string, place / found["folder"], place / found["target"])


def _sweep_one(mark: Path, folder: Path, target: Path) -> None:
    """Remove what a process left if it is dead."""
    lock = os.open(mark, os.O_RDWR | NO_FOLLOW | NO_WAIT)
    try:
        found = os.fstat(lock)
        if not _is_ours(found, stat.S_ISREG) or found.st_mode & 0o077:
            return
        if not lock_file(lock) or not is_at(lock, mark):
            return
        told = _told(lock)
        if told is None or told.get("name") != folder.name:
            return
        host, boot = _machine()
        if told.get("host") != host and (not boot or told.get("boot") != boot):
            warnings.warn(
                f"{folder} belongs to a process on the machine {told.get('host')!r}; if that has ended, "
                f"remove the folder, which holds personal data, and {mark.name}",
                stacklevel=2,
            )
            return
        old = replaced(folder)
        if _is_our_folder(old) and _is_our_folder(folder) and not os.path.lexists(target):
            os.rename(old, target)  # killed between two renames: the target is what it was
        for each in (folder, old):
            if _is_our_folder(each):
                remove_folder(each)
        if not os.path.lexists(folder) and not os.path.lexists(old):
            mark.unlink()
    finally:
        os.close(lock)


def _marked(target: Path) -> tuple[Path, int]:
    """Make the mark of a private folder and lock it; return it and its open file."""
    host, boot = _machine()
    while True:
        lock, name = tempfile.mkstemp(prefix=f".{target.name}.shoal-", suffix=_LOCK, dir=target.parent)
        mark = Path(name)
        try:
            lock_file(lock)
            # Another process that sweeps may have removed it before it was locked.
            if is_at(lock, mark):
                told = {"shoal": _MARK, "name": mark.stem, "host": host, "boot": boot, "process": os.getpid()}
                os.write(lock, json.dumps(told).encode())
                return mark, lock
        except BaseException:
            remove_locked(mark, lock)
            raise
        os.close(lock)


def is_at(file: int, path: Path) -> bool:
    """Return whether an open file still is the one at a path."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _told(file: int) -> dict[str, object] | None:
    """Return the content of a mark; None if Shoal did not write it."""
    try:
        told = json.loads(os.read(file, 1 << 12))
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and told.get("shoal") == _MARK else None


def _machine() -> tuple[str, str]:
    """Return the name of this machine and the id of its last start (empty if unknown)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return platform.node(), boot


def _is_our_folder(path: Path) -> bool:
    """Return whether a path is a folder, not a link to one, that belongs to this user."""
    try:
        return _is_ours(path.lstat(), stat.S_ISDIR)
    except FileNotFoundError:
        return False


def _is_ours(found: os.stat_result, kind: Callable[[int], bool]) -> bool:
    return kind(found.st_mode) and is_mine(found)


def remove_folder(folder: Path) -> None:
    """Remove a folder, even while another process writes into it; warn if that fails."""
    deadline = time.monotonic() + REMOVAL
    while True:
        last = time.monotonic() > deadline
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return
        if last:
            warnings.warn(f"{folder} cannot be removed, and holds personal data: remove it", stacklevel=2)
            return
        time.sleep(0.1)


@contextmanager
def errors_named(target: Path) -> Iterator[None]:
    """Turn errors of the operating system into an error that names the target."""
    try:
        yield
    except OSError as error:
        raise unwritable(target, error) from error


def unwritable(target: Path, error: OSError) -> InputError:
    """Return the error for a target that the operating system refuses to write."""
    cause = (error.strerror or str(error)).lower()
    return InputError(
        f"{target} cannot be written: {cause}; choose another place", reason=Reason.OUTPUT_UNWRITABLE
    )
