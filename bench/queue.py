"""Items per second through the work queue, compared with a script that only pops them."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from functools import partial

from bench.figures import Figure, repeated
from bench.stores import fresh
from watchbell.store.client import Store
from watchbell.store.effects import Effects
from watchbell.store.queue import Queue, Taker
from watchbell.store.script import Script

ITEMS = 100_000
QUEUE = "bench:queue"
DONE = "{bench:queue}:done"
ONE_BY_ONE = 5_000

# KEYS[1] list, KEYS[2] counter, ARGV[1] items: pops and counts, so a crash loses what was popped.
bare = Script("""
local items = redis.call('RPOP', KEYS[1], ARGV[1])
if not items then return {} end
redis.call('INCRBY', KEYS[2], #items)
return items
""")
count = Effects("return redis.call('INCRBY', KEYS[1], ARGV[1])")


class AllDone(Exception):
    """Raised when the last item is done, to end the loop that takes items."""


async def popped(store: Store) -> None:
    while await bare(store, [QUEUE, DONE], [100]):
        pass


async def one_by_one(store: Store) -> None:
    for _ in range(ONE_BY_ONE):
        item = await store.call("LMOVE", QUEUE, "{bench:queue}:held", "RIGHT", "LEFT")
        await store.call("LREM", "{bench:queue}:held", 1, item)
    await store.call("SET", DONE, ITEMS)


async def taken(store: Store, *, most: int, takers: int = 1) -> None:
    queue = Queue(key=QUEUE, order_by=("entity", "check"))

    async def take() -> None:
        taker = Taker(store, queue, most=most)
        async for batch in taker.batches():
            done = await taker.acknowledge(batch, count, [DONE], [len(batch.items)])
            if done == ITEMS:
                raise AllDone

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(takers):
                group.create_task(take())
    except* AllDone:
        pass


async def rate(appendfsync: str, work: Callable[[Store], Awaitable[None]], items: int) -> float:
    """Items per second on a fresh embedded store; checks that each item was counted."""
    async with fresh(appendfsync) as (store, _):
        for first in range(0, ITEMS, 1000):
            events = [event(n) for n in range(first, first + 1000)]
            await store.call("LPUSH", QUEUE, *events)
        begun = time.perf_counter()
        await work(store)
        spent = time.perf_counter() - begun
        assert int(await store.call("GET", DONE)) == ITEMS
        return items / spent


def event(number: int) -> str:
    return json.dumps(
        {
            "entity": f"web-{number % 100}.example.com",
            "check": "HTTP port 80",
            "type": "service",
            "state": "critical",
            "time": 1384473626 + number,
            "summary": "connection refused after 10 seconds",
        }
    )


def figures() -> list[Figure]:
    def measured(
        fsync: str, work: Callable[[Store], Awaitable[None]], n: int = ITEMS
    ) -> list[float]:
        return repeated(lambda: asyncio.run(rate(fsync, work, n)))

    found = []
    for fsync in ("everysec", "always"):
        limit = max(measured(fsync, popped))
        name = "items/s by a bare script, 100 a call"
        aim = 100_000.0 if fsync == "everysec" else None
        for most, wanted in ((100, None), (500, aim)):
            found.append(
                Figure(
                    name=f"queue, one taker, batches of {most}, {fsync}",
                    unit="items/s",
                    runs=measured(fsync, partial(taken, most=most)),
                    aim=wanted,
                    limit=limit,
                    limit_name=name,
                )
            )
    limit = max(measured("everysec", popped))
    several = measured("everysec", partial(taken, most=500, takers=3))
    single = measured("everysec", one_by_one, ONE_BY_ONE)
    return [
        *found,
        Figure(
            name="queue, three takers, in order per check, everysec",
            unit="items/s",
            runs=several,
            limit=limit,
            limit_name="items/s by a bare script, 100 per call",
        ),
        Figure(
            name="for comparison: LMOVE and LREM one by one, everysec",
            unit="items/s",
            runs=single,
            limit=limit,
            limit_name="items/s by a bare script, 100 per call",
        ),
    ]
