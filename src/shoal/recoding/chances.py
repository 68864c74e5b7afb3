"""The least chance of a coverage graph, and random assignments that attain it.

If an attacker has the code, a count of rows says little: what matters is the probability x(r, j) that row j
carries record r. It depends on how records are assigned to rows. The least chance is the smallest maximum
that x has under any random assignment.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.recoding.coverage import Graph, Matches, Within


def least_chance(graph: Graph, matches: Matches, most_edges: int | None = None) -> Fraction | None:
    """Return the least chance of a coverage graph: the smallest possible maximum of x(r, j).

    However rows were assigned to records, an attacker's best guess about some row is right with at least this
    probability. It is at most 1/k if the graph contains a k-regular one. Exact: see
    native/attacks/least_chance.hpp. About as many maximum flows as there are steps of Newton's method,
    usually fewer than ten.

    Parameters
    ----------
    graph, matches
        The coverage graph and its matches; every row has a record of its own.
    most_edges
        The maximum number of edges between types of records and of rows; each takes about 60 bytes.

    Returns
    -------
    Fraction or None
        None if there are more edges.
    """
    complete = matches.complete_components
    chances = [Fraction(1, int(records)) for records in np.unique(matches.records_of_component[complete])]
    part = graph.within(matches, ~complete)
    if most_edges is not None and _edges(part) > most_edges:
        return None
    components = np.unique(part.component_of_box).astype(np.int64)
    found = kernels.least_chances(part.neighbourhoods, part.parts(components))
    chances += [Fraction(int(over), int(under)) for over, under in np.unique(np.column_stack(found), axis=0)]
    return max(chances)


def random_matching(graph: Graph, matches: Matches, randomness: Randomness) -> NDArray[np.int64]:
    """Draw which record each row carries, such that the least chance is attained.

    In each component of the graph, no row carries a record with a probability above the least chance of the
    component, and below that probabilities are nearly as even as possible. They depend on the graph alone,
    and are drawn exactly.

    Parameters
    ----------
    graph, matches
        The coverage graph and its matches; as many rows as records, and a perfect matching.
    randomness
        The source of random choices.

    Returns
    -------
    NDArray
        The record of each row.
    """
    everything = np.ones(matches.components, dtype=np.bool_)
    part = graph.within(matches, everything)
    components = np.unique(part.component_of_box).astype(np.int64)
    drawn = kernels.draw_assignment(part.neighbourhoods, part.parts(components), randomness.words(4))
    # Copies are interchangeable: which of them gets which is drawn as well.
    rows = _shuffled_members(graph.row_type, part.boxes[drawn.boxes], drawn.copies, randomness)
    records = _shuffled_members(graph.record_type, part.records[drawn.records], drawn.copies, randomness)
    assignment = np.empty(len(rows), dtype=np.int64)
    assignment[rows] = records
    return assignment


def _edges(part: Within) -> int:
    return int((part.neighbourhoods.ends.astype(np.int64) - part.neighbourhoods.begins).sum())


def _shuffled_members(
    type_of: NDArray[np.int32], types: NDArray[np.int64], copies: NDArray[np.int64], randomness: Randomness
) -> NDArray[np.int64]:
    """Return for each copy of some types a member of that type, another each time, in random order."""
    shuffled = randomness.permutation(len(type_of))
    members = shuffled[np.argsort(type_of[shuffled], kind="stable")]
    asked = np.repeat(types, copies)
    result = np.empty(len(asked), dtype=np.int64)
    result[np.argsort(asked, kind="stable")] = members  # each type is asked for as often as it has members
    return result
