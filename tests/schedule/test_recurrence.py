"""Time restrictions: how they are read, what they cover, and in which words."""

import json
import sys
from types import FrameType
from zoneinfo import ZoneInfo

import pytest

from tests.schedule.restrictions import OFFICE, UTC, at, changed, daily, ruled
from watchbell.schedule import recurrence

ZONES = {
    "Rome": ZoneInfo("Europe/Rome"),
    "New York": ZoneInfo("America/New_York"),
    "Lord Howe": ZoneInfo("Australia/Lord_Howe"),
    "UTC": UTC,
}


@pytest.mark.parametrize(
    ("when", "inside"),
    [
        ("2026-11-20 07:59:59.999", False),
        ("2026-11-20 08:00:00", True),
        ("2026-11-20 17:59:59.999", True),
        ("2026-11-20 18:00:00", False),
        ("2026-11-21 12:00:00", False),
        ("2026-11-22 12:00:00", False),
        ("2026-11-23 12:00:00", True),
        ("2013-01-28 08:00:00", True),
        ("2013-01-25 12:00:00", False),
    ],
)
def test_office_hours_begin_and_end_on_the_second(when: str, inside: bool) -> None:
    assert recurrence.parse(OFFICE).covers(at(when + "+00:00"), UTC) is inside


DST = [
    # Rome, 29 March 2026: 02:00 is followed by 03:00.
    ("Rome", "02:30:00", "04:00:00", "2026-03-29T01:59:59+01:00", False),
    ("Rome", "02:30:00", "04:00:00", "2026-03-29T03:00:00+02:00", True),
    ("Rome", "02:30:00", "04:00:00", "2026-03-29T03:59:59+02:00", True),
    ("Rome", "02:30:00", "04:00:00", "2026-03-29T04:00:00+02:00", False),
    ("Rome", "02:15:00", "02:45:00", "2026-03-29T03:00:00+02:00", False),
    ("Rome", "02:15:00", "02:45:00", "2026-03-29T03:30:00+02:00", False),
    ("Rome", "02:15:00", "02:45:00", "2026-03-28T02:30:00+01:00", True),
    ("Rome", "01:00:00", "02:30:00", "2026-03-29T01:59:59+01:00", True),
    ("Rome", "01:00:00", "02:30:00", "2026-03-29T03:00:00+02:00", False),
    ("Rome", "22:00:00", "06:00:00", "2026-03-29T05:59:59+02:00", True),
    ("Rome", "22:00:00", "06:00:00", "2026-03-29T06:00:00+02:00", False),
    # Rome, 25 October 2026: 03:00 is 02:00 again.
    ("Rome", "02:15:00", "02:45:00", "2026-10-25T02:30:00+02:00", True),
    ("Rome", "02:15:00", "02:45:00", "2026-10-25T02:45:00+02:00", False),
    ("Rome", "02:15:00", "02:45:00", "2026-10-25T02:00:00+01:00", False),
    ("Rome", "02:15:00", "02:45:00", "2026-10-25T02:30:00+01:00", True),
    ("Rome", "02:15:00", "02:45:00", "2026-10-25T02:45:00+01:00", False),
    ("Rome", "22:00:00", "06:00:00", "2026-10-25T05:59:59+01:00", True),
    ("Rome", "22:00:00", "06:00:00", "2026-10-25T06:00:00+01:00", False),
    # New York: forward on 8 March, back on 1 November 2026, each at 02:00.
    ("New York", "02:00:00", "03:30:00", "2026-03-08T01:59:59-05:00", False),
    ("New York", "02:00:00", "03:30:00", "2026-03-08T03:00:00-04:00", True),
    ("New York", "02:00:00", "03:30:00", "2026-03-08T03:30:00-04:00", False),
    ("New York", "01:00:00", "02:00:00", "2026-11-01T01:59:59-04:00", True),
    ("New York", "01:00:00", "02:00:00", "2026-11-01T01:00:00-05:00", True),
    ("New York", "01:00:00", "02:00:00", "2026-11-01T02:00:00-05:00", False),
    # Lord Howe: half an hour forward on 4 October, back on 5 April 2026, at 02:00.
    ("Lord Howe", "02:10:00", "02:20:00", "2026-10-04T02:30:00+11:00", False),
    ("Lord Howe", "02:10:00", "02:40:00", "2026-10-04T02:30:00+11:00", True),
    ("Lord Howe", "02:10:00", "02:40:00", "2026-10-04T02:40:00+11:00", False),
    ("Lord Howe", "01:40:00", "01:50:00", "2026-04-05T01:45:00+11:00", True),
    ("Lord Howe", "01:40:00", "01:50:00", "2026-04-05T01:30:00+10:30", False),
    ("Lord Howe", "01:40:00", "01:50:00", "2026-04-05T01:45:00+10:30", True),
]


