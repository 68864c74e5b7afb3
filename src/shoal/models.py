"""The promises: what a release guarantees to the people in the table, as frozen dataclasses."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

from shoal.errors import InputError, Reason


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """A promise: parameters with names, a crowd to hide in, and a sentence that says it."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def crowd(self) -> int:
        """Among how many rows everybody hides at least."""

    @property
    def diverse(self) -> bool:
        """Whether anything is promised about how varied sensitive values are."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    @abstractmethod
    def sentence(self) -> str:
        """Return the promise in plain words."""


@dataclass(frozen=True, kw_only=True)
class CrowdModel(Model):
    """What promises with a k have in common.

    Parameters
    ----------
    k
        Nobody can be singled out among fewer than `k` records. At least 2.
    """

    k: int

    def __post_init__(self) -> None:
        check(self, "k", Integral, 2, "a whole number of at least 2: with k = 1 nobody is hidden")

    @property
    def crowd(self) -> int:
        """Among how many rows everybody hides at least."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class DiverseModel(CrowdModel):
    """What promises have in common that can also say how varied the sensitive values of a crowd are.

    Parameters
    ----------
    k
        Nobody can be singled out among fewer than `k` records. At least 2.
    l
        No sensitive value is more frequent than 1/l among the rows a person hides in.
    p
        At least `p` different sensitive values among them.
    entropy_l
        The entropy of the sensitive values among them is at least log(entropy_l).
    """

    l: float | None = None  # noqa: E741 - the letter the literature knows it by
    p: int | None = None
    entropy_l: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, "l", Real, 1, "a number of at least 1")
        check(self, "p", Integral, 1, "a whole number of at least 1")
        check(self, "entropy_l", Real, 1, "a number of at least 1")

    @property
    def diverse(self) -> bool:
        """Whether anything is promised about how varied sensitive values are."""
        return not (self.l is None and self.p is None and self.entropy_l is None)

    def _diversity_words(self, crowd: str) -> str:
        words = []
        if self.l is not None:
            words.append(f"no sensitive value is more frequent than 1 in {self.l:g}")
        if self.p is not None:
            words.append(f"there are at least {self.p} different sensitive values")
        if self.entropy_l is not None:
            words.append(f"the entropy of the sensitive values is at least log({self.entropy_l:g})")
        return f"; in {crowd}, " + " and ".join(words) if words else ""


@dataclass(frozen=True, kw_only=True)
class KAnonymity(DiverseModel):
    """Classic k-anonymity (Samarati 2001): each released row is identical to at least k - 1 others.

    Identical means: on the quasi-identifiers, as they are written. With `l`, `p` or `entropy_l`, each class
    of identical rows also keeps that promise about every sensitive column.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: the size of a class, and how varied each sensitive column is in it.
    """

    name: ClassVar[str] = "k-anonymity"

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return (
            f"each released row looks the same as at least {self.k - 1} other{'s' * (self.k > 2)} in all "
            "quasi-identifiers" + self._diversity_words("each class of equal rows")
        )


@dataclass(frozen=True, kw_only=True)
class Freeform(DiverseModel):
    """Freeform k-anonymity (Doka et al. 2015): k-anonymity without classes of identical rows.

    Each record fits at least k released rows, and each released row at least k records, through a k-regular
    graph. Which of k disjoint assignments is the true one was drawn at random, so each of the k rows of a
    record is its own with the same probability to whoever knows all records' quasi-identifiers and the graph.
    With `l`, `p` or `entropy_l`, the released rows that a record fits also keep that promise about every
    sensitive column, as published; the assignment that was drawn is then changed where that is needed, and
    its probabilities are no longer the same.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: how many rows a record fits, and how varied each sensitive column is in them.
    """

    name: ClassVar[str] = "freeform"

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return (
            f"each person fits at least {self.k} released rows, and each released row fits at least "
            f"{self.k} persons" + self._diversity_words("the rows that a person fits")
        )


@dataclass(frozen=True, kw_only=True)
class Dissimilarity(CrowdModel):
    """(epsilon, delta)^k-dissimilarity (Wang and Liu 2010): no crowd has many sensitive values close to one.

    Each released row looks the same as at least k - 1 others, and among the sensitive values of such a class,
    at most a share of 1 - delta of the others is within `epsilon` of any one of them. Several sensitive
    columns are one composite value.

    Parameters
    ----------
    k
        How many rows a class has at least. At least 2.
    epsilon
        Two sensitive values are close if their distance is at most this. At least 0.
    delta
        Which share of a class differs from each value in it. From 0 (nothing is promised) to 1 (no two values
        are close).
    distance
        ``absolute`` (numbers and dates, in their own unit), ``equality`` (0 or 1), ``tree`` (how high in the
        hierarchy two values meet, 0 to 1); for a composite value ``l1``, ``l2`` or ``linf`` (the norm of the
        columns' distances, each as a share of its largest one, by their weights: 0 to 1) or ``least`` (that
        of the column in which they are closest); or a function of two values, tuples for a composite one. By
        default what suits one column, ``l1`` for several.
    """

    name: ClassVar[str] = "dissimilarity"

    epsilon: float
    delta: float
    distance: str | Callable[[Any, Any], float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, "epsilon", Real, 0, "a number of at least 0", upper=sys.float_info.max)
        check(self, "delta", Real, 0, "a number from 0 to 1", upper=1)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name; a function by its name."""
        given = super().parameters
        if callable(self.distance):
            given["distance"] = getattr(self.distance, "__qualname__", type(self.distance).__name__)
        return given

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return (
            f"each released row looks the same as at least {self.k - 1} other{'s' * (self.k > 2)} in all "
            f"quasi-identifiers; in each class of equal rows, at most {1 - self.delta:.4g} of the other "
            f"sensitive values are within {self.epsilon:g} of any one"
        )


def check(model: Model, name: str, kind: type, least: int, wanted: str, *, upper: float = math.inf) -> None:
    """Refuse a parameter that is not of its kind, too small or too large, and make it a plain number."""
    value: Any = getattr(model, name)
    if value is None and any(field.name == name and field.default is None for field in fields(model)):
        return
    fits = isinstance(value, kind) and not isinstance(value, bool)
    plain = (int if kind is Integral else float)(value) if fits else math.nan
    if not least <= plain <= upper:
        raise InputError(f"{name} = {value!r} is not possible; it must be {wanted}", reason=Reason.PARAMETER)
    object.__setattr__(model, name, plain)
