"""Measures of information loss. A new one is one file that registers itself here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.base.wording import number, percent
from shoal.recoding import Recoding

LAST = 100
"""The place of a measure that declares none: after those that Shoal brings."""

TAKEN = frozenset(
    {"as_dict", "bound", "bound_error", "figures", "merge", "ratio"}
    | {"certificate", "command", "concealment", "k", "message", "method"}
    | {"model", "reason", "risk", "run", "seconds", "way"}
)
"""Names of what stands beside the figures of measures, in a `Loss` or in a comparison."""

Merge = Callable[[Sequence[Any], Sequence[int]], Any]
"""Returns the figure of several releases together, given the figure and the number of rows of each."""


@dataclass(frozen=True)
class Measure:
    """How information loss is measured.

    Parameters
    ----------
    name
        What programs call it: an attribute of `Loss` and a key of the certificate.
    help
        What it says, in one sentence.
    compute
        Returns the figure of a recoding: a number, a mapping or a dataclass, as JSON can hold it. If it has a
        parameter ``k``, it is given the crowd size.
    label
        What reports call it; None if no report lists it.
    heading
        Heading of its column in comparisons; None if it has none. A measure with a heading is also part of
        the summary of a release on the command line.
    share
        Whether figures are shares from 0 to 1, to be written as percentages.
    words
        How a figure is written in reports, if it is not a single number.
    merge
        How the figures of blocks become the figure of the whole table, such as `mean_over_rows`; None if only
        the whole table has a figure.
    of_rows
        Returns the loss of each row, whose mean is the figure: for methods that keep it small.
    place
        Its place among the measures: a low number is early.
    """

    name: str
    help: str
    compute: Callable[..., Any]
    label: str | None = None
    heading: str | None = None
    share: bool = False
    words: Callable[[Any], str] | None = None
    merge: Merge | None = None
    of_rows: Callable[[Recoding], NDArray[np.float64]] | None = None
    place: int = LAST

    def figure(self, recoding: Recoding, k: int) -> Any:
        """Return the figure of a recoding that was made for crowds of `k`."""
        if "k" in inspect.signature(self.compute).parameters:
            return self.compute(recoding, k=k)
        return self.compute(recoding)

    def written(self, figure: Any) -> str:
        """Return a figure as reports write it."""
        if self.words is not None:
            return self.words(figure)
        return percent(figure) if self.share else number(figure)

    def compared(self, figure: float | None) -> str:
        """Return a figure as comparisons write it, with enough digits to distinguish similar releases."""
        if figure is None:
            return ""
        return f"{figure:.2%}" if self.share else f"{figure:.4g}"


MEASURES: dict[str, Measure] = {}
"""All measures by name, in the order of their places."""

Function = TypeVar("Function", bound=Callable[..., Any])


def loss_measure(
    *,
    help: str,  # noqa: A002 - as for options
    name: str | None = None,
    **declared: Any,
) -> Callable[[Function], Function]:
    """Register a function as a measure of information loss.

    Parameters
    ----------
    help
        What it says, in one sentence.
    name
        What programs call it; the function's name if omitted.
    **declared
        Other parameters of `Measure`.

    Raises
    ------
    ValueError
        If the name is taken or cannot be one of an attribute.
    """

    def register(function: Function) -> Function:
        made = Measure(name or function.__name__, help, function, **declared)
        if made.name in MEASURES or made.name in TAKEN or not made.name.isidentifier():
            raise ValueError(f"a measure cannot have the name {made.name!r}: it is taken, or not a name")
        MEASURES[made.name] = made
        ordered = sorted(MEASURES.items(), key=lambda each: each[1].place)
        MEASURES.clear()
        MEASURES.update(ordered)
        return function

    return register


def headlines() -> list[Measure]:
    """Return the measures that comparisons and summaries show."""
    return [each for each in MEASURES.values() if each.heading is not None]


def mean_over_rows(figures: Iterable[float], rows: Sequence[int]) -> float:
    """Return the mean of the figures of several releases, each weighted by its number of rows."""
    return float(np.average(list(figures), weights=rows))


def mean_by_name(figures: Sequence[Mapping[str, float]], rows: Sequence[int]) -> dict[str, float]:
    """Return the mean over rows of each of several named figures."""
    return {name: mean_over_rows([each[name] for each in figures], rows) for name in figures[0]}


def weighted(recoding: Recoding, of_boxes: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean over attributes by their weights, for each row.

    Parameters
    ----------
    recoding
        The recoding.
    of_boxes
        For each attribute, the loss in each of its generalized values.
    """
    weights = recoding.table.weights
    together = np.empty((len(weights), len(recoding.values[0])))
    for place, losses in zip(together, of_boxes, strict=True):  # one at a time: none is in memory twice
        place[:] = losses
    boxes: NDArray[np.float64] = weights @ together
    return boxes[recoding.box]
