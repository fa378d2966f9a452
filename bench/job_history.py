"""Recording 100,000 jobs, the memory they take, and how fast they are found."""

import asyncio
import random
import statistics
from typing import Any

import msgspec

from bench.figures import Figure
from bench.stores import fresh
from watchbell.clock import SYSTEM
from watchbell.jobs import history, job_packing
from watchbell.jobs.finisher import Finisher
from watchbell.jobs.history import Query
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Job, Tag
from watchbell.settings import Settings
from watchbell.store.client import Store

JOBS, AT_ONCE, SEARCHES, EVENTS = 100_000, 1_000, 300, 200
KEYS = Jobs()
TAGS = ("nightly", "billing", "slow", "eu", "us")
NOW = 1_794_732_937.0


def figures() -> list[Figure]:
    return asyncio.run(measured())


async def measured() -> list[Figure]:
    async with fresh() as (store, settings):
        before = await memory(store)
        await define(store)
        rates = await record_all(store, settings)
        used = (await memory(store) - before) / (1 << 20)
        bare = statistics.median([await bare_call(store) for _ in range(SEARCHES)])
        chance = random.Random(1)
        by_tag = [await timed(store, tag_and_time(chance)) for _ in range(SEARCHES)]
        by_more = [await timed(store, several(chance)) for _ in range(SEARCHES)]
    beside: dict[str, Any] = {"limit": bare, "limit_name": "ms of a bare call", "sense": "at most"}
    return [
        Figure(name="jobs recorded", unit="a second", runs=rates),
        Figure(
            name="100,000 finished jobs", unit="MiB of store", runs=[used], sense="at most", aim=250
        ),
        Figure(name="search by tag and time, p99", unit="ms", runs=[p99(by_tag)], aim=50, **beside),
        Figure(
            name="search by three fields, p99", unit="ms", runs=[p99(by_more)], aim=50, **beside
        ),
    ]


async def memory(store: Store) -> int:
    found: dict[str, int] = await store.call("INFO", "memory")
    return int(found["used_memory"])


async def define(store: Store) -> None:
    for tag in TAGS:
        await store.call("HSET", KEYS.tags(), tag, msgspec.json.encode(Tag(id=tag, title=tag)))
    for n in range(EVENTS):
        event = Event(id=f"e{n:03}", title=f"Event {n}")
        await store.call("HSET", KEYS.events(), event.id, msgspec.json.encode(event))


async def record_all(store: Store, settings: Settings) -> list[float]:
    """Records all jobs. Returns how many a second, for each tenth of them."""
    finisher = Finisher(store, settings.jobs, "", SYSTEM, most_events=1_000)
    rates, spent = list[float](), 0.0
    for first in range(0, JOBS, AT_ONCE):
        await end_jobs(store, first)
        begun = SYSTEM.monotonic()
        while batch := await finisher.taker.take():
            await finisher.process(batch)
        spent += SYSTEM.monotonic() - begun
        if (first + AT_ONCE) % (JOBS // 10) == 0:
            rates.append(JOBS / 10 / spent)
            spent = 0
        await store.call("DEL", KEYS.actions(), "events", KEYS.unreported())
    assert await store.call("ZCARD", KEYS.done()) == JOBS
    return rates


async def end_jobs(store: Store, first: int) -> None:
    for n in range(first, first + AT_ONCE):
        one = ended(n)
        result = msgspec.json.encode({"at": one.now + 1, "code": int(n % 10 == 0), "elapsed": 0.5})
        fields = {**job_packing.fields(one), "_result": result}
        words = [word for pair in fields.items() for word in pair]
        await store.call("HSET", KEYS.job(one.id), *words)
        await store.call("ZADD", KEYS.live(), one.launched, one.id)
    names = [ended(n).id for n in range(first, first + AT_ONCE)]
    await store.call("RPUSH", KEYS.finishing(), *names)


def ended(n: int) -> Job:
    at = NOW + n * 60
    return Job(
        id=f"jmi{n:015}",
        event=f"e{n % EVENTS:03}",
        state="finishing",
        params={"script": "#!/bin/sh\ntrue\n"},
        tags=(TAGS[n % len(TAGS)],),
        targets=("main",),
        source="scheduler",
        now=at,
        launched=at,
        started=at,
        server=f"s{n % 20:02}",
        groups=("main",),
        command="python -m watchbell.fleet.agent.plugins.shell",
    )


async def bare_call(store: Store) -> float:
    begun = SYSTEM.monotonic()
    await store.call("PING")
    return (SYSTEM.monotonic() - begun) * 1_000


def tag_and_time(chance: random.Random) -> Query:
    since = NOW + chance.randrange(JOBS) * 60
    return Query(tags=(chance.choice(TAGS),), since=since, until=since + 7 * 86_400)


def several(chance: random.Random) -> Query:
    return Query(
        tags=(chance.choice(TAGS),),
        servers=(f"s{chance.randrange(20):02}",),
        codes=(chance.choice(["success", "error"]),),
    )


async def timed(store: Store, query: Query) -> float:
    begun = SYSTEM.monotonic()
    await history.search(store, query, 50)
    return (SYSTEM.monotonic() - begun) * 1_000


def p99(spent: list[float]) -> float:
    return sorted(spent)[len(spent) * 99 // 100]
