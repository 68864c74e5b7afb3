"""How many examples a property test draws: more in campaigns than ordinarily, fewer under sanitizers."""

from __future__ import annotations

from hypothesis import settings

ORDINARY = 50
"""Examples of a test that says nothing about it, in an ordinary run."""


def examples(ordinary: int) -> settings:
    """Return settings for a test that draws this many examples in an ordinary run.

    Other profiles change the number in the same proportion as for tests that say nothing about it.

    Parameters
    ----------
    ordinary
        Number of examples. Choose it so that the test takes a few seconds.
    """
    return settings(max_examples=max(1, ordinary * settings().max_examples // ORDINARY))
