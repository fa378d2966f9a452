"""Conductors that are killed while they launch jobs by time lose nothing and repeat nothing."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.conftest import bare_environment, watched
from tests.faults import faketime
from tests.jobs.timed import KEYS
from tests.servers import Server, Single
from tests.waiting import eventually, wait_until
from watchbell import actors
from watchbell.jobs import definitions, job_records, stock
from watchbell.jobs.claims import LeftOut
from watchbell.jobs.job_packing import pack
from watchbell.jobs.model import EventState, Job
from watchbell.store.client import Store

ALICE = actors.on_command_line("alice")
SCHEDULE, CATCHUP = {"type": "schedule"}, {"type": "catchup"}


class Worker:
    def __init__(
        self, url: str, fault: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.jobs.scheduling_worker",
            url,
            *filter(None, [fault]),
        ]
        self.process = subprocess.Popen(command, env=bare_environment(**(environment or {})))

    def killed(self) -> None:
        """Waits until it has killed itself."""
        wait_until(lambda: self.process.poll() is not None)
        assert self.process.returncode == -signal.SIGKILL


@contextmanager
def worker(
    url: str, fault: str = "", environment: Mapping[str, str] | None = None
) -> Iterator[Worker]:
    made = Worker(url, fault, environment)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


async def defined(store: Store, name: str, *timings: Mapping[str, object]) -> int:
    """Returns the store's minute."""
    seconds = int((await store.call("TIME"))[0])
    await stock.ensure(store, seconds)
    value = {"id": name, "title": name, "timings": timings, "params": {"script": "true"}}
    await definitions.create(store, "event", value, ALICE, seconds - 86_400)
    return seconds - seconds % 60


async def jobs_of(store: Store, event: str) -> list[Job]:
    return [job for job in await job_records.live(store) if job.event == event]


async def end(store: Store, job: Job, **how: object) -> None:
    """As the finisher does."""
    ended = msgspec.structs.replace(job, state="complete", **how)
    state = EventState(last_job=job.id, last_completed=ended.completed, total_count=1)
    await store.call("HSET", KEYS.finished(), job.id, pack(ended))
    await store.call("HSET", KEYS.event_states(), job.event, msgspec.json.encode(state))
    await store.call("DEL", KEYS.job(job.id))
    await store.call("ZREM", KEYS.live(), job.id)


async def test_when_the_clock_of_the_store_is_set_no_time_is_run_twice(folder: Path) -> None:
    clock = faketime.SteppedClock(folder)
    with Server(folder / "s", environment=clock.environment) as stepped:
        async for store in watched(stepped.url):
            with worker(stepped.url), worker(stepped.url):
                await step(store, clock)


async def step(store: Store, clock: faketime.SteppedClock) -> None:
    async def are_there() -> bool:
        return sum(b":seen:" in one for one in await store.call("HKEYS", KEYS.started())) == 2

    await eventually(are_there)
    minute = await defined(store, "all", SCHEDULE, CATCHUP)
    second = {"type": "interval", "start": minute - 90_000_000, "duration": 1}
    before = await defined(store, "tick", second)

    async def times(event: str) -> list[float]:
        return sorted(job.now for job in await jobs_of(store, event))

    async def last() -> float:
        return max(await times("tick"), default=0)

    async def has_reached(at: float) -> bool:
        return await last() >= at

    await eventually(lambda: has_reached(before))
    clock.step("+1h")
    await eventually(lambda: has_reached(before + 3600))

    async def is_caught_up() -> bool:
        return len(await times("all")) >= 59

    await eventually(is_caught_up, why="each minute of the hour is caught up")
    missed = msgspec.json.decode(await store.call("HGET", KEYS.left_out(), "tick"), type=LeftOut)
    assert missed.last - missed.first > 3000
    latest = await last()
    clock.step("+3595")  # five seconds back
    await eventually(lambda: has_reached(latest + 1), why="it goes on once the clock has caught up")
    for event in ("all", "tick"):
        found = await times(event)
        assert len(found) == len(set(found))
    # So far back that nobody would wait for it.
    clock.step("-1d")

    async def has_returned() -> bool:
        return min(await times("tick")) < before - 80_000

    await eventually(has_returned, why="it continues from the present")


