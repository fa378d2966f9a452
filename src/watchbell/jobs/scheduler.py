"""Launches the jobs of events when they are due."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from watchbell import ids, logs
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused, StoreUnavailable
from watchbell.jobs import claims, cursors, launches
from watchbell.jobs.claims import Claim, LeftOut
from watchbell.jobs.decide import due_fires, launch
from watchbell.jobs.decide.due_fires import Omitted
from watchbell.jobs.decide.launch import NO_DEFAULTS, Defaults, Wish
from watchbell.jobs.event_agenda import Catalogue, EventAgenda, EventEntry
from watchbell.jobs.model import Job
from watchbell.settings.sections import Jobs as JobsSettings
from watchbell.store import health, outage
from watchbell.store.client import Backoff, Store, patiently

_BATCH = 500
"""Events that are claimed by one call."""
_MOST_JOBS = 1_000
_AT_ONCE = 20
"""Fires of one event that are claimed by one call; more are its backlog."""
_BACKLOGS = 25
"""Events of which a part of the backlog is claimed by one call."""
_LONGEST_PAUSE = 5.0
_HELD, _HELD_LONG = 1.0, 60.0
"""Seconds until an event is tried again whose change has not reached us, or that can't be run."""

Intent = tuple[EventEntry, Sequence[Claim]]


