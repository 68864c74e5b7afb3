"""Rows that grow by one record a round: the shell of greedy, sort_greedy and matching (Doka et al. 2015)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Geometry, Matching
from shoal.measures.geometry import geometry
from shoal.methods.copies import Copies
from shoal.methods.diversity import recoded
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances
from shoal.methods.persons import spread_graph
from shoal.methods.refinement import Exchanges, Refiner, refined
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Records, and for each of them a box that takes it in at no cost."""

Round = Callable[[BoxTree, Pairs], Matching]
"""Matches all records of a tree with its boxes, given records and boxes that are equal to each other."""

GROWING = "letting rows take in records"

STEP = 1.2
"""Rows that take in single records are refined when they have grown by this factor."""

PIECES = (1, 2, 3, 6, 12)
"""The numbers of records that rows take in at once, if they take in whole rows: each is the number that rows
once had, and the sum of two of the numbers before."""

WIDE = 60
"""Rows with as many records take in the most at once."""


@dataclass(frozen=True, eq=False)
class Growth:
    """How rows grew.

    Parameters
    ----------
    graph
        The records of each row in the order in which they joined, its own first.
    exchanged
        Whether a record joined by an exchange at a dead end; as large as the graph.
    dead_ends
        The number of records that found only rows that had them already, in each round.
    """

    graph: NDArray[np.int32]
    exchanged: NDArray[np.bool_]
    dead_ends: tuple[int, ...]


def grown(
    table: Table, model: Freeform, circumstances: Circumstances, chosen: Exchanges | None, match: Round
) -> Recoding:
    """Return a recoding by rows that grow as `match` decides, and exchange records as chosen."""
    require_feasible(table, model)
    return recoded(table, model, grown_graph(table, model.k, circumstances, chosen, match), circumstances)


def grown_graph(
    table: Table, k: int, circumstances: Circumstances, chosen: Exchanges | None, match: Round
) -> NDArray[np.int32]:
    """Return the records of rows that grow as `match` decides, and exchange records as chosen."""
    try:
        if chosen is None:
            return grow(table, k, circumstances, match).graph
        return grow_refined(table, k, chosen, circumstances, match)
    except _StuckError:
        return refined(table, spread_graph(table, k), chosen, circumstances)


class _StuckError(Exception):
    """Some records are left without a row, because a few persons have most of the records."""


def grow(table: Table, k: int, circumstances: Circumstances, match: Round) -> Growth:
    """Let each row take in one record in each of k - 1 rounds, as `match` decides."""
    n = len(table)
    tree = BoxTree(table.codes, geometry(table), k, table.owners)
    copies = Copies(table.codes[tree.order], _in_order(table.owners, tree))
    exchanged = np.zeros((n, k), dtype=np.bool_)
    dead_ends = []
    for turn, matching in _rounds(tree, range(1, k), k, circumstances, match, copies.pairs):
        exchanged[tree.order[matching.box_of[matching.exchanged]], turn] = True
        dead_ends.append(matching.dead_ends)
    circumstances.progress(GROWING, 1.0)
    graph = np.empty((n, k), dtype=np.int32)
    graph[tree.order] = tree.order[tree.members()]
    return Growth(graph, exchanged, tuple(dead_ends))


def grow_refined(
    table: Table, k: int, effort: Exchanges, circumstances: Circumstances, match: Round
) -> NDArray[np.int32]:
    """Let rows take in records as `match` decides, and exchange them before they grow further.

    A row that takes in the nearest record too early pays for it in all later rounds (figures in decision
    013).

    Returns
    -------
    NDArray
        The records of each row. Rows have no record of their own: they may give away any of their records.
    """
    attributes = geometry(table)
    tree = BoxTree(table.codes, attributes, k, table.owners)
    owners, codes = _in_order(table.owners, tree), np.ascontiguousarray(table.codes[tree.order])
    refiner = Refiner(codes, attributes, effort, circumstances, owners)
    copies = Copies(codes, owners)
    nothing = np.empty(0, dtype=np.int64)

    def known(turn: int) -> Pairs:
        # Once rows have exchanged records, it is unknown which of them takes in a copy at no cost.
        return copies.pairs(turn) if turn == 1 else (nothing, nothing)

    sizes = sizes_by_pieces(k) if effort.pieces else sizes_by_steps(k)
    smaller: dict[int, NDArray[np.int32]] = {}  # the rows when they had as many records
    for size, larger in itertools.pairwise(sizes):
        piece = larger - size
        if piece not in smaller or not _take_in(tree, smaller[piece], table, attributes):
            for _ in _rounds(tree, range(size, larger), k, circumstances, match, known):
                pass
        if larger < k:
            circumstances.progress(GROWING, larger / k)
            if not (effort.pieces and larger == 2):  # pairs gain nothing
                tree.set_members(refiner.while_growing(tree.members()))
            if effort.pieces and larger in PIECES:
                smaller[larger] = tree.members()
    circumstances.progress(GROWING, 1.0)
    return tree.order[refiner.at_last(tree.members())]


def sizes_by_steps(k: int) -> list[int]:
    """Return the numbers of records, from 1 to k, at which rows that take in single records are refined."""
    sizes = [1]
    while sizes[-1] < k:
        sizes.append(min(int(sizes[-1] * STEP) + 1, k))
    return sizes


def sizes_by_pieces(k: int) -> list[int]:
    """Return numbers of records from 1 to k at which rows that take in whole rows are refined.

    Each is larger than the one before by one of `PIECES`. First come these numbers themselves, then equal
    steps, then what is left over. With k = 10: 1, 2, 3, 6, 9, 10. With k = 25: 1, 2, 3, 6, 12, 18, 24, 25.
    """
    sizes = [piece for piece in PIECES if piece <= k]
    step = max((piece for piece in PIECES if 3 * piece <= 2 * sizes[-1]), default=1)
    rest = (k - sizes[-1]) % step
    while sizes[-1] < k - rest:
        wide = sizes[-1] >= WIDE and (k - rest - sizes[-1]) % PIECES[-1] == 0
        sizes.append(sizes[-1] + (PIECES[-1] if wide else step))
    for piece in reversed(PIECES):
        while rest >= piece:
            sizes.append(sizes[-1] + piece)
            rest -= piece
    return sizes


def _take_in(tree: BoxTree, pieces: NDArray[np.int32], table: Table, attributes: list[Geometry]) -> bool:
    """Let each box take in all members of another, or of a smaller one; return whether this was possible."""
    members = tree.members()
    others = tree
    if pieces.shape != members.shape:
        others = BoxTree(table.codes, attributes, pieces.shape[1], table.owners)
        others.set_members(pieces)
    taken = tree.match_rows(others)
    if len(taken) == 0:
        return False
    tree.set_members(np.hstack([members, pieces[taken]]))
    return True


def _rounds(
    tree: BoxTree,
    turns: range,
    k: int,
    circumstances: Circumstances,
    match: Round,
    known: Callable[[int], Pairs],
) -> Iterator[tuple[int, Matching]]:
    """Let each box take in one record in each of some of k - 1 rounds; yield each and what was matched."""
    records = np.arange(len(tree.order))
    for turn in turns:
        circumstances.progress(GROWING, (turn - 1) / (k - 1))
        matching = match(tree, known(turn))
        if (matching.box_of < 0).any():
            raise _StuckError
        tree.add(matching.box_of, records)
        yield turn, matching


def _in_order(owners: NDArray[np.int32] | None, tree: BoxTree) -> NDArray[np.int32] | None:
    """Return the persons of the records, in the order of a tree."""
    return None if owners is None else owners[tree.order]