@pytest.mark.parametrize(("zone", "start", "end", "when", "inside"), DST)
def test_windows_follow_the_clock_on_the_wall_when_it_is_changed(
    zone: str, start: str, end: str, when: str, inside: bool
) -> None:
    assert recurrence.parse(daily(start, end)).covers(at(when), ZONES[zone]) is inside


def test_the_same_moment_is_inside_in_one_zone_and_outside_in_another() -> None:
    office = recurrence.parse(OFFICE)
    assert office.covers(at("2026-11-20T09:00:00+01:00"), ZONES["Rome"])
    assert not office.covers(at("2026-11-20T09:00:00+01:00"), ZONES["New York"])
    # Friday evening in New York is Saturday morning on Lord Howe.
    assert office.covers(at("2026-11-20T17:00:00-05:00"), ZONES["New York"])
    assert not office.covers(at("2026-11-20T17:00:00-05:00"), ZONES["Lord Howe"])


SAME_AS_OFFICE: list[dict[str, object] | str] = [
    changed(start_time="2013-01-28T08:00:00", end_time="2013-01-28T18:00"),
    changed(start_time="absent", end_time="absent", start_date=OFFICE["start_time"])
    | {"end_date": OFFICE["end_time"]},
    changed(start_time={"time": OFFICE["start_time"], "zone": "Europe/London"}),
    changed(end_time="absent", duration=36_000),
    changed(exrules=None, rtimes=None, extimes="absent", unknown="thing"),
    changed(rrules=[{"rule_type": "IceCube::WeeklyRule", "validations": {"day": [1, 2, 3, 4, 5]}}]),
    changed(
        rrules=[{"rule_type": "Weekly", "validations": {"day": ["1", 2, "wed", "thursday", 5]}}]
    ),
    changed(rrules=["FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"]),
    changed(rrules="absent", rrule="RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    json.dumps(OFFICE),
    "DTSTART:20130128T080000\nDTEND:20130128T180000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
    """DTSTART;TZID=Europe/London:20130128T080000\r
DURATION:PT10H\r
RRULE:FREQ=WEEKLY;BYDAY=MO,TU\r
 ,WE,TH,FR\r
""",
    """
BEGIN:VEVENT
DTSTART:20130128T080000
DURATION:PT9H60M
FREQ=DAILY
EXRULE:FREQ=WEEKLY;BYDAY=SA,SU
END:VEVENT
""",
]


@pytest.mark.parametrize("said", SAME_AS_OFFICE)
def test_all_spellings_of_office_hours_mean_the_same(said: dict[str, object] | str) -> None:
    office, other = recurrence.parse(OFFICE), recurrence.parse(said)
    first = int(at("2026-11-20T00:00:00+00:00"))
    for moment in range(first, first + 7 * 86_400, 1800):
        assert other.covers(moment, UTC) is office.covers(moment, UTC)


def test_a_time_with_an_offset_is_a_moment_on_the_clock_of_the_contact() -> None:
    said = changed(start_time="2013-01-28 08:00:00 UTC", end_time="2013-01-28 19:00:00 +0100")
    restriction = recurrence.parse(said)
    assert restriction.covers(at("2026-11-20T09:00:00+01:00"), ZONES["Rome"])
    assert not restriction.covers(at("2026-11-20T08:59:59+01:00"), ZONES["Rome"])
    assert restriction.covers(at("2026-11-20T03:00:00-05:00"), ZONES["New York"])
    assert not restriction.covers(at("2026-11-20T13:00:00-05:00"), ZONES["New York"])


def test_a_restriction_without_rules_is_its_first_window_alone() -> None:
    once = recurrence.parse(changed(rrules=[]))
    assert once.covers(at("2013-01-28T12:00:00+00:00"), UTC)
    assert not once.covers(at("2013-01-29T12:00:00+00:00"), UTC)
    forever = recurrence.parse(changed(rrules="absent", end_time="9999-12-31 23:59:59"))
    assert forever.covers(at("2026-11-20T12:00:00+00:00"), UTC)


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("2026-11-19 08:00:00", "2026-11-19"),
        ("2026-11-19 07:59:59", "2026-11-18"),
        ("2026-11-19", "2026-11-19"),
        ({"time": "2026-11-19 12:00:00", "zone": "UTC"}, "2026-11-19"),
    ],
)
def test_a_rule_ends_with_the_last_window_that_opens_until_then(until: object, last: str) -> None:
    office = recurrence.parse(changed(rrules=[{**OFFICE["rrules"][0], "until": until}]))
    for day in ("2026-11-17", "2026-11-18", "2026-11-19", "2026-11-20"):
        assert office.covers(at(f"{day}T12:00:00+00:00"), UTC) is (day <= last)


