"""Errors a user can meet: each says what is wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum


class Reason(StrEnum):
    """Why a call was refused, for programs that react to errors without reading their text."""

    MISSING_FILE = "missing-file"
    EMPTY_FILE = "empty-file"
    NO_ROWS = "no-rows"
    RAGGED_ROW = "ragged-row"
    ENCODING = "encoding"
    FILE_FORMAT = "file-format"
    DUPLICATE_COLUMN = "duplicate-column"
    UNKNOWN_COLUMN = "unknown-column"
    ROLE_CONFLICT = "role-conflict"
    NO_QUASI_IDENTIFIER = "no-quasi-identifier"
    NO_SENSITIVE = "no-sensitive"
    PARAMETER = "parameter"
    TOO_LARGE = "too-large"
    BAD_VALUE = "bad-value"
    MISSING_VALUE = "missing-value"
    NOT_FINITE = "not-finite"
    OUT_OF_DOMAIN = "out-of-domain"
    SCHEMA = "schema"
    HIERARCHY_INCOMPLETE = "hierarchy-incomplete"
    HIERARCHY_NOT_A_TREE = "hierarchy-not-a-tree"
    RELEASE_UNREADABLE = "release-unreadable"
    OUTPUT_EXISTS = "output-exists"
    OUTPUT_UNWRITABLE = "output-unwritable"
    INFEASIBLE = "infeasible"
    SPARK = "spark"
    PROMISE_BROKEN = "promise-broken"
    BUG = "bug"


class ShoalError(Exception):
    """Base of all errors that Shoal raises on purpose.

    Parameters
    ----------
    message
        What is wrong, where, and what to do.
    reason
        The same for programs.
    column, parameter
        The column or the parameter it is about, if there is one, for programs that show it there.
    """

    def __init__(
        self, message: str, *, reason: Reason, column: str | None = None, parameter: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.column = column
        self.parameter = parameter


class InputError(ShoalError):
    """The call or the input is wrong; nothing was done."""


class InfeasibleError(ShoalError):
    """No release of this table can keep the guarantee; the message says what is achievable."""

    def __init__(self, message: str, *, column: str | None = None, parameter: str | None = None) -> None:
        super().__init__(message, reason=Reason.INFEASIBLE, column=column, parameter=parameter)


class PromiseError(ShoalError):
    """The audit found that a release does not keep its promise."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason=Reason.PROMISE_BROKEN)


class InternalError(ShoalError):
    """Shoal contradicts itself: a bug of ours, never the user's fault."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}. This is a bug in Shoal; please report it.", reason=Reason.BUG)


def unknown_column(missing: str, available: Iterable[str], where: str = "the table") -> InputError:
    """Error for a column that is not there: names it, what is there, and what was probably meant."""
    names = list(available)
    return InputError(
        f"column {missing!r} is not in {where}{did_you_mean(missing, names)}; it has: {listing(names)}",
        reason=Reason.UNKNOWN_COLUMN,
    )


def did_you_mean(wrong: str, options: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the closest option, or nothing if none is close."""
    lowered = {option.lower(): option for option in options}
    close = difflib.get_close_matches(wrong.lower(), lowered, n=1, cutoff=0.6)
    return f" (did you mean {lowered[close[0]]!r}?)" if close else ""


def listing(names: Iterable[str], most: int = 12) -> str:
    """Return names as one readable line, cut after `most`."""
    shown = [repr(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
