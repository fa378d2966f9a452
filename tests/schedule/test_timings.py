"""The `schedule` rules of an event's timings."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import CHANGES, ROME, UTC, around, at, once_each, shown, whenever_shown
from watchbell.errors import Refused
from watchbell.schedule.timings import from_timing

FRIDAY = "2026-11-20T14:03:00Z"
NARROW = {
    "type": "schedule",
    "enabled": True,
    "years": [2023],
    "months": [3, 4, 5],
    "days": [1, 15],
    "weekdays": [1, 2, 3, 4, 5],
    "hours": [6, 7, 8, 9, 10],
    "minutes": [15, 45],
}


@pytest.mark.parametrize(
    ("rule", "fire"),
    [
        ({"type": "schedule", "enabled": True}, "2026-11-20 14:04"),
        ({"minutes": [0]}, "2026-11-20 15:00"),
        ({"hours": [4, 16], "minutes": [30]}, "2026-11-20 16:30"),
        ({"hours": [], "minutes": [30], "days": None}, "2026-11-20 14:30"),
        ({"weekdays": [0], "hours": [4], "minutes": [30]}, "2026-11-22 04:30"),
        ({"days": [-1], "hours": [0], "minutes": [0]}, "2026-11-30 00:00"),
        ({"days": [-7, 30], "hours": [0], "minutes": [0]}, "2026-11-24 00:00"),
        # A date that is also the weekday, unlike cron.
        ({"days": [13], "weekdays": [5], "hours": [0], "minutes": [0]}, "2027-08-13 00:00"),
        ({"years": [2030, 2028]}, "2028-01-01 00:00"),
        ({"years": [1969, 2025]}, None),
        ({"years": [1969]}, None),
        ({"months": [2], "days": [30]}, None),
    ],
)
def test_every_array_that_is_there_has_to_hold(
    rule: Mapping[str, object], fire: str | None
) -> None:
    found = from_timing(rule, UTC).next_after(at(FRIDAY))
    assert (None if found is None else f"{shown(found, UTC):%Y-%m-%d %H:%M}") == fire


def test_many_arrays_make_few_fires() -> None:
    schedule = from_timing(NARROW, UTC)
    fires = [shown(fire, UTC) for fire in schedule.fires_between(0, 4e9)]
    assert {f"{fire:%Y-%m-%d %a}" for fire in fires} == {
        "2023-03-01 Wed",
        "2023-03-15 Wed",
        "2023-05-01 Mon",
        "2023-05-15 Mon",
    }
    assert len(fires) == 4 * 5 * 2


def test_a_rule_without_a_zone_has_that_of_the_fleet() -> None:
    rule = {"hours": [4], "minutes": [30]}
    assert from_timing(rule, ROME).next_after(at(FRIDAY)) == at("2026-11-21T03:30Z")
    tokyo = from_timing({**rule, "timezone": "Asia/Tokyo"}, ROME)
    assert tokyo.next_after(at(FRIDAY)) == at("2026-11-20T19:30Z")


def test_a_full_array_is_the_same_as_none() -> None:
    full = from_timing({"hours": list(range(24)), "minutes": [30], "months": [*range(1, 13)]}, ROME)
    assert full == from_timing({"minutes": [30]}, ROME)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ([], "timing: expected an object"),
        ({"hours": [24]}, "timing.hours: expected a whole number from 0 to 23, not 24"),
        ({"hours": "noon"}, "timing.hours: expected a whole number"),
        ({"minutes": [True]}, "timing.minutes: expected a whole number from 0 to 59"),
        ({"days": [0]}, "timing.days: expected a whole number from 1 to 31 or from -1 to -31"),
        ({"weekdays": [7]}, r"timing.weekdays: expected a weekday from 0 \(Sunday\) to 6"),
        ({"months": [0]}, "timing.months: expected a month from 1 to 12"),
        ({"years": [10_000]}, "timing.years: expected a whole number from 1 to 9999"),
        ({"timezone": "Mars"}, "timing.timezone: expected a time zone"),
    ],
)
def test_a_refusal_names_the_field_and_what_was_expected(rule: object, said: str) -> None:
    with pytest.raises(Refused, match=said):
        from_timing(rule, UTC)


arrays = st.fixed_dictionaries(
    {},
    optional={
        "days": st.frozensets(st.integers(-31, 31).filter(bool), max_size=25),
        "weekdays": st.frozensets(st.integers(0, 6), max_size=5),
        "hours": st.frozensets(st.integers(0, 23), max_size=8),
        "minutes": st.frozensets(st.sampled_from([0, 1, 29, 30, 31, 59]), max_size=5),
    },
)


@settings(deadline=None)
@given(arrays, st.sampled_from(CHANGES))
def test_fires_are_those_found_minute_by_minute(
    rule: dict[str, frozenset[int]], change: tuple[str, str]
) -> None:
    def wanted(clock: datetime) -> bool:
        from_end = clock.day - monthrange(clock.year, clock.month)[1] - 1
        return (
            bool(clock.minute in minutes or not minutes)
            and (clock.hour in hours or not hours)
            and (clock.isoweekday() % 7 in weekdays or not weekdays)
            and (clock.day in days or from_end in days or not days)
        )

    days, weekdays, hours, minutes = (
        rule.get(name, frozenset()) for name in ("days", "weekdays", "hours", "minutes")
    )
    clocks = around(*change)
    found = once_each if hours and minutes else whenever_shown
    arrays = {name: list(numbers) for name, numbers in rule.items()}
    fires = from_timing(arrays, ZoneInfo(change[0])).fires_between(clocks[0][0] - 1, clocks[-1][0])
    assert list(fires) == found(clocks, wanted)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*NARROW, "timezone"]),
        st.none() | st.text(max_size=5) | st.lists(st.integers(-40, 3000) | st.text(max_size=3)),
    )
)
def test_any_rule_is_a_schedule_or_refused(rule: dict[str, Any]) -> None:
    try:
        schedule = from_timing(rule, ROME)
    except Refused:
        return
    fire = schedule.next_after(at(FRIDAY))
    assert fire is None or fire > at(FRIDAY)
    assert schedule.describes()
