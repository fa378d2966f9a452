"""The timings of an event name the times at which it runs."""

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schedule.clocks import at
from watchbell.errors import Refused
from watchbell.jobs import timetable
from watchbell.jobs.model import Timing
from watchbell.jobs.timetable import Timetable

NOON = at("2026-11-20T12:00Z")
HOUR = 3600
HOURLY = Timing(type="schedule", minutes=(0,))
MINUTELY = Timing(type="schedule")


def times(*timings: Timing, zone: str = "UTC") -> Timetable:
    return timetable.of(timings, zone)


def following(table: Timetable, since: float = NOON, count: int = 4) -> list[int]:
    """Seconds from noon to the next fires."""
    return [fire - NOON for fire in islice(table.fires_between(since, 4e9), count)]


def test_an_event_without_timings_runs_on_demand_only() -> None:
    assert times().next_after(NOON) is None
    assert times(Timing(type="manual"), Timing(type="catchup")).next_after(NOON) is None


def test_disabled_timings_do_not_count() -> None:
    off = Timing(type="schedule", enabled=False)
    assert times(off).next_after(NOON) is None
    blackout = Timing(type="blackout", start=NOON, end=NOON + 9 * HOUR, enabled=False)
    assert following(times(HOURLY, blackout), count=1) == [HOUR]


def test_several_schedules_fire_once_in_a_minute_that_all_of_them_match() -> None:
    half_hourly = Timing(type="schedule", minutes=(0, 30))
    table = times(HOURLY, half_hourly, Timing(type="single", epoch=NOON + HOUR + 59))
    assert following(table) == [1800, HOUR, HOUR + 1800, 2 * HOUR]
    assert table.fire(NOON + HOUR).instants == (NOON + HOUR,)


def test_a_single_runs_in_the_minute_of_its_time() -> None:
    table = times(Timing(type="single", epoch=NOON + 90))
    assert following(table) == [60]
    assert table.next_after(NOON + 60) is None


def test_an_interval_runs_at_each_instant_that_it_names() -> None:
    table = times(Timing(type="interval", start=NOON + 5, duration=25))
    assert following(table) == [5, 30, 55, 80]
    assert following(table, NOON + 5.5, 1) == [30]
    assert table.fire(NOON + 30).instants == (NOON + 30,)


def test_an_interval_and_a_schedule_meet_in_one_job() -> None:
    table = times(HOURLY, Timing(type="interval", start=NOON, duration=1800))
    assert following(table) == [1800, HOUR, HOUR + 1800, 2 * HOUR]


def test_precision_starts_a_job_at_each_second_of_a_matching_minute() -> None:
    table = times(HOURLY, Timing(type="precision", seconds=(45, 0, 15, 15)))
    assert following(table, count=2) == [HOUR, 2 * HOUR]
    assert table.fire(NOON).instants == (NOON, NOON + 15, NOON + 45)


def test_a_delay_starts_the_job_later() -> None:
    table = times(HOURLY, Timing(type="delay", duration=90))
    assert table.fire(NOON).instants == (NOON + 90,)


@pytest.mark.parametrize(
    ("bounds", "fires"),
    [
        ([{"start": 2 * HOUR}], [2 * HOUR, 3 * HOUR]),
        ([{"end": HOUR}], [HOUR]),
        ([{"start": 2 * HOUR, "end": 2 * HOUR}, {"start": 5 * HOUR}], [2 * HOUR, 5 * HOUR]),
        ([{"start": -9 * HOUR, "end": -HOUR}], []),
    ],
)
def test_ranges_permit_what_lies_in_any_of_them(
    bounds: list[dict[str, int]], fires: list[int]
) -> None:
    def moved(value: int | None) -> int | None:
        return None if value is None else NOON + value

    ranges = [
        Timing(type="range", start=moved(one.get("start")), end=moved(one.get("end")))
        for one in bounds
    ]
    assert following(times(HOURLY, *ranges), count=2) == fires


@pytest.mark.parametrize(
    ("blackouts", "fires"),
    [
        ([(HOUR, HOUR)], [2 * HOUR, 3 * HOUR]),
        ([(HOUR, 2 * HOUR), (2 * HOUR + 1, 3 * HOUR)], [4 * HOUR, 5 * HOUR]),
        ([(2 * HOUR, 9 * HOUR), (HOUR, 3 * HOUR)], [10 * HOUR, 11 * HOUR]),
        ([(HOUR + 1, 2 * HOUR - 1)], [HOUR, 2 * HOUR]),
    ],
)
def test_blackouts_forbid_both_ends_and_all_between(
    blackouts: list[tuple[int, int]], fires: list[int]
) -> None:
    some = [Timing(type="blackout", start=NOON + a, end=NOON + b) for a, b in blackouts]
    assert following(times(HOURLY, *some), count=2) == fires


def test_a_blackout_that_covers_a_range_leaves_nothing() -> None:
    table = times(
        HOURLY,
        Timing(type="range", start=NOON, end=NOON + HOUR),
        Timing(type="blackout", start=NOON - 1, end=NOON + 9 * HOUR),
    )
    assert table.next_after(NOON) is None


_bounds = st.tuples(st.integers(0, 600), st.integers(0, 120)).map(lambda p: (p[0], p[0] + p[1]))


