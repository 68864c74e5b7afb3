"""Loss of information in a recoding: NCP and GCP, LM and EM, overall and by attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.measures.bounds import lower_bound
from shoal.measures.items import ItemsLoss, items_loss
from shoal.recoding import Recoding


@dataclass(frozen=True)
class Loss:
    """What a release loses. `gcp`, `lm` and `em` are 0 where nothing is lost.

    All but `gcp`, `by_attribute` and `items` are None for a release that was made block by block.

    Parameters
    ----------
    gcp
        Global certainty penalty (Doka et al. 2015, Equations 1 to 3): the mean over rows and attributes of
        the share of the domain that a generalized value spans; 1 if everything is suppressed.
    lm
        Loss metric (Tassa, Mazza and Gionis 2012, Equations 1 and 2): as `gcp`, but intervals are measured
        by how many values of the domain they contain.
    em
        Entropy measure: the mean number of bits by which a generalized value leaves the original open.
    discernibility
        Sum of squared class sizes; a fully suppressed row counts as much as the whole table.
    average_class_size
        Mean size of a class of identical rows, in units of k.
    usefulness
        Mean diversity of the original values in a row type (Loukides and Shao 2007), summed over attributes.
    row_types
        Number and sizes of the classes of identical rows.
    by_attribute
        `gcp` of each quasi-identifier alone.
    bound
        What every release that keeps the promise has as `gcp` at least; see `lower_bound`.
    bound_error
        The standard error of `bound` where it is estimated from a sample of the records, else 0.
    items
        For each column of items, what was lost of it; see `ItemsLoss`.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> sorted(release.loss.by_attribute)
    ['age', 'sex']
    """

    gcp: float
    lm: float | None
    em: float | None
    discernibility: int | None
    average_class_size: float | None
    usefulness: float | None
    row_types: RowTypes | None
    by_attribute: Mapping[str, float]
    bound: float | None
    bound_error: float | None
    items: Mapping[str, ItemsLoss] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times `bound` was lost; None where the bound is 0."""
        return self.gcp / self.bound if self.bound else None

    @classmethod
    def merge(cls, losses: Sequence[Loss], rows: Sequence[int]) -> Loss:
        """Return what several releases lose together; means over rows can be merged.

        Parameters
        ----------
        losses
            What each loses.
        rows
            How many rows each has.
        """

        def mean(figures: Iterable[float]) -> float:
            return float(np.average(list(figures), weights=rows))

        names, items = losses[0].by_attribute, losses[0].items
        return cls(
            gcp=mean(each.gcp for each in losses),
            by_attribute={name: mean(each.by_attribute[name] for each in losses) for name in names},
            items={
                name: ItemsLoss(
                    error_rate=mean(each.items[name].error_rate for each in losses),
                    uncertain=mean(each.items[name].uncertain for each in losses),
                    bits=mean(each.items[name].bits for each in losses),
                )
                for name in items
            },
            **dict.fromkeys(_WHOLE),
        )

    def __getitem__(self, name: str) -> Any:
        """Return a figure by its name."""
        return getattr(self, name)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        found = {**asdict(self), "by_attribute": dict(self.by_attribute)}
        items = {name: _present(asdict(each)) for name, each in self.items.items()}
        ratio = {} if self.bound is None else {"ratio": self.ratio}
        return {**_present(found), "items": items, **ratio}


_WHOLE = (
    "lm",
    "em",
    "discernibility",
    "average_class_size",
    "usefulness",
    "row_types",
    "bound",
    "bound_error",
)
"""The figures that only the whole table tells."""