NOON = "T12:00:00+00:00"


@pytest.mark.parametrize(
    ("said", "inside", "outside"),
    [
        # A month that is too short for the start's day has its last day instead.
        (
            ruled("Monthly") | {"start_time": "2013-01-31 08:00", "end_time": "2013-01-31 18:00"},
            ["2026-04-30", "2026-02-28", "2024-02-29", "2026-05-31"],
            ["2026-04-29", "2026-05-30", "2026-05-01"],
        ),
        (
            ruled("Yearly") | {"start_time": "2012-02-29 08:00", "end_time": "2012-02-29 18:00"},
            ["2026-02-28", "2028-02-29"],
            ["2028-02-28", "2026-03-01"],
        ),
        (ruled("Monthly", day_of_month=[31]), ["2026-05-31"], ["2026-04-30", "2026-05-30"]),
        # Month and day of the start are given up each for itself.
        (ruled("Yearly", day=[1]), ["2026-01-05", "2026-01-26"], ["2026-02-02", "2026-01-28"]),
        (ruled("Yearly", month_of_year=[6]), ["2026-06-28"], ["2026-01-28", "2026-06-29"]),
        (ruled("Yearly", day_of_year=[-1, 200]), ["2026-12-31", "2026-07-19"], ["2026-12-30"]),
        # All validations have to hold.
        (
            ruled("Monthly", day=[1, 5], day_of_week={"1": [1], "2": [1]}),
            ["2026-06-01"],
            ["2026-06-02", "2026-06-05", "2026-06-08"],
        ),
        (
            ruled("Monthly", day=[5], day_of_month=[13]),
            ["2026-11-13"],
            ["2026-11-20", "2026-10-13"],
        ),
        (ruled("Weekly", day=[]), ["2026-11-23"], ["2026-11-24"]),
        # Named times count from the start on, and exceptions win over everything.
        (
            changed(rrules=[], rtimes=["2012-06-01 11:00", "2026-06-01 11:00"]),
            ["2013-01-28", "2026-06-01"],
            ["2012-06-01"],
        ),
        (
            changed(rrules=[], rtimes=["2026-06-01 11:00"], extimes=["2013-01-28 08:00"]),
            ["2026-06-01"],
            ["2013-01-28"],
        ),
        (
            changed(rtimes=["2026-11-22 11:00"], exrules=ruled("Weekly", day=[5])["rrules"]),
            ["2026-11-19", "2026-11-22", "2026-11-23"],
            ["2026-11-20", "2026-11-21"],
        ),
    ],
)
def test_days_are_those_that_rules_and_times_name(
    said: dict[str, object], inside: list[str], outside: list[str]
) -> None:
    restriction = recurrence.parse(said)
    covered = [day for day in inside + outside if restriction.covers(at(day + NOON), UTC)]
    assert covered == inside


