"""How many examples a property test draws: more in campaigns than ordinarily, fewer under sanitizers."""

from __future__ import annotations

from hypothesis import settings

ORDINARY = 30
"""Examples of a test that says nothing about it, in an ordinary run."""
FULL = 50
"""Examples of such a test that the numbers of other tests are given for."""


def examples(full: int) -> settings:
    """Return settings for a test that draws this many examples where others draw 50.

    Every profile changes the number in the same proportion: an ordinary run has three fifths of it, and a
    campaign has twice as many.

    Parameters
    ----------
    full
        Number of examples. Choose it so that the test takes a few seconds.
    """
    return settings(max_examples=max(1, full * settings().max_examples // FULL))
