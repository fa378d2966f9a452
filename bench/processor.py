"""Check events per second that the processor applies to the embedded store."""

import asyncio
import gc
import json
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Figure, repeated
from bench.stores import fresh
from watchbell.alerting import indexes
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.processor import Processor, step
from watchbell.alerting.record_lua import ON
from watchbell.roles.gc_tuning import COLLECT
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

EVENTS = 40_000
GROWTH = (1_000, 20_000, 200_000)
"""Numbers of checks for which the cost of an event is compared."""
PART, PARTS = 20_000, 8
"""Events per part, and parts, when costs are compared: in turn, so that other load affects all."""
NOW = 1_700_000_000

# ARGV[1] now, ARGV[2] msgpack: entity, check, entity, check, …: one HSET and one ZADD for each.
bare = Script("""
local names = cmsgpack.unpack(ARGV[2])
for i = 1, #names, 2 do
  redis.call('HSET', 'check:' .. names[i] .. ':' .. names[i + 1], 'last_update', ARGV[1])
  redis.call('ZADD', 'current_checks:' .. names[i], ARGV[1], names[i + 1])
end
return #names
""")


def names(number: int) -> tuple[str, str]:
    return f"web-{number // 10}.example.com", f"HTTP port {number % 10}"


def event(number: int, state: str = "ok") -> str:
    entity, check = names(number)
    return json.dumps(
        {
            "entity": entity,
            "check": check,
            "type": "service",
            "state": state,
            "summary": "GET / 200 OK in 0.2 s",
            "time": NOW,
        }
    )


async def push(store: Store, items: list[str]) -> None:
    for first in range(0, len(items), 1000):
        await store.call("LPUSH", "events", *items[first : first + 1000])


async def processed(processor: Processor, now: int) -> int:
    done = 0
    while (tally := await step(processor, now)) is not None:
        done += tally.events
    return done


@contextmanager
def collecting() -> Iterator[None]:
    """Python's garbage collector, set as for the processor role."""
    usual = gc.get_threshold()
    gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


async def rewriting(store: Store) -> bool:
    """Whether the store is rewriting its append-only file."""
    return bool((await store.call("INFO", "persistence"))["aof_rewrite_in_progress"])


@asynccontextmanager
async def known(
    checks: int, appendfsync: str = "everysec", *, with_records: bool = False
) -> AsyncIterator[tuple[Store, Processor]]:
    """A store with this many checks, all ok, and no rewrite in progress."""
    async with fresh(appendfsync) as (store, settings):
        if with_records:
            await store.call("SET", AlertingOwn(store.prefix).records(), ON)
        processor = Processor(store, settings.alerting, os.getpid())
        await processor.boot(NOW)
        await indexes.build(store)
        for first in range(0, checks, EVENTS):
            await push(store, [event(n) for n in range(first, min(first + EVENTS, checks))])
            await processed(processor, NOW)
        while await rewriting(store):  # noqa: ASYNC110 another process has no event
            await asyncio.sleep(0.1)
        with collecting():
            yield store, processor


async def rate(checks: int, changing: float, appendfsync: str = "everysec") -> float:
    """Events per second about known checks; some of them change a state."""
    chance = random.Random(checks)
    async with known(checks, appendfsync) as (store, processor):
        # A check fails and recovers in turn: so many of the events are changes.
        states = dict.fromkeys(range(checks), "ok")
        items = []
        for _ in range(EVENTS):
            number = chance.randrange(checks)
            if chance.random() < changing:
                states[number] = "ok" if states[number] != "ok" else "critical"
            items.append(event(number, states[number]))
        await push(store, items)
        begun = time.perf_counter()
        done = await processed(processor, NOW + 60)
        spent = time.perf_counter() - begun
        assert done == EVENTS
        updates = await store.call("HGET", "event_counters", "all")
        assert int(updates) == EVENTS + checks
        return EVENTS / spent


async def by_bare_script(store: Store, numbers: list[int], now: int) -> None:
    for first in range(0, len(numbers), 500):
        parts = [verbatim(name.encode()) for n in numbers[first : first + 500] for name in names(n)]
        await bare(store, [], [now, msgspec.msgpack.encode(parts)])


async def bare_rate(checks: int) -> float:
    chance = random.Random(checks)
    async with fresh() as (store, _):
        numbers = [chance.randrange(checks) for _ in range(EVENTS)]
        begun = time.perf_counter()
        await by_bare_script(store, numbers, NOW)
        return EVENTS / (time.perf_counter() - begun)


