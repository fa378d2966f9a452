"""The next run of each event, for lists in that order."""

import asyncio
from collections.abc import Iterable, Mapping
from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.jobs import preview, timetable
from watchbell.jobs.model import Event

_SLICE = 100


class NextRuns:
    """Remembers when events run next until then, since computing it for all takes long."""

    def __init__(self, timezone: str) -> None:
        self._timezone = timezone
        self._known: dict[str, tuple[Event, int | None]] = {}

    async def of(
        self, events: Iterable[Event], counted: Mapping[str, int], now: float
    ) -> dict[str, int]:
        """When each of all events runs next; those that do not are missing. `counted` is what
        `preview.all_matches` returns, for events that run every n-th time."""
        known: dict[str, tuple[Event, int | None]] = {}
        for place, event in enumerate(events):
            kept, at = self._known.get(event.id, (None, None))
            if kept is not event or (at is not None and at <= now):
                at = self._next(event, counted.get(event.id, 0), now)
            known[event.id] = (event, at)
            if place % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
        self._known = known
        return {name: at for name, (_, at) in known.items() if at is not None}

    def _next(self, event: Event, counted: int, now: float) -> int | None:
        if not event.enabled:
            return None
        try:
            times = timetable.of(event.timings, self._timezone)
        except Refused:
            return None
        zone = ZoneInfo(self._timezone)
        found = preview.upcoming(times, now, zone, most=1, counted=counted)
        return found[0].at if found else None
