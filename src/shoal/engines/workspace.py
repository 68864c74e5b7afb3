"""The working folder of a run in blocks: private, and removed at the end unless the run can be resumed."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import InputError, Reason
from shoal.files.private_folders import is_at, remove_folder
from shoal.files.system import NO_FOLLOW, is_mine, lock_file, must_close_to_remove
from shoal.methods import Progress

MANIFEST, PLAN = "manifest.json", "plan.pickle"
"""The files that identify the call of a folder, and that a run is resumed from."""
_LOCK, _PART = "lock", ".part"


class _UnfinishedError(InputError):
    """A run stopped for a reason that may be gone when the same call is made again."""


class Workspace:
    """A working folder.

    Parameters
    ----------
    folder
        Its path.
    progress
        The callback of the caller; an error that it raises cancels a run, which can be resumed.
    """

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self._progress = progress
        self._cancelled: BaseException | None = None

    def progress(self, stage: str, share: float) -> None:
        """Report progress to the caller, and remember if the caller cancels the run."""
        try:
            self._progress(stage, share)
        except BaseException as error:
            self._cancelled = error
            raise

    def cancelled(self, error: BaseException) -> bool:
        """Return whether an error is the one by which the caller cancelled the run."""
        return error is self._cancelled

    def resumable(self, error: BaseException) -> bool:
        """Return whether the same call can resume the run after an error, and may succeed."""
        if not (self.folder / PLAN).exists():
            return False
        if not isinstance(error, Exception) or self.cancelled(error):
            return True
        unwritable = isinstance(error, InputError) and error.reason is Reason.OUTPUT_UNWRITABLE
        return unwritable or isinstance(error, OSError | MemoryError | _UnfinishedError)


@contextmanager
def workspace(folder: Path, fingerprint: str, *, fresh: bool, progress: Progress) -> Iterator[Workspace]:
    """Open a private folder for a call, with what an interrupted run of the same call left in it.

    The folder is removed at the end, also after an error, unless the same call can resume the run: then the
    error says so.

    Parameters
    ----------
    folder
        Its path.
    fingerprint
        A digest that identifies the call.
    fresh
        Whether to discard an interrupted run.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.

    Raises
    ------
    InputError
        If the folder has another owner or content, is in use, or cannot be written.
    """
    _require_ours(folder)
    with _errors_named(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    with _locked(folder) as remove:
        if not fresh:
            _require_same(folder, fingerprint)
        opened = Workspace(folder, progress)
        try:
            if fresh:
                _empty(folder)
            write_whole(folder / MANIFEST, json.dumps({"fingerprint": fingerprint}).encode())
            yield opened
        except BaseException as error:
            stays = opened.resumable(error)
            if not stays:
                remove()
            if isinstance(error, OSError) and not opened.cancelled(error):
                shown = _unwritable(folder, error)
                shown.args = (f"{shown}. {what_stays(folder)}",) if stays else shown.args
                raise shown from error
            if stays and isinstance(error, InputError):
                error.args = (f"{error}. {what_stays(folder)}",)
            elif stays:
                error.add_note(what_stays(folder))
            raise
        remove()


def what_stays(folder: Path) -> str:
    """Return the message about a working folder that is kept."""
    return (
        f"{folder} holds personal data, readable by its owner only, so that the same call can go on from "
        "there; to discard it, begin anew (fresh) or remove the folder"
    )


def left_beside(output: Path) -> Path | None:
    """Return the working folder that an interrupted run with this output left, unless it is in use."""
    folder = default_folder(output)
    if not (folder / MANIFEST).exists():
        return None
    try:
        _require_ours(folder)
        with _locked(folder):
            return folder
    except InputError:
        return None


def default_folder(output: Path) -> Path:
    """Return the default working folder of a run with this output."""
    output = Path(os.path.abspath(output))
    return output.parent / f".{output.name}.work"


def private_file(path: Path) -> Path:
    """Make an empty file that only its owner can read, and return its path."""
    os.close(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | NO_FOLLOW, 0o600))
    return path


def emptied(folder: Path) -> Path:
    """Make a folder private and empty, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder


def write_whole(file: Path, data: bytes) -> None:
    """Write a private file in one step: it is never half-written."""
    aside = private_file(file.with_suffix(_PART))
    aside.write_bytes(data)
    aside.replace(file)


def unfinished(message: str) -> InputError:
    """Return the error for a worker process that died; the same call can resume the run."""
    return _UnfinishedError(message, reason=Reason.TOO_LARGE)


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder, not a link to one."""
    return stat.S_ISDIR(path.lstat().st_mode)


def _require_ours(folder: Path) -> None:
    """Refuse a folder that another user could have prepared, or that contains something else."""
    if not os.path.lexists(folder):
        return
    with _errors_named(folder):
        if not _is_folder(folder):
            raise _exists(f"{folder} is a link or a file, not a folder; name another folder", "work")
        if not is_mine(folder.stat()):
            raise InputError(
                f"{folder} belongs to another user; name another folder",
                reason=Reason.OUTPUT_UNWRITABLE,
                parameter="work",
            )
        # A run that was killed at the start leaves at most these files.
        begun = {_LOCK, Path(MANIFEST).with_suffix(_PART).name}
        if not {entry.name for entry in folder.iterdir()} <= begun and not (folder / MANIFEST).exists():
            raise _exists(f"{folder} contains files that are not Shoal's; name another folder", "work")


def _require_same(folder: Path, fingerprint: str) -> None:
    """Refuse the folder of another call."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        return
    try:
        same = json.loads(manifest.read_text())["fingerprint"] == fingerprint
    except (ValueError, TypeError, KeyError, RecursionError):
        same = False
    if not same:
        raise _exists(
            f"{folder} holds personal data that another call left when it was interrupted; repeat "
            "that call to finish it, or begin anew, which removes it",
            "fresh",
        )


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name != _LOCK:
            shutil.rmtree(entry) if _is_folder(entry) else entry.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[Callable[[], None]]:
    """Keep other processes from using the folder; the lock is released when the process ends.

    Yields
    ------
    Callable
        Removes the folder, with the lock in it.
    """
    path = folder / _LOCK
    with _errors_named(folder):
        lock = os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | NO_FOLLOW, 0o600), "rb+")

    def remove() -> None:
        if must_close_to_remove():
            lock.close()
        remove_folder(folder)

    with lock:
        with _errors_named(folder):
            # A run that has ended meanwhile has removed the folder and the lock in it.
            ours = lock_file(lock.fileno()) and is_at(lock.fileno(), path)
        if not ours:
            raise _exists(f"another process is using {folder}; wait for it, or name another folder", "work")
        yield remove


@contextmanager
def _errors_named(folder: Path) -> Iterator[None]:
    """Turn errors of the operating system, such as a full disk, into an error that names the folder."""
    try:
        yield
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> InputError:
    cause = (error.strerror or str(error)).lower()
    return InputError(
        f"a file in the working folder {folder} cannot be written: {cause}; make room, or name another "
        "working folder",
        reason=Reason.OUTPUT_UNWRITABLE,
        parameter="work",
    )


def _exists(message: str, parameter: str) -> InputError:
    return InputError(message, reason=Reason.OUTPUT_EXISTS, parameter=parameter)
