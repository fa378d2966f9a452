"""Events with timings in a store, and schedulers whose clock is set."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.jobs.defined import Defined, defined
from watchbell.clock import SetClock
from watchbell.jobs import job_records
from watchbell.jobs.claims import LeftOut
from watchbell.jobs.event_agenda import EventAgenda
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Job
from watchbell.jobs.scheduler import Scheduler
from watchbell.settings.sections import Jobs as JobsSettings
from watchbell.store.client import Store

KEYS = Jobs()


class Listing:
    """A catalogue that tests fill."""

    def __init__(self, known: Defined) -> None:
        self._known = known
        self.events, self.categories, self.plugins = known.events, known.categories, known.plugins
        self._subscribers: list[Callable[[str, str], None]] = []

    def subscribe(self, callback: Callable[[str, str], None]) -> None:
        self._subscribers.append(callback)

    def tell(self, kind: str, name: str) -> None:
        for callback in self._subscribers:
            callback(kind, name)


class Conductor:
    """The scheduler of one conductor."""

    def __init__(self, store: Store, known: Listing, now: float, settings: JobsSettings) -> None:
        self.clock = SetClock(now)
        self.agenda = EventAgenda(store, known, self.clock, settings.timezone)
        self.scheduler = Scheduler(store, known, self.agenda, self.clock, settings)

    async def launch_all(self, now: float | None = None) -> None:
        """Launches everything that is due, until nothing is."""
        if now is not None:
            self.clock.set(now)
        while await self.scheduler.launch_due():
            pass


class Scene:
    def __init__(self, store: Store, now: float, **settings: Any) -> None:
        self.store, self.now = store, now
        self.settings = JobsSettings(**settings)
        self.known = Listing(defined())

    async def define(self, *events: Event) -> None:
        """In the store, and in the catalogue of all conductors."""
        for one in events:
            await self.store_only(one)
            self.known.events[one.id] = one
            self.known.tell("event", one.id)

    async def store_only(self, event: Event) -> None:
        await self.store.call("HSET", KEYS.events(), event.id, msgspec.json.encode(event))

    async def conductor(self, now: float | None = None) -> Conductor:
        made = Conductor(self.store, self.known, now or self.now, self.settings)
        await made.agenda.load()
        return made

    async def cursor(self, event: str, to: float) -> None:
        await self.store.call("HSET", KEYS.cursors(), event, int(to))

    async def jobs(self) -> list[Job]:
        """By the times for which they were launched."""
        return sorted(await job_records.live(self.store), key=lambda job: (job.now, job.event))

    async def times(self) -> list[float]:
        """The times for which jobs were launched, from the present of the scene on."""
        return sorted(job.now - self.now for job in await self.jobs())

    async def left_out(self, event: str) -> LeftOut | None:
        raw = await self.store.call("HGET", KEYS.left_out(), event)
        return msgspec.json.decode(raw, type=LeftOut) if raw else None
