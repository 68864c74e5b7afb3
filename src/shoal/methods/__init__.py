"""How a promise is kept: the methods, by the model they serve and by name."""

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.methods.contract import Circumstances, Method, Progress, silent
from shoal.methods.mondrian import mondrian
from shoal.models import KAnonymity, Model

METHODS: dict[type[Model], dict[str, Method]] = {
    KAnonymity: {"mondrian": mondrian},
}
"""For each model, the methods that keep it; the first is the default."""


def method_for(model: Model, name: str | None = None) -> tuple[str, Method]:
    """Return the method with this name that keeps this kind of promise, or the default one.

    Raises
    ------
    InputError
        If no such method keeps it.
    """
    known = METHODS[type(model)]
    chosen = name or next(iter(known))
    if chosen not in known:
        raise InputError(
            f"no method {chosen!r} keeps {model.name}{did_you_mean(chosen, known)}; there is {listing(known)}",
            reason=Reason.PARAMETER,
        )
    return chosen, known[chosen]


__all__ = ["METHODS", "Circumstances", "Method", "Progress", "method_for", "silent"]
