"""What operating systems do differently: locks, owners of files, links, renaming, writing to disk.

This is the only file with calls that some systems do not have. Each has a fallback.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any


def _module(name: str) -> Any:
    """Return a module that some systems have; None on others."""
    try:
        return import_module(name)
    except ImportError:
        return None


WINDOWS = os.name == "nt"
fcntl, msvcrt = _module("fcntl"), _module("msvcrt")
"""The locks of most systems; those of Windows."""
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
"""Opens a file, but not through a link. Windows has no such option: there, only administrators make links."""
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
"""Opens a file without waiting for a writer if it turns out to be a pipe."""
HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors if another process holds a lock, or if the file system has no locks."""
_LOCKED_BYTE = 1 << 30
"""The byte that is locked on Windows. Others cannot read it, so it is far behind what is written."""


def lock_file(file: int) -> bool:
    """Lock an open file until it is closed or the process dies; return whether that was possible."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            place = os.lseek(file, 0, os.SEEK_CUR)
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file, place, os.SEEK_SET)
        else:
            return False
    except OSError as error:
        if error.errno in HELD:
            return False
        raise
    return True


def has_owners() -> bool:
    """Return whether files tell which user they belong to, and whether others may read them."""
    return hasattr(os, "getuid")


def must_close_to_remove() -> bool:
    """Return whether an open file cannot be removed, nor the folder that it is in."""
    return WINDOWS


def is_mine(found: os.stat_result) -> bool:
    """Return whether a file belongs to this user; true where files do not tell."""
    return not has_owners() or found.st_uid == os.getuid()


def remove_locked(path: Path, lock: int) -> None:
    """Remove a file that this process keeps open and locked, and close it; a file that stays is no error."""
    if must_close_to_remove():
        os.close(lock)
        with suppress(OSError):
            path.unlink()
        return
    with suppress(OSError):  # first its name, so that no other process locks it in between
        path.unlink()
    os.close(lock)


def move_folder(source: Path, target: Path) -> None:
    """Rename a folder; the target must not exist, or be an empty folder."""
    if WINDOWS and target.is_dir():  # renaming replaces no folder, not even an empty one
        target.rmdir()
    os.rename(source, target)


def write_through(path: Path) -> None:
    """Make sure that a file, or the list of names in a folder, has reached the disk."""
    if not path.is_dir():
        _flush(path)
    elif not WINDOWS:  # where folders cannot be opened
        with suppress(OSError):  # not every file system lets a folder be flushed
            _flush(path)


def _flush(path: Path) -> None:
    # Windows flushes only what was opened for writing.
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
