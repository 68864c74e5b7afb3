"""From cells to codes: numbers and dates."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from one_column import FLAVOURS, NAN, encoded, refused, values_of

from shoal.errors import Reason
from shoal.kinds.ranges import RangeDomain

# Numbers


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_numbers_are_coded_in_their_order(flavour: str) -> None:
    attribute = encoded([30, -5, 10, 30], flavour, kind="numeric")
    assert isinstance(attribute.domain, RangeDomain)
    assert attribute.domain.labels == ("-5", "10", "30")
    assert attribute.domain.missing is None
    assert attribute.codes.tolist() == [2, 0, 1, 2]
    assert attribute.counts.tolist() == [1, 1, 2]
    assert attribute.domain.positions == pytest.approx([0, 15 / 35, 1])


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("nothing", [None, NAN])
def test_a_missing_number_is_the_last_code_and_lies_apart(nothing: Any, flavour: str) -> None:
    attribute = encoded([2.5, nothing, 1.0], flavour, kind="numeric")
    assert attribute.domain.labels == ("1", "2.5", "")
    assert values_of(attribute) == [1.0, 2.5, None]
    assert attribute.domain.missing == 2
    assert attribute.codes.tolist() == [1, 2, 0]
    assert isinstance(attribute.domain, RangeDomain)
    assert attribute.domain.positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_whole_floats_are_integers(flavour: str) -> None:
    attribute = encoded([3.0, 1.0, None, -0.0], flavour, kind="numeric")
    assert attribute.domain.labels == ("0", "1", "3", "")
    assert attribute.domain.values.dtype == pl.Int64


def test_several_spellings_of_a_number_are_one_value() -> None:
    attribute = encoded(["1", "1.0", "01", " 1 ", "1e0", "10", "9", "+9", ""], kind="numeric")
    assert attribute.domain.labels == ("1", "9", "10", "")
    assert attribute.codes.tolist() == [0, 0, 0, 0, 0, 2, 1, 1, 3]


def test_zero_has_no_sign() -> None:
    attribute = encoded([-0.0, 0.0, 0.5], kind="numeric")
    assert attribute.domain.labels == ("0", "0.5")
    assert attribute.codes.tolist() == [0, 0, 1]
    assert encoded(["-0", "0"], kind="numeric").domain.labels == ("0",)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_integers_that_floats_cannot_tell_apart_stay_apart(flavour: str) -> None:
    cells = [2**53 + 2, 2**53, 2**53 + 1]
    for column in (cells, [str(cell) for cell in cells]):
        attribute = encoded(column, flavour, kind="numeric")
        assert values_of(attribute) == sorted(cells)
        assert attribute.codes.tolist() == [2, 0, 1]
        assert isinstance(attribute.domain, RangeDomain)
        assert attribute.domain.positions.tolist() == [0, 0.5, 1]


def test_the_widest_ranges_have_positions_too() -> None:
    integers = encoded([-(2**63), 0, 2**63 - 1], kind="numeric").domain
    assert isinstance(integers, RangeDomain)
    assert integers.positions == pytest.approx([0, 0.5, 1])
    floats = encoded([-1.5e308, 0.0, 1.5e308], kind="numeric").domain
    assert isinstance(floats, RangeDomain)
    assert floats.positions == pytest.approx([0, 0.5, 1])


def test_unsigned_integers_beyond_the_signed_ones_are_numbers() -> None:
    attribute = encoded(pl.Series("x", [2**64 - 1, 1], dtype=pl.UInt64), kind="numeric")
    assert values_of(attribute) == [1, 2**64 - 1]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_decimals_keep_their_fraction(flavour: str) -> None:
    attribute = encoded([Decimal("1.50"), Decimal("2.25"), None], flavour, kind="numeric")
    assert attribute.domain.labels == ("1.5", "2.25", "")
    whole = encoded([Decimal("2"), Decimal("1")], flavour, kind="numeric")
    assert values_of(whole) == [1, 2]


def test_short_floats_are_written_shortly() -> None:
    attribute = encoded(pl.Series("x", [0.1, 0.25], dtype=pl.Float32), kind="numeric")
    assert attribute.domain.labels == ("0.1", "0.25")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_booleans_may_be_numbers(flavour: str) -> None:
    attribute = encoded([True, False, True], flavour, kind="numeric")
    assert values_of(attribute) == [0, 1]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("cells", "row", "value"),
    [
        (["5", "", "five", "a"], 3, "'five'"),
        (["zz", "1", "aa"], 1, "'zz'"),
        (["1", "2", " "], 3, "' '"),
        (["1", "1_000"], 2, "'1_000'"),
    ],
)
def test_the_first_text_that_is_not_a_number_is_named(
    cells: list[str], row: int, value: str, flavour: str
) -> None:
    error = refused(cells, flavour, kind="numeric")
    assert error.reason is Reason.BAD_VALUE
    assert str(error).startswith(
        f"column 'x', row {row}: {value} is not a number; correct it, declare it as a"
    )


def test_days_are_not_numbers() -> None:
    error = refused([None, datetime.date(2020, 1, 2)], kind="numeric")
    assert str(error).startswith("column 'x', row 2: 2020-01-02 is not a number")


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([1.5, float("inf")], "inf"),
        ([1.5, float("-inf")], "-inf"),
        (["1.5", "inf"], "'inf'"),
        (["1.5", "-Infinity"], "'-Infinity'"),
        (["1", "nan"], "'nan'"),
        (["1", "1e999"], "'1e999'"),
    ],
)
def test_infinities_are_refused(cells: list[Any], shown: str, flavour: str) -> None:
    error = refused(cells, flavour, kind="numeric")
    assert error.reason is Reason.NOT_FINITE
    assert str(error) == f"column 'x', row 2: {shown} is not a finite number; correct it or leave it empty"


def test_a_declared_range_sets_the_scale() -> None:
    domain = encoded([5, 2, None], kind="numeric", domain=(0, 10)).domain
    assert isinstance(domain, RangeDomain)
    assert domain.positions.tolist() == [0.2, 0.5, 2]
    domain = encoded([5, 2], kind="numeric", domain=(np.float64(1.5), np.int64(5))).domain
    assert isinstance(domain, RangeDomain)
    assert domain.positions == pytest.approx([0.5 / 3.5, 1])
    domain = encoded([0.5, 2], kind="numeric", domain=(0, 8)).domain
    assert isinstance(domain, RangeDomain)
    assert domain.positions.tolist() == [0.0625, 0.25]
    domain = encoded([3], kind="numeric", domain=(3, 3)).domain
    assert isinstance(domain, RangeDomain)
    assert domain.positions.tolist() == [0]


@pytest.mark.parametrize(("cells", "shown"), [([5, -1, 50], "-1"), (["5", "-1", "50"], "'-1'")])
def test_a_number_outside_the_declared_range_is_named(cells: list[Any], shown: str) -> None:
    error = refused(cells, kind="numeric", domain=(0, 10))
    assert error.reason is Reason.OUT_OF_DOMAIN
    assert str(error) == f"column 'x', row 2: {shown} is outside the declared domain 0..10"


@pytest.mark.parametrize("bounds", [("0", "9"), (0, float("inf"))])
def test_bounds_that_are_not_numbers_are_refused(bounds: tuple[Any, Any]) -> None:
    error = refused([5], kind="numeric", domain=bounds)
    assert error.reason is Reason.SCHEMA
    assert "column 'x'" in str(error)


# Dates


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "cells",
    [
        ["2020-03-01", "2020-02-29", "2020-03-31", "", "2020-02-29"],
        [" 2020-03-01", "2020-02-29T23:59", "2020-03-31 08:00:00.5", None, "2020-02-29T00:00:00Z"],
        ["2020-03-01", "2020-02-29T23:59:00+02:00", "2020-03-31", None, "2020-02-29"],
        [
            datetime.date(2020, 3, 1),
            datetime.date(2020, 2, 29),
            datetime.date(2020, 3, 31),
            None,
            datetime.date(2020, 2, 29),
        ],
        [
            datetime.datetime(2020, 3, 1, 5),
            datetime.datetime(2020, 2, 29, 23, 59),
            datetime.datetime(2020, 3, 31),
            None,
            datetime.datetime(2020, 2, 29),
        ],
    ],
)
def test_dates_are_days(cells: list[Any], flavour: str) -> None:
    attribute = encoded(cells, flavour, kind="date")
    assert attribute.domain.labels == ("2020-02-29", "2020-03-01", "2020-03-31", "")
    assert attribute.domain.values.dtype == pl.Date
    assert attribute.codes.tolist() == [1, 0, 2, 3, 0]
    assert isinstance(attribute.domain, RangeDomain)
    assert attribute.domain.positions == pytest.approx([0, 1 / 31, 1, 2])


def test_dates_before_the_epoch_have_positions_in_order() -> None:
    domain = encoded(["1900-01-01", "1969-12-31", "1970-01-01", "2020-01-01"], kind="date").domain
    assert isinstance(domain, RangeDomain)
    assert (np.diff(domain.positions) > 0).all()
    assert domain.positions[[0, -1]].tolist() == [0, 1]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.to_datetime(["2020-01-02", None, "2020-01-01"])}),
        pd.DataFrame({"x": [pd.Timestamp("2020-01-02 05:00"), pd.NaT, pd.Timestamp("2020-01-01")]}),
        pa.table({"x": pa.array([18263, None, 18262], pa.date32())}),
        pa.table({"x": pa.array([18263 * 86400, None, 18262 * 86400], pa.timestamp("s"))}),
    ],
)
def test_timestamps_and_arrow_dates_are_days(frame: Any) -> None:
    attribute = encoded(frame, kind="date")
    assert attribute.domain.labels == ("2020-01-01", "2020-01-02", "")
    assert attribute.codes.tolist() == [1, 2, 0]


def test_a_time_with_a_zone_is_the_day_there() -> None:
    late = pd.to_datetime(["2020-01-01T23:30:00Z"], utc=True).tz_convert("Europe/Berlin")
    assert encoded(pd.DataFrame({"x": late}), kind="date").domain.labels == ("2020-01-02",)


def test_dates_may_have_another_format_and_are_written_in_it() -> None:
    attribute = encoded(["01.02.2020", "31.12.2019", ""], kind="date", date_format="%d.%m.%Y")
    assert attribute.domain.labels == ("31.12.2019", "01.02.2020", "")
    assert values_of(attribute) == [datetime.date(2019, 12, 31), datetime.date(2020, 2, 1), None]
    with_hours = encoded(["1/2/2020 05:30", "1/2/2020 06:00"], kind="date", date_format="%d/%m/%Y %H:%M")
    assert with_hours.domain.labels == ("01/02/2020",)  # a day, not its midnight


@pytest.mark.parametrize("form", ["%d.%m.", "%d.%m.%y", "%Q"])
def test_a_format_that_cannot_tell_days_apart_is_refused(form: str) -> None:
    error = refused([datetime.date(1875, 1, 1), datetime.date(1975, 1, 1)], kind="date", date_format=form)
    assert error.reason is Reason.SCHEMA
    assert "column 'x'" in str(error)
    assert form in str(error)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "wrong", ["2019-02-30", "2020-01-01x", "2020-01-011", "2020-1-1", "01.01.2020", "tomorrow", "2020"]
)
def test_the_first_text_that_is_not_a_date_is_named(wrong: str, flavour: str) -> None:
    error = refused(["2020-01-01", wrong, "0"], flavour, kind="date")
    assert error.reason is Reason.BAD_VALUE
    assert str(error).startswith(f"column 'x', row 2: {wrong!r} is not a date written as YYYY-MM-DD")


def test_the_format_is_named_where_a_date_is_written_otherwise() -> None:
    error = refused(["01.02.2020", "2020-02-01"], kind="date", date_format="%d.%m.%Y")
    assert str(error).startswith("column 'x', row 2: '2020-02-01' is not a date written as %d.%m.%Y")


def test_numbers_are_not_dates() -> None:
    error = refused([20200101, 20200102], kind="date")
    assert str(error).startswith("column 'x', row 1: 20200101 is not a date")


@pytest.mark.parametrize(
    "bounds",
    [
        ("2020-01-01", "2020-01-11"),
        (datetime.date(2020, 1, 1), datetime.date(2020, 1, 11)),
        (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 11, 12)),
        (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-11")),
    ],
)
def test_declared_days_set_the_scale(bounds: tuple[Any, Any]) -> None:
    domain = encoded(["2020-01-03", "2020-01-06"], kind="date", domain=bounds).domain
    assert isinstance(domain, RangeDomain)
    assert domain.positions == pytest.approx([0.2, 0.5])
    error = refused(["2020-01-03", "2020-02-01"], kind="date", domain=bounds)
    assert error.reason is Reason.OUT_OF_DOMAIN
    assert str(error) == (
        "column 'x', row 2: '2020-02-01' is outside the declared domain 2020-01-01..2020-01-11"
    )


def test_declared_days_that_are_none_are_refused() -> None:
    error = refused(["2020-01-03"], kind="date", domain=("first", "last"))
    assert error.reason is Reason.SCHEMA
    assert "must be two dates (YYYY-MM-DD)" in str(error)
