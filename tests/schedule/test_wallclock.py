"""Readings of the clock and the moments that they are."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.schedule import names, wallclock

ZONES = [
    ZoneInfo(name)
    for name in (
        "Europe/Rome",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/Asuncion",
        "Pacific/Apia",
        "UTC",
    )
]


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


@pytest.mark.parametrize(
    ("zone", "shown", "moment"),
    [
        ("Europe/Rome", "2026-11-20 14:00", "2026-11-20T14:00+01:00"),
        # Skipped: the first moment after the gap.
        ("Europe/Rome", "2026-03-29 02:00", "2026-03-29T03:00+02:00"),
        ("Europe/Rome", "2026-03-29 02:30", "2026-03-29T03:00+02:00"),
        ("Europe/Rome", "2026-03-29 02:59:59", "2026-03-29T03:00+02:00"),
        ("Europe/Rome", "2026-03-29 03:00", "2026-03-29T03:00+02:00"),
        ("America/New_York", "2026-03-08 02:30", "2026-03-08T03:00-04:00"),
        ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-04T02:30+11:00"),
        ("America/Asuncion", "2023-10-01 00:00", "2023-10-01T01:00-03:00"),
        ("Pacific/Apia", "2011-12-30 12:00", "2011-12-31T00:00+14:00"),
        # Twice: the first of both.
        ("Europe/Rome", "2026-10-25 02:00", "2026-10-25T02:00+02:00"),
        ("Europe/Rome", "2026-10-25 02:30", "2026-10-25T02:30+02:00"),
        ("Europe/Rome", "2026-10-25 03:00", "2026-10-25T03:00+01:00"),
        ("America/New_York", "2026-11-01 01:30", "2026-11-01T01:30-04:00"),
        ("Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-05T01:45+11:00"),
    ],
)
def test_a_reading_is_its_first_moment(zone: str, shown: str, moment: str) -> None:
    stamp = wallclock.stamp(shown)
    assert stamp is not None
    assert wallclock.epoch(wallclock.shown(stamp), ZoneInfo(zone)) == at(moment)


@settings(deadline=None)
@given(st.integers(-2_000_000_000, 4_000_000_000), st.sampled_from(ZONES))
def test_what_the_clock_shows_at_a_moment_first_came_then_or_before(
    moment: int, zone: ZoneInfo
) -> None:
    shown = wallclock.reading(moment, zone)
    first = wallclock.epoch(shown, zone)
    assert wallclock.reading(first, zone) == shown
    assert first <= moment


def test_a_day_out_of_all_years_is_refused() -> None:
    with pytest.raises(Refused, match="years 1 to 9999"):
        wallclock.epoch(10**15, ZONES[0])


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2013-04-18 15:00:00", "2013-04-18T15:00:00"),
        ("2013-04-18T15:00", "2013-04-18T15:00:00"),
        ("2013-04-18", "2013-04-18T00:00:00"),
        ("20130418T150000", "2013-04-18T15:00:00"),
        ("2013-04-18T15:00:00.123Z", "2013-04-18T15:00:00+00:00"),
        ("2013-04-18 15:00:00 UTC", "2013-04-18T15:00:00+00:00"),
        ("2013-04-18 15:00:00 +0930", "2013-04-18T05:30:00+00:00"),
        ("2013-04-18 15:00:00-05", "2013-04-18T20:00:00+00:00"),
    ],
)
def test_a_stamp_is_aware_only_if_an_offset_is_written(text: str, iso: str) -> None:
    stamp = wallclock.stamp(text)
    assert stamp is not None
    assert stamp.isoformat() == iso


@pytest.mark.parametrize(
    "text",
    [
        *("", "2013", "2013-4-18", "2013-04-18 15", "2013-02-29", "2013-04-18 24:00:00"),
        *("0001-01-01 00:00:00Z", "9999-12-31 23:59:59 +0000", "2013-04-18 15:00 CEST"),
    ],
)
def test_anything_else_is_no_stamp(text: str) -> None:
    assert wallclock.stamp(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("08:00", 28_800),
        ("8", 28_800),
        ("8am", 28_800),
        ("12am", 0),
        ("12 pm", 43_200),
        ("5:30pm", 63_000),
        ("23:59:59", 86_399),
        ("24:00", 86_400),
        ("noon", 43_200),
        ("midnight", 0),
        ("24:01", None),
        ("8:60", None),
        ("13pm", None),
        ("0am", None),
        ("x", None),
        ("", None),
    ],
)
def test_times_of_day_are_read_as_people_write_them(text: str, seconds: int | None) -> None:
    assert names.time_of_day(text) == seconds


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("mo", 1),
        ("Mon", 1),
        ("tues", 2),
        ("Thursdays", 4),
        ("sun", 0),
        ("m", None),
        ("mond4", None),
    ],
)
def test_weekdays_are_known_by_their_beginnings(word: str, number: int | None) -> None:
    assert names.weekday(word) == number
