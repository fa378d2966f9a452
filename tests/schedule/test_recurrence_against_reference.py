"""Windows found at once are those found by asking every minute."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule import reference
from watchbell.schedule import recurrence

ROME = ZoneInfo("Europe/Rome")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")

# The Thursdays before clocks are set forward, and back.
WEEKS = {
    ROME: (1_774_483_200, 1_792_627_200),
    NEW_YORK: (1_772_668_800, 1_793_232_000),
    LORD_HOWE: (1_790_812_800, 1_775_088_000),
}


def rule(unit: str, interval: int = 1, **validations: object) -> dict[str, Any]:
    return {"rule_type": unit, "interval": interval, "validations": validations}


def said(start: str, end: str, *rules: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"start_time": start, "end_time": end, "rrules": list(rules), **more}


def assert_same(
    restriction: dict[str, Any], zone: ZoneInfo, first: int, days: int, step: int = 60
) -> None:
    moments = range(first, first + days * 86_400, step)
    readings = {moment: reference.shown(moment, zone) for moment in moments}
    low, high = min(readings.values()), max(readings.values())
    low = low.replace(second=0)
    expected = reference.covered(
        restriction, low, high + timedelta(seconds=1), timedelta(seconds=step)
    )
    compiled = recurrence.parse(restriction)
    differing = [
        reading
        for moment, reading in readings.items()
        if compiled.covers(moment, zone) is not expected[reading]
    ]
    assert not differing, (differing[0], restriction)


TABLE = {
    "office hours": said(
        "2011-01-03 08:00:00", "2011-01-03 18:00:00", rule("Weekly", day=[1, 2, 3, 4, 5])
    ),
    "every night": said("2011-01-03 22:00:00", "2011-01-04 06:00:00", rule("Daily")),
    "in the small hours": said("2011-01-03 02:15:00", "2011-01-03 02:45:00", rule("Daily")),
    "across the change": said("2011-01-03 01:30:00", "2011-01-03 03:30:00", rule("Daily")),
    "every other week": said(
        "2011-01-05 09:00:00", "2011-01-05 17:00:00", rule("Weekly", 2, day=[1, 5, 0])
    ),
    "first and last weekdays": said(
        "2011-01-03 00:00:00",
        "2011-01-04 00:00:00",
        rule("Monthly", day_of_week={"0": [-1], "5": [-1, 2], "1": [1]}),
    ),
    "the last day of a short month": said(
        "2011-01-31 10:00:00", "2011-01-31 12:00:00", rule("Monthly")
    ),
    "every 50 minutes": said("2011-01-03 00:07:00", "2011-01-03 00:20:00", rule("Minutely", 50)),
    "every 5 hours": said("2011-01-03 00:07:00", "2011-01-03 01:20:00", rule("Hourly", 5)),
    "several starts a day but not on Sunday": said(
        "2011-01-03 08:00:00",
        "2011-01-03 09:10:00",
        rule("Daily", hour_of_day=[2, 8, 23], minute_of_hour=[0, 30]),
        exrules=[rule("Weekly", day=[0], hour_of_day=[2, 8, 23])],
    ),
    "two rules, named times and excepted times": said(
        "2011-01-03 08:00:00",
        "2011-01-04 20:00:00",
        rule("Weekly", day=[2]),
        rule("Monthly", day_of_month=[28, -3]),
        rtimes=["2026-03-27 12:00:00", "2026-10-24 12:00:00"],
        extimes=["2026-03-31 08:00:00"],
    ),
}


def test_clocks_are_changed_in_these_weeks() -> None:
    for zone, (forward, back) in WEEKS.items():
        for thursday, change in ((forward, 1), (back, -1)):
            before, after = (
                reference.shown(second, zone) for second in (thursday, thursday + 7 * 86_400)
            )
            assert (after - before - timedelta(days=7)) * change > timedelta()


@pytest.mark.parametrize("zone", WEEKS, ids=str)
@pytest.mark.parametrize("name", TABLE)
def test_every_minute_of_the_weeks_around_a_change_of_clocks_is_right(
    name: str, zone: ZoneInfo
) -> None:
    for thursday in WEEKS[zone]:
        assert_same(TABLE[name], zone, thursday, 7)


def subset(*values: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=4, unique=True)


VALIDATIONS = st.fixed_dictionaries(
    {},
    optional={
        "day": subset(0, 1, 2, 3, 4, 5, 6),
        "day_of_week": st.dictionaries(
            st.sampled_from("0123456"), subset(1, 2, 3, 4, 5, -1, -2), min_size=1, max_size=3
        ),
        "day_of_month": subset(1, 2, 15, 26, 27, 28, 29, 30, 31, -1, -2, -5, -31),
        "day_of_year": subset(1, 60, 85, 86, 87, 88, 297, 298, 299, 365, 366, -1, -67, -366),
        "month_of_year": subset(1, 2, 3, 4, 9, 10, 11, 12),
        "hour_of_day": subset(0, 1, 2, 3, 12, 22, 23),
        "minute_of_hour": subset(0, 1, 29, 30, 59),
    },
)
RULES = st.fixed_dictionaries(
    {
        "rule_type": st.sampled_from(
            ["Minutely", "Hourly", "Daily", "Weekly", "Monthly", "Yearly"]
        ),
        "interval": st.sampled_from([1, 1, 1, 2, 3, 7, 60]),
        "week_start": st.integers(0, 6),
        "validations": VALIDATIONS,
    },
    optional={"until": st.just("2026-10-25 02:30:00")},
)


@st.composite
def restrictions(draw: st.DrawFn) -> dict[str, Any]:
    start = reference.naive("2010-12-20 00:00:00") + timedelta(
        minutes=draw(st.integers(0, 60 * 24 * 365)),
        days=365 * draw(st.sampled_from([0, 0, 15])),
    )
    length = timedelta(minutes=draw(st.sampled_from([1, 30, 61, 600, 1440, 1441, 4000])))
    when = st.integers(0, 60 * 24 * 7).map(
        lambda minute: str(reference.naive("2026-10-22 00:00:00") + timedelta(minutes=minute))
    )
    return {
        "start_time": str(start),
        "end_time": str(start + length),
        "rrules": draw(st.lists(RULES, max_size=2)),
        "exrules": draw(st.lists(RULES, max_size=1)),
        "rtimes": draw(st.lists(when, max_size=1)),
        "extimes": draw(st.lists(when, max_size=1)),
    }


@settings(max_examples=60, deadline=None)
@given(restrictions(), st.sampled_from(list(WEEKS)), st.booleans(), st.integers(0, 5))
def test_any_rule_covers_the_minutes_that_the_slow_way_finds(
    restriction: dict[str, Any], zone: ZoneInfo, later: bool, day: int
) -> None:
    assert_same(restriction, zone, WEEKS[zone][later] + day * 86_400, 1)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 100),
    st.integers(1, 20),
    st.fixed_dictionaries(
        {},
        optional={
            "second_of_minute": subset(0, 1, 30, 59),
            "minute_of_hour": subset(0, 1, 30, 59),
            "hour_of_day": subset(1, 2, 3),
        },
    ),
    st.sampled_from(["Secondly", "Minutely"]),
)
def test_rules_of_seconds_are_right_to_the_second(
    interval: int, length: int, validations: dict[str, list[int]], unit: str
) -> None:
    start = reference.naive("2011-01-03 08:00:17")
    restriction = said(
        str(start),
        str(start + timedelta(seconds=length)),
        {"rule_type": unit, "interval": interval, "validations": validations},
    )
    compiled = recurrence.parse(restriction)
    midnight = 1_792_879_200  # 2026-10-25 00:00 in Rome, three hours before clocks are set back
    first, last = midnight + 3600, midnight + 2 * 3600
    expected = reference.covered(
        restriction,
        reference.shown(first, ROME),
        reference.shown(last, ROME),
        reference.SECOND,
    )
    for moment in range(first, last):
        assert compiled.covers(moment, ROME) is expected[reference.shown(moment, ROME)]


@settings(max_examples=15, deadline=None)
@given(RULES, st.integers(1, 40))
def test_a_count_ends_a_rule_after_as_many_windows(one: dict[str, Any], count: int) -> None:
    start = reference.naive("2026-03-02 09:00:00")
    counted = said(str(start), str(start + timedelta(minutes=1)), {**one, "count": count})
    found = 0
    compiled = recurrence.parse(counted)
    utc = ZoneInfo("UTC")
    for minute in range(60 * 24 * 6):
        t = start + timedelta(minutes=minute)
        opens = reference.starts_at(one, start, t)
        found += opens
        assert compiled.covers(1_772_442_000 + minute * 60, utc) is (opens and found <= count)
