"""Nothing half-written: outputs are prepared aside and moved into place together."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError, Reason, listing
from shoal.files.private_folders import errors_named, private_folder, remove_folder, replaced
from shoal.files.system import move_folder, write_through

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


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
    with errors_named(target):
        _check_folder(target, overwrite, ours)
    with _parents_of(target), private_folder(target) as staging:
        yield staging
        with errors_named(target):
            # What came into the target while the block ran must not be lost either.
            _check_folder(target, overwrite, ours)
            staging.chmod(_usual_mode(staging))
            _write_through_all(staging)
            _swap(staging, target)
            write_through(target.parent)


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
    with errors_named(target):
        _check_file(target, overwrite)
    # The private folder makes the name of the file in it ours alone.
    with _parents_of(target), private_folder(target) as folder:
        staging = folder / target.name
        with errors_named(target):
            staging.touch()
        yield staging
        with errors_named(target):
            _check_file(target, overwrite)
            if target.exists():
                shutil.copymode(target, staging)
            write_through(staging)
            os.replace(staging, target)
            write_through(target.parent)


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
        with errors_named(target):
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


def _write_through_all(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            write_through(Path(root, name))
        write_through(Path(root))


def _swap(staging: Path, target: Path) -> None:
    """Put the staging folder in the place of the target; if that fails, the target is what it was."""
    if not target.exists() or not any(target.iterdir()):
        move_folder(staging, target)
        return
    aside = replaced(staging)
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
