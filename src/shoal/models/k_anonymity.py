"""Classic k-anonymity: every row has at least k - 1 twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import DiverseModel
from shoal.models.model import CrowdKind


@dataclass(frozen=True, kw_only=True)
class KAnonymity(DiverseModel):
    """Classic k-anonymity (Samarati 2001): each released row is identical to at least k - 1 others.

    Identical means: on the quasi-identifiers, as they are written. With `l`, `p` or `entropy_l`, each class
    of identical rows also keeps that requirement in every sensitive column.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: the size of a class, and how varied each sensitive column is in it.

    Examples
    --------
    >>> shoal.KAnonymity(k=5, l=2).k
    5
    """

    name: ClassVar[str] = "k-anonymity"
    across_releases: ClassVar[bool] = True
    redraws_classes: ClassVar[bool] = True
    crowd_kind: ClassVar[CrowdKind] = "classes"
    place: ClassVar[int] = 1
    title: ClassVar[str] = "Make rows identical"
    explanation: ClassVar[str] = (
        "Rows come in classes of at least k that are identical in all quasi-identifiers. The classic "
        "guarantee, known to most readers; it loses more information."
    )

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return self._identical_rows() + self._diversity_words("each class of identical rows")
