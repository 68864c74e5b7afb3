"""One column: its role, its kind, and how it may be generalized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kinds.hierarchy import HierarchySource
from shoal.kinds.kind import Kind


class Role(StrEnum):
    """What a column means for privacy.

    Examples
    --------
    >>> shoal.Role("quasi") is shoal.Role.QUASI
    True
    """

    IDENTIFIER = "identifier"  # names a person; never released
    QUASI = "quasi"  # known to others and identifying in combination; generalized
    SENSITIVE = "sensitive"  # what must not be learned about a person; released as it is
    OTHER = "other"  # neither; carried along as it is


class Missing(StrEnum):
    """What happens to a record whose value is missing.

    Examples
    --------
    >>> shoal.Missing("suppress") is shoal.Missing.SUPPRESS
    True
    """

    CATEGORY = "category"  # missing is a value of its own
    SUPPRESS = "suppress"  # the record is left out of the release, and counted
    ERROR = "error"  # the table is refused


@dataclass(frozen=True)
class Column:
    """One column and what is to be done with it.

    Parameters
    ----------
    name
        Its name in the table.
    role, kind
        What it means for privacy and what values it holds.
    weight
        How much a loss in this column counts against a loss in the others.
    hierarchy
        A tree over the values, or a rule that builds one; generalized values are then its nodes.
    domain
        The values that are possible: two bounds (numeric, date) or all categories (in their order, for an
        ordinal column). None takes what the data has.
    missing
        What to do where a value is missing.
    missing_marks
        Texts that mean "missing" besides the empty cell, such as ``?``.
    date_format
        How dates are written (as in ``strptime``); None expects ISO dates. Released days are written without
        the time of day.
    separator
        What stands between the items of a text, such as ``;``; None expects white space.
    normalize
        Whether spellings that look the same are one value where different sensitive values are counted:
        Unicode forms, capitals, white space and invisible characters. Values are released as they are.

    Examples
    --------
    >>> shoal.Column("age", shoal.Role.QUASI, weight=2.0).weight
    2.0
    """

    name: str
    role: Role = Role.OTHER
    kind: Kind = Kind.CATEGORICAL
    weight: float = 1.0
    hierarchy: HierarchySource | None = None
    domain: tuple[Any, ...] | None = None
    missing: Missing = Missing.CATEGORY
    missing_marks: tuple[str, ...] = ()
    date_format: str | None = None
    separator: str | None = None
    normalize: bool = True

    def __post_init__(self) -> None:
        for attribute, options in (("role", Role), ("kind", Kind), ("missing", Missing)):
            given = getattr(self, attribute)
            try:
                object.__setattr__(self, attribute, options(given))
            except ValueError:
                names = [option.value for option in options]
                raise self._error(
                    f"{attribute} {given!r} is unknown{did_you_mean(str(given), names)}; "
                    f"it is one of {listing(names)}"
                ) from None
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float):
            raise self._error(f"weight {self.weight!r} is not a number")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise self._error(f"weight {self.weight!r} must be a positive number")
        if not isinstance(self.name, str):
            raise self._error("its name must be a text")
        for attribute in ("domain", "missing_marks"):
            given = getattr(self, attribute)
            if given is not None and not isinstance(given, list | tuple):
                raise self._error(f"{attribute} must be a list, not {given!r}")
        object.__setattr__(self, "missing_marks", tuple(str(mark) for mark in self.missing_marks))
        if not isinstance(self.date_format, str | None):
            raise self._error(f"date_format {self.date_format!r} must be a text such as %d.%m.%Y")
        if not isinstance(self.normalize, bool):
            raise self._error(f"normalize {self.normalize!r} must be true or false")
        if self.separator is not None:
            if not isinstance(self.separator, str) or not self.separator:
                raise self._error(f"separator {self.separator!r} must be a text such as ;")
            if "separator" not in self.kind.settings:
                raise self._error(f"only a column of kind items has a separator, not a {self.kind.value} one")
        try:
            object.__setattr__(self, "domain", self.kind.checked_domain(self))
        except ValueError as error:
            raise self._error(str(error)) from None

    @property
    def measured(self) -> bool:
        """Whether its lowest and highest value say what is possible; a hierarchy names all values."""
        return self.hierarchy is None and self.kind.measured

    def _error(self, message: str) -> InputError:
        return InputError(f"column {self.name!r}: {message}", reason=Reason.SCHEMA, column=self.name)
