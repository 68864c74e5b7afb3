"""One column: its role, its kind, and how it may be generalized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shoal.base.wording import with_article
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kinds.hierarchy import HierarchySource
from shoal.kinds.kind import Kind
from shoal.kinds.limits import check_limits


def is_pattern(name: str) -> bool:
    """Return whether Polars takes the name of a column for a pattern that stands for others."""
    return name.startswith("^") and name.endswith("$")


class Role(StrEnum):
    """The role of a column in a release.

    Examples
    --------
    >>> shoal.Role("quasi") is shoal.Role.QUASI
    True
    """

    IDENTIFIER = "identifier"  # identifies a person; never released
    PERSON = "person"  # whose record it is, if persons have several; never released
    QUASI = "quasi"  # an attacker may know it; generalized
    SENSITIVE = "sensitive"  # an attacker must not learn it; released unchanged
    WEIGHT = "weight"  # how many people of a population a record stands for; coarsened if it identifies
    OTHER = "other"  # none of these; released unchanged

    @property
    def released(self) -> bool:
        """Whether a column of this role is part of a release."""
        return self not in (Role.IDENTIFIER, Role.PERSON)


class Missing(StrEnum):
    """What happens to a record whose value is missing.

    Examples
    --------
    >>> shoal.Missing("suppress") is shoal.Missing.SUPPRESS
    True
    """

    CATEGORY = "category"  # missing is a value of its own
    SUPPRESS = "suppress"  # the record is left out of the release and counted
    ERROR = "error"  # the table is refused


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name
        Its name in the table.
    role, kind
        Its role, and what values it has.
    weight
        How much information loss in this column counts, relative to the other columns.
    hierarchy
        A tree over the values, or a rule that builds one. Generalized values are nodes of the tree.
    domain
        The possible values: two bounds (numeric, date) or all categories (lowest first for an ordinal
        column). By default those that occur.
    missing
        What to do with missing values.
    missing_marks
        Texts that mean "missing" besides the empty cell, such as ``?``.
    date_format
        Format of dates as in ``strptime``; ISO dates by default. Released days have no time of day.
    separator
        Separator of the items in a text, such as ``;``; white space by default.
    normalize
        Whether spellings that look the same are one value where different sensitive values are counted:
        Unicode forms, capitals, white space and invisible characters. Values are released as they are.
    exact
        Whether released values are those of the records: the table is divided into strata with one value
        each, which are never mixed.
    widest
        The widest cell: a difference of numbers, a number of days or a duration such as ``6 months``, a
        number of members of a set, a number of leaves of a hierarchy or a level such as ``level 1``, a number
        of uncertain items. ``*`` counts as the widest cell of all.
    bands
        Where intervals of numbers or dates may end: cuts, or a text such as ``every 5`` or ``every month``.
    suppressible
        Whether a cell may be ``*``.
    label
        What the column is about, in words, for report and codebook.

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
    label: str = ""
    exact: bool = False
    widest: float | str | None = None
    bands: tuple[Any, ...] | str | None = None
    suppressible: bool = True

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
            raise self._error("the name must be a text")
        if is_pattern(self.name):
            raise self._error(
                "a name must not begin with ^ and end with $, as patterns do; rename the column"
            )
        if self.hierarchy is not None and not hasattr(self.hierarchy, "over"):
            raise self._error(
                f"hierarchy {self.hierarchy!r} is not a hierarchy; give Hierarchy.from_file(...), "
                "Hierarchy.from_levels(...), Intervals(...) or Prefixes(...)"
            )
        for attribute in ("domain", "missing_marks"):
            given = getattr(self, attribute)
            if given is not None and not isinstance(given, list | tuple):
                raise self._error(f"{attribute} must be a list, not {given!r}")
        object.__setattr__(self, "missing_marks", tuple(str(mark) for mark in self.missing_marks))
        if not isinstance(self.date_format, str | None):
            raise self._error(f"date_format {self.date_format!r} must be a text such as %d.%m.%Y")
        if not isinstance(self.label, str):
            raise self._error(f"label {self.label!r} must be a text")
        if not isinstance(self.normalize, bool):
            raise self._error(f"normalize {self.normalize!r} must be true or false")
        if self.separator is not None:
            if not isinstance(self.separator, str) or not self.separator:
                raise self._error(f"separator {self.separator!r} must be a text such as ;")
            if "separator" not in self.kind.settings:
                kind = with_article(self.kind.value)
                raise self._error(f"only a column of kind items has a separator, not {kind} one")
        if self.bands is not None and not isinstance(self.bands, str):
            object.__setattr__(self, "bands", tuple(self.bands))
        try:
            object.__setattr__(self, "domain", self.kind.checked_domain(self))
            check_limits(self)
        except ValueError as error:
            raise self._error(str(error)) from None

    @property
    def measured(self) -> bool:
        """Whether its lowest and highest value bound the possible values; not with a hierarchy."""
        return self.hierarchy is None and self.kind.measured

    def _error(self, message: str) -> InputError:
        return InputError(f"column {self.name!r}: {message}", reason=Reason.SCHEMA, column=self.name)
