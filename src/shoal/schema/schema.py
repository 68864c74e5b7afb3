"""What each column is: its role, its kind, and how it may be generalized."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import tomli_w
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.base.fresh_columns import readable
from shoal.base.markup import table_html
from shoal.errors import InputError, Reason, did_you_mean, listing, unknown_column
from shoal.files.reading import read_toml
from shoal.files.staging import staged_file
from shoal.kinds.hierarchy import Hierarchy, HierarchySource, Intervals, Prefixes
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
            if not self.kind.several:
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


@dataclass(frozen=True)
class Schema:
    """A description of a table: one `Column` for each column, in the table's order.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> [column.name for column in schema.quasi]
    ['age', 'sex']
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"the schema describes {listing(twice)} more than once", reason=Reason.DUPLICATE_COLUMN
            )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def _repr_html_(self) -> str:
        return table_html(
            f"Schema of {len(self)} columns",
            ("column", "role", "kind", "hierarchy", "weight", "missing values"),
            [
                (c.name, c.role, c.kind, "yes" if c.hierarchy is not None else "", f"{c.weight:g}", c.missing)
                if c.role is Role.QUASI
                else (c.name, c.role, "", "", "", "")
                for c in self.columns
            ],
        )

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_column(name, self.names, "the schema")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    def having(self, role: Role) -> tuple[Column, ...]:
        """Return the columns that have `role`."""
        return tuple(column for column in self.columns if column.role is role)

    @property
    def quasi(self) -> tuple[Column, ...]:
        """The quasi-identifiers."""
        return self.having(Role.QUASI)

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns."""
        return self.having(Role.SENSITIVE)

    @property
    def has_items(self) -> bool:
        """Whether a quasi-identifier holds sets of items."""
        return any(column.kind.several for column in self.quasi)

    def changed(self, name: str, **changes: Any) -> Schema:
        """Return this schema with some properties of one column changed."""
        column = self[name]
        return Schema(tuple(replace(c, **changes) if c is column else c for c in self.columns))

    def completed(self, names: Iterable[str]) -> Schema:
        """Return this schema for a table with these columns, in their order.

        A column that the schema does not mention is carried along (role `other`), unless it is the index of a
        pandas frame, as pandas writes it to files (``__index_level_0__``): that is left out.

        Raises
        ------
        InputError
            If the schema has a column that the table lacks, or no quasi-identifier.
        """
        names = list(names)
        for column in self.columns:
            if column.name not in names:
                raise unknown_column(column.name, names)
        known = {column.name: column for column in self.columns}
        completed = Schema(tuple(known.get(name, Column(name, role=usual_role(name))) for name in names))
        if not completed.quasi:
            raise InputError(
                "no column is a quasi-identifier, so there is nothing to protect; name those that others may "
                f"know about a person among {listing(names)}",
                reason=Reason.NO_QUASI_IDENTIFIER,
                parameter="quasi",
            )
        return completed

    @classmethod
    def infer(
        cls,
        frame: IntoDataFrame,
        *,
        quasi: Collection[str] = (),
        sensitive: Collection[str] = (),
        drop: Collection[str] = (),
        kinds: Mapping[str, Kind | str] | None = None,
        weights: Mapping[str, float] | None = None,
        hierarchies: Mapping[str, HierarchySource] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
        missing: Mapping[str, Missing | str] | None = None,
        missing_marks: Collection[str] = (),
        separators: Mapping[str, str] | None = None,
    ) -> Schema:
        """Describe a frame: kinds from its values, roles from the caller.

        Parameters
        ----------
        frame
            Any frame that narwhals supports (pandas, Polars, PyArrow, ...).
        quasi, sensitive, drop
            The names of the quasi-identifiers, the sensitive columns and the identifiers to leave out. All
            others are carried along, but for the index of a pandas frame (``__index_level_0__``).
        kinds, weights, hierarchies, domains, missing
            What is known better than inferred, by column name.
        missing_marks
            Texts that mean "missing", in every column.
        separators
            What stands between the items of a text, by column name; such a column is of kind items.

        Raises
        ------
        InputError
            If a name is not a column of the frame or stands in two roles.
        """
        data = as_frame(frame)
        for given in (quasi, sensitive, drop, missing_marks):
            if isinstance(given, str):
                raise InputError(
                    f"a list of names is wanted, not the text {given!r}", reason=Reason.PARAMETER
                )
        roles = _roles(data.columns, quasi, sensitive, drop)
        overrides: tuple[tuple[str, Mapping[str, Any]], ...] = (
            ("kind", kinds or {}),
            ("weight", weights or {}),
            ("hierarchy", hierarchies or {}),
            ("domain", domains or {}),
            ("missing", missing or {}),
            ("separator", separators or {}),
        )
        for _, mapping in overrides:
            for name in mapping:
                if name not in data.columns:
                    raise unknown_column(name, data.columns)
        marks = tuple(missing_marks)
        columns = []
        for name in data.columns:
            known = {key: mapping[name] for key, mapping in overrides if name in mapping}
            if "kind" not in known:
                known["kind"] = Kind.ITEMS if "separator" in known else infer_kind(data[name], marks)
            columns.append(Column(name, role=roles.get(name, usual_role(name)), missing_marks=marks, **known))
        return cls(tuple(columns))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file; files of hierarchies are looked up beside it.

        Raises
        ------
        InputError
            If the file is not there, is not TOML, or says something that is not understood.
        """
        path = Path(path)
        data = read_toml(path, "schema file", parse_float=Decimal)
        columns = data.pop("columns", None)
        if not isinstance(columns, dict) or not columns or data:
            extra = f"; it also has {listing(data)}" if data else ""
            raise InputError(
                f"{path} must have a table [columns.NAME] for each column, and nothing else{extra}",
                reason=Reason.SCHEMA,
            )
        return cls(tuple(_column_from(name, table, path) for name, table in columns.items()))

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the schema as a TOML file, which `read` reads back to an equal schema.

        Raises
        ------
        InputError
            If the file exists and `overwrite` is not set, or cannot be written.
        """
        with staged_file(path, overwrite=overwrite) as staged:
            staged.write_text(self.to_toml(), encoding="utf-8")

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        return tomli_w.dumps({"columns": {column.name: _column_table(column) for column in self.columns}})


def as_frame(frame: IntoDataFrame) -> nw.DataFrame[Any]:
    """Return any frame that narwhals supports as one of its own.

    Raises
    ------
    InputError
        If it is not a table in memory, or its columns have no proper names.
    """
    try:
        data: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise InputError(
            "the table has several columns of the same name; rename all but one",
            reason=Reason.DUPLICATE_COLUMN,
        ) from None
    except TypeError:
        raise InputError(
            f"{type(frame).__name__} is not a table in memory that Shoal can read; give a pandas, Polars or "
            "PyArrow table (collect a lazy one first)",
            reason=Reason.PARAMETER,
        ) from None
    for name in data.columns:
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {name!r} is not a text; rename it", reason=Reason.SCHEMA, column=name
            )
    return readable(data)


def is_index(name: str) -> bool:
    """Return whether a column is the index of a pandas frame, by the name that pandas gives it in files."""
    return re.fullmatch(r"__index_level_[0-9]+__", name) is not None


def usual_role(name: str) -> Role:
    """Return the role of a column that nothing is said about."""
    return Role.IDENTIFIER if is_index(name) else Role.OTHER


def infer_kind(series: nw.Series[Any], missing_marks: Collection[str] = ()) -> Kind:
    """Return the kind of a column, judged by its type and, for text, by all its values.

    Text counts as numeric only where reading it as numbers loses nothing: codes with leading zeros, such as
    ZIP codes, stay categories.
    """
    texts = None
    if series.dtype == nw.String:
        texts = series.filter(~series.is_null()).unique()
        texts = texts.filter(~texts.is_in(["", *missing_marks]))
        if not len(texts):
            return Kind.CATEGORICAL
    return next((kind for kind in Kind if kind.fits(series, texts)), Kind.CATEGORICAL)


def merged_kinds(batches: Iterable[Any], missing_marks: Collection[str] = ()) -> dict[str, Kind]:
    """Return the kinds of all columns with values, of a table in batches, as `infer_kind` of the whole.

    Parameters
    ----------
    batches
        Frames with the same columns.
    missing_marks
        Texts that mean "missing".
    """
    kinds: dict[str, Kind] = {}
    for batch in batches:
        data = as_frame(batch)
        for name in data.columns:
            series = data[name]
            if kinds.get(name) is Kind.CATEGORICAL:
                continue
            if series.dtype == nw.String:
                series = series.drop_nulls()
                series = series.filter(~series.is_in(["", *missing_marks]))
                if len(series) == 0:
                    continue  # a batch without values says nothing
            kind = infer_kind(series, missing_marks)
            kinds[name] = kind if kinds.get(name, kind) is kind else Kind.CATEGORICAL
    return kinds


def _roles(
    names: Sequence[str], quasi: Collection[str], sensitive: Collection[str], drop: Collection[str]
) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for role, chosen in ((Role.QUASI, quasi), (Role.SENSITIVE, sensitive), (Role.IDENTIFIER, drop)):
        for name in chosen:
            if name not in names:
                raise unknown_column(name, names)
            if roles.setdefault(name, role) is not role:
                raise InputError(
                    f"column {name!r} has two roles, {roles[name].value} and {role.value}; give it one",
                    reason=Reason.ROLE_CONFLICT,
                    column=name,
                )
    return roles


def _column_table(column: Column) -> dict[str, Any]:
    """Return a column as a TOML table: role, kind, and whatever is not the default."""
    table: dict[str, Any] = {"role": column.role.value, "kind": column.kind.value}
    for field in fields(Column):
        value = getattr(column, field.name)
        if field.name in ("name", "role", "kind") or value == field.default:
            continue
        match value:
            case Intervals():
                table["hierarchy"] = {"intervals": list(value.widths), "origin": value.origin}
            case Prefixes():
                table["hierarchy"] = {"prefixes": list(value.lengths)}
            case Hierarchy():
                table["hierarchy"] = {"levels": value.levels()}
            case Missing():
                table["missing"] = value.value
            case tuple():
                table[field.name] = list(value)
            case _:
                table[field.name] = value
    return table


def _column_from(name: str, table: Any, path: Path) -> Column:
    def wrong(message: str) -> InputError:
        return InputError(f"{path}: column {name!r}: {message}", reason=Reason.SCHEMA, column=name)

    if not isinstance(table, dict):
        raise wrong(f"must be a table such as [columns.{name}], not {table!r}")
    known = [field.name for field in fields(Column) if field.name != "name"]
    for key, value in table.items():
        if key not in known:
            raise wrong(f"{key!r} is unknown{did_you_mean(key, known)}; it may have {listing(known)}")
        if key in ("domain", "missing_marks") and not isinstance(value, list):
            raise wrong(f"{key} must be a list, not {value!r}")
    # Bounds of numbers are kept as they are written; elsewhere, floats do.
    bounds = table.get("domain") if table.get("kind") == Kind.NUMERIC else None
    table = {key: _with_floats(value) for key, value in table.items()}
    if bounds is not None:
        table["domain"] = bounds
    if "hierarchy" in table:
        table["hierarchy"] = _hierarchy_from(table["hierarchy"], path, wrong)
    if "missing_marks" in table:
        table["missing_marks"] = tuple(str(mark) for mark in table["missing_marks"])
    return Column(name, **table)


def _with_floats(value: Any) -> Any:
    """Return a value of a TOML file with floats for decimals."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_with_floats(each) for each in value]
        case dict():
            return {key: _with_floats(each) for key, each in value.items()}
    return value


def _hierarchy_from(value: Any, path: Path, wrong: Callable[[str], InputError]) -> HierarchySource:
    with suppress(TypeError, ValueError, AttributeError):  # a value of the wrong type: not understood, too
        match value:
            case str():
                return Hierarchy.from_file(path.parent / value)
            case {"intervals": list(widths), **rest} if rest.keys() <= {"origin"}:
                return Intervals(tuple(map(float, widths)), float(value.get("origin", 0.0)))
            case {"prefixes": list(lengths), **rest} if not rest and all(isinstance(n, int) for n in lengths):
                return Prefixes(tuple(lengths))
            case {"levels": list(rows), **rest} if not rest:
                return Hierarchy.from_levels([[str(label) for label in row] for row in rows])
    raise wrong(
        f"hierarchy {value!r} is not understood; it is the name of a file, or one of "
        "{intervals = [5, 10]}, {prefixes = [3, 2]}, {levels = [[value, level 1, ..., top], ...]}"
    )
