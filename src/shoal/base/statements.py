"""What a steward can state about a release, for its certificate and its report."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.errors import InputError, Reason, did_you_mean, listing

ABOUT = ("data_set", "purpose", "recipient", "decided_by")
"""The names of the statements."""


def checked_about(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return what a steward states about a release, without what is empty.

    Raises
    ------
    InputError
        If a name is unknown, or a statement is not a text.
    """
    for name, text in (given or {}).items():
        if name not in ABOUT:
            raise InputError(
                f"about has no {name!r}{did_you_mean(name, ABOUT)}; there is {listing(ABOUT)}",
                reason=Reason.PARAMETER,
                parameter="about",
            )
        if not isinstance(text, str):
            raise InputError(f"about: {name} must be a text", reason=Reason.PARAMETER, parameter="about")
    return {name: text for name, text in (given or {}).items() if text}
