"""What all kinds of schedules have in common: strictly after, in bounded work, in words."""

import sys
from importlib.resources import files
from itertools import pairwise
from math import inf, nan
from types import FrameType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import CHANGES, ROME, at
from watchbell.schedule import wallclock, zones
from watchbell.schedule.cron_args import from_cron_args, parse
from watchbell.schedule.firing import Schedule
from watchbell.schedule.recurring import from_rules
from watchbell.schedule.timings import from_timing

NOW = at("2026-11-20T14:03:00Z")
KINDS = {
    "crontab": parse("*/7 3-20 * * *", ROME),
    "once a day": parse("30 2 * * *", ROME),
    "keywords": from_cron_args({"second": "*/25", "day": "1-20"}, ROME),
    "limited": from_cron_args({"minute": 5, "start_date": "2026-06-01"}, ROME),
    "timing": from_timing({"minutes": [0, 30]}, ROME),
    "rules": from_rules("DTSTART:20200101T023000\nRRULE:FREQ=DAILY", ROME),
    "every": parse("@every 90s"),
    "never": parse("@never"),
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(at("2026-01-01T00:00Z"), at("2027-01-01T00:00Z")), st.floats(0, 0.999))
@settings(deadline=None)
def test_the_next_fire_is_after_and_nothing_is_between(
    kind: str, instant: int, fraction: float
) -> None:
    schedule = KINDS[kind]
    fire = schedule.next_after(instant + fraction)
    assert fire is None or fire > instant + fraction
    assert fire is None or schedule.next_after(fire - 1) == fire
    assert fire == schedule.next_after(instant)


@pytest.mark.parametrize("kind", KINDS)
def test_fires_between_two_instants_include_the_later_one(kind: str) -> None:
    schedule = KINDS[kind]
    fires = list(schedule.fires_between(NOW, NOW + 3 * 86_400))
    assert all(one < other for one, other in pairwise(fires))
    if fires:
        assert list(schedule.fires_between(fires[0], fires[-1])) == fires[1:]
        assert list(schedule.fires_between(fires[-1], fires[0])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_time_have_no_fires_beyond(kind: str) -> None:
    schedule = KINDS[kind]
    assert schedule.next_after(-inf) == schedule.next_after(-1)
    for instant in (1e15, inf, nan, zones.LAST):
        assert schedule.next_after(instant) is None


def test_a_period_is_counted_from_1970_by_all() -> None:
    schedule = parse("@every 1h30m")
    fires = [fire / 5400 for fire in schedule.fires_between(NOW, NOW + 86_400)]
    assert len(fires) == 16
    assert all(fire.is_integer() for fire in fires)


def calls_of(schedule: Schedule) -> int:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    schedule.next_after(NOW)
    sys.setprofile(count)
    try:
        schedule.next_after(NOW)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "args",
    [
        {"cronstring": "0 0 30 2 *"},
        {"cronstring": "0 0 31 2,4,6,9,11 *"},
        {"cronstring": "* * 30 2 *"},
        {"month": 2, "day": "30,31", "year": "*/2"},
        {"month": 2, "day": 30, "year": "1970-9999"},
        {"week": 1, "month": "2-11"},
        {"week": 30, "month": "1-6,9-12", "second": "*"},
        {"minute": "*/10", "hour": 2, "day": "last sun", "month": 3},
        {"year": "1970-2020", "second": "*"},
    ],
)
def test_what_never_comes_is_found_out_with_bounded_work(args: dict[str, object]) -> None:
    schedule = from_cron_args(args, ROME)
    assert schedule.next_after(NOW) is None
    assert calls_of(schedule) < 200_000


