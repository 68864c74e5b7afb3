"""Days and times of day: read from texts and typed cells to the nanosecond, written as days."""

from __future__ import annotations

import datetime
import re
from contextlib import suppress
from typing import NamedTuple

import polars as pl

ISO_DAY = "%Y-%m-%d"
NO_OFFSET = -1_000_000
"""The offset of a time that is written without one: less than all others."""
_MOST_OFFSET = 1_000_000
_DAY_NANOSECONDS = 86_400 * 10**9
_UNITS = {"ms": 86_400_000, "us": 86_400_000_000, "ns": _DAY_NANOSECONDS}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST, _LAST = (day.toordinal() - _EPOCH for day in (datetime.date.min, datetime.date.max))
_CLOCK = r"(?:[01][0-9]|2[0-3])"
_MOMENT = (
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    rf"(?:[T ](?P<hour>{_CLOCK}):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    rf"(?P<offset>Z|(?P<sign>[+-])(?P<hours>{_CLOCK})(?::?(?P<minutes>[0-5][0-9])(?::?(?P<seconds>[0-5][0-9]))?)?)?)?"
)
_PATTERN = re.compile(_MOMENT)
_DIRECTIVE = re.compile(r"%(.)", re.DOTALL)
_OF_TIMES = frozenset("HIpMSfzZXc")
"""The directives of `strptime` that say something about the time of day."""


class Moment(NamedTuple):
    """A time of a day as written; moments are ordered by the first part that differs.

    Parameters
    ----------
    day
        The day, in days since 1970-01-01.
    clock
        The time, in nanoseconds since midnight.
    offset
        How far that clock is ahead of UTC, in seconds; `NO_OFFSET` if that is not said.
    """

    day: int
    clock: int = 0
    offset: int = NO_OFFSET

    def text(self) -> str:
        """Return the moment in the notation of ISO 8601, always with a time."""
        date = datetime.date.fromordinal(self.day + _EPOCH).isoformat()
        seconds, fraction = divmod(self.clock, 10**9)
        hours, rest = divmod(seconds, 3600)
        digits = f".{fraction:09}".rstrip("0") if fraction else ""
        text = f"{date}T{hours:02}:{rest // 60:02}:{rest % 60:02}{digits}"
        if self.offset == NO_OFFSET:
            return text
        ahead, left = divmod(abs(self.offset), 3600)
        last = f":{left % 60:02}" if left % 60 else ""
        return f"{text}{'-' if self.offset < 0 else '+'}{ahead:02}:{left // 60:02}{last}"


def has_time(form: str | None) -> bool:
    """Return whether dates of a `date_format` may have a time of day; ISO dates may."""
    return form is None or any(letter in _OF_TIMES for letter in _DIRECTIVE.findall(form))


def read(text: str, form: str | None = None) -> tuple[Moment, Moment] | None:
    """Return the first and the last moment that a written date can stand for, or None if it is no date.

    A time stands for itself, a day without a time for all its times.

    Parameters
    ----------
    text
        The date.
    form
        How it is written, as in ``strptime``: days of a form with a time may lack it. None expects ISO dates.
    """
    text = text.strip()
    if form is None:
        return _read_iso(text)
    if (read := _parsed(text, form)) is not None:
        return (read, read) if has_time(form) else _whole(read.day)
    if not has_time(form):
        return None
    for shorter in (day_form(form), ISO_DAY):
        if (read := _parsed(text, shorter)) is not None:
            return _whole(read.day)
    return None


