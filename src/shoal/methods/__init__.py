"""How a promise is kept: the methods, by the model they serve and by name."""

import inspect
from collections.abc import Iterable

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.methods.chain import chain
from shoal.methods.clustering import agglomerative, forest
from shoal.methods.concealment import expansion, subsets
from shoal.methods.contract import Circumstances, Method, Progress, silent
from shoal.methods.exact import exact
from shoal.methods.greedy import greedy
from shoal.methods.matching import matching
from shoal.methods.mondrian import mondrian
from shoal.methods.ring import ring
from shoal.methods.sets import (
    diverse_cahd,
    diverse_freeform,
    diverse_groups,
    set_freeform,
    set_gray,
    set_ring,
)
from shoal.methods.sort_greedy import sort_greedy
from shoal.methods.suppression import suppression
from shoal.methods.xcolor import xcolor
from shoal.models import (
    KK,
    Concealment,
    Dissimilarity,
    Freeform,
    KAnonymity,
    KOne,
    Model,
    OneK,
    Patterned,
    SetAnonymity,
    SetDiversity,
)

METHODS: dict[type[Model], dict[str, Method]] = {
    KAnonymity: {"mondrian": mondrian, "chain": chain, "agglomerative": agglomerative, "forest": forest},
    Freeform: {
        "matching": matching,
        "sort_greedy": sort_greedy,
        "greedy": greedy,
        "ring": ring,
        "exact": exact,
    },
    SetAnonymity: {"freeform": set_freeform, "ring": set_ring, "gray": set_gray},
    SetDiversity: {"freeform": diverse_freeform, "groups": diverse_groups, "cahd": diverse_cahd},
    OneK: {"expansion": expansion},
    KOne: {"expansion": expansion, "subsets": subsets},
    KK: {"expansion": expansion},
    Concealment: {"expansion": expansion},
    Patterned: {"suppression": suppression},
    Dissimilarity: {"xcolor": xcolor},
}
"""For each model, the methods that keep it; the first is the default."""


def method_for(model: Model, name: str | None = None) -> tuple[str, Method]:
    """Return the method with this name that keeps this kind of promise, or the default one.

    Raises
    ------
    InputError
        If no such method keeps it.
    """
    known = METHODS.get(type(model), {})
    if not known:
        raise InputError(f"no method keeps {type(model).__name__}", reason=Reason.PARAMETER)
    chosen = name or next(iter(known))
    if chosen not in known:
        raise InputError(
            f"no method {chosen!r} keeps {model.name}{did_you_mean(chosen, known)}; "
            f"there is {listing(known)}",
            reason=Reason.PARAMETER,
        )
    return chosen, known[chosen]


def require_options(name: str, method: Method, given: Iterable[str]) -> None:
    """Refuse options that a method does not know.

    Raises
    ------
    InputError
        If there is one; the message names those it knows.
    """
    parameters = inspect.signature(method).parameters.values()
    known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    for option in given:
        if option not in known:
            raise InputError(
                f"method {name!r} has no option {option!r}{did_you_mean(option, known)}; "
                f"it has {listing(known) or 'none'}",
                reason=Reason.PARAMETER,
            )


__all__ = ["METHODS", "Circumstances", "Method", "Progress", "method_for", "require_options", "silent"]
