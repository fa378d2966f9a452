"""The next runs of an event, as people read them."""

from itertools import pairwise

import pytest

from tests.jobs.timed import KEYS
from tests.schedule.clocks import ROME, UTC, at
from watchbell.jobs import preview, timetable
from watchbell.jobs.model import Timing
from watchbell.jobs.preview import UpcomingRun
from watchbell.store.client import Store

NOON = at("2026-11-20T12:00Z")
HOURLY = Timing(type="schedule", minutes=(0,))


def runs(*timings: Timing, now: float = NOON, most: int = 3, counted: int = 0) -> list[UpcomingRun]:
    times = timetable.of(timings, "UTC")
    return preview.upcoming(times, now, UTC, most=most, counted=counted)


def starts(*timings: Timing, now: float = NOON, most: int = 3, counted: int = 0) -> list[int]:
    return [run.at - NOON for run in runs(*timings, now=now, most=most, counted=counted)]


def test_ten_runs_are_shown_unless_told_otherwise() -> None:
    found = preview.upcoming(timetable.of([HOURLY], "UTC"), NOON, UTC)
    assert len(found) == 10
    assert all(later.at - earlier.at == 3600 for earlier, later in pairwise(found))


def test_a_run_is_shown_in_the_time_zone_of_its_timing() -> None:
    rome = Timing(type="schedule", hours=(4,), minutes=(30,), timezone="Europe/Rome")
    assert runs(rome, most=1) == [
        UpcomingRun(at("2026-11-21T03:30Z"), "Sat 2026-11-21 04:30 CET", "")
    ]


def test_an_interval_is_shown_in_the_time_zone_of_the_settings() -> None:
    times = timetable.of([Timing(type="interval", start=NOON + 5, duration=60)], "UTC")
    [run] = preview.upcoming(times, NOON, ROME, most=1)
    assert run.local == "Fri 2026-11-20 13:00:05 CET"


def test_clock_changes_are_remarked() -> None:
    rome = Timing(type="schedule", hours=(2,), minutes=(30,), timezone="Europe/Rome")
    [forward] = runs(rome, now=at("2026-03-28T12:00Z"), most=1)
    assert forward.local == "Sun 2026-03-29 03:00 CEST"
    assert forward.remark == "clocks are set forward and never show 02:30; it runs right after"
    [back] = runs(rome, now=at("2026-10-24T12:00Z"), most=1)
    assert back.local == "Sun 2026-10-25 02:30 CEST"
    assert back.remark == "clocks are set back and show 02:30 twice; it runs the first time only"


def test_every_instant_of_a_minute_is_a_run() -> None:
    precise = Timing(type="precision", seconds=(0, 20))
    assert starts(HOURLY, precise) == [20, 3600, 3620]


def test_a_delayed_run_is_shown_when_it_starts() -> None:
    assert starts(HOURLY, Timing(type="delay", duration=90)) == [90, 3690, 7290]


@pytest.mark.parametrize(
    ("counted", "expected"), [(0, [3600, 14_400]), (1, [10_800, 21_600]), (3, [3600, 14_400])]
)
def test_of_an_event_that_runs_every_third_time_only_those_are_shown(
    counted: int, expected: list[int]
) -> None:
    nth = Timing(type="nth", every=3)
    assert starts(HOURLY, nth, most=2, counted=counted) == expected


def test_an_event_that_is_deleted_after_its_run_has_one() -> None:
    assert starts(HOURLY, Timing(type="destruct")) == [3600]


def test_an_event_without_further_runs_shows_none() -> None:
    assert runs() == []
    assert runs(Timing(type="single", epoch=NOON - 60)) == []
    assert runs(Timing(type="continuous")) == []


async def test_what_has_matched_so_far_is_read_from_the_store(store: Store) -> None:
    assert await preview.matches(store, "backup") == 0
    await store.call("HSET", KEYS.counts(), "backup", 7, "spoilt", "x")
    assert await preview.matches(store, "backup") == 7
    assert await preview.matches(store, "spoilt") == 0
    assert await preview.all_matches(store) == {"backup": 7}
