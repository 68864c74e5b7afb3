"""What a report is drawn from, and the panels it consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing import Audit
from shoal.base.wording import number, percent, plural
from shoal.measures import Loss
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.report.chart import Chart

__all__ = ["Detail", "Grid", "Material", "Panel", "number", "percent", "plural"]


@dataclass(frozen=True, eq=False)
class Detail:
    """What only a release in memory has.

    Parameters
    ----------
    recoding
        The generalized values.
    rows
        The row of the recoding that each released row shows.
    order
        The record whose other columns each released row carries: the secret key, for sums only.
    """

    recoding: Recoding
    rows: NDArray[np.int64]
    order: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Detail({len(self.rows)} rows)"  # without the key


@dataclass(frozen=True, eq=False)
class Material:
    """Everything that a report is drawn from.

    Parameters
    ----------
    model, loss, audit
        What was promised, lost and found.
    certificate
        The same as plain data, with how it was made.
    detail
        What only a release in memory has; panels that need it are left out without.
    """

    model: Model
    loss: Loss
    audit: Audit
    certificate: Mapping[str, Any]
    detail: Detail | None = None

    def __repr__(self) -> str:
        return f"Material({self.audit.rows} rows, {self.model!r})"

    @property
    def in_blocks(self) -> bool:
        """Whether the table was cut into blocks: crowds were then counted within them."""
        return "engine" in self.certificate


@dataclass(frozen=True)
class Grid:
    """A table of figures.

    Parameters
    ----------
    title
        What it shows.
    head
        The names of its columns.
    rows
        Its cells, as texts.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Panel:
    """One part of a report.

    Parameters
    ----------
    name
        How programs ask for it.
    title
        What it is about.
    paragraphs
        What there is to say.
    facts
        Names and what there is to say about them.
    points
        Things to keep apart, as a list.
    charts, grids
        What there is to see.
    data
        What it is drawn from, as plain data, less what the certificate says.
    """

    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    points: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    grids: tuple[Grid, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
