"""Where clocks are set forward and back: what fires, the same for all kinds of schedules."""

from collections.abc import Callable, Mapping
from datetime import datetime
from io import BytesIO
from struct import pack
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import CHANGES, around, at, once_each, whenever_shown
from watchbell.schedule.cron_args import from_cron_args, parse
from watchbell.schedule.firing import Schedule
from watchbell.schedule.recurring import from_rules
from watchbell.schedule.timings import from_timing

Kinds = dict[str, Callable[[ZoneInfo], Schedule]]

DAILY_0230: Kinds = {
    "crontab": lambda zone: parse("30 2 * * *", zone),
    "keywords": lambda zone: from_cron_args({"hour": 2, "minute": "30"}, zone),
    "timing": lambda zone: from_timing({"hours": [2], "minutes": [30]}, zone),
    "rules": lambda zone: from_rules("DTSTART:20000101T023000\nRRULE:FREQ=DAILY", zone),
}
EVERY_10_MINUTES: Kinds = {
    "crontab": lambda zone: parse("*/10 * * * *", zone),
    "keywords": lambda zone: from_cron_args({"minute": "*/10"}, zone),
    "timing": lambda zone: from_timing({"minutes": [0, 10, 20, 30, 40, 50]}, zone),
    "rules": lambda zone: from_rules(
        "DTSTART:20000101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=10", zone
    ),
}


def hours_of(schedule: Schedule, since: str, until: str) -> list[str]:
    """The UTC times of the fires of less than a day."""
    fires = schedule.fires_between(at(since) - 1, at(until))
    return [f"{datetime.fromtimestamp(fire, ZoneInfo('UTC')):%H:%M}" for fire in fires]


@pytest.mark.parametrize("kind", DAILY_0230)
@pytest.mark.parametrize(
    ("zone", "since", "fires"),
    [
        # Rome sets forward: 02:30 does not come, 03:00 CEST is the first moment after it.
        ("Europe/Rome", "2026-03-28T23:00Z", ["01:00"]),
        ("Europe/Rome", "2026-03-29T22:00Z", ["00:30"]),
        # Rome sets back: 02:30 comes at 00:30 and 01:30 UTC.
        ("Europe/Rome", "2026-10-24T22:00Z", ["00:30"]),
        ("America/New_York", "2026-03-08T05:00Z", ["07:00"]),
        # Lord Howe skips from 02:00 to 02:30: a time that comes, just then.
        ("Australia/Lord_Howe", "2026-10-03T13:30Z", ["15:30"]),
        ("UTC", "2026-03-29T00:00Z", ["02:30"]),
    ],
)
def test_a_time_of_the_day_fires_once_a_day(
    kind: str, zone: str, since: str, fires: list[str]
) -> None:
    schedule = DAILY_0230[kind](ZoneInfo(zone))
    day = [since, datetime.fromtimestamp(at(since) + 22 * 3600, ZoneInfo("UTC")).isoformat()]
    assert hours_of(schedule, *day) == fires


@pytest.mark.parametrize("kind", EVERY_10_MINUTES)
@pytest.mark.parametrize(("zone", "change"), CHANGES)
def test_an_interval_fires_on_and_on(kind: str, zone: str, change: str) -> None:
    schedule = EVERY_10_MINUTES[kind](ZoneInfo(zone))
    since, until = at(change) - 7200, at(change) + 7200
    assert list(schedule.fires_between(since - 1, until)) == list(range(since, until + 1, 600))


def test_an_interval_within_named_hours_follows_what_the_clock_shows() -> None:
    schedule = parse("*/20 2 * * *", ZoneInfo("Europe/Rome"))
    assert hours_of(schedule, "2026-03-28T23:00Z", "2026-03-29T21:00Z") == []
    twice = ["00:00", "00:20", "00:40", "01:00", "01:20", "01:40"]
    assert hours_of(schedule, "2026-10-24T22:00Z", "2026-10-25T22:00Z") == twice


@pytest.mark.parametrize(
    ("text", "lost", "won"),
    [
        ("30 2 * * *", 1, 1),
        ("5,35 2,3 * * *", 3, 4),
        ("*/10 * * * *", 138, 150),
        ("*/10 2 * * *", 0, 12),
        ("30 * * * *", 23, 25),
        ("0-59 0-23 * * *", 1380, 1440),
    ],
)
def test_a_day_that_lost_or_won_an_hour_has_so_many_fires(text: str, lost: int, won: int) -> None:
    schedule = parse(text, ZoneInfo("Europe/Rome"))
    spring = hours_of(schedule, "2026-03-28T23:00Z", "2026-03-29T21:59:59Z")
    autumn = hours_of(schedule, "2026-10-24T22:00Z", "2026-10-25T22:59:59Z")
    assert (len(spring), len(autumn)) == (lost, won)


def test_times_that_are_skipped_together_fire_together() -> None:
    schedule = parse("5,35 2,3 * * *", ZoneInfo("Europe/Rome"))
    fires = ["01:00", "01:05", "01:35"]
    assert hours_of(schedule, "2026-03-28T23:00Z", "2026-03-29T21:00Z") == fires


