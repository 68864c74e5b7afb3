"""What a release loses: a figure for each measure, and what every such release must lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.measures.bounds import lower_bound
from shoal.measures.items import ItemsLoss
from shoal.measures.measure import MEASURES
from shoal.recoding import Recoding


@dataclass(frozen=True)
class Loss:
    """What a release loses: the figure of each measure, as an attribute and by its name in brackets.

    `gcp`, `lm` and `em` are 0 where nothing is lost. A figure is None if it is not known: a release that was
    made block by block has only those that can be merged, which are `gcp`, `by_attribute` and `items`.

    Parameters
    ----------
    figures
        The figure of each measure, by the names of `shoal.measures.MEASURES`: `gcp`, `lm`, `em`,
        `discernibility`, `average_class_size`, `usefulness`, `row_types`, `by_attribute`, `items`, and those
        that were added.
    bound
        The minimum `gcp` of every release that keeps the guarantee; see `lower_bound`.
    bound_error
        The standard error of `bound` where it is estimated from a sample of the records, otherwise 0.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> release.loss.lm == release.loss["lm"]
    True
    >>> sorted(release.loss.by_attribute)
    ['age', 'sex']
    """

    figures: Mapping[str, Any]
    bound: float | None = None
    bound_error: float | None = None

    def __getattr__(self, name: str) -> Any:
        """Return the figure of a measure."""
        if name not in MEASURES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.figures.get(name)

    def __getitem__(self, name: str) -> Any:
        """Return a figure by its name.

        Raises
        ------
        InputError
            If there is no such measure; the message lists those there are.
        """
        try:
            return getattr(self, name)
        except AttributeError:
            raise InputError(
                f"there is no measure {name!r}{did_you_mean(name, MEASURES)}; there are {listing(MEASURES)}",
                reason=Reason.PARAMETER,
                parameter="measure",
            ) from None

    def __repr__(self) -> str:
        shown = {name: self.figures.get(name) for name in MEASURES}
        written = (f"{name}={value:.4g}" for name, value in shown.items() if isinstance(value, int | float))
        return f"Loss({', '.join(written)})"

    @property
    def gcp(self) -> float:
        """The global certainty penalty, by which releases are judged first."""
        return float(self.figures["gcp"])

    @property
    def by_attribute(self) -> Mapping[str, float]:
        """`gcp` of each quasi-identifier alone."""
        return self.figures["by_attribute"]  # type: ignore[no-any-return]

    @property
    def items(self) -> Mapping[str, ItemsLoss]:
        """What was lost of each column of items."""
        return self.figures["items"]  # type: ignore[no-any-return]

    @property
    def ratio(self) -> float | None:
        """How many times `bound` was lost; None where the bound is 0."""
        return self.gcp / self.bound if self.bound else None

    @classmethod
    def merge(cls, losses: Sequence[Loss], rows: Sequence[int]) -> Loss:
        """Return what several releases lose together, by those measures whose figures can be merged.

        Parameters
        ----------
        losses
            What each loses.
        rows
            How many rows each has.
        """
        merged = {}
        for name, measured in MEASURES.items():
            figures = [each.figures.get(name) for each in losses]
            if measured.merge is not None and all(figure is not None for figure in figures):
                merged[name] = measured.merge(figures, rows)
        return cls(merged)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures that are known as plain data."""
        bound = {} if self.bound is None else {"bound": self.bound, "bound_error": self.bound_error}
        ratio = {} if self.bound is None else {"ratio": self.ratio}
        return {**_plain(self.figures), **bound, **ratio}


def _plain(figure: Any) -> Any:
    """Return a figure as JSON can hold it, without what is not known."""
    if is_dataclass(figure):
        figure = {field.name: getattr(figure, field.name) for field in fields(figure)}
    if isinstance(figure, Mapping):
        return {name: _plain(each) for name, each in figure.items() if each is not None}
    return figure


def measure(recoding: Recoding, k: int, *, records_per_row: int | None = None) -> Loss:
    """Return all figures of loss of a recoding that was made for `k`.

    Parameters
    ----------
    recoding
        The recoding.
    k
        The size of a crowd.
    records_per_row
        How many records each row must cover, for the bound; `k` by default.
    """
    crowd = k if records_per_row is None else records_per_row
    bound = lower_bound(recoding.table, crowd, records=recoding.records if recoding.withheld else None)
    figures = {name: measured.figure(recoding, k) for name, measured in MEASURES.items()}
    return Loss(figures, bound.value, bound.error)