@pytest.mark.parametrize(
    "text", ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 1 1 *", "0 0 13 * 5", "0 0 29 2 *"]
)
def test_usual_schedules_answer_with_little_work(text: str) -> None:
    assert calls_of(parse(text, ROME)) < 80


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("30 2 * * *", "at 02:30 every day, Europe/Rome"),
        ("30 2 * * 1-5", "at 02:30 on weekdays, Europe/Rome"),
        ("0 2,14 * * 0,6", "at 02:00 and 14:00 on weekends, Europe/Rome"),
        ("0 0 * * 1-3,5", "at 00:00 on Monday to Wednesday and Friday, Europe/Rome"),
        ("0 0 1,15 6-8 *", "at 00:00 on day 1 and 15 in June to August, Europe/Rome"),
        ("0 0 13 * 5", "at 00:00 on day 13 or Friday, Europe/Rome"),
        ("0 0 */16 * 5", "at 00:00 on day 1 and 17 if on Friday, Europe/Rome"),
        ("0 0 L * *", "at 00:00 on the last day, Europe/Rome"),
        ("0 0 LW * *", "at 00:00 on the last weekday of the month, Europe/Rome"),
        ("0 0 * * MON#2,5L", "at 00:00 on the second Monday or the last Friday, Europe/Rome"),
        ("* * * * *", "every minute, Europe/Rome"),
        ("*/5 * * * *", "every 5 minutes, Europe/Rome"),
        ("*/7 * * * *", "every 7 minutes of each hour, Europe/Rome"),
        ("*/5 8-18 * * 1-5", "every 5 minutes from 08:00 to 18:59 on weekdays, Europe/Rome"),
        ("*/5 8,12 * * *", "every 5 minutes of hour 8 and 12, Europe/Rome"),
        ("*/5 */2 * * *", "every 5 minutes of every 2 hours, Europe/Rome"),
        ("15,45 * * * *", "at minute 15 and 45 of every hour, Europe/Rome"),
        ("0 * * * *", "every hour, Europe/Rome"),
        ("0 8-18 * * *", "every hour from 08:00 to 18:00, Europe/Rome"),
        ("0 */2 * * *", "every 2 hours, Europe/Rome"),
        ("@every 15m", "every 15 minutes, counted from 1970-01-01 UTC"),
        ("@every 1h", "every hour, counted from 1970-01-01 UTC"),
        ("@every 90s", "every 90 seconds, counted from 1970-01-01 UTC"),
        ("@never", "never by itself"),
    ],
)
def test_expressions_are_told_in_words(text: str, words: str) -> None:
    assert parse(text, ROME).describes() == words


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"second": "*/2"}, "every 2 seconds, UTC"),
        ({"second": "*"}, "every second, UTC"),
        ({"second": 30}, "at second 30 of every minute, UTC"),
        ({"second": 30, "minute": 5}, "at second 30 of minute 5, UTC"),
        ({"hour": 2, "second": 30}, "at second 30 of every minute of hour 2, UTC"),
        ({"week": "1,53"}, "at 00:00 every day in week 1 and 53, UTC"),
        ({"year": "2026-2028"}, "at 00:00 on day 1 in January in 2026 to 2028, UTC"),
        ({"year": "2026,2028"}, "at 00:00 on day 1 in January in 2026 and 2028, UTC"),
        (
            {"year": "2000-2030/2", "hour": 1},
            "at 01:00 every day in 2000, 2002, 2004, 2006, 2008, 2010 and 10 more years, UTC",
        ),
        (
            {
                "hour": 2,
                "start_date": "2027-01-01",
                "end_date": "2027-06-01",
                "jitter": 30,
            },
            (
                "at 02:00 every day, UTC, from 2027-01-01 00:00:00 UTC on,"
                " until 2027-06-01 00:00:00 UTC, delayed by up to 30 seconds"
            ),
        ),
    ],
)
def test_keywords_are_told_in_words(args: dict[str, object], words: str) -> None:
    assert from_cron_args(args).describes() == words


@settings(deadline=None, max_examples=300)
@given(
    st.integers(0, at("2100-01-01T00:00Z")),
    st.sampled_from(sorted({name for name, _ in CHANGES} | {"Africa/Casablanca", "Asia/Tehran"})),
)
def test_a_stretch_tells_what_the_clock_shows(instant: int, name: str) -> None:
    zone = ZoneInfo(name)
    found = zones.stretch(instant, zone)
    assert found.begin <= instant < found.end
    for moment in (found.begin, instant, found.end - 1):
        assert moment + found.shift == wallclock.reading(moment, zone)


def test_a_zone_read_from_a_file_has_no_name() -> None:
    with (files("tzdata") / "zoneinfo" / "Europe" / "Rome").open("rb") as file:
        nameless = ZoneInfo.from_file(file)
    assert parse("30 2 * * *", nameless).describes() == "at 02:30 every day, local time"