@given(
    minutes=st.sets(st.integers(0, 59), min_size=1),
    ranges=st.lists(_bounds, max_size=3),
    blackouts=st.lists(_bounds, max_size=3),
)
def test_fires_are_those_of_a_walk_through_all_minutes(
    minutes: set[int], ranges: list[tuple[int, int]], blackouts: list[tuple[int, int]]
) -> None:
    def timing(kind: Any, bounds: tuple[int, int]) -> Timing:
        return Timing(type=kind, start=NOON + 60 * bounds[0], end=NOON + 60 * bounds[1])

    table = times(
        Timing(type="schedule", minutes=tuple(minutes)),
        *(timing("range", one) for one in ranges),
        *(timing("blackout", one) for one in blackouts),
    )

    def matches(minute: int) -> bool:
        permitted = not ranges or any(start <= minute <= end for start, end in ranges)
        return (
            minute % 60 in minutes
            and permitted
            and not any(start <= minute <= end for start, end in blackouts)
        )

    walked = [NOON + 60 * minute for minute in range(1, 800) if matches(minute)]
    assert list(table.fires_between(NOON, NOON + 60 * 799)) == walked


# A time of its own runs once even where clocks are set; what comes every hour or so runs as often
# as the clock shows it.
@pytest.mark.parametrize(
    ("day", "timing", "fires"),
    [
        ("2026-03-29", {"hours": (2,), "minutes": (30,)}, ["01:00"]),
        ("2026-10-25", {"hours": (2,), "minutes": (30,)}, ["00:30"]),
        ("2026-03-29", {"hours": (1, 3), "minutes": (30,)}, ["00:30", "01:30"]),
        ("2026-10-25", {"minutes": (30,), "hours": ()}, ["00:30", "01:30"]),
        ("2026-03-29", {"minutes": (30,), "hours": ()}, ["00:30", "01:30"]),
    ],
)
def test_clock_changes_follow_the_rules_of_schedules(
    day: str, timing: dict[str, tuple[int, ...]], fires: list[str]
) -> None:
    table = times(Timing(type="schedule", **timing, timezone="Europe/Rome"))  # type: ignore[arg-type]
    expected = [at(f"{day}T{time}Z") for time in fires]
    assert list(table.fires_between(at(f"{day}T00:00Z"), at(f"{day}T02:00Z") - 1)) == expected


def test_the_time_zone_of_the_settings_is_that_of_schedules_without_one() -> None:
    timing = Timing(type="schedule", hours=(14,), minutes=(0,))
    assert times(timing, zone="Europe/Rome").next_after(NOON) == at("2026-11-20T13:00Z")
    tokyo = Timing(type="schedule", hours=(22,), minutes=(0,), timezone="Asia/Tokyo")
    assert times(tokyo, zone="Europe/Rome").next_after(NOON) == at("2026-11-20T13:00Z")


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(Refused, match="Mars"):
        times(Timing(type="schedule", timezone="Mars/Olympus"))


def test_parameters_and_tags_come_from_the_timings_that_match() -> None:
    table = times(
        Timing(type="schedule", minutes=(0,), params={"a": 1, "b": 1}, tags=("x",)),
        Timing(type="schedule", minutes=(0, 30), params={"b": 2}, tags=("y", "x")),
    )
    assert (table.fire(NOON).params, table.fire(NOON).tags) == ({"a": 1, "b": 2}, ("x", "y"))
    half_past = table.fire(NOON + 1800)
    assert (half_past.params, half_past.tags) == ({"b": 2}, ("y", "x"))


@pytest.mark.parametrize(
    ("timings", "is_manual"),
    [
        ([], True),
        ([Timing(type="manual")], True),
        ([Timing(type="manual", enabled=False)], False),
    ],
)
def test_people_may_run_an_event_unless_its_manual_timing_is_disabled(
    timings: list[Timing], is_manual: bool
) -> None:
    assert times(*timings).is_manual is is_manual


def test_the_fingerprint_follows_enabled_timings() -> None:
    off = Timing(type="nth", every=3, enabled=False)
    assert times(HOURLY).fingerprint == times(HOURLY, off).fingerprint
    assert times(HOURLY).fingerprint != times(MINUTELY).fingerprint
    assert times(HOURLY).fingerprint != times(HOURLY, zone="Europe/Rome").fingerprint


@pytest.mark.parametrize(
    ("timings", "words"),
    [
        ([], "only on demand"),
        ([Timing(type="continuous")], "all the time"),
        ([Timing(type="startup")], "when Watchbell starts"),
        ([Timing(type="interval", duration=600, start=0)], "every 10 minutes"),
        (
            [Timing(type="interval", duration=600, start=NOON)],
            "every 10 minutes since 2026-11-20 12:00:00 UTC",
        ),
        (
            [Timing(type="schedule", hours=(4,), minutes=(30,)), Timing(type="delay", duration=60)],
            "at 04:30 every day, UTC, delayed by 1 minute",
        ),
        (
            [Timing(type="single", epoch=NOON), Timing(type="destruct")],
            "once, at 2026-11-20 12:00:00 UTC, deleted after its first run",
        ),
    ],
)
def test_a_timetable_describes_itself(timings: list[Timing], words: str) -> None:
    assert times(*timings).describes() == words


def test_a_fire_names_the_timing_that_matches() -> None:
    timings = [
        Timing(type="schedule", id="noon", hours=(12,), minutes=(0,)),
        Timing(type="schedule", id="later", hours=(13,), minutes=(0,)),
        Timing(type="manual", id="by_hand"),
    ]
    table = timetable.of(timings, "UTC")
    assert [table.fire(at).timing for at in (NOON, NOON + HOUR)] == ["noon", "later"]
