"""The measure of what an attacker gains by running the method again finds what rows tell, and no more."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal import Concealment, Freeform, InputError, KAnonymity, Schema, SetDiversity
from shoal.methods import METHODS, Circumstances
from shoal.methods.method import keeps
from shoal.recoding import Recoding
from shoal.table import Table

SIX = pl.DataFrame({"age": [20, 21, 30, 33, 50, 58], "diagnosis": list("aaabbb")})
SCHEMA = Schema.infer(SIX, quasi=["age"], sensitive=["diagnosis"])


def test_rows_of_plain_freeform_tell_nothing() -> None:
    found = shoal.repeated_attack(SIX, SCHEMA, Freeform(k=2), training=120, tests=60, seed=1)
    assert found.least_chance == pytest.approx(0.5)
    assert found.row.right <= 0.5 + 2 * found.row.error
    assert found.values["diagnosis"].certain == 0.0


def test_classes_with_l_leave_no_one_certain() -> None:
    found = shoal.repeated_attack(SIX, SCHEMA, KAnonymity(k=2, l=2), training=250, tests=60, seed=1)
    guesses = found.values["diagnosis"]
    assert guesses.right <= 1.1 / 2 + 2 * guesses.error
    assert guesses.certain == 0.0


def test_sets_of_items_tell_no_label_in_small_tables() -> None:
    sets = pl.DataFrame(
        {"items": [["a"], ["a", "b"], ["b"], ["c"], ["c", "d"], ["d"]], "diagnosis": list("xyzxyz")}
    )
    schema = Schema.infer(sets, quasi=["items"], sensitive=["diagnosis"])
    found = shoal.repeated_attack(sets, schema, SetDiversity(l=2), training=50, tests=30, seed=1)
    guesses = found.values["diagnosis"]
    assert guesses.right <= 1.1 / 2 + 2 * guesses.error
    assert guesses.certain in (None, 0.0)
    assert found.least_chance is not None
    assert found.row.right <= found.least_chance + 2 * found.row.error


def test_concealment_bounds_guesses_by_default() -> None:
    found = shoal.repeated_attack(SIX, SCHEMA, Concealment(k=3, l=1.5), training=50, tests=30, seed=1)
    guesses = found.values["diagnosis"]
    assert found.row.right <= 2 / 3 + 2 * found.row.error
    assert guesses.right <= 1.1 / 1.5 + 2 * guesses.error
    assert guesses.certain in (None, 0.0)


def test_a_method_that_tells_is_found_out() -> None:
    """Boxes that depend on labels give these away."""

    def telling(table: Table, model: KAnonymity, circumstances: Circumstances, /) -> Recoding:
        """One class of records with each value; the labels decide who is in which."""
        del model, circumstances
        return Recoding.of_classes(table, table.sensitive[0].codes)

    keeps(KAnonymity, name="telling")(telling)
    try:
        frame = SIX.with_columns(diagnosis=pl.Series(list("aabbbb")))
        found = shoal.repeated_attack(
            frame, SCHEMA, KAnonymity(k=2), method="telling", training=300, tests=30, seed=1
        )
    finally:
        del METHODS[KAnonymity]["telling"]
    assert found.values["diagnosis"].right > 0.75
    certain = found.values["diagnosis"].certain
    assert certain is not None
    assert certain > 0.2


def test_figures_are_plain_data_and_repeatable() -> None:
    runs = [
        shoal.repeated_attack(SIX, SCHEMA, Freeform(k=2, l=2), training=10, tests=5, seed=3).as_dict()
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert set(runs[0]["values"]) == {"diagnosis"}
    assert runs[0]["row_knowing_values"]["right"] >= runs[0]["row"]["right"] - 0.5
    alone = SIX.drop("diagnosis")
    without = shoal.repeated_attack(
        alone, Schema.infer(alone, quasi=["age"]), Freeform(k=2), training=5, tests=5
    )
    assert without.row_knowing_values is None
    assert without.values == {}


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(InputError, match="two to guess in"):
        shoal.repeated_attack(SIX, SCHEMA, Freeform(k=2), training=0)
