"""The events that run by themselves, in the agenda of this conductor; follows their changes."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.clock import Clock
from watchbell.errors import Refused
from watchbell.jobs import cursors, timetable
from watchbell.jobs.claims import MOST_AHEAD
from watchbell.jobs.cursors import IDLE
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.due_fires import GRACE
from watchbell.jobs.decide.launch import Definitions
from watchbell.jobs.model import Event
from watchbell.jobs.timetable import Timetable
from watchbell.schedule.agenda import Agenda, Entry
from watchbell.store.client import Store, patiently

_SLICE = 250


class Catalogue(Definitions, Protocol):
    def subscribe(self, callback: Callable[[str, str], None]) -> object: ...


class EventEntry(Entry):
    __slots__ = ("backlog", "event", "timetable")

    def __init__(self, event: Event, timetable: Timetable, mark: int) -> None:
        super().__init__(event.id, timetable, mark)
        self.event, self.timetable = event, timetable
        self.backlog: Sequence[int] = ()
        """Fires that are due and not claimed yet."""


class EventAgenda:
    def __init__(self, store: Store, catalogue: Catalogue, clock: Clock, timezone: str) -> None:
        self._store, self._catalogue, self._clock = store, catalogue, clock
        self._timezone = timezone
        self.scheduled = Agenda[EventEntry]()
        self.special: dict[str, EventEntry] = {}
        """Events that also run at other times than those in the agenda, or only once."""
        self.on_change: Callable[[], None] = lambda: None
        self._changes: set[tuple[str, str]] = set()
        self._is_changed = asyncio.Event()
        self._log = logs.get(role="conductor")
        catalogue.subscribe(self._note)

    async def run(self) -> None:
        """Keeps the agenda up to date. `load` comes first."""
        while True:
            await self._is_changed.wait()
            self._is_changed.clear()
            changes, self._changes = self._changes, set()
            try:
                await self.read(self._concerned(changes))
            except ResponseError:
                self._changes |= changes
                self._is_changed.set()
                raise

    async def load(self) -> None:
        """Reads all events. What the store refuses now is read later, by `run`."""
        self._changes.clear()
        names = list(self._catalogue.events)
        try:
            await self.read(names)
        except ResponseError as error:
            self._log.error("the cursors of events can't be read", exc_info=error)
            for name in names:
                self._note("event", name)

    async def read(self, events: Iterable[str]) -> None:
        """Reads events again from the catalogue."""
        names = list(events)
        for first in range(0, len(names), _SLICE):
            await self._read_some(names[first : first + _SLICE])
            await asyncio.sleep(0)
        self.on_change()

    def follow_clock(self) -> None:
        """After the store's clock was set back: events do not wait for what lies far ahead."""
        now = int(self._clock.now())
        for entry in self.scheduled:
            if entry.mark > now + MOST_AHEAD:
                entry.mark, entry.backlog = now, ()
                self.scheduled.plan(entry)

    def drop(self, event: str) -> None:
        self.scheduled.remove(event)
        self.special.pop(event, None)

    def _note(self, kind: str, name: str) -> None:
        self._changes.add((kind, name))
        self._is_changed.set()

    def _concerned(self, changes: set[tuple[str, str]]) -> set[str]:
        events = {name for kind, name in changes if kind == "event"}
        shared = {pair for pair in changes if pair[0] in ("category", "plugin")}
        if shared:
            events |= {
                one.id
                for one in self._catalogue.events.values()
                if ("category", one.category) in shared or ("plugin", one.plugin) in shared
            }
        return events

    async def _read_some(self, names: Sequence[str]) -> None:
        found = {name: self._timetable(name) for name in names}
        marks = await self._marks(found)
        for name, times in found.items():
            self.drop(name)
            event = self._catalogue.events.get(name)
            if event and times and not launch.obstacle(self._catalogue, event):
                entry = EventEntry(event, times, marks.get(name, self._recently(event)))
                self._place(entry)

    def _place(self, entry: EventEntry) -> None:
        times = entry.timetable
        if times.continuous or times.startup or times.is_destruct:
            self.special[entry.name] = entry
        if times.schedules:
            try:
                self.scheduled.add(entry)
            except Exception as error:  # noqa: BLE001 it stops no other event
                self._log.error("an event can't be scheduled", event_id=entry.name, exc_info=error)
                self.drop(entry.name)

    def _timetable(self, name: str) -> Timetable | None:
        event = self._catalogue.events.get(name)
        if event is None or not event.timings:
            return None
        try:
            return timetable.of(event.timings, self._timezone)
        except Refused as refused:
            self._log.error("an event has unreadable timings", event_id=name, reason=str(refused))
            return None

    def _recently(self, event: Event) -> int:
        """The mark of an event without `catchup`: its last minute may still be launched."""
        return max(int(self._clock.now()) - GRACE, event.modified)

    async def _marks(self, found: dict[str, Timetable | None]) -> dict[str, int]:
        pairs = []
        for name, times in found.items():
            event = self._catalogue.events.get(name)
            if event is not None and times is not None and times.catchup:
                is_idle = bool(launch.obstacle(self._catalogue, event))
                pairs.append((name, IDLE if is_idle else times.fingerprint))
        if not pairs:
            return {}
        marks = await patiently(lambda: cursors.marked(self._store, pairs))
        return {name: mark for (name, _), mark in zip(pairs, marks, strict=True)}