def rounds(checks: int) -> Iterator[int]:
    """Numbers of checks in random order: each once, then all of them again."""
    chance = random.Random(checks)
    while True:
        yield from chance.sample(range(checks), checks)


async def spent(store: Store) -> float:
    """Seconds of CPU that the store's process and this one have used so far."""
    return used((await store.call("INFO", "server"))["process_id"]) + time.process_time()


def used(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


Work = Callable[[list[int], int], Coroutine[Any, Any, None]]


class Costs:
    """Microseconds of CPU per event, the store's included; one per part. So many of the events
    change a state."""

    def __init__(self, checks: int, store: Store, work: Work, changing: float = 0) -> None:
        self.measured: list[float] = []
        self._store, self._work = store, work
        self._numbers, self._now = rounds(checks), NOW
        self._changing, self._chance = changing, random.Random(checks)
        self._failing: set[int] = set()

    async def measure(self) -> None:
        numbers = [next(self._numbers) for _ in range(PART)]
        self._now += 60
        await push(self._store, [self._event(number) for number in numbers])
        before = await spent(self._store)
        await self._work(numbers, self._now)
        self.measured.append((await spent(self._store) - before) / PART * 1e6)
        await self._store.call("DEL", "events")

    def _event(self, number: int) -> str:
        if self._chance.random() < self._changing:
            self._failing ^= {number}
        return event(number, "critical" if number in self._failing else "ok")


async def compared() -> tuple[list[Costs], list[Costs]]:
    """The costs of the processor and of the bare script for each number of checks, in turn."""
    async with AsyncExitStack() as stack:
        ours, bares = [], []
        for checks in GROWTH:
            store, processor = await stack.enter_async_context(known(checks))
            ours.append(Costs(checks, store, processes(processor)))
            store, _ = await stack.enter_async_context(fresh())
            await by_bare_script(store, list(range(checks)), NOW)
            bares.append(Costs(checks, store, partial(by_bare_script, store)))
        for _ in range(PARTS):
            for costs in (*ours, *bares):
                await costs.measure()
    return ours, bares


def processes(processor: Processor) -> Work:
    async def process(numbers: list[int], now: int) -> None:
        assert await processed(processor, now) == len(numbers)

    return process


def growth() -> list[Figure]:
    """The cost of an event compared with the bare script, and the growth of both."""
    ours, bares = asyncio.run(compared())
    rows = [
        Figure(
            name=f"processor, event without change, {checks:,} checks",
            unit="µs of CPU",
            sense="at most",
            runs=mine.measured,
            limit=min(theirs.measured),
            limit_name="µs by a bare script",
        )
        for checks, mine, theirs in zip(GROWTH, ours, bares, strict=True)
    ]
    grown = min(bares[-1].measured) / min(bares[0].measured)
    return [
        *rows,
        Figure(
            name=f"processor, growth of that cost, {GROWTH[0]:,} to {GROWTH[-1]:,} checks",
            unit="times",
            sense="at most",
            runs=[min(ours[-1].measured) / min(ours[0].measured)],
            aim=grown,
            limit=grown,
            limit_name="times by a bare script",
        ),
    ]


def figures() -> list[Figure]:
    limits = {n: max(repeated(lambda n=n: asyncio.run(bare_rate(n)), 3)) for n in (1_000, 200_000)}  # type: ignore[misc]
    rows: list[tuple[str, int, float, str, float | None]] = [
        ("no changes, 1,000 checks", 1_000, 0, "everysec", 40_000),
        ("no changes, 200,000 checks", 200_000, 0, "everysec", 20_000),
        ("10% state changes, 1,000 checks", 1_000, 0.1, "everysec", 20_000),
        ("10% state changes, 200,000 checks", 200_000, 0.1, "everysec", 10_000),
        ("no changes, 1,000 checks, always", 1_000, 0, "always", None),
    ]
    return [
        *(
            Figure(
                name=f"processor, {name}",
                unit="events/s",
                runs=repeated(partial(_run, checks, changing, fsync), 3),
                aim=aim,
                limit=limits[checks],
                limit_name="events/s by a bare script",
            )
            for name, checks, changing, fsync, aim in rows
        ),
        *growth(),
    ]


def _run(checks: int, changing: float, appendfsync: str) -> float:
    return asyncio.run(rate(checks, changing, appendfsync))
