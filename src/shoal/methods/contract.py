"""What every method is: a function from a table and a promise to a recoding that keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shoal.base.randomness import Randomness
from shoal.recoding import Recoding

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done; may raise to cancel the run."""


def silent(stage: str, share: float) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Circumstances:
    """What a method may use besides the table and the promise.

    Parameters
    ----------
    randomness
        The only source of random choices.
    progress
        Whom to tell how far the work is.
    notes
        Where to write, in plain words, what the user should know although the promise is kept.
    """

    randomness: Randomness = field(default_factory=Randomness)
    progress: Progress = silent
    notes: list[str] = field(default_factory=list)


Method = Callable[..., Recoding]
"""A function ``method(table, model, circumstances, *, options...)``: data, promise, the rest.

It returns a recoding of the table that keeps the promise, or raises `InfeasibleError` with what could be had
instead. What only this method can be told comes as keyword-only arguments with defaults.
"""