def _present(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures that are there."""
    return {name: figure for name, figure in figures.items() if figure is not None}


@dataclass(frozen=True)
class RowTypes:
    """The classes of equal released rows.

    Parameters
    ----------
    count, mean, smallest, largest
        How many there are and how many rows they have.
    """

    count: int
    mean: float
    smallest: int
    largest: int


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
    return Loss(
        gcp=gcp(recoding),
        lm=lm(recoding),
        em=em(recoding),
        discernibility=discernibility(recoding),
        average_class_size=average_class_size(recoding, k),
        usefulness=usefulness(recoding),
        row_types=row_types(recoding),
        by_attribute=gcp_by_attribute(recoding),
        bound=bound.value,
        bound_error=bound.error,
        items=items_loss(recoding),
    )


def row_types(recoding: Recoding) -> RowTypes:
    """Return how many different rows a release shows, and how often each."""
    sizes = np.bincount(recoding.types)
    return RowTypes(len(sizes), float(sizes.mean()), int(sizes.min()), int(sizes.max()))


def average_class_size(recoding: Recoding, k: int) -> float:
    """Return the mean class size in units of k (LeFevre et al.); 1 is the least that k allows."""
    return row_types(recoding).mean / k


def ncp(recoding: Recoding) -> NDArray[np.float64]:
    """Return the normalized certainty penalty of each row, the weighted mean over its attributes."""
    return _weighted(recoding, [values.ncp() for values in recoding.values])


def gcp(recoding: Recoding) -> float:
    """Return the global certainty penalty: the mean of `ncp`."""
    return float(ncp(recoding).mean())


def gcp_by_attribute(recoding: Recoding) -> dict[str, float]:
    """Return the mean penalty of each attribute alone."""
    return {
        attribute.column.name: float(values.ncp()[recoding.box].mean())
        for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
    }


def lm(recoding: Recoding) -> float:
    """Return the loss metric: the mean over rows and attributes of (|B| - 1) / (|A| - 1)."""
    return float(lm_of_rows(recoding).mean())


def lm_of_rows(recoding: Recoding) -> NDArray[np.float64]:
    """Return the loss metric of each row."""
    shares = [
        np.maximum(values.sizes() - 1, 0) / max(attribute.domain.cardinality - 1, 1)
        for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
    ]
    return _weighted(recoding, shares)


def em(recoding: Recoding) -> float:
    """Return the entropy measure: the mean entropy of the original value given the generalized one."""
    return float(em_of_rows(recoding).mean())


def em_of_rows(recoding: Recoding) -> NDArray[np.float64]:
    """Return the entropy measure of each row."""
    bits = [
        values.entropies(attribute.counts)
        for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
    ]
    return _weighted(recoding, bits)


def discernibility(recoding: Recoding) -> int:
    """Return the discernibility of Bayardo and Agrawal: each row costs the size of its class.

    A row in which every attribute shows its whole domain is told from no other and costs the size of the
    table.
    """
    sizes = np.bincount(recoding.types).astype(np.int64)
    suppressed = np.logical_and.reduce(
        [
            values.sizes() >= attribute.domain.cardinality
            for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
        ]
    )
    told_from_none = np.zeros(len(sizes), dtype=np.bool_)
    told_from_none[recoding.types[suppressed[recoding.box]]] = True
    return int(np.where(told_from_none, sizes * len(recoding.box), sizes * sizes).sum())


def usefulness(recoding: Recoding) -> float:
    """Return the mean tuple diversity of the row types (Loukides and Shao 2007).

    The diversity of a row type sums over attributes: for numbers, dates and ordered categories, the span of
    the original values as a share of the column's; for other categories and with a hierarchy, the number of
    different ones as a share of the column's.
    """
    order = np.argsort(recoding.types, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(recoding.types))))
    attributes = recoding.table.attributes
    diversities = [
        weight * len(attributes) * a.domain.diversity(a.codes[recoding.records[order]], starts, a.counts)
        for a, weight in zip(attributes, recoding.table.weights, strict=True)
    ]
    return float(np.sum(diversities, axis=0).mean())


def _weighted(recoding: Recoding, of_boxes: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the weighted mean over attributes, for each row."""
    boxes: NDArray[np.float64] = recoding.table.weights @ np.asarray(of_boxes)
    return boxes[recoding.box]
