"""The promises: their parameters, and their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal import Concealment, Freeform, InputError, KAnonymity
from shoal.models import Model


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 1},
        {"k": 0},
        {"k": True},
        {"k": 2.5},
        {"k": "10"},
        {"k": None},
        {"k": 5, "l": 0.5},
        {"k": 5, "l": "2"},
        {"k": 5, "l": float("nan")},
        {"k": 5, "p": 0},
        {"k": 5, "p": 1.5},
        {"k": 5, "entropy_l": 0.9},
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is not allowed"):
        KAnonymity(**parameters)


def test_a_word_is_neither_true_nor_false() -> None:
    with pytest.raises(InputError, match="two_sided = 'no' is not allowed"):
        Concealment(k=2, two_sided="no")  # type: ignore[arg-type]


def test_numbers_of_numpy_become_plain_ones() -> None:
    model = KAnonymity(k=np.int64(10), l=np.float32(2))
    assert model.parameters == {"k": 10, "l": 2.0}
    assert type(model.k) is int
    assert model == KAnonymity(k=10, l=2)


def test_words() -> None:
    assert "at least 1 other in" in KAnonymity(k=2).sentence()
    words = KAnonymity(k=3, l=2, p=2, entropy_l=1.5).sentence()
    for part in ("at least 2 others", "1 in 2", "at least 2 different", "log(1.5)"):
        assert part in words


def test_a_model_without_a_promise_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        Model(k=3)  # type: ignore[abstract]


def test_a_level_of_1_is_the_same_model_as_none() -> None:
    assert Freeform(k=3, l=1, p=1, entropy_l=1) == Freeform(k=3)
    assert "l" not in KAnonymity(k=3, l=1.0).parameters
