"""The order of events by their next run, and by others of their times."""

from typing import Any

import pytest

from watchbell.jobs import event_overview
from watchbell.jobs.event_overview import Overview, Sort
from watchbell.jobs.model import Event, EventState, Timing
from watchbell.jobs.next_runs import NextRuns

NOON = 1_800_014_400.0
"""2027-01-15 12:00 UTC."""


def event(name: str, hour: int | None = None, **more: Any) -> Event:
    schedule = Timing(type="schedule", hours=(hour or 0,), minutes=(0,), timezone="UTC")
    timings = () if hour is None else (schedule,)
    return Event(id=name, title=name, timings=timings, **more)


async def test_the_next_run_of_an_event_is_known_until_it_is_over() -> None:
    runs = NextRuns("UTC")
    events = [event("a", 13), event("b", 11), event("c"), event("d", 13, enabled=False)]
    assert await runs.of(events, {}, NOON) == {"a": NOON + 3_600, "b": NOON + 23 * 3_600}
    assert await runs.of(events, {}, NOON + 3_600) == {"a": NOON + 25 * 3_600, "b": NOON + 82_800}


async def test_a_changed_event_has_another_next_run() -> None:
    runs = NextRuns("UTC")
    assert await runs.of([event("a", 13)], {}, NOON) == {"a": NOON + 3_600}
    assert await runs.of([event("a", 14)], {}, NOON) == {"a": NOON + 7_200}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("title", "abcd"),
        ("-title", "dcba"),
        ("next", "bacd"),
        ("-next", "abcd"),
        ("last", "cbad"),
        ("-last", "bcad"),
    ],
)
def test_events_without_a_time_are_last_in_both_directions(sort: Sort, order: str) -> None:
    states = {"b": EventState(last_completed=9.0), "c": EventState(last_completed=5.0)}
    seen = Overview({}, {}, states, {})
    found = event_overview.ordered(map(event, "dbca"), sort, seen, {"a": 8, "b": 7})
    assert "".join(one.id for one in found) == order
