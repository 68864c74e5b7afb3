"""What a reader knows about a release: its columns, what was declared about them, how tight cells are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import InputError, Reason
from shoal.kinds.hierarchy import Hierarchy
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.kinds.kind import Kind

if TYPE_CHECKING:
    from shoal.kinds.hierarchy import HierarchySource
    from shoal.models import Model
    from shoal.schema import Schema

FILE = "codebook.json"
VERSION = 1

Around = Literal["rows", "classes", "nothing"]


@dataclass(frozen=True)
class Tightness:
    """Around how many records the cells of a row are tight.

    A cell is tight around some records if each member of a set, and each end of an interval, is the value of
    at least one of them.

    Parameters
    ----------
    around
        ``rows`` if each row was made for a number of records, ``classes`` if rows with identical
        quasi-identifiers were made for as many records as there are rows, ``nothing`` if cells are not tight.
    records
        For ``rows``, the number of records.
    own
        Whether each row was made for a record of its own, and then grew around others; otherwise it belongs
        to each of its records with the same probability.
    """

    around: Around = "nothing"
    records: int = 1
    own: bool = False


@dataclass(frozen=True)
class ColumnNotes:
    """What is known about one column of a release; the names are those of a schema.

    Parameters
    ----------
    name, role, kind
        Its name in the original, what it means for privacy, and what values it has.
    domain, hierarchy, missing, missing_marks, date_format, separator, exact, widest, bands, suppressible
        What was declared.
    """

    name: str
    role: str = "other"
    kind: Kind = Kind.CATEGORICAL
    domain: tuple[Any, ...] | None = None
    hierarchy: HierarchySource | None = None
    missing: str = "category"
    missing_marks: tuple[str, ...] = ()
    date_format: str | None = None
    separator: str | None = None
    normalize: bool = False
    exact: bool = False
    widest: float | str | None = None
    bands: tuple[Any, ...] | str | None = None
    suppressible: bool = True

    @property
    def quasi(self) -> bool:
        """Whether its cells are generalized."""
        return self.role == "quasi"


@dataclass(frozen=True)
class Codebook:
    """What is known about a release.

    Parameters
    ----------
    columns
        Its columns.
    tightness
        How tight its cells are.
    model
        The guarantee: its name and its parameters.
    method
        The name of the method, if it is known.
    """

    columns: tuple[ColumnNotes, ...]
    tightness: Tightness = Tightness()
    model: Mapping[str, Any] = field(default_factory=dict)
    method: str | None = None

    @property
    def k(self) -> int:
        """The size of crowds, as far as the model says; otherwise 1."""
        return int(self.model.get("k", 1))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = FILE) -> Codebook:
        """Return what a codebook says.

        Raises
        ------
        InputError
            If it is none, or one of a later version.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("codebook"), int):
            raise _unreadable(where, "is not a codebook")
        if data["codebook"] > VERSION:
            raise _unreadable(where, "was written by a later version of Shoal; install that one")
        try:
            columns = tuple(_notes(each) for each in data["columns"])
            tight = data.get("tight", {})
            tightness = Tightness(
                tight.get("around", "nothing"), int(tight.get("records", 1)), bool(tight.get("own", False))
            )
            model = dict(data.get("model", {}))
            int(model.get("k", 1))
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise _unreadable(where, f"is not understood: {type(error).__name__} {error}") from None
        book = cls(columns, tightness, model, data.get("method"))
        if book.k < 1:
            raise _unreadable(where, f"is not understood: k = {book.k}")
        return book

    @classmethod
    def from_file(cls, path: Path) -> Codebook:
        """Read ``codebook.json``.

        Raises
        ------
        InputError
            If the file cannot be read or is not a codebook.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"there is no file {path}", reason=Reason.MISSING_FILE) from None
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(str(path), f"cannot be read: {error}") from None
        return cls.from_dict(data, str(path))

    @classmethod
    def of_schema(cls, schema: Schema, model: Model | None = None) -> Codebook:
        """Return what a schema and a model say, for a release without a codebook.

        Parameters
        ----------
        schema
            What the columns of the original are.
        model
            The guarantee of the release. Without it, cells are not taken to be tight.
        """
        columns = tuple(
            ColumnNotes(
                each.name,
                each.role.value,
                each.kind,
                each.domain,
                each.hierarchy,
                each.missing.value,
                each.missing_marks,
                each.date_format,
                each.separator,
                False,
                *(each.exact, each.widest, each.bands, each.suppressible),
            )
            for each in schema
            if each.role.released
        )
        guarantee = {} if model is None else {"name": model.name, **model.parameters}
        tight = Tightness() if any(each.bands is not None for each in columns) else _tightness_of(model)
        return cls(columns, tight, guarantee)


def _tightness_of(model: Model | None) -> Tightness:
    if model is None or model.cells in ("suppression", "loose"):
        return Tightness()
    if model.crowd_kind == "classes":
        return Tightness("classes")
    records = model.crowd if model.records_per_row > 1 else 1
    return Tightness("rows", records, model.has_own_rows)


def _notes(data: Mapping[str, Any]) -> ColumnNotes:
    kind = Kind(data["kind"])
    domain = data.get("domain")
    if domain is not None and kind.measured:
        domain = [
            kind.parsed(each, ColumnNotes(data["name"])) if isinstance(each, str) else each  # type: ignore[arg-type]
            for each in domain
        ]
    return ColumnNotes(
        data["name"],
        data["role"],
        kind,
        None if domain is None else tuple(domain),
        _hierarchy(data.get("hierarchy")),
        data.get("missing", "category"),
        tuple(data.get("missing_marks", ())),
        data.get("date_format"),
        data.get("separator"),
        exact=data.get("exact", False),
        widest=data.get("widest"),
        bands=tuple(bands) if isinstance(bands := data.get("bands"), list) else bands,
        suppressible=data.get("suppressible", True),
    )


def _hierarchy(data: Mapping[str, Any] | None) -> HierarchySource | None:
    if data is None:
        return None
    if "levels" in data:
        return Hierarchy.from_levels(_texts(data["levels"]))
    if "intervals" in data:
        return Intervals(tuple(data["intervals"]), data.get("origin", 0.0))
    return Prefixes(tuple(data["prefixes"]))


def _texts(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def _unreadable(where: str, problem: str) -> InputError:
    return InputError(f"{where} {problem}", reason=Reason.RELEASE_UNREADABLE)
