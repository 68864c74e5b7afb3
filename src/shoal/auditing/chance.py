"""The least chance: the minimum probability that an attacker's best guess about some record is right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.recoding.chances import least_chance
from shoal.recoding.coverage import Graph, Matches

QUICK_EDGES = 2**20
"""The maximum number of edges between types for a release that is about to be made: a few seconds."""

MOST_EDGES = 2**24
"""The maximum number of edges between types for an audit of a model that says nothing of chances."""


@dataclass(frozen=True)
class Chance:
    """The least chance of a release.

    An attacker knows all quasi-identifiers, and how rows were made and assigned to records. However this was
    done, some row carries some record with at least this probability. Methods that draw which record each row
    carries can attain it; then no guess is right with a higher probability.

    Parameters
    ----------
    least
        The probability; None if it was not computed.
    not_computed
        Why not; empty if it was.
    """

    least: Fraction | None
    not_computed: str = ""

    @property
    def in_words(self) -> str:
        """The probability as text, or why there is none."""
        if self.least is None:
            return f"not computed: {self.not_computed}"
        return f"{float(self.least):.3g}: for some record the best guess is right at least this often"

    def as_dict(self) -> dict[str, Any]:
        """Return the figure as plain data."""
        if self.least is None:
            return {"least": None, "not_computed": self.not_computed}
        return {"least": float(self.least), "fraction": str(self.least)}


def chance_of(graph: Graph, matches: Matches, *, quick: bool) -> Chance | None:
    """Return the least chance of a release; None if some rows have no record of their own.

    Parameters
    ----------
    graph, matches
        The coverage graph and its matches.
    quick
        Whether to omit it if it would take longer than a few seconds.
    """
    return _chance(graph, matches, QUICK_EDGES if quick else MOST_EDGES)


def promised_chance(graph: Graph, matches: Matches) -> Chance | None:
    """Return the least chance of a release like `chance_of`, however long that takes."""
    return _chance(graph, matches, None)


def _chance(graph: Graph, matches: Matches, most_edges: int | None) -> Chance | None:
    if matches.unmatched_rows:
        return None
    least = least_chance(graph, matches, most_edges)
    if least is None:
        return Chance(None, f"rows cover more than {most_edges:,} pairs of different rows and records")
    return Chance(least)