def forms_of(texts: pl.Series) -> tuple[str, ...]:
    """Return the formats that dates in one of the common local forms can have; none for something else.

    Where day and month are both at most 12 in all dates and separated by a slash or a hyphen, nothing says
    which comes first, so there are two.
    """
    texts = texts.str.strip_chars()
    for pattern, form in _LOCAL_FORMS.items():
        if not texts.str.contains(pattern).all():
            continue
        forms = [form]
        if "." not in form and form.endswith("%Y"):
            numbers = texts.str.extract_groups(pattern).struct.unnest().cast(pl.Int32)
            first, second = (int(numbers[name].max()) for name in numbers.columns[:2])  # type: ignore[arg-type]
            mark = form[2]
            forms = [f"%d{mark}%m{mark}%Y"] * (second <= 12) + [f"%m{mark}%d{mark}%Y"] * (first <= 12)
        return tuple(each for each in forms if not parts(texts, each)["day"].null_count())
    return ()


_LOCAL_FORMS = {
    r"^(\d{1,2})\.(\d{1,2})\.\d{4}$": "%d.%m.%Y",
    r"^\d{4}/\d{1,2}/\d{1,2}$": "%Y/%m/%d",
    r"^\d{4}\.\d{1,2}\.\d{1,2}$": "%Y.%m.%d",
    r"^(\d{1,2})/(\d{1,2})/\d{4}$": "%d/%m/%Y",
    r"^(\d{1,2})-(\d{1,2})-\d{4}$": "%d-%m-%Y",
}


def parts(cells: pl.Series, form: str | None = None) -> pl.DataFrame:
    """Return day, clock and offset (see `Moment`) of the cells of a column, null where a cell is no date.

    Parameters
    ----------
    cells
        Texts, dates or datetimes.
    form
        How texts are written; None expects ISO dates.
    """
    if isinstance(cells.dtype, pl.Date | pl.Datetime):
        return _parts_of_typed(cells)
    if cells.dtype != pl.String:
        return _as_parts(*([None] * len(cells) for _ in range(3)))
    texts = cells.str.strip_chars()
    if form is None:
        return _parts_of_iso(texts)
    distinct = texts.drop_nulls().unique()
    found = [_parsed(text, form) for text in distinct.to_list()]
    days, clocks, offsets = ([None if m is None else m[part] for m in found] for part in range(3))
    known = _as_parts(days, clocks, offsets).with_columns(text=distinct)
    joined = pl.DataFrame({"text": texts}).join(known, on="text", how="left", maintain_order="left")
    return joined.select("day", "clock", "offset")


def beyond(cells: pl.Series) -> pl.Series:
    """Return which typed cells lie before the year 1 or after the year 9999."""
    if not isinstance(cells.dtype, pl.Date | pl.Datetime):
        return pl.Series([False] * len(cells), dtype=pl.Boolean)
    return _parts_of_typed(cells)["day"].is_null() & cells.is_not_null()


def write_days(days: pl.Series, form: str | None) -> list[str] | None:
    """Return how days are written, without a time; None if they could not be read back.

    Parameters
    ----------
    days
        Dates, none missing.
    form
        How dates of the column are written; None writes ISO dates.
    """
    if form is None:
        return days.cast(pl.String).to_list()
    wanted = [_whole(day) for day in days.to_physical().to_list()]
    for shorter in (day_form(form), ISO_DAY) if has_time(form) else (form,):
        with suppress(ValueError):
            texts = [_formatted(day, shorter) for day in days.to_list()]
            if [read(text, form) for text in texts] == wanted:
                return texts
    return None


def _whole(day: int) -> tuple[Moment, Moment]:
    return Moment(day, 0, NO_OFFSET), Moment(day, _DAY_NANOSECONDS - 1, _MOST_OFFSET)


def day_form(form: str) -> str:
    """Return the part of a form that says the day, or that of ISO dates if the time is in its middle."""
    found = list(_DIRECTIVE.finditer(form))
    days = [each for each in found if each[1] not in _OF_TIMES and each[1] != "%"]
    if days:
        inner = form[days[0].start() : days[-1].end()]
        if not has_time(inner):
            return inner
    return ISO_DAY


def _formatted(day: datetime.date, form: str) -> str:
    # The C library writes the year 69 as such, which is not read as a year of four digits.
    form = _DIRECTIVE.sub(lambda found: f"{day.year:04}" if found[1] == "Y" else found[0], form)
    return day.strftime(form)


