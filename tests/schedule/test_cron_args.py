"""The `cron_args` of a job: times by keyword, their limits, and what is refused."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import ROME, UTC, at, shown
from watchbell.errors import Refused
from watchbell.schedule.cron_args import from_cron_args

FRIDAY = "2026-11-20T14:03:00Z"


def next_of(**args: object) -> str | None:
    fire = from_cron_args(args).next_after(at(FRIDAY))
    return None if fire is None else f"{shown(fire, UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("args", "fire"),
    [
        ({"second": "*/2"}, "2026-11-20 14:03:02"),
        ({"second": 5}, "2026-11-20 14:03:05"),
        ({"minute": "*/10"}, "2026-11-20 14:10:00"),
        ({"hour": 2, "minute": "30"}, "2026-11-21 02:30:00"),
        # What is smaller than all that is set is the least; what is larger is any.
        ({"hour": "3"}, "2026-11-21 03:00:00"),
        ({"day": 1}, "2026-12-01 00:00:00"),
        ({"month": "jan-mar"}, "2027-01-01 00:00:00"),
        ({"year": 2028}, "2028-01-01 00:00:00"),
        ({"year": "2026", "second": "7"}, "2026-11-20 14:03:07"),
        # Weekdays from Monday, weeks as ISO has them.
        ({"day_of_week": 0}, "2026-11-23 00:00:00"),
        ({"day_of_week": "sat,sun"}, "2026-11-21 00:00:00"),
        ({"day_of_week": "mon-fri", "hour": 9}, "2026-11-23 09:00:00"),
        ({"week": 53}, "2026-12-28 00:00:00"),
        ({"week": 1, "day_of_week": "wed"}, "2027-01-06 00:00:00"),
        # Days of the month, any of which will do, and a weekday that has to fit as well.
        ({"day": "last"}, "2026-11-30 00:00:00"),
        ({"day": "2nd mon"}, "2026-12-14 00:00:00"),
        ({"day": "Last Fri"}, "2026-11-27 00:00:00"),
        ({"day": "5th sat"}, "2027-01-30 00:00:00"),
        ({"day": "1 , last fri, 25"}, "2026-11-25 00:00:00"),
        ({"day": 13, "day_of_week": "fri"}, "2027-08-13 00:00:00"),
        ({"day": "*/10", "hour": "22-23/1"}, "2026-11-21 22:00:00"),
        ({"minute": "10/20"}, "2026-11-20 14:10:00"),
        ({"year": "*/2", "month": 12}, "2026-12-01 00:00:00"),
        # 2100 is no leap year, and the first 29 February that is a Monday thereafter is in 2112.
        ({"year": "2097-9999", "month": 2, "day": 29}, "2104-02-29 00:00:00"),
        ({"year": "2097-9999", "month": 2, "day": 29, "day_of_week": 0}, "2112-02-29 00:00:00"),
        ({"year": 9000}, "9000-01-01 00:00:00"),
        ({"month": 2, "day": 30}, None),
        ({"year": "1970-2025"}, None),
        ({"second": None, "minute": 5, "cronstring": ""}, "2026-11-20 14:05:00"),
    ],
)
def test_times_are_told_by_keyword(args: dict[str, object], fire: str | None) -> None:
    assert next_of(**args) == fire


@pytest.mark.parametrize(
    ("args", "fire"),
    [
        ({"start_date": "2026-11-21"}, "2026-11-21 00:00:00"),
        ({"start_date": "2026-11-21 00:00:01"}, "2026-11-21 01:00:00"),
        ({"start_date": "2026-11-21T02:00:00+02:00"}, "2026-11-21 00:00:00"),
        ({"end_date": "2026-11-20 15:00:00"}, "2026-11-20 15:00:00"),
        ({"end_date": "2026-11-20 14:59:59"}, None),
        # A date alone is its beginning.
        ({"end_date": "2026-11-20"}, None),
        ({"end_date": "9999-12-31"}, "2026-11-20 15:00:00"),
        ({"start_date": "0001-01-01"}, "2026-11-20 15:00:00"),
        ({"start_date": "9999-12-31"}, None),
    ],
)
def test_first_and_last_moment_may_be_set(args: dict[str, object], fire: str | None) -> None:
    assert next_of(minute=0, **args) == fire
    assert next_of(cronstring="0 * * * *", **args) == fire


def test_limits_are_told_by_the_clock_of_the_job() -> None:
    args = {"hour": "*", "timezone": "Europe/Rome", "start_date": "2026-12-01 10:00:00"}
    assert from_cron_args(args).next_after(at(FRIDAY)) == at("2026-12-01T09:00:00Z")


@pytest.mark.parametrize("args", [{"cronstring": "30 2 * * *"}, {"hour": 2, "minute": 30}])
def test_a_job_without_a_zone_has_that_of_the_fleet(args: dict[str, object]) -> None:
    assert from_cron_args(args, ROME).next_after(at(FRIDAY)) == at("2026-11-21T01:30Z")
    tokyo = {**args, "timezone": "Asia/Tokyo"}
    assert from_cron_args(tokyo, ROME).next_after(at(FRIDAY)) == at("2026-11-20T17:30Z")


def test_a_cronstring_may_be_read_as_upstream_does() -> None:
    args = {"cronstring": "0 0 * * 0"}
    assert from_cron_args(args).next_after(at(FRIDAY)) == at("2026-11-22T00:00Z")
    upstream = from_cron_args(args, upstream_weekdays=True)
    assert upstream.next_after(at(FRIDAY)) == at("2026-11-23T00:00Z")


def test_the_lot_that_delays_a_fire_is_left_to_the_caller() -> None:
    schedule = from_cron_args({"minute": 0, "jitter": "30"})
    assert schedule.jitter == 30
    assert schedule.next_after(at(FRIDAY)) == at("2026-11-20T15:00Z")
    assert from_cron_args({"minute": 0}).jitter == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (None, "cron_args: expected either cronstring or some of year, month"),
        ({}, "cron_args: expected either cronstring or some of year, month"),
        ({"timezone": "UTC"}, "cron_args: expected either cronstring"),
        ({"cronstring": "* * * * *", "minute": 5}, "cron_args: expected either cronstring"),
        ("* * * * *", "cron_args: expected an object"),
        ({"hours": 5}, "cron_args: expected only cronstring, year.*not 'hours'"),
        ({"cronstring": 5}, "cron_args.cronstring: expected text such as"),
        ({"cronstring": "61 * * * *"}, "cron_args.cronstring: expected a minute from 0 to 59"),
        ({"cronstring": "@reboot"}, "cron_args.cronstring: '@reboot' is not supported"),
        ({"second": 60}, "cron_args.second: expected 0 to 59.*not '60'"),
        ({"second": ""}, "cron_args.second: expected 0 to 59.*not ''"),
        ({"second": True}, "cron_args.second: expected 0 to 59.*not True"),
        ({"second": 5.0}, "cron_args.second: expected 0 to 59.*not 5.0"),
        ({"second": -1}, "cron_args.second: expected"),
        ({"minute": "*/0"}, "cron_args.minute: expected"),
        ({"minute": "*/60"}, "cron_args.minute: expected"),
        ({"minute": "5-2"}, "cron_args.minute: expected"),
        ({"minute": "1,,2"}, "cron_args.minute: expected"),
        ({"hour": "mon"}, "cron_args.hour: expected 0 to 23"),
        ({"day": "6th mon"}, "cron_args.day: expected 1 to 31, 'last', or such as"),
        ({"day": "0th mon"}, "cron_args.day: expected"),
        ({"day": "2nd"}, "cron_args.day: expected"),
        ({"day_of_week": 7}, "cron_args.day_of_week: expected 0 to 6, 0 being Monday"),
        ({"day_of_week": "sat-mon"}, "cron_args.day_of_week: expected"),
        ({"week": 54}, "cron_args.week: expected 1 to 53"),
        ({"year": 1969}, "cron_args.year: expected 1970 to 9999"),
        ({"minute": "1," * 600}, "cron_args.minute: expected"),
        ({"minute": 5, "timezone": "Mars/Olympus"}, "cron_args.timezone: expected a time zone"),
        ({"minute": 5, "timezone": "../etc/passwd"}, "cron_args.timezone: expected a time zone"),
        ({"minute": 5, "timezone": "Europe"}, "cron_args.timezone: expected a time zone"),
        ({"minute": 5, "timezone": "x" * 5000}, "cron_args.timezone: expected a time zone"),
        ({"minute": 5, "timezone": 1}, "cron_args.timezone: expected a time zone"),
        ({"minute": 5, "timezone": ["UTC"]}, "cron_args.timezone: expected a time zone"),
        ({"minute": 5, "start_date": "tomorrow"}, "cron_args.start_date: expected a time such as"),
        (
            {"minute": 5, "start_date": "2026-02-01", "end_date": "2026-01-01"},
            "cron_args.end_date: expected a time not before start_date",
        ),
        ({"minute": 5, "jitter": -1}, "cron_args.jitter: expected a whole number from 0"),
        ({"minute": 5, "jitter": "soon"}, "cron_args.jitter: expected a whole number from 0"),
    ],
)
def test_a_refusal_names_the_field_and_what_was_expected(args: object, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        from_cron_args(args, ZoneInfo("UTC"))
    assert len(str(refused.value)) < 400


values = (
    st.none()
    | st.integers(-5, 3000)
    | st.text(max_size=12)
    | st.text("0123456789*/,- lastmonjn", max_size=12)
    | st.booleans()
    | st.floats()
    | st.lists(st.integers(), max_size=2)
)
keys = ["cronstring", "year", "month", "day", "week", "day_of_week", "hour", "minute", "second"]
keys += ["start_date", "end_date", "timezone", "jitter"]


@settings(deadline=None, max_examples=500)
@given(st.dictionaries(st.sampled_from(keys), values, max_size=4) | values)
def test_any_arguments_are_a_schedule_or_refused(args: Any) -> None:
    try:
        schedule = from_cron_args(args, ROME)
    except Refused:
        return
    fire = schedule.next_after(at(FRIDAY))
    assert fire is None or fire > at(FRIDAY)
    assert schedule.describes()
