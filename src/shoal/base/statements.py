"""What a steward can state about a release, for its certificate and its report."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.errors import InputError, Reason, did_you_mean, listing

ABOUT = {
    "data_set": "name of the data set",
    "purpose": "purpose of the release",
    "recipient": "recipient of the release",
    "decided_by": "person who decided on the release",
    "risk_threshold": "accepted risk, such as 0.09",
    "review_by": "date of the next evaluation",
}
"""The names of the statements, with what each states."""


def checked_about(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return what a steward states about a release, without what is empty.

    Raises
    ------
    InputError
        If a name is unknown, a statement is not a text, or the threshold is not a probability.
    """
    for name, text in (given or {}).items():
        if name not in ABOUT:
            raise InputError(
                f"about has no {name!r}{did_you_mean(name, ABOUT)}; choose one of {listing(ABOUT)}",
                reason=Reason.PARAMETER,
                parameter="about",
            )
        if not isinstance(text, str):
            raise InputError(f"about: {name} must be a text", reason=Reason.PARAMETER, parameter="about")
    stated = {name: text for name, text in (given or {}).items() if text}
    if "risk_threshold" in stated and threshold_of(stated) is None:
        raise InputError(
            f"about: risk_threshold {stated['risk_threshold']!r} must be a number above 0 and at most 1, "
            "such as 0.09",
            reason=Reason.PARAMETER,
            parameter="risk_threshold",
        )
    return stated


def threshold_of(stated: Mapping[str, str]) -> float | None:
    """Return the risk that a steward accepts; None if it is not stated or not a probability."""
    try:
        threshold = float(stated.get("risk_threshold", ""))
    except ValueError:
        return None
    return threshold if 0 < threshold <= 1 else None
