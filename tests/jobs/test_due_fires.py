"""Which fires are launched, late or in time, and which were missed."""

import pytest

from tests.schedule.clocks import at
from watchbell.jobs import timetable
from watchbell.jobs.decide import due_fires
from watchbell.jobs.decide.due_fires import Due, Omitted, Reason
from watchbell.jobs.model import Timing
from watchbell.jobs.timetable import Timetable

NOON = at("2026-11-20T12:00Z")
MINUTELY, HOURLY = Timing(type="schedule"), Timing(type="schedule", minutes=(0,))
ALL, LATEST = Timing(type="catchup"), Timing(type="catchup", policy="latest")


def times(*timings: Timing) -> Timetable:
    return timetable.of(timings, "UTC")


def due(table: Timetable, mark: int, now: float, most: int) -> Due:
    return due_fires.due(table, mark, table.next_after(mark), now, most)


def test_nothing_is_due_before_the_next_fire() -> None:
    assert due(times(HOURLY), NOON, NOON + 3599.9, 9) == Due(())


@pytest.mark.parametrize("catchup", [[], [ALL], [LATEST]])
def test_a_fire_in_time_is_launched(catchup: list[Timing]) -> None:
    assert due(times(HOURLY, *catchup), NOON - 1, NOON, 9) == Due([NOON])
    assert due(times(HOURLY, *catchup), NOON - 1, NOON + 59.9, 9) == Due([NOON])


def test_a_fire_that_is_more_than_a_minute_late_is_missed() -> None:
    missed = Omitted(NOON, NOON, 1, Reason.MISSED)
    assert due(times(HOURLY), NOON - 1, NOON + 60.1, 9) == Due([], missed)


def test_without_catchup_only_the_present_is_launched_after_a_gap() -> None:
    found = due(times(MINUTELY), NOON, NOON + 605, 9)
    assert found == Due([NOON + 600], Omitted(NOON + 60, NOON + 540, 9, Reason.MISSED))


def test_what_was_missed_is_counted_up_to_a_limit() -> None:
    found = due(times(MINUTELY), NOON, NOON + 86_400, 9)
    assert found.omitted == Omitted(NOON + 60, NOON + 86_340, None, Reason.MISSED)


def test_catchup_launches_all() -> None:
    expected = [NOON + 60 * n for n in range(1, 11)]
    assert due(times(MINUTELY, ALL), NOON, NOON + 600, 99) == Due(expected)


@pytest.mark.parametrize(("catchup", "most"), [(ALL, 3), (Timing(type="catchup", most=3), 99)])
def test_catchup_launches_at_most_so_many(catchup: Timing, most: int) -> None:
    found = due(times(MINUTELY, catchup), NOON, NOON + 600, most)
    assert found.fires == [NOON + 480, NOON + 540, NOON + 600]
    assert found.omitted == Omitted(NOON + 60, NOON + 420, 7, Reason.TOO_MANY)


def test_the_latest_of_the_missed_is_caught_up() -> None:
    found = due(times(HOURLY, LATEST), NOON, NOON + 3 * 3600 + 1800, 99)
    replaced = Omitted(NOON + 3600, NOON + 7200, 2, Reason.REPLACED)
    assert found == Due([NOON + 3 * 3600], replaced)


def test_an_interval_that_fires_often_loses_nothing_within_the_minute() -> None:
    table = times(Timing(type="interval", start=NOON, duration=10))
    assert due(table, NOON, NOON + 35, 9).fires == [NOON + 10, NOON + 20, NOON + 30]


def test_a_repeated_hour_is_caught_up_as_often_as_clocks_show_it() -> None:
    half_past = Timing(type="schedule", minutes=(30,), timezone="Europe/Rome")
    night = at("2026-10-24T22:00Z")
    found = due(times(half_past, ALL), night, night + 4 * 3600, 99)
    assert len(found.fires) == 4
    fixed = Timing(type="schedule", hours=(2,), minutes=(30,), timezone="Europe/Rome")
    assert due(times(fixed, ALL), night, night + 4 * 3600, 99).fires == [at("2026-10-25T00:30Z")]
