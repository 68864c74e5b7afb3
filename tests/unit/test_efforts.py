"""A method has all three efforts, or none."""

from __future__ import annotations

from shoal.methods import METHODS, is_baseline, options_of

WITHOUT = {"mondrian", "exact", "subsets", "set_ring", "diverse_groups"}
WITHOUT |= {"like_mondrian", "like_chain", "population_mondrian"}
"""Methods that have nothing to search for, or always find the optimum."""


def test_methods_have_all_efforts_or_none() -> None:
    found = {each for methods in METHODS.values() for each in methods.values() if not is_baseline(each)}
    for method in found:
        effort = options_of(method).get("effort")
        if effort is None:
            assert method.__name__ in WITHOUT
        else:
            assert effort.choices == ("fast", "balanced", "best")
            assert effort.default == "balanced"
