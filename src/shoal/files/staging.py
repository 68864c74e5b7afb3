"""Nothing half-written: outputs are prepared aside and moved into place together.

What lies aside may be personal data. Each private folder has a mark beside it, a file that its process keeps
locked for as long as it lives. A process that is killed lets go of the lock: the next run in the same place
then knows that the other is dead, and removes what it left.
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

from shoal.errors import InputError, Reason, listing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

REMOVAL = 5.0
"""How many seconds removing a folder is tried."""
_MARK = "A run of Shoal is at work, or was killed: a later run in the same place then removes what it left."
_LOCK, _OLD = ".lock", ".old"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the operating system says when there is no more room."""
_MARKS = re.compile(r"(?P<folder>\.(?P<target>.+)\.shoal-[a-z0-9_]{8})\.lock", re.DOTALL)
"""The name of a mark: that of the private folder, which begins with the name of the target."""


@contextmanager
def staged_folder(
    target: str | os.PathLike[str], *, overwrite: bool = False, ours: Collection[str] = ()
) -> Iterator[Path]:
    """Fill a folder that appears in one step when the block ends well, and not at all when it does not.

    Parameters
    ----------
    target
        The folder to create; missing parents are created too. An empty folder is replaced.
    overwrite
        Whether a folder that holds nothing but `ours` is replaced.
    ours
        Names that Shoal itself gives to files in such a folder.

    Yields
    ------
    Path
        A private, empty folder next to the target to write into.

    Raises
    ------
    InputError
        If the target exists and must not be replaced, or cannot be written.
    """
    target = Path(os.path.realpath(target))
    with _errors_named(target):
        _check_folder(target, overwrite, ours)
    with _parents_of(target), private_folder(target) as staging:
        yield staging
        with _errors_named(target):
            # What came into the target while the block ran must not be lost either.
            _check_folder(target, overwrite, ours)
            staging.chmod(_usual_mode(staging))
            _sync_tree(staging)
            _swap(staging, target)
            _sync(target.parent)


@contextmanager
def private_folder(target: Path) -> Iterator[Path]:
    """Make a folder that only its owner can read, and remove it at the end, or when the next run finds it.

    Parameters
    ----------
    target
        What it is for: the folder lies beside it and has its name in its own. Its parent must exist.

    Yields
    ------
    Path
        The folder; the block may move it away.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    with _errors_named(target):
        with suppress(OSError):  # a place that cannot be listed may still be written
            sweep(target.parent)
        mark, lock = _marked(target)
    folder = mark.with_suffix("")
    old = folder.with_name(folder.name + _OLD)
    try:
        with _errors_named(target):
            folder.mkdir(mode=0o700)
        yield folder
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise _unwritable(target, error) from error
    finally:
        if os.path.lexists(folder):
            remove_folder(folder)
        # As long as something is there to remove, the mark tells the next run to do it. What the target was
        # before is not, if it could neither be replaced nor put back.
        if not os.path.lexists(folder) and not (os.path.lexists(old) and os.path.lexists(target)):
            with suppress(OSError):
                mark.unlink()
        os.close(lock)


def sweep(place: Path) -> None:
    """Remove the private folders in a place whose runs are dead, and nothing else.

    Parameters
    ----------
    place
        The folder that they lie in.
    """
    for found in filter(None, map(_MARKS.fullmatch, sorted(os.listdir(place)))):
        # Another run may be sweeping, too.
        with suppress(OSError):
            _sweep_one(place / found.string, place / found["folder"], place / found["target"])


def _sweep_one(mark: Path, folder: Path, target: Path) -> None:
    """Remove what a run left if it is dead."""
    lock = os.open(mark, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not _is_ours(os.fstat(lock), stat.S_ISREG) or not _lock(lock) or not _is_at(lock, mark):
            return
        told = _told(lock)
        if told is None or told.get("name") != folder.name:
            return
        host, boot = _machine()
        if told.get("host") != host and (not boot or told.get("boot") != boot):
            warnings.warn(
                f"{folder} belongs to a run on the machine {told.get('host')!r}; if that run has ended, "
                f"remove the folder, which holds personal data, and {mark.name}",
                stacklevel=2,
            )
            return
        old = folder.with_name(folder.name + _OLD)
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
            _lock(lock)
            # One who sweeps may have taken it for dead before it was locked.
            if _is_at(lock, mark):
                told = {"shoal": _MARK, "name": mark.stem, "host": host, "boot": boot, "process": os.getpid()}
                os.write(lock, json.dumps(told).encode())
                return mark, lock
        except BaseException:
            with suppress(OSError):
                mark.unlink()
            os.close(lock)
            raise
        os.close(lock)


def _lock(file: int) -> bool:
    """Lock an open file until it is closed or the process dies; return whether that was possible."""
    try:
        import fcntl
    except ImportError:  # not every system has it; nothing is swept there
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            return False
        raise
    return True


def _is_at(file: int, path: Path) -> bool:
    """Return whether an open file still is the one at a path."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _told(file: int) -> dict[str, object] | None:
    """Return what a mark says; None if it is none of ours."""
    try:
        told = json.loads(os.read(file, 1 << 12))
    except ValueError:
        return None
    return told if isinstance(told, dict) and told.get("shoal") == _MARK else None