def calls_of(said: dict[str, object], now: float) -> int:
    """How many calls a first look at a day takes, fifteen years after the start."""
    restriction = recurrence.parse(said)
    restriction.covers(now - 86_400, UTC)
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        restriction.covers(now, UTC)
    finally:
        sys.setprofile(None)
    return calls


LONG_AGO = {"start_time": "2011-01-03 08:00:00", "end_time": "2011-01-03 08:00:05"}


@pytest.mark.parametrize("rule_type", ["Secondly", "Minutely", "Hourly", "Daily", "Weekly"])
@pytest.mark.parametrize("interval", [1, 7, 3600])
@pytest.mark.parametrize("more", [{}, {"until": "2030-01-01"}, {"count": 10**9}])
def test_the_work_does_not_grow_with_the_age_of_the_start(
    rule_type: str, interval: int, more: dict[str, object]
) -> None:
    rule = {"rule_type": rule_type, "interval": interval, **more}
    said: dict[str, object] = {**LONG_AGO, "rrules": [rule]}
    assert calls_of(said, at("2026-11-20T12:00:00+00:00")) < 1000


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (OFFICE, "Monday to Friday, 08:00 to 18:00"),
        (changed(rrules=[]), "once, 2013-01-28 08:00 to 2013-01-28 18:00"),
        (daily("22:00:00", "06:00:00"), "every day, 22:00 to 06:00"),
        (daily("00:00:00", "00:00:00"), "every day, all day"),
        (daily("18:00:30", "00:00:00"), "every day, 18:00:30 to 24:00"),
        (ruled("Weekly"), "Monday, 08:00 to 18:00"),
        (ruled("Weekly", day=[6, 0]), "Saturday and Sunday, 08:00 to 18:00"),
        (ruled("Weekly", day=[1, 2, 3, 0]), "Monday to Wednesday and Sunday, 08:00 to 18:00"),
        (ruled("Weekly", 2, day=[1]), "every 2 weeks on Monday, 08:00 to 18:00"),
        (ruled("Weekly", day=list(range(7))), "every day, 08:00 to 18:00"),
        (ruled("Monthly"), "every month on day 28, 08:00 to 18:00"),
        (
            ruled("Monthly", day_of_week={"1": [1], "5": [-1]}),
            "every month on the first Monday and the last Friday, 08:00 to 18:00",
        ),
        (
            ruled("Monthly", day_of_month=[1, 15, -1]),
            "every month on day 1 and 15 and the last day, 08:00 to 18:00",
        ),
        (ruled("Yearly"), "every year on 28 January, 08:00 to 18:00"),
        (
            ruled("Yearly", day_of_month=[13], day=[5], month_of_year=[10]),
            "every year on Friday that is day 13 in October, 08:00 to 18:00",
        ),
        (ruled("Daily", hour_of_day=[8, 20]), "every day, from 08:00 and 20:00, for 10 hours"),
        (ruled("Minutely", 5), "every 5 minutes, for 10 hours"),
        (changed(extimes=["2026-12-25 08:00:00"]), "18:00; except 2026-12-25 08:00"),
        (changed(exrules=ruled("Yearly")["rrules"]), "; except every year on 28 January"),
    ],
)
def test_a_restriction_is_described_in_words(said: dict[str, object], words: str) -> None:
    described = recurrence.parse(said).describe()
    assert described == words or described.endswith(words)