@pytest.mark.parametrize("point", ["jobs.before_claim", "jobs.claimed"])
async def test_a_backlog_survives_kills_before_and_after_a_claim(
    store: Store, server: Single, point: str, repetitions: Callable[[int], int]
) -> None:
    minute = await defined(store, "backup", SCHEDULE, CATCHUP)
    await store.call("HSET", KEYS.cursors(), "backup", minute - 200 * 60)
    for n in range(repetitions(4)):
        with worker(server.url, f"{point}:{n % 3 + 1}") as doomed:
            doomed.killed()
    with worker(server.url):

        async def is_done() -> bool:
            return len(await jobs_of(store, "backup")) >= 200

        await eventually(is_done)
    times = sorted(job.now for job in await jobs_of(store, "backup"))
    assert times[:200] == [minute - 199 * 60 + 60 * n for n in range(200)]
    assert len(set(times)) == len(times)


async def test_conductors_side_by_side_launch_each_minute_once(
    store: Store, server: Single
) -> None:
    minute = await defined(store, "backup", SCHEDULE, CATCHUP)
    await store.call("HSET", KEYS.cursors(), "backup", minute - 500 * 60)
    with worker(server.url), worker(server.url), worker(server.url, "jobs.claimed:5"):

        async def is_done() -> bool:
            return len(await jobs_of(store, "backup")) >= 500

        await eventually(is_done)
    times = [job.now for job in await jobs_of(store, "backup")]
    assert len(set(times)) == len(times)


async def test_a_continuous_event_runs_on_whoever_is_killed(store: Store, server: Single) -> None:
    await defined(store, "tail", {"type": "continuous"})
    before: set[str] = set()
    for fault in ("jobs.continued", "jobs.continued", ""):
        with worker(server.url, fault) as one:

            async def next_job(before: set[str] = before) -> Job | None:
                found = [job for job in await jobs_of(store, "tail") if job.id not in before]
                return found[0] if found else None

            job = await eventually(next_job)
            if fault:
                one.killed()
        assert job is not None
        assert len(await jobs_of(store, "tail")) == 1
        before.add(job.id)
        await end(store, job, code=1, completed=job.launched + 1)


async def test_a_start_that_is_killed_is_made_up_for_once(store: Store, server: Single) -> None:
    await defined(store, "hello", {"type": "startup"})
    with worker(server.url, "jobs.started") as doomed:
        doomed.killed()
    assert await jobs_of(store, "hello") == []
    with worker(server.url):

        async def is_launched() -> bool:
            return bool(await jobs_of(store, "hello"))

        await eventually(is_launched)
        with worker(server.url):

            async def are_there() -> bool:
                return (
                    sum(b":seen:" in one for one in await store.call("HKEYS", KEYS.started())) > 2
                )

            await eventually(are_there)
    assert [job.source for job in await jobs_of(store, "hello")] == ["startup"]


async def test_an_event_with_destruct_is_deleted_although_conductors_are_killed(
    store: Store, server: Single
) -> None:
    seconds = int((await store.call("TIME"))[0])
    interval = {"type": "interval", "start": seconds - 90_000, "duration": 2}
    await defined(store, "once", interval, {"type": "destruct"})
    with worker(server.url, "jobs.claimed") as doomed:
        doomed.killed()
    [job] = await jobs_of(store, "once")
    await end(store, job, completed=job.launched + 1)
    with worker(server.url, "jobs.destructed") as doomed:
        doomed.killed()
    assert await store.call("HEXISTS", KEYS.events(), "once") == 0
    assert await store.call("HLEN", KEYS.first_runs()) == 0
    with worker(server.url, "jobs.started") as doomed:
        doomed.killed()
    assert await jobs_of(store, "once") == []
