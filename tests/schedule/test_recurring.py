"""Recurrence rules as schedules."""

from datetime import datetime
from itertools import islice

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import ROME, UTC, at, shown
from tests.schedule.restrictions import OFFICE
from watchbell.errors import Refused
from watchbell.schedule.recurring import from_rules

START = "DTSTART:20260105T093000\n"


def test_windows_fire_as_they_open() -> None:
    fires = from_rules(OFFICE, ROME).fires_between(at("2026-11-20T00:00Z"), at("2026-11-25T00:00Z"))
    shown_at = [f"{shown(fire, ROME):%a %H:%M}" for fire in fires]
    assert shown_at == ["Fri 08:00", "Mon 08:00", "Tue 08:00"]


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("", ["2026-01-05 09:30"]),
        ("RRULE:FREQ=DAILY;COUNT=2", ["2026-01-05 09:30", "2026-01-06 09:30"]),
        ("RRULE:FREQ=WEEKLY;UNTIL=20260112T093000", ["2026-01-05 09:30", "2026-01-12 09:30"]),
        (
            (
                "RRULE:FREQ=DAILY;UNTIL=20260107T230000\nEXDATE:20260106T093000\n"
                "RDATE:20260106T120000,20270101T000000"
            ),
            ["2026-01-05 09:30", "2026-01-06 12:00", "2026-01-07 09:30", "2027-01-01 00:00"],
        ),
        ("RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", []),
    ],
)
def test_rules_fire_at_their_starts_and_then_no_more(text: str, fires: list[str]) -> None:
    schedule = from_rules(START + text, UTC)
    found = [f"{shown(fire, UTC):%Y-%m-%d %H:%M}" for fire in schedule.fires_between(0, 4e9)]
    assert found == fires


def test_a_start_far_ahead_is_found() -> None:
    schedule = from_rules("DTSTART:25000101T000000\nRRULE:FREQ=DAILY", UTC)
    assert schedule.next_after(0) == at("2500-01-01T00:00Z")
    assert from_rules("DTSTART:99980601T000000\nRRULE:FREQ=DAILY", UTC).next_after(0) is None


def test_a_time_by_name_is_found_however_far_it_is() -> None:
    text = "DTSTART:20260105T000000\nRRULE:FREQ=DAILY;COUNT=1\nRDATE:90000101T000000"
    assert from_rules(text, UTC).next_after(at("2026-02-01T00:00Z")) == at("9000-01-01T00:00Z")


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(Refused, match="RRULE text: expected lines such as DTSTART:"):
        from_rules("every day", UTC)
    with pytest.raises(Refused, match="start_time: expected a time"):
        from_rules({"rrules": []}, UTC)
    with pytest.raises(Refused, match="rules: expected an object"):
        from_rules([], UTC)  # type: ignore[arg-type]


def test_rules_are_told_in_words() -> None:
    daily = from_rules(START + "RRULE:FREQ=DAILY\nEXDATE:20260106T093000", ROME)
    assert daily.describes() == "every day, at 09:30; except 2026-01-06 09:30, Europe/Rome"
    often = from_rules(START + "RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=8,9", UTC)
    assert often.describes() == "every 20 minutes, in hour 8 and 9, UTC"
    assert from_rules(START, UTC).describes() == "2026-01-05 09:30, UTC"


rules = st.builds(
    "FREQ={};INTERVAL={}{}{}".format,
    st.sampled_from(["HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.integers(1, 4),
    st.sampled_from(["", ";BYDAY=MO,FR", ";BYMONTHDAY=1,-1", ";BYMONTH=2,8"]),
    st.sampled_from(["", ";BYHOUR=3,15", ";BYMINUTE=0,45"]),
)


@settings(deadline=None)
@given(rules, st.integers(at("2026-01-01T00:00Z"), at("2031-01-01T00:00Z")))
def test_fires_are_those_of_dateutil(rule: str, since: int) -> None:
    asked = datetime.fromtimestamp(since, UTC).replace(tzinfo=None)
    try:
        expected = list(islice(rrulestr(f"{START}RRULE:{rule}").xafter(asked), 3))
    except ValueError:  # "the rrule will generate an empty set"
        expected = []
    schedule = from_rules(f"{START}RRULE:{rule}", UTC)
    found = [shown(fire, UTC) for fire in islice(schedule.fires_between(since, 1e11), 3)]
    assert found == expected
