"""iCalendar rules give the occurrences that dateutil gives."""

from datetime import date, datetime, time, timedelta
from itertools import islice

import pytest
from dateutil import rrule
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.schedule import ical, wallclock
from watchbell.schedule.occurrences import Pattern

MANY = 25


def occurrences(text: str, start: datetime, last: datetime) -> list[datetime]:
    rule = ical.rule("rrule", text)
    pattern = Pattern(rule, wallclock.shown(start), None)
    return [
        datetime.fromordinal(day) + timedelta(seconds=second)
        for day in range(start.toordinal(), last.toordinal() + 1)
        for second in pattern.starts(day)
    ]


def on(day: date, text: str) -> list[datetime]:
    start = datetime.combine(day, time())
    return occurrences(text, start, start)


def joined(values: list[str]) -> str:
    return ",".join(values)


def numbers(*values: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(
        lambda chosen: joined([str(value) for value in chosen])
    )


DAYS = st.lists(
    st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"]), min_size=1, max_size=5, unique=True
).map(joined)
NTH = st.lists(
    st.tuples(st.sampled_from([1, 2, 4, -1, -3]), st.sampled_from(["MO", "WE", "SU"])).map(
        lambda pair: f"{pair[0]}{pair[1]}"
    ),
    min_size=1,
    max_size=3,
    unique=True,
).map(joined)


ALL_UNITS = ["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]


def day_parts(unit: str) -> st.SearchStrategy[dict[str, str]]:
    """One way to name days that the unit allows, with months where both can be met."""
    by_month = st.fixed_dictionaries({}, optional={"BYMONTH": numbers(1, 4, 10, 12)})
    by_day = st.fixed_dictionaries({"BYDAY": DAYS})
    by_month_day = st.fixed_dictionaries({"BYMONTHDAY": numbers(1, 13, 28, -1, -28)})
    by_year_day = st.fixed_dictionaries({"BYYEARDAY": numbers(1, 60, 100, 365, -1, -300)})
    ways = [by_month, by_year_day]
    ways += [st.builds(lambda a, b: a | b, by_month, way) for way in (by_day, by_month_day)]
    if unit in {"MONTHLY", "YEARLY"}:
        nth = st.fixed_dictionaries({"BYDAY": NTH})
        ways.append(st.builds(lambda a, b: a | b, by_month, nth))
    if unit == "YEARLY":
        # dateutil miscounts the weeks of some years, so the last is asked for as -1.
        weeks = numbers(1, 2, 20, 51, -1)
        ways.append(st.fixed_dictionaries({"BYWEEKNO": weeks}, optional={"BYDAY": DAYS}))
    return st.one_of(ways)


@st.composite
def rule_texts(draw: st.DrawFn) -> str:
    unit = draw(st.sampled_from(ALL_UNITS))
    parts = {"FREQ": unit, "INTERVAL": str(draw(st.sampled_from([1, 1, 2, 3, 5])))}
    parts |= draw(day_parts(unit))
    if unit not in {"MINUTELY", "HOURLY"} and draw(st.booleans()):
        parts["BYHOUR"] = draw(numbers(0, 9, 23))
    if unit != "MINUTELY" and draw(st.booleans()):
        parts["BYMINUTE"] = draw(numbers(0, 15, 59))
    if unit != "WEEKLY" and len(parts) > 2 and draw(st.booleans()):
        parts["BYSETPOS"] = draw(st.sampled_from(["1", "-1", "1,-1"]))
    parts["WKST"] = draw(st.sampled_from(["MO", "SU", "TH"]))
    return ";".join(f"{key}={value}" for key, value in parts.items())


STARTS = st.integers(0, 60 * 24 * 366).map(
    lambda minute: datetime.fromisoformat("2024-01-01") + timedelta(minutes=minute)
)


@settings(max_examples=120, deadline=None)
@given(rule_texts(), STARTS)
def test_rules_of_text_occur_as_dateutil_says(text: str, start: datetime) -> None:
    try:
        oracle = rrule.rrulestr(text, dtstart=start)
    except ValueError:
        assume(False)
    horizon = start + timedelta(days=366 * 30)
    expected = [each for each in islice(oracle, MANY) if each < horizon]
    assume(expected)
    assert occurrences(text, start, expected[-1])[: len(expected)] == expected


@settings(deadline=None)
@given(st.dates(date(1000, 1, 1), date(3000, 1, 1)))
def test_weeks_have_their_iso_numbers(day: date) -> None:
    year, week, _ = day.isocalendar()
    weeks = date(year, 12, 28).isocalendar().week
    for number in {week, *range(50, 54), 1, 2}:
        text = f"FREQ=YEARLY;BYWEEKNO={number}"
        assert bool(on(day, text)) is (number == week)
        if number <= weeks:
            from_end = f"FREQ=YEARLY;BYWEEKNO={number - weeks - 1}"
            assert bool(on(day, from_end)) is (number == week)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ["2026-01-30", "2026-02-27"]),
        ("FREQ=MONTHLY;BYDAY=MO,1TU", ["2026-01-05", "2026-01-06", "2026-01-12"]),
        ("FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=2", ["2026-01-07", "2026-01-14"]),
        ("FREQ=YEARLY", ["2026-01-01", "2027-01-01"]),
        ("FREQ=MONTHLY;BYMONTHDAY=31", ["2026-01-31", "2026-03-31"]),
        ("RRULE:freq=daily;interval=10;", ["2026-01-01", "2026-01-11"]),
        ("FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", ["2026-12-28"]),
    ],
)
def test_what_dateutil_can_not_or_need_not_tell(text: str, first: list[str]) -> None:
    start, last = datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2028-01-01")
    found = occurrences(text, start, last)
    assert [str(each.date()) for each in found[: len(first)]] == first


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "FREQ"),
        ("BYDAY=MO", "FREQ"),
        ("FREQ=FORTNIGHTLY", "FREQ"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL"),
        ("FREQ=DAILY;COUNT=-1", "COUNT"),
        ("FREQ=DAILY;UNTIL=soon", "UNTIL"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR"),
        ("FREQ=DAILY;BYMONTHDAY=0", "BYMONTHDAY"),
        ("FREQ=WEEKLY;BYDAY=XX", "BYDAY"),
        ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY"),
        ("FREQ=WEEKLY;BYDAY=MO;WKST=7", "WKST"),
        ("FREQ=DAILY;BYEASTER=1", "BYEASTER"),
        ("FREQ=DAILY;BYHOUR", "BYHOUR"),
    ],
)
def test_a_bad_rule_of_text_is_refused_by_the_part_that_is_bad(text: str, named: str) -> None:
    with pytest.raises(Refused, match=named):
        ical.rule("rrule", text)
