"""What a report is drawn from, and the panels it consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from shoal.auditing import Audit
from shoal.base.wording import number, percent, plural
from shoal.measures import Loss
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.report.chart import Chart
from shoal.table import Table

if TYPE_CHECKING:
    from shoal.reading import Reader

__all__ = [
    "PANELS",
    "Content",
    "DeclaredPanel",
    "Detail",
    "Grid",
    "Material",
    "Panel",
    "in_memory",
    "number",
    "percent",
    "plural",
    "report_panel",
]


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
    read
        Opens the release for a reader, which knows nothing else.
    whole
        The table with the records that were left out because of limits; None if none may be.
    """

    recoding: Recoding
    rows: NDArray[np.int64]
    order: NDArray[np.int64]
    read: Callable[[], Reader]
    whole: Table | None = None

    def __repr__(self) -> str:
        return f"Detail({len(self.rows)} rows)"  # without the key

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "what a report is drawn from is not pickled, as it has the secret key; pickle release.table and "
            "release.certificate"
        )


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
    def held(self) -> Detail:
        """The detail, for panels that apply only if there is one."""
        assert self.detail is not None
        return self.detail

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


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a panel shows.

    Parameters
    ----------
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

    paragraphs: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    points: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    grids: tuple[Grid, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Panel(Content):
    """One part of a report.

    Parameters
    ----------
    name
        How programs ask for it.
    title
        What it is about.
    """

    name: str
    title: str


Render = Callable[[Material], Content | None]
"""Returns what a panel shows; None if there turns out to be nothing."""


@dataclass(frozen=True)
class DeclaredPanel:
    """A panel that reports may have.

    Parameters
    ----------
    name, title
        As of `Panel`.
    render
        Returns what it shows.
    applies
        Returns whether a report has it at all.
    place
        Its place in the report: a low number is early.
    """

    name: str
    title: str
    render: Render
    applies: Callable[[Material], bool]
    place: int

    def of(self, material: Material) -> Panel | None:
        """Return the panel of a report; None if the report has none."""
        content = self.render(material) if self.applies(material) else None
        return None if content is None else Panel(name=self.name, title=self.title, **vars(content))


PANELS: dict[str, DeclaredPanel] = {}
"""All panels by name, in the order of their places."""


def always(material: Material) -> bool:  # noqa: ARG001 - the material does not matter
    """Return that a panel applies to every report."""
    return True


def in_memory(material: Material) -> bool:
    """Return whether a panel applies that needs the generalized values: those of a release in memory."""
    return material.detail is not None


def report_panel(
    name: str, title: str, *, applies: Callable[[Material], bool] = always, place: int = 105
) -> Callable[[Render], Render]:
    """Register a function as a panel of the report.

    Parameters
    ----------
    name, title, applies, place
        As of `DeclaredPanel`. If no place is given, a panel stands after what was lost, and before how the
        release was made.

    Raises
    ------
    ValueError
        If another panel has the name.
    """

    def register(render: Render) -> Render:
        if name in PANELS or name in ("certificate", "charts", "keep_in_mind"):
            raise ValueError(f"another part of the report has the name {name!r}")
        PANELS[name] = DeclaredPanel(name, title, render, applies, place)
        ordered = sorted(PANELS.items(), key=lambda each: each[1].place)
        PANELS.clear()
        PANELS.update(ordered)
        return render

    return register
