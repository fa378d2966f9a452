"""What will run in a stretch of time, for a timeline."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.jobs import timetable
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Definitions
from watchbell.jobs.model import Event
from watchbell.jobs.timetable import Timetable

_OFTEN = 100
"""Runs of one event; one with more is summed up."""
_SLICE = 100


class PlannedRun(Struct, frozen=True):
    event: str
    title: str
    at: int


class FrequentRuns(Struct, frozen=True):
    """An event that runs too often to list each run."""

    event: str
    title: str
    first: int
    words: str


class DayPlan(Struct, frozen=True):
    runs: Sequence[PlannedRun]
    """The earliest first."""
    frequent: Sequence[FrequentRuns]
    omitted: int
    """Later runs that did not fit."""


def _every(_event: Event) -> bool:
    return True


class DayPlanner:
    """Remembers the timetables of events, since computing them takes longer than using them."""

    def __init__(self, definitions: Definitions, timezone: str) -> None:
        self._definitions, self._timezone = definitions, timezone
        self._known: dict[str, tuple[Event, Timetable | None]] = {}

    async def plan(
        self,
        since: float,
        until: float,
        most: int = 5_000,
        counted: Mapping[str, int] = MappingProxyType({}),
        is_wanted: Callable[[Event], bool] = _every,
    ) -> DayPlan:
        """What will run after `since`, up to and including `until`. `counted` is what
        `preview.all_matches` returns, for events that run every n-th time."""
        events = self._definitions.events
        self._forget(events)
        runs: list[PlannedRun] = []
        frequent: list[FrequentRuns] = []
        for place, event in enumerate(list(events.values())):
            if place % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            times = self._timetable(event) if is_wanted(event) else None
            if times is None or launch.obstacle(self._definitions, event):
                continue
            fires = list(islice(_starts(times, since, until, counted.get(event.id, 0)), _OFTEN + 1))
            if len(fires) > _OFTEN:
                frequent.append(FrequentRuns(event.id, event.title, fires[0], times.describes()))
            else:
                runs += [PlannedRun(event.id, event.title, at) for at in fires]
        runs.sort(key=lambda run: (run.at, run.title))
        return DayPlan(runs[:most], frequent, max(len(runs) - most, 0))

    def _forget(self, events: Mapping[str, Event]) -> None:
        if len(self._known) > len(events):
            self._known = {name: kept for name, kept in self._known.items() if name in events}

    def _timetable(self, event: Event) -> Timetable | None:
        if not event.timings:
            return None
        kept = self._known.get(event.id)
        if kept is None or kept[0] is not event:
            kept = self._known[event.id] = event, self._computed(event)
        return kept[1]

    def _computed(self, event: Event) -> Timetable | None:
        try:
            times = timetable.of(event.timings, self._timezone)
        except Refused:
            return None
        return times if times.schedules else None


def _starts(times: Timetable, since: float, until: float, counted: int) -> Iterator[int]:
    """When jobs start; of an event that is deleted after its first run, only those of one fire."""
    earlier = times.delay + max(times.precision, default=0)
    fires = times.fires_between(since - earlier, until)
    if times.every > 1:
        fires = (fire for place, fire in enumerate(fires, counted) if place % times.every == 0)
    for fire in islice(fires, 1) if times.is_destruct else fires:
        yield from (at for at in times.fire(fire).instants if since < at <= until)
