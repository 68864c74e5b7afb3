"""What those who decide on publication should know: warnings, and reasons not to publish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.auditing import Audit
from shoal.base.wording import plural
from shoal.models import Model
from shoal.schema import Schema
from shoal.schema.suggesting import doubts, suspects

_SEEDED = "It was made from a seed: anyone who has the seed can undo the shuffle."
_NOT_RANDOMIZED = "It is not randomized: an attacker who knows every record can re-identify its rows."


def reasons_not_to_publish(model: Model, circumstances: Mapping[str, Any]) -> tuple[str, ...]:
    """Return why a release must not be published, as sentences; none if it may be.

    Parameters
    ----------
    model
        The privacy model.
    circumstances
        How the release was made.
    """
    return (
        *([model.not_to_publish] if model.not_to_publish else []),
        *([_SEEDED] if circumstances["seeded"] else []),
        *([_NOT_RANDOMIZED] if circumstances["options"].get("randomized") is False else []),
    )


def column_warnings(schema: Schema, audit: Audit, frame: IntoDataFrame | None = None) -> list[str]:
    """Return a sentence for each column that is released unchanged and looks identifying, or of a wrong kind.

    Columns that the audit warns about are left out.

    Parameters
    ----------
    schema, audit
        The schema of the table, and the audit of its release.
    frame
        The table; without it, columns are judged by their names.
    """
    table = frame if frame is not None else pl.DataFrame({name: [] for name in schema.names})
    known = {each.column for each in audit.carried}
    return [
        *(
            f"Column {name!r} is released unchanged, but {why}."
            for name, why in suspects(table, schema).items()
            if name not in known
        ),
        *(f"Quasi-identifier {name!r} is categorical: {why}." for name, why in doubts(table, schema).items()),
    ]


def all_warnings(model: Model, circumstances: Mapping[str, Any], audit: Audit) -> tuple[str, ...]:
    """Return all warnings about a release, as sentences, the most serious first.

    Parameters
    ----------
    model, audit
        The privacy model, and what the audit found.
    circumstances
        How the release was made, with the warnings that came up then.
    """
    return (
        *(f"Do not publish this release. {why}" for why in reasons_not_to_publish(model, circumstances)),
        *(f"{text[0].upper()}{text[1:]}." for text in audit.warnings),
        *circumstances.get("warnings", ()),
        *_not_required(model, audit),
        *_certain_values(model, audit),
    )


def _not_required(model: Model, audit: Audit) -> Iterator[str]:
    """Yield the sensitive columns of which nothing is required although something is of others."""
    if model.diversity is None:
        return
    for column in audit.diversity:
        if not model.guards(column.column):
            yield (
                f"Nothing is guaranteed about the sensitive column {column.column!r}: in a crowd, all "
                "records may have the same value, and an attacker then learns it."
            )


def _certain_values(model: Model, audit: Audit) -> Iterator[str]:
    """Yield for how many records an attacker would be certain of a sensitive value, or nearly so."""
    required = model.diversity
    for column, records in audit.nearly_certain().items():
        known = required is not None and required.applies_to(column)
        what = "Require a larger l" if known else "Require l = 2 or more"
        if records:
            yield (
                f"For {records:,} of {plural(audit.records, 'record')}, an attacker is certain of "
                f"{column!r}, or nearly so: more than 90% of the rows that could be the record's have the "
                f"same value. {what}, in a model that has it."
            )
