"""The installed package: its name in package indexes, its version, and its extras."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

from shoal.errors import InputError, Reason

NAME = "shoal-privacy"
"""What `pip` calls the package; the module and the command are called `shoal`."""
UNKNOWN = "0.0"
"""The version of sources that are used without being installed."""


def version() -> str:
    """Return the version of the installed package."""
    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return UNKNOWN


def install_command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install '{NAME}[{extra}]'"


def require(module: str, extra: str, what: str) -> None:
    """Raise an error if a module of an extra is not installed; see `missing_extra`."""
    if find_spec(module) is None:
        raise missing_extra(what, extra)


def missing_extra(what: str, extra: str) -> InputError:
    """Return the error for something that needs an extra which is not installed.

    Parameters
    ----------
    what
        What needs it, as the subject of a sentence.
    extra
        Its name.
    """
    return InputError(
        f"{what} needs the extra '{extra}', which is not installed: {install_command(extra)}",
        reason=Reason.MISSING_EXTRA,
    )