def _parsed(text: str, form: str) -> Moment | None:
    try:
        found = datetime.datetime.strptime(text, form)
    except (ValueError, re.error, OverflowError):
        return None
    clock = ((found.hour * 60 + found.minute) * 60 + found.second) * 10**9 + found.microsecond * 1000
    ahead = found.utcoffset()
    return Moment(
        found.toordinal() - _EPOCH, clock, NO_OFFSET if ahead is None else round(ahead.total_seconds())
    )


def _read_iso(text: str) -> tuple[Moment, Moment] | None:
    found = _PATTERN.fullmatch(text)
    if found is None:
        return None
    try:
        day = datetime.date.fromisoformat(found["day"]).toordinal() - _EPOCH
    except ValueError:
        return None
    if found["hour"] is None:
        return _whole(day)
    seconds = (int(found["hour"]) * 60 + int(found["minute"])) * 60 + int(found["second"] or 0)
    clock = seconds * 10**9 + int((found["fraction"] or "").ljust(9, "0"))
    offset = NO_OFFSET if found["offset"] is None else 0
    if found["sign"] is not None:
        ahead = (int(found["hours"]) * 60 + int(found["minutes"] or 0)) * 60 + int(found["seconds"] or 0)
        offset = -ahead if found["sign"] == "-" else ahead
    return (Moment(day, clock, offset),) * 2


def _parts_of_iso(texts: pl.Series) -> pl.DataFrame:
    """Return the parts of ISO dates, all at once."""
    found = texts.str.extract_groups(f"^{_MOMENT}$").struct.unnest()

    def number(group: str) -> pl.Expr:
        return pl.col(group).cast(pl.Int64).fill_null(0)

    day = pl.col("day").str.to_date(ISO_DAY, strict=False).cast(pl.Int32)
    seconds = (number("hour") * 60 + number("minute")) * 60 + number("second")
    fraction = pl.col("fraction").str.pad_end(9, "0").cast(pl.Int64).fill_null(0)
    ahead = (number("hours") * 60 + number("minutes")) * 60 + number("seconds")
    signed = pl.when(pl.col("sign") == "-").then(-ahead).otherwise(ahead)
    return _within(
        found.select(
            day=day,
            clock=seconds * 10**9 + fraction,
            offset=pl.when(pl.col("offset").is_null()).then(NO_OFFSET).otherwise(signed),
        )
    )


def _parts_of_typed(cells: pl.Series) -> pl.DataFrame:
    if cells.dtype == pl.Date:
        days = cells.to_physical()
        return _within(_as_parts(days, [0] * len(days), [NO_OFFSET] * len(days)))
    assert isinstance(cells.dtype, pl.Datetime)
    unit = _UNITS[cells.dtype.time_unit]
    ticks = cells.to_physical()
    # Polars itself gives up on days that are too far away.
    ticks = pl.select(pl.when((ticks // unit).is_between(_FIRST - 1, _LAST + 1)).then(ticks)).to_series()
    offset = pl.repeat(NO_OFFSET, len(ticks), eager=True)
    if cells.dtype.time_zone is not None:
        local = ticks.cast(cells.dtype).dt.replace_time_zone(None, ambiguous="raise").to_physical()
        offset, ticks = (local - ticks) // (unit // 86_400), local
    return _within(_as_parts(ticks // unit, (ticks % unit) * (_DAY_NANOSECONDS // unit), offset))


def _as_parts(day: object, clock: object, offset: object) -> pl.DataFrame:
    return pl.DataFrame(
        {"day": day, "clock": clock, "offset": offset},
        schema={"day": pl.Int64, "clock": pl.Int64, "offset": pl.Int64},
    )


def _within(found: pl.DataFrame) -> pl.DataFrame:
    """Return parts with null where the day is not one of the years 1 to 9999."""
    known = pl.col("day").is_between(_FIRST, _LAST)
    return found.select(pl.when(known).then(pl.all().cast(pl.Int64)))
