"""The processor: check events a second whose effects are in the store, on the embedded store."""

import asyncio
import json
import os
import random
import time
from functools import partial

import msgspec

from bench.figures import Figure, repeated
from bench.stores import fresh
from watchbell.alerting.effects import verbatim
from watchbell.alerting.processor import Processor, step
from watchbell.store.client import Store
from watchbell.store.script import Script

EVENTS = 40_000
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


def event(number: int, state: str = "ok") -> str:
    return json.dumps(
        {
            "entity": f"web-{number // 10}.example.com",
            "check": f"HTTP port {number % 10}",
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


async def rate(checks: int, changing: float, appendfsync: str = "everysec") -> float:
    """Events a second over checks that are all known; some of them change their state."""
    chance = random.Random(checks)
    async with fresh(appendfsync) as (store, settings):
        processor = Processor(store, settings.alerting, os.getpid())
        await processor.boot(NOW)
        await push(store, [event(number) for number in range(checks)])
        await processed(processor, NOW)
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


async def bare_rate(checks: int) -> float:
    chance = random.Random(checks)
    async with fresh() as (store, _):
        begun = time.perf_counter()
        for _ in range(EVENTS // 500):
            numbers = [chance.randrange(checks) for _ in range(500)]
            names = [
                verbatim(part)
                for n in numbers
                for part in (f"web-{n // 10}.example.com".encode(), f"HTTP port {n % 10}".encode())
            ]
            await bare(store, [], [NOW, msgspec.msgpack.encode(names)])
        return EVENTS / (time.perf_counter() - begun)


def figures() -> list[Figure]:
    limits = {n: max(repeated(lambda n=n: asyncio.run(bare_rate(n)), 3)) for n in (1_000, 200_000)}  # type: ignore[misc]
    rows: list[tuple[str, int, float, str, float | None]] = [
        ("steady, 1,000 checks", 1_000, 0, "everysec", 40_000),
        ("steady, 200,000 checks", 200_000, 0, "everysec", 20_000),
        ("a tenth changing, 1,000 checks", 1_000, 0.1, "everysec", 20_000),
        ("a tenth changing, 200,000 checks", 200_000, 0.1, "everysec", 10_000),
        ("steady, 1,000 checks, always", 1_000, 0, "always", None),
    ]
    return [
        Figure(
            name=f"processor, {name}",
            unit="events/s",
            runs=repeated(partial(_run, checks, changing, fsync), 3),
            aim=aim,
            limit=limits[checks],
            limit_name="events/s by a bare script",
        )
        for name, checks, changing, fsync, aim in rows
    ]


def _run(checks: int, changing: float, appendfsync: str) -> float:
    return asyncio.run(rate(checks, changing, appendfsync))
