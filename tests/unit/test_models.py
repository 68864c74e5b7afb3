"""The promises: their parameters, and their words."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal import Concealment, Freeform, InputError, KAnonymity, KmAnonymity, KOne, OneK
from shoal.models import CoverageModel, CrowdModel, Model
from shoal.models.model import MODELS


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


def test_what_a_model_does_not_declare_is_judged_strictly() -> None:
    assert (Model.of_records, Model.of_rows, Model.by_matching) == (True, True, True)
    weaker = {model for model in MODELS.values() if not (model.of_records and model.of_rows)}
    assert weaker == {OneK, KOne}
    by_covering = {model for model in MODELS.values() if not model.by_matching}
    assert by_covering == {model for model in MODELS.values() if issubclass(model, CoverageModel)}


@pytest.mark.parametrize("base", [CrowdModel, Freeform, KAnonymity])
def test_a_new_model_is_checkable_in_part_only_if_it_says_so(base: type[CrowdModel]) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Stricter(base):  # type: ignore[misc,valid-type]
        pass

    declared = (Stricter.across_releases, Stricter.in_some_columns, Stricter.redraws_classes)
    assert declared == (False, False, False)


def test_classes_of_models_are_asked_only_by_their_methods_and_rules() -> None:
    classes = {each.__name__ for each in _with_subclasses(Model)} - {"Model"}
    root = Path(shoal.__file__).parent
    for file in root.rglob("*.py"):
        place = file.relative_to(root).as_posix()
        if place.startswith(("models/", "methods/")) or place in (
            "auditing/rules.py",
            "auditing/likeness.py",
        ):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                assert not asked & classes, f"{place}:{node.lineno} asks for the class of a model"


def _with_subclasses(model: type[Model]) -> set[type[Model]]:
    return {model}.union(*(_with_subclasses(each) for each in model.__subclasses__()))


def test_what_attackers_know_is_declared() -> None:
    some, every = KmAnonymity(k=5, knows=2), Freeform(k=5)
    assert (some.known_columns, some.crowd_in_known, some.crowd) == (2, 5, 1)
    assert (every.known_columns, every.crowd_in_known, every.crowd) == (None, 5, 5)
    assert Concealment(k=3).one_sided
    assert not Concealment(k=3, two_sided=True).one_sided
