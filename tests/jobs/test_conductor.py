"""A conductor brings jobs from their launch to their record, also when one is killed half-way."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.jobs.agents_in_store import QuickAgent
from tests.jobs.conductor_worker import settings
from tests.jobs.dispatching import FLEET, KEYS, a_job, launch, limited, put_event, put_server, texts
from tests.waiting import eventually
from watchbell.files import objects
from watchbell.fleet.model import Server
from watchbell.jobs import conductor, job_records
from watchbell.jobs.model import Event
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys

ONE = Server(id="s1", hostname="one", groups=("main",), max_jobs=3)
COUNT = 40
STEPS = [
    "queue.taken:2",
    "dispatcher.loaded:1",
    "dispatcher.loaded:3",
    "queue.before_acknowledge:1",
    "queue.before_acknowledge:4",
    "queue.acknowledged:1",
    "queue.acknowledged:3",
    "dispatcher.applied:2",
    "jobs.finish_decided:1",
    "jobs.finished:2",
]


@asynccontextmanager
async def conducting(store: Store, folder: Path) -> AsyncIterator[list[str]]:
    """A conductor in this process; what it says."""
    said: list[str] = []
    files = objects.opened(settings(folder).files, folder)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(conductor.run(store, settings(folder), files, "", said.append))
        yield said
        task.cancel()


@asynccontextmanager
async def at_work(agent: QuickAgent) -> AsyncIterator[QuickAgent]:
    await agent.join()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(agent.run())
        yield agent
        task.cancel()


async def finished(store: Store) -> int:
    return int(await store.call("HLEN", KEYS.finished()))


async def test_a_job_is_run_and_recorded(store: Store, tmp_path: Path) -> None:
    await put_event(store, Event(id="e1", title="One"))
    async with at_work(QuickAgent(store, ONE)), conducting(store, tmp_path) as said:
        await launch(store, a_job("j1"))
        await eventually(lambda: finished(store))
        job = await job_records.read(store, "j1")
        await eventually(lambda: "recorded: 1" in said[-1])
    assert job is not None
    assert (job.state, job.code, job.server) == ("complete", 0, "s1")


async def test_jobs_are_held_back_until_servers_and_limits_let_them(
    store: Store, tmp_path: Path
) -> None:
    await put_event(store, limited("e1", 1, queue=COUNT))
    await put_server(store, ONE)
    async with conducting(store, tmp_path):
        await launch(store, *(a_job(f"j{n}") for n in range(COUNT)))
        await eventually(lambda: store.call("EXISTS", KEYS.queued("e1")))
        async with at_work(QuickAgent(store, ONE)) as agent:
            await eventually(lambda: _equal(finished(store), COUNT))
    assert list(agent.started) == [f"j{n}" for n in range(COUNT)]


async def test_a_key_of_a_wrong_type_does_not_stop_the_conductor(
    store: Store, tmp_path: Path
) -> None:
    await put_event(store, Event(id="e1", title="One"))
    await put_event(store, Event(id="e2", title="Two"))
    async with at_work(QuickAgent(store, ONE)), conducting(store, tmp_path):
        await store.call("SET", KEYS.occupied("e1"), "x")
        await launch(store, a_job("j1"), a_job("j2", "e2"))
        await eventually(lambda: job_finished(store, "j2"))
        await store.call("DEL", KEYS.occupied("e1"))


@pytest.mark.parametrize(
    "key", [FLEET.servers(), FLEET.groups(), FLEET.samples(), KEYS.categories(), KEYS.delayed()]
)
async def test_a_conductor_starts_beside_a_spoiled_key_and_works_once_it_is_gone(
    store: Store, tmp_path: Path, key: str
) -> None:
    await put_event(store, Event(id="e1", title="One"))
    await store.call("SET", key, "x")
    async with conducting(store, tmp_path) as said:
        await eventually(lambda: said)
        await store.call("DEL", key)
        async with at_work(QuickAgent(store, ONE)):
            await launch(store, a_job("j1"))
            await eventually(lambda: job_finished(store, "j1"))


async def job_finished(store: Store, job: str) -> bool:
    return bool(await store.call("HEXISTS", KEYS.finished(), job))


async def _equal(answer: Awaitable[int], expected: int) -> bool:
    return await answer == expected


def command(store: Store, folder: Path, *fault: str) -> list[str]:
    worker = "tests.jobs.conductor_worker"
    return [sys.executable, "-m", worker, store.url.redacted(), str(folder), *fault]


@contextmanager
def working(store: Store, folder: Path) -> Iterator[None]:
    process = subprocess.Popen(command(store, folder))
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


async def end_leases(store: Store) -> None:
    """As if the leases of who was killed had been over for long."""
    for queue in (KEYS.ready(), KEYS.finishing(), KEYS.actions(), KEYS.archiving()):
        takers = StoreKeys().takers(queue)
        for taker in await texts(store, "ZRANGE", takers, 0, -1):
            await store.call("ZADD", takers, "XX", 0, taker)


@pytest.mark.parametrize("step", STEPS)
async def test_a_conductor_killed_at_any_step_loses_and_repeats_nothing(
    store: Store, tmp_path: Path, step: str
) -> None:
    await put_event(store, limited("e1", 5, queue=COUNT))
    async with at_work(QuickAgent(store, ONE)) as agent:
        await launch(store, *(a_job(f"j{n}") for n in range(COUNT)))
        process = await asyncio.create_subprocess_exec(*command(store, tmp_path, step))
        assert await process.wait() == -signal.SIGKILL
        await end_leases(store)
        with working(store, tmp_path):
            await eventually(lambda: _equal(finished(store), COUNT))
            await eventually(lambda: _equal(store.call("ZCARD", KEYS.live()), 0))
    assert agent.started == {f"j{n}": 1 for n in range(COUNT)}
    left = await texts(store, "KEYS", "*")
    assert not [key for key in left if "occupied" in key or "waiting" in key or "job:" in key]