def _machine() -> tuple[str, str]:
    """Return the name of this machine, and what changes whenever it is started (empty if unknown)."""
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
    return kind(found.st_mode) and found.st_uid == os.getuid()


def remove_folder(folder: Path) -> None:
    """Remove a folder, also one that another process is still writing into; warn if it stays."""
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
def staged_file(target: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Write a file that appears in one step when the block ends well, and not at all when it does not.

    Parameters
    ----------
    target
        The file to create; missing parents are created too.
    overwrite
        Whether a file of that name is replaced; the new one then gets its permissions.

    Yields
    ------
    Path
        An empty file next to the target to write into.

    Raises
    ------
    InputError
        If the target exists and must not be replaced, or cannot be written.
    """
    target = Path(os.path.realpath(target))
    with _errors_named(target):
        _check_file(target, overwrite)
    # The private folder makes the name of the file in it ours alone.
    with _parents_of(target), private_folder(target) as folder:
        staging = folder / target.name
        with _errors_named(target):
            staging.touch()
        yield staging
        with _errors_named(target):
            _check_file(target, overwrite)
            if target.exists():
                shutil.copymode(target, staging)
            _sync(staging)
            os.replace(staging, target)
            _sync(target.parent)


@contextmanager
def _errors_named(target: Path) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the target."""
    try:
        yield
    except OSError as error:
        raise _unwritable(target, error) from error


def _unwritable(target: Path, error: OSError) -> InputError:
    cause = (error.strerror or str(error)).lower()
    return InputError(
        f"{target} cannot be written: {cause}; choose another place", reason=Reason.OUTPUT_UNWRITABLE
    )


def _check_folder(target: Path, overwrite: bool, ours: Collection[str]) -> None:
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise _exists(f"{target} is a file, not a folder; choose another place")
    if target == Path(os.path.realpath(os.curdir)):
        raise _exists(f"{target} is the current folder; name a new folder in it")
    names = sorted(entry.name for entry in target.iterdir())
    foreign = [name for name in names if name not in ours]
    if foreign:
        raise _exists(
            f"{target} holds {listing(foreign, most=3)}, not Shoal's to replace; choose another folder"
        )
    if names and not overwrite:
        raise _exists(
            f"{target} holds {listing(names, most=3)}; choose another folder, or allow to overwrite them",
            "overwrite",
        )


def _check_file(target: Path, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not target.is_file():
        raise _exists(f"{target} exists and is not a file; choose another name")
    if not overwrite:
        raise _exists(f"{target} already exists; choose another name, or allow to overwrite it", "overwrite")


def _exists(message: str, parameter: str = "output") -> InputError:
    return InputError(message, reason=Reason.OUTPUT_EXISTS, parameter=parameter)


@contextmanager
def _parents_of(target: Path) -> Iterator[None]:
    """Create the folders above the target, and remove those that are empty again if the block fails."""
    missing = [folder for folder in target.parents if not os.path.lexists(folder)]
    try:
        with _errors_named(target):
            for folder in reversed(missing):
                folder.mkdir(exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        raise


def _usual_mode(private: Path) -> int:
    """Return the mode that a new folder gets under the user's umask."""
    # Asking for the umask means to set it, for all threads: better to look at what it does.
    probe = Path(tempfile.mkdtemp(dir=private)) / "probe"
    probe.mkdir(mode=0o755)
    mode = probe.stat().st_mode & 0o777
    shutil.rmtree(probe.parent)
    return mode


def _sync_tree(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            _sync(Path(root, name))
        _sync(Path(root))


def _sync(path: Path) -> None:
    """Make sure that a file, or the list of names in a folder, has reached the disk."""
    if path.is_dir():
        # Not every file system lets a folder be synced.
        with suppress(OSError):
            _sync_descriptor(path)
    else:
        _sync_descriptor(path)


def _sync_descriptor(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(staging: Path, target: Path) -> None:
    """Put the staging folder in the place of the target; if that fails, the target is what it was."""
    if not target.exists() or not any(target.iterdir()):
        os.rename(staging, target)
        return
    aside = staging.with_name(staging.name + _OLD)
    try:
        os.rename(target, aside)
        os.rename(staging, target)
    except BaseException:
        if not target.exists():
            os.rename(aside, target)
        raise
    finally:
        # The old folder goes only when there is another in its place.
        if target.exists() and aside.exists():
            remove_folder(aside)
