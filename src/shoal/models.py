"""The promises: what a release guarantees to the people in the table, as frozen dataclasses."""

from __future__ import annotations

import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.io import read_toml
from shoal.patterns import MOST_COLUMNS, Mask, Pattern, names_of, require_known


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """A promise: parameters with names, a crowd to hide in, and a sentence that says it."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def crowd(self) -> int:
        """Among how many rows everybody hides at least."""

    @property
    def records_per_row(self) -> int:
        """How many records each released row fits at least, if the promise says so, or else follows."""
        return self.crowd

    @property
    def diverse(self) -> bool:
        """Whether anything is promised about how varied sensitive values are."""
        return False

    @property
    def may_leave_out(self) -> bool:
        """Whether a release may have fewer rows than the table has records."""
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
        No sensitive value is more frequent than 1/l among the rows a person hides in, nor in the release as a
        whole.
    p
        At least `p` different sensitive values among them.
    entropy_l
        The entropy of the sensitive values among them, and in the release as a whole, is at least
        log(entropy_l).
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
class SetAnonymity(CrowdModel):
    """k-anonymity of sets of items by nonreciprocal recoding (Xue et al. 2012), for baskets and the like.

    Each record is among the possible worlds of at least k released rows, and each released row has at least k
    records among its own, through a k-regular graph, as in `Freeform`. Other quasi-identifiers may stand
    beside the items.

    Parameters
    ----------
    k
        How many rows a record fits. At least 2.
    """

    name: ClassVar[str] = "set-anonymity"

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return (
            f"each person's items fit at least {self.k} released rows, and each released row fits at least "
            f"{self.k} persons"
        )


@dataclass(frozen=True, kw_only=True)
class SetDiversity(Model):
    """l-diversity of sets of items (Xue et al. 2012, Definition 1), for the labels as they are published.

    Each record fits at least l released rows that carry l different labels, in every sensitive column, even
    after everybody must have a row; each released row fits at least l records; and in the release as a whole,
    no label is more frequent than 1/l, without which no release could bound every record's chance to have a
    label by 1/l.

    Parameters
    ----------
    l
        How many different labels there are around each record. At least 2.
    """

    name: ClassVar[str] = "set-diversity"

    l: int  # noqa: E741 - the letter the literature knows it by

    def __post_init__(self) -> None:
        given: Any = self.l
        if isinstance(given, float) and given.is_integer():  # options read it as a number of any sort
            object.__setattr__(self, "l", int(given))
        check(self, "l", Integral, 2, "a whole number of at least 2: with l = 1 nothing is hidden")

    @property
    def crowd(self) -> int:
        """Among how many rows everybody hides at least."""
        return self.l

    @property
    def diverse(self) -> bool:
        """Whether anything is promised about how varied sensitive values are."""
        return True

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return (
            f"each person's items fit released rows with at least {self.l} different sensitive values, "
            f"each released row fits at least {self.l} persons, and in the release as a whole no sensitive "
            f"value is more frequent than 1 in {self.l}"
        )


@dataclass(frozen=True, kw_only=True)
class ConsistentModel(DiverseModel):
    """What promises have in common that only count which rows fit whom (Tassa, Mazza and Gionis 2012).

    Whoever knows everybody in the table may rule out some of these rows, since each person must have one;
    `Concealment` promises something about that, these do not. If some records are withheld at random, nobody
    knows exactly who is in the table.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: how many rows or persons fit, and how varied each sensitive column is in the rows
        that a person fits.
    withhold
        The share of the records that are left out of the release, chosen at random; below 1. They may fit no
        row at all, but whoever fits some fits as many as everybody else. They count among the records that a
        row fits.
    """

    withhold: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, "withhold", Real, 0, "a share from 0 to below 1")
        if self.withhold >= 1:
            raise InputError(
                f"withhold = {self.withhold:g} leaves nobody; it must be below 1", reason=Reason.PARAMETER
            )

    @property
    def may_leave_out(self) -> bool:
        """Whether a release may have fewer rows than the table has records."""
        return self.withhold > 0

    def _words(self, what: str) -> str:
        withheld = (
            f"; a random share of {self.withhold:g} of the persons is withheld" if self.withhold else ""
        )
        return what + self._diversity_words("the rows that a person fits") + withheld


@dataclass(frozen=True, kw_only=True)
class OneK(ConsistentModel):
    """(1,k)-anonymity: each record fits at least k released rows.

    On its own this is a weak promise: a few rows that fit everybody keep it, while all others show records as
    they are. It is here for comparison.

    Parameters
    ----------
    k, l, p, entropy_l, withhold
        See `ConsistentModel`.
    """

    name: ClassVar[str] = "1k"

    @property
    def records_per_row(self) -> int:
        """How many records each released row fits at least: the one it was made for."""
        return 1

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return self._words(f"each person fits at least {self.k} released rows")


@dataclass(frozen=True, kw_only=True)
class KOne(ConsistentModel):
    """(k,1)-anonymity, also known as k-ambiguity: each released row fits at least k records.

    On its own this is a weak promise: a record may still fit its own row alone. It is here for comparison.

    Parameters
    ----------
    k, l, p, entropy_l, withhold
        See `ConsistentModel`.
    """

    name: ClassVar[str] = "k1"

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return self._words(f"each released row fits at least {self.k} persons")


@dataclass(frozen=True, kw_only=True)
class KK(ConsistentModel):
    """(k,k)-anonymity: each record fits at least k released rows, and each row at least k records.

    Parameters
    ----------
    k, l, p, entropy_l, withhold
        See `ConsistentModel`.
    """

    name: ClassVar[str] = "kk"

    def sentence(self) -> str:
        """Return the promise in plain words."""
        return self._words(
            f"each person fits at least {self.k} released rows, and each released row fits at least "
            f"{self.k} persons"
        )


@dataclass(frozen=True, kw_only=True)
class Concealment(DiverseModel):
    """k-concealment (Tassa, Mazza and Gionis 2012): each record has at least k matches among the rows.

    A row is a match of a record if it fits, and everybody else can still have a fitting row of their own. So
    whoever knows the quasi-identifiers of everybody in the table still has k rows to choose from.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: how many matches a record has, and how varied each sensitive column is in them.
    two_sided
        Whether each released row, too, is a match of at least k records.
    """

    two_sided: bool = False

    name: ClassVar[str] = "concealment"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.two_sided, bool | np.bool_):
            raise InputError(
                f"two_sided = {self.two_sided!r} is not possible; it must be true or false",
                reason=Reason.PARAMETER,
            )
        object.__setattr__(self, "two_sided", bool(self.two_sided))

    @property
    def records_per_row(self) -> int:
        """How many records each released row fits at least.

        A record with another match than its own row is on a circle of matches: its row fits another record.
        """
        return self.k if self.two_sided else 2

    def sentence(self) -> str:
        """Return the promise in plain words."""
        rows = f", and each of these rows {self.k} persons" if self.two_sided else ""
        return (
            f"each person has at least {self.k} released rows{rows} even when everybody must have one"
            + self._diversity_words("these rows")
        )


@dataclass(frozen=True, kw_only=True)
class Patterned(CrowdModel):
    """Pattern-guided k-anonymity (Bredereck, Nichterlein and Niedermeier 2013): cells are exact or blank.

    Each released row is identical to at least k - 1 others, each of its cells is exact or suppressed, and
    the suppressed cells of a row are a pattern that is allowed.

    Parameters
    ----------
    k
        The least number of equal rows. At least 2.
    patterns
        Which combinations of columns a row may suppress: patterns, also as mappings with ``keep`` or
        ``suppress``, or ``"all"``.
    up_to
        How many columns of a row may be suppressed.
    never
        Columns that are not suppressed in any row.
    priorities
        Chains of columns, the most important first: one is suppressed only together with all that follow.
    weights
        What a suppressed cell of a column costs; for columns not named, their weight in the schema.
    leftovers
        Whether rows that no pattern can hold may suppress all columns, but for those in `never`
        (``"suppress"``), or the table is then refused (``"refuse"``).
    """

    name: ClassVar[str] = "patterned"

    patterns: Literal["all"] | Sequence[Pattern | Mapping[str, Sequence[str]]] = "all"
    up_to: int | None = None
    never: Sequence[str] = ()
    priorities: Sequence[Sequence[str]] = ()
    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    leftovers: Literal["suppress", "refuse"] = "suppress"

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, "up_to", Integral, 0, "a whole number of at least 0")
        if self.patterns != "all":
            given: Any = self.patterns
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise InputError(
                    f'patterns = {given!r} is not possible; it must be "all" or a list of patterns',
                    reason=Reason.PARAMETER,
                )
            object.__setattr__(self, "patterns", tuple(Pattern.of(each) for each in given))
        object.__setattr__(self, "never", names_of(self.never, "never"))
        if not isinstance(self.priorities, Sequence):
            raise InputError("priorities must be a list of lists of columns", reason=Reason.PARAMETER)
        chains = tuple(names_of(chain, "a list of priorities") for chain in self.priorities)
        object.__setattr__(self, "priorities", chains)
        if not isinstance(self.weights, Mapping):
            raise InputError("weights must be a table of columns and numbers", reason=Reason.PARAMETER)
        for name, weight in self.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                raise InputError(
                    f"the weight {weight!r} of {name!r} is not possible; it must be a positive number",
                    reason=Reason.PARAMETER,
                )
        object.__setattr__(self, "weights", {name: float(weight) for name, weight in self.weights.items()})
        if self.leftovers not in ("suppress", "refuse"):
            raise InputError(
                f"leftovers = {self.leftovers!r} is not possible; it is suppress or refuse",
                reason=Reason.PARAMETER,
            )

    @classmethod
    def described(cls, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Read all parameters but k from a TOML file.

        Raises
        ------
        InputError
            If the file is not there, is not TOML, or has something else in it.
        """
        given = read_toml(path, "patterns file")
        known = [each.name for each in fields(cls) if each.name != "k"]
        for key in given:
            if key not in known:
                raise InputError(
                    f"{path} has {key!r}{did_you_mean(key, known)}; it may have {listing(known)}",
                    reason=Reason.PARAMETER,
                )
        return given

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name, as plain data."""
        plain = {name: value for name, value in super().parameters.items() if value not in ((), {})}
        for name in ("never", "priorities"):
            if name in plain:
                plain[name] = [each if isinstance(each, str) else list(each) for each in plain[name]]
        if self.patterns != "all":
            plain["patterns"] = [Pattern.of(pattern).as_dict() for pattern in self.patterns]
        return plain

    def mask(self, columns: Mapping[str, float]) -> Mask:
        """Return what is allowed in a table with these quasi-identifiers.

        Parameters
        ----------
        columns
            Their names and their weights.

        Raises
        ------
        InputError
            If the patterns name other columns or contradict themselves.
        """
        names = list(columns)
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"patterns are for at most {MOST_COLUMNS} quasi-identifiers, not {len(names)}",
                reason=Reason.TOO_LARGE,
            )
        require_known(list(self.weights), names, "weights")
        never = np.isin(names, require_known(self.never, names, "never"))
        listed = None
        if self.patterns != "all":
            listed = np.array([Pattern.of(each).suppressed(names) for each in self.patterns])
        return Mask(
            tuple(names),
            np.array([self.weights.get(name, weight) for name, weight in columns.items()]),
            listed,
            len(names) if self.up_to is None else self.up_to,
            never,
            tuple(
                tuple(names.index(name) for name in require_known(chain, names, "priorities"))
                for chain in self.priorities
            ),
            ~never if self.leftovers == "suppress" else None,
        )

    def sentence(self) -> str:
        """Return the promise in plain words."""
        allowed = "any combination of columns"
        if self.patterns != "all":
            count = len(self.patterns)
            allowed = f"one of {count} combinations of columns" if count > 1 else "the same columns"
        elif self.up_to is not None:
            allowed = f"at most {self.up_to} columns"
        if self.never:
            allowed += f", never {listing(self.never)}"
        if self.leftovers == "suppress" and (self.patterns != "all" or self.up_to is not None):
            allowed += ", or all that may be, where nothing else is possible"
        return (
            f"each released row looks the same as at least {self.k - 1} other{'s' * (self.k > 2)} in all "
            f"quasi-identifiers, every cell is exact or suppressed, and a row suppresses {allowed}"
        )


@dataclass(frozen=True, kw_only=True)
class Dissimilarity(CrowdModel):
    """(epsilon, delta)^k-dissimilarity (XColor): no crowd has many sensitive values close to one.

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
