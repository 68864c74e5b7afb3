"""Opening files: whether they exist, how large they are, and errors if they cannot be used."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
import zlib
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from shoal.base.distribution import missing_extra
from shoal.errors import InputError, Reason, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ZSTANDARD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def refusal(path: str | Path, problem: str, reason: Reason, parameter: str | None = None) -> InputError:
    """Return the error that a file cannot be used, why, and which parameter may help."""
    return InputError(f"{path} {problem}", reason=reason, parameter=parameter)


def exists(path: Path) -> bool:
    """Return whether there is a file or folder that can be looked at.

    The methods of `Path` raise an error if a name is too long, or if a folder on the way is closed to this
    user; here, and in the two functions below, there is no such file then.
    """
    return os.path.exists(path)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder that can be looked at; see `exists`."""
    return os.path.isdir(path)


def is_file(path: Path) -> bool:
    """Return whether a path is a file that can be looked at; see `exists`."""
    return os.path.isfile(path)


def require_file(path: Path) -> None:
    """Refuse a file that does not exist or is a folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, ValueError) as error:
        raise refusal(path, f"cannot be read: {cause_of(error)}", Reason.MISSING_FILE) from error
    if stat.S_ISDIR(mode):
        raise refusal(path, "is a folder; name a file in it", Reason.MISSING_FILE)


def _missing(path: Path) -> InputError:
    if not is_folder(path.parent):
        return refusal(path, "does not exist, nor does its folder", Reason.MISSING_FILE)
    names: list[str] = []
    with suppress(OSError):
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    return refusal(path, f"does not exist{did_you_mean(path.name, names)}", Reason.MISSING_FILE)


def require_size(path: Path, size: float, most_bytes: int | None) -> None:
    """Refuse a table that is larger than it may be."""
    if most_bytes is not None and size > most_bytes:
        message = f"is larger than {most_bytes / 1e6:g} MB when it is unpacked, which is the limit"
        raise refusal(path, message, Reason.TOO_LARGE)


def read_bytes(path: Path, most_bytes: int | None = None) -> bytes:
    """Return all bytes of a file that is neither empty nor too large."""
    require_file(path)
    try:
        require_size(path, path.stat().st_size, most_bytes)
        data = path.read_bytes()
    except OSError as error:
        raise refusal(path, f"cannot be read: {cause_of(error)}", Reason.MISSING_FILE) from error
    if not data:
        raise refusal(path, "is empty", Reason.EMPTY_FILE)
    return data


def _open_zstandard(file: Path) -> Any:
    return installed(_ZSTANDARD, "zstd", f"{file}, packed by Zstandard,").open(file)


def _unsound() -> tuple[type[Exception], ...]:
    """Return the errors of packed files that are broken or were cut off."""
    zstandard = sys.modules.get(_ZSTANDARD)
    more = () if zstandard is None else (zstandard.ZstdError,)
    return (OSError, EOFError, zlib.error, lzma.LZMAError, *more)


PACKED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    ".gz": ("gzip", gzip.open),
    ".bz2": ("bzip2", bz2.open),
    ".xz": ("xz", lzma.open),
    ".zst": ("Zstandard", _open_zstandard),
}
"""How packed files are unpacked, by the ending of their names: what that is called, and what opens them."""


def packing_of(file: Path) -> str | None:
    """Return the ending of a file's name that says how it is packed, if it is."""
    return file.suffix.lower() if file.suffix.lower() in PACKED else None


def _opened(file: Path) -> BinaryIO:
    packing = packing_of(file)
    return file.open("rb") if packing is None else cast(BinaryIO, PACKED[packing][1](file))


def chunks_of(file: Path, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces of a size, unpacked if its name says that it is packed."""
    try:
        with _opened(file) as opened:
            while chunk := opened.read(size):
                yield chunk
    except _unsound() as error:
        raise refusal(file, f"cannot be read ({error})", Reason.FILE_FORMAT) from error


def unpacked(path: Path, most_bytes: int | None = None) -> bytes:
    """Return all bytes of a file that is neither empty nor too large, unpacked if it is packed."""
    packing = packing_of(path)
    data = read_bytes(path, most_bytes)
    if packing is None:
        return data
    try:
        with _opened(path) as packed:
            data = packed.read(-1 if most_bytes is None else most_bytes + 1)
    except _unsound() as error:
        message = f"is not a sound {PACKED[packing][0]} file ({error})"
        raise refusal(path, message, Reason.FILE_FORMAT) from error
    require_size(path, len(data), most_bytes)
    return data


def installed(module: str, extra: str, what: str) -> Any:
    """Return a module of an extra; if it is not installed, say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_extra(what, extra) from None


def cause_of(error: Exception) -> str:
    """Return what the operating system says of an error, in lower case."""
    return (getattr(error, "strerror", None) or str(error)).lower()
