"""The description of a table: roles and kinds of its columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import tomli_w
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.base.markup import table_html
from shoal.base.wording import plural
from shoal.errors import InputError, Reason, listing, unknown_column
from shoal.files.staging import staged_file
from shoal.kinds.hierarchy import HierarchySource
from shoal.kinds.kind import Kind
from shoal.schema.column import Column, Missing, Role
from shoal.schema.frames import Inferred, as_frame, infer_column, usual_role
from shoal.schema.schema_files import column_table, read_columns


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
        for role, says in _AT_MOST_ONCE.items():
            having = [column.name for column in self.having(role)]
            if len(having) > 1:
                raise InputError(
                    f"{listing(having)} both have the role {role.value}; only one column {says}",
                    reason=Reason.ROLE_CONFLICT,
                    column=having[1],
                )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __repr__(self) -> str:
        lines = (f"  {c.name}: {c.role.value}, {c.kind.value}" for c in self.columns)
        return "\n".join((f"Schema of {plural(len(self), 'column')}", *lines))

    def _repr_html_(self) -> str:
        return table_html(
            f"Schema of {plural(len(self), 'column')}",
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
    def person(self) -> Column | None:
        """The column that says whose record each is, if persons may have several."""
        return next(iter(self.having(Role.PERSON)), None)

    @property
    def survey_weight(self) -> Column | None:
        """The column that says how many people of the population a record stands for, if there is one."""
        return next(iter(self.having(Role.WEIGHT)), None)

    @property
    def labels(self) -> dict[str, str]:
        """What columns are about, by name, where that is said."""
        return {column.name: column.label for column in self.columns if column.label}

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

        A column that the schema does not mention is released unchanged (role `other`), unless it is the index
        of a pandas frame, as pandas writes it to files (``__index_level_0__``), which is left out.

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
                "no column is a quasi-identifier, so there is nothing to protect; choose the columns that an "
                f"attacker may know among {listing(names)}",
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
        person: str | None = None,
        survey_weight: str | None = None,
        kinds: Mapping[str, Kind | str] | None = None,
        weights: Mapping[str, float] | None = None,
        hierarchies: Mapping[str, HierarchySource] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
        missing: Mapping[str, Missing | str] | None = None,
        missing_marks: Collection[str] = (),
        separators: Mapping[str, str] | None = None,
        date_formats: Mapping[str, str] | None = None,
        inferred: Mapping[str, Inferred] | None = None,
    ) -> Schema:
        """Describe a frame: kinds from its values, roles from the caller.

        Parameters
        ----------
        frame
            Any frame that narwhals supports (pandas, Polars, PyArrow, ...).
        quasi, sensitive, drop
            The names of the quasi-identifiers, the sensitive columns and the identifiers to leave out. All
            others are released unchanged, except the index of a pandas frame (``__index_level_0__``).
        person
            The name of the column that says whose record each is, if a person may have several. It is left
            out of the release, and k counts persons instead of records.
        survey_weight
            The name of the column that says how many people of the population a record stands for. The audit
            computes the individual risk by it, and a release has it in groups if single values identify.
        kinds, weights, hierarchies, domains, missing
            Properties that take precedence over inferred ones, by column name.
        missing_marks
            Texts that mean "missing", in every column.
        separators
            Separators of the items in a text, by column name; such a column is of kind items.
        date_formats
            Formats of dates as in ``strptime``, by column name; such a column is of kind date.
        inferred
            What `merged_columns` found in the whole table, if the frame is only a part of it.

        Raises
        ------
        InputError
            If a name is not a column of the frame or has two roles.
        """
        data = as_frame(frame)
        _refuse_texts(quasi, sensitive, drop, missing_marks)
        named = {Role.QUASI: quasi, Role.SENSITIVE: sensitive, Role.IDENTIFIER: drop}
        single = {Role.PERSON: person, Role.WEIGHT: survey_weight}
        named |= {role: () if name is None else (name,) for role, name in single.items()}
        roles = _roles(data.columns, named)
        known = {
            "kind": kinds or {},
            "weight": weights or {},
            "hierarchy": hierarchies or {},
            "domain": domains or {},
            "missing": missing or {},
            "separator": separators or {},
            "date_format": date_formats or {},
        }
        for name in (name for mapping in known.values() for name in mapping):
            if name not in data.columns:
                raise unknown_column(name, data.columns)
        marks = tuple(missing_marks)
        columns = []
        for name in data.columns:
            own: dict[str, Any] = {key: mapping[name] for key, mapping in known.items() if name in mapping}
            if "kind" not in own and "separator" in own:
                own["kind"] = Kind.ITEMS
            if "kind" not in own and "date_format" in own:
                own["kind"] = Kind.DATE
            role = roles.get(name, usual_role(name))
            if "kind" not in own:
                ordinal = role is Role.QUASI and not own.keys() & {"domain", "hierarchy"}
                own = {**_inferred(data, name, marks, inferred, ordinal=ordinal), **own}
            columns.append(Column(name, role=role, missing_marks=marks, **own))
        return cls(tuple(columns))

    @classmethod
    def of(cls, given: Schema | str | os.PathLike[str]) -> Schema:
        """Return a schema, also from the path of its file.

        Raises
        ------
        InputError
            If it is neither, or the file cannot be read.
        """
        if isinstance(given, Schema):
            return given
        if isinstance(given, str | os.PathLike):
            return cls.read(given)
        raise InputError(
            f"{type(given).__name__} is not a schema; give a Schema, or the path of a schema file",
            reason=Reason.SCHEMA,
            parameter="schema",
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file; paths of hierarchy files are relative to it.

        Raises
        ------
        InputError
            If the file does not exist, is not TOML, or has unknown content.
        """
        return cls(read_columns(Path(path)))

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
        return tomli_w.dumps({"columns": {column.name: column_table(column) for column in self.columns}})


_AT_MOST_ONCE = {
    Role.PERSON: "says whose record each is",
    Role.WEIGHT: "says how many people a record stands for",
}


def _inferred(
    data: nw.DataFrame[Any],
    name: str,
    marks: Collection[str],
    known: Mapping[str, Inferred] | None,
    *,
    ordinal: bool,
) -> dict[str, Any]:
    """Return the kind of a column and what belongs to it, by the values of the frame unless known."""
    found = known[name] if known is not None and name in known else infer_column(data[name], marks)
    return found.settings(name, last=name == data.columns[-1], ordinal=ordinal)


def _refuse_texts(*given: Collection[str]) -> None:
    """Refuse a text where a list of names is expected: its letters would be taken for names."""
    for each in given:
        if isinstance(each, str):
            raise InputError(f"expected a list of names, not the text {each!r}", reason=Reason.PARAMETER)


def _roles(names: Sequence[str], named: Mapping[Role, Collection[str]]) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for role, chosen in named.items():
        for name in chosen:
            if not isinstance(name, str):
                raise InputError(
                    f"{name!r} is not the name of a column; names are texts", reason=Reason.PARAMETER
                )
            if name not in names:
                raise unknown_column(name, names)
            if roles.setdefault(name, role) is not role:
                raise InputError(
                    f"column {name!r} has two roles, {roles[name].value} and {role.value}; give it one",
                    reason=Reason.ROLE_CONFLICT,
                    column=name,
                )
    return roles
