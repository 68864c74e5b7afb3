"""An enlarged table keeps the shape of the small one."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from benchmarks.enlarging import REDRAWN, enlarge
from shoal.errors import InputError


@pytest.fixture
def source() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [17, 30, 45, 90],
            "hours": ["8", "40", None, "99"],
            "code": ["02139", "02141", "02150", "02199"],
            "small": pl.Series([0, 1, 2, 255], dtype=pl.UInt8),
            "work": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
            "born": [date(2000, 1, day) for day in (1, 2, 3, 4)],
        }
    )


def test_enlarge_keeps_columns_types_and_ranges(source: pl.DataFrame) -> None:
    frame = enlarge(source, 5_000, numeric={"age": 5, "hours": 3, "code": 2, "small": 1}, seed=1)
    assert frame.height == 5_000
    assert frame.schema == source.schema
    for name in ("age", "hours", "code", "small"):
        before, after = source[name].cast(pl.Int64), frame[name].cast(pl.Int64)
        assert (before.min(), before.max()) == (after.min(), after.max())
        assert after.n_unique() > before.n_unique()
    assert frame["code"].str.contains(r"^02\d{3}$").all()
    assert 0 < frame["hours"].null_count() < 2_000
    for name in ("work", "born"):
        assert set(frame[name]) == set(source[name])


def test_enlarge_is_repeatable_and_perturbs_within_the_width() -> None:
    source = pl.DataFrame({"value": [0, 100, 200, 300]})
    frame = enlarge(source, 1_000, numeric={"value": 4}, seed=3)
    assert_frame_equal(frame, enlarge(source, 1_000, numeric={"value": 4}, seed=3))
    assert not frame.equals(enlarge(source, 1_000, numeric={"value": 4}, seed=4))
    off = (frame["value"] + 50) % 100 - 50
    assert (off.min(), off.max()) == (-4, 4)
    unmoved = enlarge(source, 1_000, numeric={"value": 0}, seed=3)
    assert set(unmoved["value"]) == {0, 100, 200, 300}


def test_enlarge_redraws_a_small_share() -> None:
    source = pl.DataFrame({"a": range(1_000), "b": range(1_000)})
    frame = enlarge(source, 100_000, numeric={}, seed=5)
    # Either of the two cells may have been redrawn.
    assert (frame["a"] != frame["b"]).mean() == pytest.approx(2 * REDRAWN, abs=0.005)


def test_enlarge_small_cases(source: pl.DataFrame) -> None:
    assert enlarge(source, 0, numeric={"age": 5}, seed=1).schema == source.schema
    assert enlarge(source.clear(), 0, numeric={"hours": 5}, seed=1).schema == source.schema
    nothing = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Int64)})
    assert enlarge(nothing, 3, numeric={"x": 2}, seed=1)["x"].null_count() == 3


def test_enlarge_refuses_what_it_cannot_do(source: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="did you mean 'age'"):
        enlarge(source, 5, numeric={"Age": 1}, seed=1)
    with pytest.raises(InputError, match="does not hold integers"):
        enlarge(source, 5, numeric={"born": 1}, seed=1)
    with pytest.raises(InputError, match="does not hold integers"):
        enlarge(pl.DataFrame({"x": ["1", "?"]}), 5, numeric={"x": 1}, seed=1)
    with pytest.raises(InputError, match="rows is -5"):
        enlarge(source, -5, numeric={}, seed=1)
    with pytest.raises(InputError, match="give 0 or more"):
        enlarge(source, 5, numeric={"age": -1}, seed=1)
    with pytest.raises(InputError, match="without rows"):
        enlarge(source.clear(), 5, numeric={}, seed=1)
