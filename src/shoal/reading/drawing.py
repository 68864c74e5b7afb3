"""Values for the cells of a release, drawn from the joint estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.reading.joint import Joint
from shoal.reading.mixture import raised


def drawn_classes(joint: Joint, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a latent class for each row."""
    before = np.cumsum(joint.members, axis=1, dtype=np.float64)
    before /= before[:, -1:]
    return np.asarray((generator.random(len(before))[:, None] > before).sum(axis=1))


def drawn_values(
    joint: Joint, classes: NDArray[np.int64], generator: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return a value for each row and quasi-identifier, as its column understands it.

    Parameters
    ----------
    joint
        The columns and their joint distribution.
    classes
        The latent class of each row.
    generator
        The source of random numbers.
    """
    rows_of = [np.flatnonzero(classes == each) for each in range(joint.members.shape[1])]
    drawn = {}
    for place, column in enumerate(joint.mixture.columns):
        if not column.notes.quasi:
            continue
        free = joint.mixture.free_share(place)
        values: NDArray[Any] | None = None
        for each, rows in enumerate(rows_of):
            if not len(rows):
                continue
            for power, where in joint.mixture.assumption.powers(column):
                some = rows[where[column.cell[rows]]]
                weights = raised(joint.mixture.likely[place][:, [each]], power)
                found = column.drawn(weights, some, free[column.cell[some]], generator)
                if values is None:
                    values = np.empty(len(column.cell), dtype=found.dtype)
                values[some] = found
        assert values is not None
        drawn[column.notes.name] = values
    return drawn
