"""The certificate of a release: guarantee, loss and audit, without a value of any record."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.auditing import Audit
from shoal.base.distribution import version
from shoal.errors import PromiseError, Reason
from shoal.kinds.limits import in_words, is_limited
from shoal.measures import Loss
from shoal.models import Model
from shoal.release.cautions import all_warnings, reasons_not_to_publish
from shoal.release.codebook import codebook_of
from shoal.schema import Role, Schema, is_index

if TYPE_CHECKING:
    from shoal.report import Detail, Report


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, eq=False)
class Certificate:
    """The guarantee, the information loss and the audit of a release; the same for every engine.

    Parameters
    ----------
    model
        The privacy model.
    schema
        The schema of the table.
    circumstances
        How the release was made: method, options, seed or not, notes, warnings, time.
    rows
        The number of rows.
    loss
        The information loss.
    audit
        The result of the audit.
    left_out
        The number of records left out because of missing values.
    over_limit
        The number of records left out because their person has more than are kept.
    stranded
        The number of records left out because they cannot be hidden within the limits of the columns.
    withheld
        The number of records withheld at random.
    account
        What the method reports about its result, such as a bound.
    engine
        The engine and its blocks, if the table was cut into blocks.
    files
        The SHA-256 digest of each file of the release.
    created
        When it was made.
    """

    model: Model
    schema: Schema
    circumstances: Mapping[str, Any]
    rows: int
    loss: Loss
    audit: Audit
    left_out: int = 0
    over_limit: int = 0
    stranded: int = 0
    withheld: int = 0
    account: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    created: str = field(default_factory=_now)

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data, for JSON."""
        return self._data

    @property
    def reasons_not_to_publish(self) -> tuple[str, ...]:
        """Why the release must not be published, as sentences; empty if it may be."""
        return reasons_not_to_publish(self.model, self.circumstances)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """All that those who decide on the release should know, as sentences, the most serious first."""
        return all_warnings(self.model, self.circumstances, self.audit)

    def require_no_warnings(self) -> None:
        """Raise an error if there are warnings.

        Raises
        ------
        PromiseError
            With all warnings.
        """
        if self.warnings:
            raise PromiseError(
                "the guarantee holds, but no warning is accepted: " + " ".join(self.warnings),
                reason=Reason.CAUTION,
            )

    @cached_property
    def _data(self) -> dict[str, Any]:
        model = self.model
        files = {name: {"sha256": digest} for name, digest in self.files.items()}
        return {
            "shoal": version(),
            "created": self.created,
            "model": {"name": model.name, **model.parameters, "promise": model.sentence()},
            "publishable": not self.reasons_not_to_publish,
            **({"reasons_not_to_publish": list(reasons)} if (reasons := self.reasons_not_to_publish) else {}),
            "warnings": list(self.warnings),
            **{name: value for name, value in self.circumstances.items() if name != "warnings"},
            **({"engine": dict(self.engine)} if self.engine else {}),
            "rows": self.rows,
            "left_out": self.left_out,
            **({"over_limit": self.over_limit} if self.over_limit else {}),
            **({"stranded": self.stranded} if self.stranded else {}),
            "withheld": self.withheld,
            "columns": _described(self.schema),
            **({"account": dict(self.account)} if self.account else {}),
            "loss": self.loss.as_dict(),
            "audit": self.audit.as_dict(),
            **({"files": files} if files else {}),
        }

    def codebook(self) -> dict[str, Any]:
        """Return what readers need to compute with the release, as plain data."""
        return codebook_of(self.model, self.schema, self.circumstances)

    def report(self, detail: Detail | None = None) -> Report:
        """Return the report on the release.

        Parameters
        ----------
        detail
            Details that only a release in memory has; panels that need them are omitted without it.
        """
        from shoal.report import Material, Report  # imported late: few callers ask for one

        return Report(Material(self.model, self.loss, self.audit, self.as_dict(), detail))


def _described(schema: Schema) -> list[dict[str, Any]]:
    """Return what a certificate says of the columns."""
    return [
        {"name": c.name, "role": c.role.value}
        | ({"label": c.label} if c.label else {})
        | (
            {
                "kind": c.kind.value,
                "weight": c.weight,
                "missing": c.missing.value,
                "hierarchy": c.hierarchy is not None,
            }
            | ({"limits": in_words(c)} if is_limited(c) else {})
            if c.role is Role.QUASI
            else {}
        )
        for c in schema
    ]


def index_notes(schema: Schema) -> list[str]:
    """Return what a certificate says of the index of a pandas frame among the columns of a table."""
    return [
        f"Column {column.name!r} is the index of a pandas frame and was left out."
        for column in schema
        if column.role is Role.IDENTIFIER and is_index(column.name)
    ]
