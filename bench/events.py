"""Launching jobs by time: loading events, those not due, and many that are due in one minute."""

import asyncio
from collections.abc import Callable
from time import process_time

import msgspec

from bench.figures import Figure
from bench.stores import fresh
from watchbell.clock import SYSTEM, SetClock
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.event_agenda import EventAgenda
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Category, Event, Plugin, Timing
from watchbell.jobs.scheduler import Scheduler
from watchbell.settings.sections import Jobs as JobsSettings
from watchbell.store.client import Store

NOW = 1_700_000_000 - 1_700_000_000 % 3600
MINUTES, TIMES = 20, 3
KEYS = Jobs()


class Listing:
    """A catalogue of so many events."""

    def __init__(self, count: int, timing: Timing) -> None:
        made = (
            Event(
                id=f"e{n}",
                title=f"Event {n}",
                timings=(timing,),
                params={"script": "true"},
                modified=NOW - 1,
            )
            for n in range(count)
        )
        self.events = {event.id: event for event in made}
        self.categories = {"general": Category(id="general", title="General")}
        self.plugins = {"shellplug": Plugin(id="shellplug", title="Shell", command="sh")}

    def subscribe(self, callback: Callable[[str, str], None]) -> None:
        """Nothing changes here."""


def figures() -> list[Figure]:
    return asyncio.run(measured())


async def measured() -> list[Figure]:
    async with fresh() as (store, _):
        loads = [await loaded(store, 100_000) for _ in range(TIMES)]
        few = await idle(store, 10_000)
        many = await idle(store, 100_000)
        spent, bare = zip(*[await burst(store, 10_000) for _ in range(TIMES)], strict=True)
    return [
        Figure(
            name="100,000 events, time to load",
            unit="s",
            runs=loads,
            sense="at most",
            aim=10,
        ),
        Figure(
            name="10,000 events, none due",
            unit="ms of CPU a minute",
            runs=few,
            sense="at most",
            aim=5,
        ),
        Figure(
            name="100,000 events, none due",
            unit="ms of CPU a minute",
            runs=many,
            sense="at most",
            aim=50,
        ),
        Figure(
            name="10,000 events due in one minute",
            unit="s",
            runs=spent,
            sense="at most",
            aim=5,
            limit=min(bare),
            limit_name="s of HSET, ZADD and RPUSH alone",
        ),
    ]


async def loaded(store: Store, count: int) -> float:
    """Seconds until a catalogue has all of them."""
    await store_events(store, Listing(count, Timing(type="schedule", hours=(2,), minutes=(30,))))
    begun = SYSTEM.monotonic()
    catalogue = Catalogue(store)
    await catalogue.load()
    assert len(catalogue.events) == count
    return SYSTEM.monotonic() - begun


async def store_events(store: Store, known: Listing) -> None:
    await store.call("FLUSHALL")
    events = list(known.events.values())
    for first in range(0, len(events), 1_000):
        some = [(one.id, msgspec.json.encode(one)) for one in events[first : first + 1_000]]
        await store.call("HSET", KEYS.events(), *(word for pair in some for word in pair))


async def idle(store: Store, count: int) -> list[float]:
    """Each minute the scheduler is woken, as by a clock that was measured anew."""
    yearly = Timing(type="schedule", months=(1,), days=(1,), hours=(0,), minutes=(0,))
    clock, scheduler = await scheduling(store, Listing(count, yearly))
    runs = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(scheduler.run())
        for _ in range(MINUTES):
            begun = process_time()
            for _ in range(60):
                clock.advance(1)
                scheduler.wake()
                await asyncio.sleep(0)
            runs.append((process_time() - begun) * 1_000)
        task.cancel()
    return runs


async def burst(store: Store, count: int) -> tuple[float, float]:
    """Seconds until all jobs are launched, and until the store has as many plain records."""
    known = Listing(count, Timing(type="schedule"))
    await store_events(store, known)
    clock, scheduler = await scheduling(store, known)
    clock.set(NOW + 1)
    begun = SYSTEM.monotonic()
    while await scheduler.launch_due():
        pass
    spent = SYSTEM.monotonic() - begun
    assert await store.call("LLEN", KEYS.ready()) == count
    return spent, await plain(store, count)


async def plain(store: Store, count: int) -> float:
    sample = await store.call("LINDEX", KEYS.ready(), 0)
    fields = await store.call("HGETALL", KEYS.job(sample.decode()))
    words = [word for pair in fields.items() for word in pair]
    await store.call("FLUSHALL")
    begun = SYSTEM.monotonic()
    for first in range(0, count, 500):
        await store.call("EVAL", _PLAIN, 0, first, *words)
    return SYSTEM.monotonic() - begun


_PLAIN = """
for n = ARGV[1], ARGV[1] + 499 do
  redis.call('HSET', '{jobs}:job:' .. n, unpack(ARGV, 2))
  redis.call('ZADD', '{jobs}:live', n, n)
  redis.call('RPUSH', '{jobs}:ready', n)
end
"""


async def scheduling(store: Store, known: Listing) -> tuple[SetClock, Scheduler]:
    settings = JobsSettings()
    clock = SetClock(NOW - 30)
    agenda = EventAgenda(store, known, clock, settings.timezone)
    scheduler = Scheduler(store, known, agenda, clock, settings)
    await agenda.load()
    return clock, scheduler