class Scheduler:
    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        agenda: EventAgenda,
        clock: Clock,
        settings: JobsSettings,
        defaults: Defaults = NO_DEFAULTS,
        on_delayed: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_delayed` is called after jobs were launched that start later."""
        self._store, self._catalogue, self._events = store, catalogue, agenda
        self._clock, self._settings, self._defaults = clock, settings, defaults
        self._agenda, self._on_delayed = agenda.scheduled, on_delayed
        self._backlogs: deque[EventEntry] = deque()
        self._held: list[tuple[float, EventEntry]] = []
        self._changed = asyncio.Event()
        self._backoff = Backoff(longest=_LONGEST_PAUSE)
        self._log = logs.get(role="conductor")
        self.launched = 0
        """Jobs that this conductor has launched."""
        agenda.on_change = self.wake

    def wake(self) -> None:
        """Looks again for due fires, because the agenda or the time has changed."""
        self._changed.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            if not await self.launch_due():
                await self._sleep(self._clock.now())

    async def launch_due(self) -> bool:
        """Launches some of what is due. Returns whether there was anything."""
        now = self._clock.now()
        entries = self._take(now)
        if entries:
            await self._claim(self._intents(entries, now), now)
        return bool(entries)

    def _take(self, now: float) -> list[EventEntry]:
        """Entries that are due, and some with a backlog, which so can't delay the others."""
        self._release(now)
        due = self._agenda.take_due(now, _BATCH)
        for entry in due:
            entry.backlog = ()
        while self._backlogs and len(due) < _BATCH + _BACKLOGS:
            entry = self._backlogs.popleft()
            if self._agenda.get(entry.name) is entry:
                due.append(entry)
        return due

    def _release(self, now: float) -> None:
        """Puts entries back that were held until now."""
        ready = [entry for until, entry in self._held if until <= now]
        if ready:
            self._held = [one for one in self._held if one[0] > now]
            for entry in ready:
                self._agenda.plan(entry)

    async def _sleep(self, now: float) -> None:
        times = [until for until, _ in self._held]
        if (at := self._agenda.next_at()) is not None:
            times.append(at)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(min(times) - now, 0) if times else None):
                await self._changed.wait()

    def _intents(self, entries: Sequence[EventEntry], now: float) -> list[Intent]:
        found: list[Intent] = []
        count = 0
        for entry in entries:
            if count >= _MOST_JOBS:
                self._put_back(entry)
                continue
            try:
                made = self._claims(entry, now)
            except Exception as error:  # noqa: BLE001 it stops no other event
                self._log.error("an event can't be run", event_id=entry.name, exc_info=error)
                self._hold(entry, now, _HELD_LONG)
                continue
            found.append((entry, made))
            count += sum(len(claim.jobs) for claim in made)
        return found

    def _put_back(self, entry: EventEntry) -> None:
        if entry.backlog:
            self._backlogs.append(entry)
        else:
            self._agenda.plan(entry)

    def _hold(self, entry: EventEntry, now: float, seconds: float) -> None:
        entry.backlog = ()
        self._held.append((now + seconds, entry))

    def _claims(self, entry: EventEntry, now: float) -> list[Claim]:
        omitted = None
        if not entry.backlog:
            most = self._settings.catchup_most
            first = entry.fire
            entry.backlog, omitted = due_fires.due(entry.timetable, entry.mark, first, now, most)
        found = [self._left_out(entry, omitted, now)] if omitted else []
        most = max(_AT_ONCE // max(len(entry.timetable.precision), 1), 1)
        some, entry.backlog = entry.backlog[:most], entry.backlog[most:]
        return [*found, *(self._launching(entry, at, now) for at in some)]

    def _left_out(self, entry: EventEntry, omitted: Omitted, now: float) -> Claim:
        first, last, number, reason = omitted
        note = LeftOut(at=now, first=first, last=last, number=number, reason=reason.value)
        return _claim(entry, last, (), note)

    def _launching(self, entry: EventEntry, at: int, now: float) -> Claim:
        try:
            return _claim(entry, at, self._jobs(entry, at, now))
        except (Refused, NotFound) as refused:
            self._log.warning("an event could not be run", event_id=entry.name, reason=str(refused))
            note = LeftOut(at=now, first=at, last=at, number=1, reason=str(refused))
            return _claim(entry, at, (), note)

    def _jobs(self, entry: EventEntry, at: int, now: float) -> list[Job]:
        fire, event = entry.timetable.fire(at), entry.event
        delay = entry.timetable.delay
        return [
            launch.prepare(
                self._catalogue,
                Wish(
                    event=event.id,
                    source="scheduler",
                    params=fire.params,
                    timing=fire.timing,
                    tags=tuple(dict.fromkeys([*event.tags, *fire.tags])),
                    until=instant,
                    now=max(instant - delay, at),
                ),
                ids.record_id("j", now),
                now,
                self._defaults,
            )
            for instant in fire.instants
        ]

    async def _claim(self, intents: Sequence[Intent], now: float) -> None:
        made = [claim for _, some in intents for claim in some]
        day = launches.day_of(now, self._settings.timezone)
        answers: Iterator[int] | None = None
        try:
            answers = iter(await claims.claim(self._store, made, day))
        except StoreUnavailable as error:
            await self._wait_for_store(error)
        finally:
            # What was claimed before a reply was lost has passed; the rest is due again.
            if answers is None:
                for entry, _ in intents:
                    entry.backlog = ()
                    self._agenda.plan(entry)
        if answers is None:
            return
        self._backoff.reset()
        if any(job.until for claim in made for job in claim.jobs):
            self._on_delayed()
        stale = [
            entry.name
            for entry, some in intents
            if self._settle(entry, [(claim, next(answers)) for claim in some], now)
        ]
        if stale:
            await patiently(lambda: cursors.announce(self._store, stale))

    def _settle(self, entry: EventEntry, answers: Sequence[tuple[Claim, int]], now: float) -> bool:
        """Returns whether the event was changed, and we do not know of it yet."""
        for claim, answer in answers:
            if answer == claims.GONE:
                self._events.drop(entry.name)
                return False
            if answer == claims.STALE:
                self._hold(entry, now, _HELD)
                return True
            entry.mark = max(entry.mark, claim.at)
            self.launched += len(claim.jobs) if answer == claims.LAUNCHED else 0
        self._put_back(entry)
        return False

    async def _wait_for_store(self, error: StoreUnavailable) -> None:
        """Waits until the store accepts writes; it accepts reads earlier."""
        outage.begin(error)
        await self._backoff.wait()
        await patiently(lambda: health.check_writable(self._store))
        outage.end()


def _claim(
    entry: EventEntry, at: int, jobs: Sequence[Job], left_out: LeftOut | None = None
) -> Claim:
    event, times = entry.event, entry.timetable
    return Claim(
        event.id,
        at,
        event.revision,
        times.fingerprint,
        times.every,
        times.is_destruct,
        jobs,
        left_out,
    )
