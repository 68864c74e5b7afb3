"""Errors a user can meet: each says what is wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import Any


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
    DATABASE = "database"
    MISSING_EXTRA = "missing-extra"  # a package that is installed on request
    PUBLISHED_BEFORE = "published-before"  # persons who are in an earlier release
    PROMISE_BROKEN = "promise-broken"
    CAUTION = "caution"  # the promise holds, but there are warnings
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

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> try:
    ...     shoal.anonymize(patients, schema, shoal.KAnonymity(k=101))
    ... except shoal.ShoalError as error:
    ...     print(error.reason)
    parameter
    """

    def __init__(
        self, message: str, *, reason: Reason, column: str | None = None, parameter: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.column = column
        self.parameter = parameter

    def as_dict(self) -> dict[str, str | None]:
        """Return the error as plain data, for processes and pages that are told of it."""
        return {
            "reason": self.reason.value,
            "message": str(self),
            "column": self.column,
            "parameter": self.parameter,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls the class with the message alone: that fails in the process that gets the error,
        # and a pool of processes then waits forever.
        return _restored, (type(self), self.args), vars(self)


def _restored(kind: type[ShoalError], args: tuple[Any, ...]) -> ShoalError:
    """Return an error as it was before it was pickled or copied, but for its attributes."""
    error = kind.__new__(kind)
    error.args = args
    return error


class InputError(ShoalError):
    """The call or the input is wrong; nothing was done.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> try:
    ...     shoal.anonymize(patients, schema, shoal.KAnonymity(k=101))
    ... except shoal.InputError as error:
    ...     print(error.reason)
    parameter
    """


class InfeasibleError(ShoalError):
    """No release of this table can keep the guarantee; the message says what is achievable.

    Examples
    --------
    >>> str(shoal.InfeasibleError("l = 20 is not achievable", parameter="l").reason)
    'infeasible'
    """

    def __init__(self, message: str, *, column: str | None = None, parameter: str | None = None) -> None:
        super().__init__(message, reason=Reason.INFEASIBLE, column=column, parameter=parameter)


class PromiseError(ShoalError):
    """The audit found that a release does not keep its promise, or has a warning where none is accepted.

    Examples
    --------
    >>> str(shoal.PromiseError("the release has classes of 3 rows").reason)
    'promise-broken'
    """

    def __init__(self, message: str, *, reason: Reason = Reason.PROMISE_BROKEN) -> None:
        super().__init__(message, reason=reason)


class InternalError(ShoalError):
    """Shoal contradicts itself: a bug of ours, never the user's fault.

    Examples
    --------
    >>> str(shoal.InternalError("rows were lost"))
    'rows were lost. This is a bug in Shoal; please report it.'
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}. This is a bug in Shoal; please report it.", reason=Reason.BUG)


class ShoalWarning(UserWarning):
    """Something that everyone should know who decides whether a release is published.

    Python's `warnings` show them, and can turn them into errors; `Release.warnings` has all of a release.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", shoal.ShoalWarning)  # for pipelines that must stop there
    """


def unknown_column(missing: str, available: Iterable[str], where: str = "the table") -> InputError:
    """Error for a column that is not there: names it, what is there, and what was probably meant."""
    names = list(available)
    return InputError(
        f"column {missing!r} is not in {where}{did_you_mean(missing, names)}; it has: {listing(names)}",
        reason=Reason.UNKNOWN_COLUMN,
        column=missing,
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