@pytest.mark.parametrize(
    ("asked", "fire"),
    [
        ("2026-10-25T00:29:59Z", "2026-10-25T00:30Z"),
        ("2026-10-25T00:30:00Z", "2026-10-26T01:30Z"),
        # The clock shows 02:15 for the second time.
        ("2026-10-25T01:15:00Z", "2026-10-26T01:30Z"),
        ("2026-10-25T01:30:00Z", "2026-10-26T01:30Z"),
    ],
)
def test_what_has_fired_does_not_fire_again_as_its_hour_comes_again(asked: str, fire: str) -> None:
    assert parse("30 2 * * *", ZoneInfo("Europe/Rome")).next_after(at(asked)) == at(fire)


@pytest.mark.parametrize(
    ("asked", "fire"),
    [
        ("2026-03-29T00:59:59.999Z", "2026-03-29T01:00Z"),
        ("2026-03-29T01:00:00Z", "2026-03-30T00:30Z"),
        ("2026-03-29T01:30:00Z", "2026-03-30T00:30Z"),
    ],
)
def test_what_has_fired_after_a_gap_does_not_fire_again(asked: str, fire: str) -> None:
    asked_at = datetime.fromisoformat(asked).timestamp()
    assert parse("30 2 * * *", ZoneInfo("Europe/Rome")).next_after(asked_at) == at(fire)


def test_the_second_coming_of_an_hour_is_not_passed_over_for_the_next_year() -> None:
    schedule = parse("*/30 2 25 10 *", ZoneInfo("Europe/Rome"))
    assert schedule.next_after(at("2026-10-25T00:30Z")) == at("2026-10-25T01:00Z")
    assert schedule.next_after(at("2026-10-25T01:30Z")) == at("2027-10-25T00:00Z")


def made_zone(rule: str) -> ZoneInfo:
    """A zone by its POSIX rule alone: a TZif file of one type, twice, and the rule."""
    block = b"TZif2" + bytes(15) + pack(">6l", 0, 0, 0, 0, 1, 4) + pack(">lBB", 0, 0, 0) + b"AAA\0"
    return ZoneInfo.from_file(BytesIO(block * 2 + f"\n{rule}\n".encode()))


@pytest.mark.parametrize(
    ("rule", "asked", "fire"),
    [
        # Set back at 03:30 UTC of 10 May, and asked as the clock shows 03:50 again.
        ("AAA0BBB,J1/0,J130/4:30", "2026-05-10T02:59Z", "2026-05-10T03:00Z"),
        ("AAA0BBB,J1/0,J130/4:30", "2026-05-10T03:50Z", "2026-05-11T04:00Z"),
        # Set forward right there, from 03:48:16 to 04:48:16.
        ("AAA0BBB,J130/3:48:16,J300/0", "2026-05-10T03:00Z", "2026-05-10T03:48:16Z"),
        ("AAA0BBB,J130/3:48:16,J300/0", "2026-05-10T03:48:16Z", "2026-05-11T03:00Z"),
    ],
)
def test_clocks_may_be_set_where_pieces_of_their_history_meet(
    rule: str, asked: str, fire: str
) -> None:
    assert at("2026-05-10T03:48:16Z") == 53 << 25
    assert parse("0 4 * * *", made_zone(rule)).next_after(at(asked)) == at(fire)


def test_a_date_that_was_left_out_fires_as_it_ends() -> None:
    schedule = parse("0 12 30 12 *", ZoneInfo("Pacific/Apia"))
    assert schedule.next_after(at("2011-01-01T00:00Z")) == at("2011-12-30T10:00Z")


def test_a_time_that_is_always_skipped_counts_as_none() -> None:
    args = {"minute": "*/10", "hour": 2, "day": "last sun", "month": 3}
    assert from_cron_args(args, ZoneInfo("Europe/Rome")).next_after(at("2026-01-01T00:00Z")) is None


numbers = {
    "minute": st.frozensets(st.sampled_from([0, 1, 10, 15, 29, 30, 31, 45, 59]), min_size=1),
    "hour": st.frozensets(st.integers(0, 23), min_size=1, max_size=8),
    "day": st.frozensets(st.integers(1, 31), min_size=1, max_size=20),
    "day_of_week": st.frozensets(st.integers(0, 6), min_size=1, max_size=5),
}
some = st.fixed_dictionaries({name: st.none() | each for name, each in numbers.items()})


@settings(deadline=None, max_examples=200)
@given(some, st.sampled_from(CHANGES), st.integers(0, 2 * 1440 - 1))
def test_fires_are_those_found_minute_by_minute(
    said: Mapping[str, frozenset[int] | None], change: tuple[str, str], index: int
) -> None:
    def wanted(clock: datetime) -> bool:
        return (
            (said["minute"] is None or clock.minute in said["minute"])
            and (said["hour"] is None or clock.hour in said["hour"])
            and (said["day"] is None or clock.day in said["day"])
            and (said["day_of_week"] is None or clock.weekday() in said["day_of_week"])
        )

    args = {
        name: ",".join(map(str, numbers)) if numbers is not None else "*"
        for name, numbers in said.items()
    }
    minutes = around(*change)
    found = whenever_shown if said["minute"] is None or said["hour"] is None else once_each
    since, until = minutes[index][0], minutes[-1][0]
    expected = [fire for fire in found(minutes, wanted) if fire >= since]
    schedule = from_cron_args(args, ZoneInfo(change[0]))
    assert list(schedule.fires_between(since - 1, until)) == expected
