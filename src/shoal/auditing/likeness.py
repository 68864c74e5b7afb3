"""Whether the sensitive values of each class are distributed nearly as in the whole release."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shoal.auditing.classes import Classes
from shoal.auditing.crowds import Histograms, crowds_of_classes
from shoal.auditing.principles import closeness_of, whole_shares
from shoal.errors import InputError
from shoal.kernels import ROUNDING
from shoal.kinds.domain import Sensitive
from shoal.measures.distances import ground_distance
from shoal.models import BetaLikeness, DeltaDisclosure, LikenessModel, TCloseness
from shoal.schema import Column


def unlike_the_whole(
    model: LikenessModel, classes: Classes, shown: Sensitive, column: Column
) -> Iterator[str]:
    """Yield in what the classes differ more from the whole release than a model allows.

    Parameters
    ----------
    model
        `TCloseness`, `BetaLikeness` or `DeltaDisclosure`.
    classes
        The classes of identical rows.
    shown
        A sensitive column of the release.
    column
        What it is.
    """
    if isinstance(model, TCloseness):
        yield from _far(model, classes, shown, column)
        return
    crowds = crowds_of_classes(classes, shown.codes)
    if isinstance(model, BetaLikeness):
        yield from _gained(model, crowds, shown)
    elif isinstance(model, DeltaDisclosure):
        yield from _disclosed(model, crowds, shown)


def _far(model: TCloseness, classes: Classes, shown: Sensitive, column: Column) -> Iterator[str]:
    try:
        distance = ground_distance(shown.values, column, model.ground_distance)
    except InputError as error:  # a release may hold other values than its schema says
        yield f"the distance of a class of {column.name!r} from the whole release cannot be computed: {error}"
        return
    found = closeness_of(crowds_of_classes(classes, distance.rank[shown.codes]), distance)
    if found > model.t + ROUNDING:
        yield (
            f"the values of {column.name!r} in some class are {found:.4g} from those of the whole release, "
            f"above t = {model.t:g}"
        )


def _gained(model: BetaLikeness, crowds: Histograms, shown: Sensitive) -> Iterator[str]:
    whole = whole_shares(crowds, len(shown))[crowds.value]
    gain = crowds.count / crowds.sizes[crowds.crowd] / whole - 1
    limit = np.minimum(model.beta, -np.log(whole)) if model.enhanced else np.full(len(gain), model.beta)
    above = gain > limit + ROUNDING
    if above.any():
        worst = int(np.argmax(np.where(above, gain - limit, -math.inf)))
        yield (
            f"a value of {shown.name!r} is more frequent in {len(np.unique(crowds.crowd[above])):,} classes "
            f"than beta = {model.beta:g} allows; in the worst by {gain[worst]:.4g} instead of "
            f"{limit[worst]:.4g} of its share"
        )


def _disclosed(model: DeltaDisclosure, crowds: Histograms, shown: Sensitive) -> Iterator[str]:
    whole = whole_shares(crowds, len(shown))
    present = np.bincount(crowds.crowd, minlength=crowds.crowds)
    lacking = int((present < (whole > 0).sum()).sum())
    if lacking:
        yield f"{lacking:,} classes lack a value of {shown.name!r}, which delta-disclosure does not allow"
    ratio = np.abs(np.log2(crowds.count / crowds.sizes[crowds.crowd] / whole[crowds.value]))
    most = float(ratio.max())
    if most >= model.disclosure_delta * (1 - ROUNDING):
        yield (
            f"the share of a value of {shown.name!r} in some class differs by {most:.4g} bits from that in "
            f"the whole release, not below delta = {model.disclosure_delta:g}"
        )
