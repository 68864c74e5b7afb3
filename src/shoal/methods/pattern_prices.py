"""Lower bounds for suppression by patterns where the integer program is too large: prices on row types.

A Lagrangian relaxation of Equations 1 to 4 of Bredereck et al. (2013): a row without a pattern is not
forbidden but has a price. For any prices, the classes that are worth opening give a lower bound of the cost
of every solution, and suggest which classes a good solution opens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.methods.pattern_program import PatternProgram

PATIENCE = 15
"""Steps are halved after this many steps without a gain."""
SHORTEST = 1e-3
"""The search ends when steps are shorter than this share of the first."""
GAIN = 1e-4
"""A step is a gain if the bound rises by more than this share."""


@dataclass(frozen=True, eq=False)
class Offer:
    """What follows from prices.

    Parameters
    ----------
    bound
        A lower bound of the cost of every solution.
    worth
        What each class would add to the bound if it had to be open; it is worth opening if this is negative.
    excess
        For each row type, its rows that no class takes, minus those that several classes take.
    """

    bound: float
    worth: NDArray[np.float64]
    excess: NDArray[np.float64]


class Prices:
    """Prices for each row of a row type, the bound they prove, and better ones.

    Parameters
    ----------
    program
        Which row types can join which classes; each can join at least one.
    k
        Minimum number of rows of a class.
    """

    def __init__(self, program: PatternProgram, k: int) -> None:
        by_class = np.argsort(program.class_of, kind="stable")
        self._program, self._k = program, k
        self._row_type, self._class_of = program.row_type[by_class], program.class_of[by_class]
        self._cost = program.cost[self._class_of]
        self._copies = program.copies.astype(np.float64)
        self._starts = np.flatnonzero(np.diff(self._class_of, prepend=-1))
        # At first the lowest cost of each row: no class is worth opening, and their sum is the bound.
        prices = np.full(len(self._copies), np.inf)
        np.minimum.at(prices, self._row_type, self._cost)
        self._best, self._prices = prices, prices
        self._step, self._waited = 1.0, 0
        self.offer = self._offered(prices)

    def improve(self, known: float) -> bool:
        """Make a step, given the cost of a known solution; return whether to continue.

        A step of the subgradient method with Polyak's length, as if the bound could reach that cost.
        """
        offer = self._offered(self._prices)
        if offer.bound > self.offer.bound:
            gained = offer.bound > self.offer.bound + GAIN * abs(self.offer.bound)
            self._waited = 0 if gained else self._waited + 1
            self._best, self.offer = self._prices, offer
        else:
            self._waited += 1
        if self._waited > PATIENCE:
            self._step, self._waited = self._step / 2, 0
            self._prices, offer = self._best, self.offer
        slope = offer.excess / self._copies
        length = float(slope @ offer.excess)
        if length == 0 or known <= self.offer.bound or self._step < SHORTEST:
            return False
        self._prices = self._prices + self._step * (known - offer.bound) / length * slope
        return True

    def solution(self) -> NDArray[np.int32]:
        """Return the pattern of each row if the classes worth opening are open, -1 if it can join none.

        Rows go to the cheapest open class that they can join. Classes that are too small are closed again,
        the smallest first.
        """
        opened = self.offer.worth < 0
        while True:
            costs = np.where(opened[self._class_of], self._cost, np.inf)
            cheapest = np.lexsort((costs, self._row_type))
            cheapest = cheapest[np.diff(self._row_type[cheapest], prepend=-1) > 0]
            cheapest = cheapest[np.isfinite(costs[cheapest])]
            taken, types = self._class_of[cheapest], self._row_type[cheapest]
            sizes = np.bincount(taken, weights=self._copies[types], minlength=len(opened))
            small = np.flatnonzero(opened & (sizes < self._k))
            if not len(small):
                break
            opened[small[np.argsort(sizes[small], kind="stable")][: max(1, len(small) // 4)]] = False
        pattern_of_type = np.full(len(self._copies), -1, dtype=np.int32)
        pattern_of_type[types] = self._program.pattern[taken]
        return pattern_of_type[self._program.kind]

    def _offered(self, prices: NDArray[np.float64]) -> Offer:
        """Return the worth of each class: it takes all rows that cost less than their price, at least k."""
        gain = self._cost - prices[self._row_type]
        order = np.lexsort((gain, self._class_of))
        gain, copies = gain[order], self._copies[self._row_type[order]]
        many = np.diff(np.append(self._starts, len(gain)))
        before = np.cumsum(copies) - copies
        before -= np.repeat(before[self._starts], many)
        taken = np.where(gain < 0, copies, np.clip(self._k - before, 0, copies))
        worth = np.add.reduceat(gain * taken, self._starts)
        opened = np.repeat(worth < 0, many)
        rows = np.bincount(
            self._row_type[order], weights=np.where(opened, taken, 0.0), minlength=len(self._copies)
        )
        return Offer(float(self._copies @ prices + worth[worth < 0].sum()), worth, self._copies - rows)
