"""The series of 100 servers and 20 monitors: their memory, and a server's page for a day."""

import asyncio
from collections.abc import Sequence

import msgspec

from bench.figures import Figure
from bench.job_history import memory
from bench.stores import fresh
from watchbell.clock import SYSTEM
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Monitor, Server
from watchbell.fleet.monitoring import compiled, evaluator, series
from watchbell.fleet.monitoring.compiled import Definitions
from watchbell.fleet.monitoring.judgement import Reading
from watchbell.fleet.monitoring.minute_scripts import Outlets
from watchbell.store.client import Store

SERVERS, MONITORS, PAGES = 100, 20, 30
NOW, DAY, YEAR = 1_900_000_000.0, 86_400, 366 * 86_400
OUTLETS = Outlets("{jobs}:actions", "{jobs}:unreported", 1_000)


def figures() -> list[Figure]:
    return asyncio.run(measured())


async def measured() -> list[Figure]:
    monitors = [Monitor(id=f"m{n}", title="", source=f"load[{n}]") for n in range(MONITORS)]
    known = compiled.definitions(monitors, [])
    async with fresh() as (store, _):
        for number in range(SERVERS):
            server = Server(id=f"s{number}", hostname=f"host-{number}")
            text = msgspec.json.encode(server)
            await store.call("HSET", Fleet(store.prefix).servers(), server.id, text)
        before = await memory(store)
        everybody = [f"s{number}" for number in range(SERVERS)]
        for step in range(60):  # over a year; a series is never longer than at its first value
            await sample(store, everybody, NOW - YEAR + step * (YEAR - 2 * DAY) / 60, known)
        used = (await memory(store) - before) / (1 << 20)
        for minute in range(DAY // 60):
            await sample(store, ["s0"], NOW - DAY + minute * 60, known)
        bare = [await timed(store, []) for _ in range(PAGES)]
        wanted = [("s0", one.id) for one in monitors]
        pages = [await timed(store, wanted) for _ in range(PAGES)]
    return [
        Figure(
            name=f"{MONITORS} monitors of {SERVERS} servers for a year",
            unit="MiB of store",
            runs=[used],
            sense="at most",
            aim=300,
        ),
        Figure(
            name=f"a day of {MONITORS} monitors of a server, as JSON",
            unit="ms",
            runs=sorted(pages)[: PAGES // 2],
            sense="at most",
            aim=50,
            limit=min(bare),
            limit_name="ms of an empty page",
        ),
    ]


async def sample(store: Store, servers: Sequence[str], at: float, known: Definitions) -> None:
    readings = [Reading(one, at, {"load": list(range(MONITORS))}) for one in servers]
    await evaluator.evaluate(store, readings, known, OUTLETS)


async def timed(store: Store, wanted: Sequence[tuple[str, str]]) -> float:
    begun = SYSTEM.monotonic()
    found = await series.read(store, wanted, "day", since=NOW - DAY, until=NOW)
    msgspec.json.encode(found)
    assert all(sum(one is not None for one in each.values) >= DAY // 120 - 1 for each in found)
    return (SYSTEM.monotonic() - begun) * 1000
