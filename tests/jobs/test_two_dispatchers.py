"""Many jobs over two dispatchers: limits and order are kept, and nothing waits in vain."""

import asyncio
import json
import random
from collections import Counter

from tests.jobs.dispatching import (
    FLEET,
    KEYS,
    Dispatching,
    finish_all,
    join,
    launch,
    limited,
    put_event,
    texts,
)
from watchbell.fleet.model import Server
from watchbell.jobs.model import Job
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys

JOBS = 5_000
SLOTS = {"s0": 5, "s1": 3}
LIMITS = {"e0": 4, "e1": 2, "e2": 2}
"""Concurrent jobs of each event; e0 and e1 run on s0, e2 on s1."""
SERVER_OF = {"e0": "s0", "e1": "s0", "e2": "s1"}
_TAKEN = StoreKeys()


class Agents:
    """Starts what is ordered, in order, and ends some of it now and then."""

    def __init__(self, store: Store) -> None:
        self._store, self.running = store, dict[str, str]()
        self.started: dict[str, list[int]] = {event: [] for event in LIMITS}
        self._random = random.Random(1)

    async def start(self) -> int:
        count = 0
        for server in SLOTS:
            for order in await texts(self._store, "LPOP", FLEET.orders(server), 100):
                self._begin(json.loads(order)["launch"])
                count += 1
        return count

    def _begin(self, job: str) -> None:
        event, number = job.split("x")
        self.running[job] = event
        self.started[event].append(int(number))
        events = Counter(self.running.values())
        servers = Counter(SERVER_OF[event] for event in self.running.values())
        assert events[event] <= LIMITS[event]
        assert servers[SERVER_OF[event]] <= SLOTS[SERVER_OF[event]]

    async def end_some(self) -> None:
        ended = self._random.sample(
            sorted(self.running), self._random.randint(1, len(self.running))
        )
        for job in ended:
            del self.running[job]
        await finish_all(self._store, ended)


async def is_idle(store: Store) -> bool:
    """Whether nothing is ready, and no dispatcher has anything in hand."""
    takers = await texts(store, "ZRANGE", _TAKEN.takers(KEYS.ready()), 0, -1)
    lists = [_TAKEN.taken(KEYS.ready(), taker) for taker in takers]
    return not await store.call("EXISTS", KEYS.ready(), *lists)


async def check_nobody_waits_in_vain(store: Store) -> None:
    """Called while nothing is ready: whoever waits, waits for something that is not free."""
    for event, limit in LIMITS.items():
        if await store.call("ZCARD", KEYS.queued(event)):
            assert await store.call("SCARD", KEYS.occupied(event)) == limit
    for server, slots in SLOTS.items():
        if await store.call("ZCARD", KEYS.waiting(server)):
            assert await store.call("SCARD", KEYS.server_jobs(server)) == slots


async def everything_run(store: Store, agents: Agents) -> None:
    ended, looks = 0, 0
    while ended < JOBS:
        await agents.start()
        before = len(agents.running)
        if before:
            await agents.end_some()
        ended += before - len(agents.running)
        looks += 1
        if looks % 50 == 0 and await is_idle(store):
            await check_nobody_waits_in_vain(store)


async def test_five_thousand_jobs(store: Store) -> None:
    for event, limit in LIMITS.items():
        await put_event(store, limited(event, limit, queue=JOBS))
    for server, slots in SLOTS.items():
        await join(store, Server(id=server, hostname=server, max_jobs=slots))
    dispatching, agents = [Dispatching(store), Dispatching(store)], Agents(store)
    async with asyncio.TaskGroup() as group:
        tasks = []
        for one in dispatching:
            await one.view.load()
            tasks.append(group.create_task(one.dispatcher.run()))
        for first in range(0, JOBS, 500):
            await launch(store, *(a_numbered(n) for n in range(first, first + 500)))
        await everything_run(store, agents)
        for task in tasks:
            task.cancel()
    for event, started in agents.started.items():
        assert started == [n for n in range(JOBS) if event_of(n) == event]
    assert all(one.dispatcher.done for one in dispatching)
    left = await texts(store, "KEYS", "*")
    assert not [key for key in left if "occupied" in key or "waiting" in key or "queued" in key]


def event_of(number: int) -> str:
    return f"e{number % len(LIMITS)}"


def a_numbered(number: int) -> Job:
    event = event_of(number)
    return Job(id=f"{event}x{number}", event=event, state="ready", targets=(SERVER_OF[event],))
