"""(epsilon, delta)^k-dissimilarity: sensitive values in a class are not close to each other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.kinds.hierarchy import Hierarchy
from shoal.models.diversity import RequiredDistance
from shoal.models.families import CrowdModel
from shoal.models.model import CrowdKind, parameter, uncuttable

if TYPE_CHECKING:
    from shoal.schema import Schema

NORMS = {"l1": 1.0, "l2": 2.0, "linf": float("inf")}
"""The exponents of the norms that join the distances of several columns."""
DISTANCES = ("absolute", "equality", "tree", *NORMS, "least")
"""The names of the distances between sensitive values."""


@dataclass(frozen=True, kw_only=True)
class Dissimilarity(CrowdModel):
    """(epsilon, delta)^k-dissimilarity (XColor): no crowd has many sensitive values close to one.

    Each released row is identical to at least k - 1 others, and among the sensitive values of such a class,
    at most a share of 1 - delta of the others is within `epsilon` of any one of them. Several sensitive
    columns are one composite value.

    Parameters
    ----------
    k
        The minimum number of rows in a class. At least 2.
    epsilon
        Two sensitive values are close if their distance is at most this. At least 0.
    delta
        The share of a class that must differ from each value in it. From 0 (nothing is guaranteed) to 1 (no
        two values are close).
    distance
        ``absolute`` (numbers and dates, in their own unit), ``equality`` (0 or 1), ``tree`` (how high in the
        hierarchy two values meet, 0 to 1); for a composite value ``l1``, ``l2`` or ``linf`` (the norm of the
        columns' distances, each as a share of its largest one, by their weights: 0 to 1) or ``least`` (that
        of the column in which they are closest); or a function of two values, tuples for a composite one. By
        default what suits one column, ``l1`` for several.

    Examples
    --------
    >>> shoal.Dissimilarity(k=10, epsilon=5.0, delta=0.5).delta
    0.5
    """

    name: ClassVar[str] = "dissimilarity"
    crowd_kind: ClassVar[CrowdKind] = "classes"
    needs_sensitive: ClassVar[bool] = True
    title: ClassVar[str] = "Keep sensitive values apart"
    explanation: ClassVar[str] = (
        "Rows are identical in classes of at least k, and few rows of a class have nearly the same sensitive "
        "value, such as almost the same salary."
    )

    epsilon: float = parameter(
        "Sensitive values within this distance count as nearly equal.",
        type=float,
        least=0,
        most=sys.float_info.max,
        wanted="a number of at least 0",
        label="epsilon: nearly equal",
    )
    delta: float = parameter(
        "Minimum share of a class whose sensitive value is not nearly equal to any given one.",
        type=float,
        least=0,
        most=1,
        wanted="a number from 0 to 1",
        label="delta: share that differs",
    )
    distance: str | Callable[[Any, Any], float] | None = parameter(  # noqa: RUF009 - it makes a field
        "Distance between sensitive values: absolute, equality or tree; for several columns together l1, l2, "
        "linf or least.",
        default=None,
        label="Distance",
        type=None,
        widget="choice",
        choices=DISTANCES,
    )

    @property
    def required_distance(self) -> RequiredDistance:
        """How far apart the sensitive values of a class are guaranteed to be."""
        return RequiredDistance(self.epsilon, self.delta, self.distance)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name; a function by its name."""
        given = super().parameters
        if callable(self.distance):
            given["distance"] = getattr(self.distance, "__qualname__", type(self.distance).__name__)
        return given

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return (
            f"{self._identical_rows()}; in each class of identical rows, at most {1 - self.delta:.4g} of the "
            f"other sensitive values are within {self.epsilon:g} of any one"
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        return (
            "In a class few sensitive values are close to any one, yet all of them may lie in one half of "
            "what is possible. Each single column of a composite value may be equal in a whole class.",
        )

    def blocks_must_not_overlap(self, schema: Schema) -> bool:
        """Return True: classes of two blocks that look identical may have more values close to each other."""
        if len(schema.sensitive) > 1 or not isinstance(self.distance, str | None):
            raise uncuttable(
                "a distance over several sensitive columns, or one that is a function, differs from block to "
                "block; name one sensitive column and a distance of its own"
            )
        if any(c.hierarchy is not None and not isinstance(c.hierarchy, Hierarchy) for c in schema.sensitive):
            raise uncuttable(
                "a hierarchy made by a rule differs from block to block; give the sensitive column a "
                "hierarchy with all its values"
            )
        return True
