"""What every method is: a function from a table and a promise to a recoding that keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from shoal.randomness import Randomness
from shoal.recoding import Recoding
from shoal.table import Table

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
    """

    randomness: Randomness = field(default_factory=Randomness)
    progress: Progress = silent


class Method(Protocol):
    """A way to keep a promise; what only it can be told comes as keyword arguments with defaults."""

    def __call__(self, table: Table, model: Any, circumstances: Circumstances, /, **options: Any) -> Recoding:
        """Return a recoding of the table that keeps the promise of the model.

        Raises
        ------
        InfeasibleError
            If no recoding of this table can keep it; the message says what could be had.
        """
