"""Events that run continuously, at the start of Watchbell, or only once."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.jobs.defined import event
from tests.jobs.timed import KEYS, Scene
from tests.waiting import eventually
from watchbell.errors import NotFound
from watchbell.jobs import launches
from watchbell.jobs.continuous import ContinuousRunner
from watchbell.jobs.decide import launch, succession
from watchbell.jobs.decide.launch import Wish
from watchbell.jobs.decide.succession import Next
from watchbell.jobs.destruction import Destructor
from watchbell.jobs.job_packing import pack
from watchbell.jobs.model import EventState, Job, JobReference, Timing
from watchbell.jobs.startup import StartupRunner
from watchbell.store.client import Store

CONTINUOUS = Timing(type="continuous", params={"a": 1}, tags=("x",))
NOW = 1_700_000_000


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store, NOW)


async def runner(scene: Scene) -> ContinuousRunner:
    one = await scene.conductor()
    return ContinuousRunner(scene.store, scene.known, one.agenda, one.clock, "UTC")


async def end(scene: Scene, job: Job, **how: Any) -> None:
    """As the finisher does."""
    how = {"completed": job.launched + 5, **how}
    ended = msgspec.structs.replace(job, state="complete", **how)
    await scene.store.call("HSET", KEYS.finished(), job.id, pack(ended))
    state = EventState(last_job=job.id, last_completed=ended.completed, total_count=1)
    if not ended.retried:
        await scene.store.call("HSET", KEYS.event_states(), job.event, msgspec.json.encode(state))
    await scene.store.call("DEL", KEYS.job(job.id))
    await scene.store.call("ZREM", KEYS.live(), job.id)
    await scene.store.call("LREM", KEYS.ready(), 0, job.id)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, Next.RUN),
        ({"code": 3}, Next.RUN),
        ({"code": "abort", "retry_ok": True}, Next.RUN),
        ({"code": "abort"}, Next.STOP),
        ({"code": "abort", "completed": NOW - 1}, Next.RUN),
        ({"code": 3, "retried": True, "jobs": (JobReference("j2", "retry"),)}, Next.FOLLOW),
        ({"code": 3, "jobs": (JobReference("j2", "action"),)}, Next.RUN),
    ],
)
def test_an_event_goes_on_unless_somebody_aborted_it(how: dict[str, Any], expected: Next) -> None:
    job = Job(**{"id": "j1", "event": "tail", "state": "complete", "completed": NOW, **how})
    assert succession.after(event("tail", modified=NOW), job) is expected
    assert succession.after(event("tail"), None) is Next.RUN


async def test_a_continuous_event_runs_at_once_and_again_after_each_end(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS, tags=("y",)))
    one = await runner(scene)
    await one.look()
    [job] = await scene.jobs()
    assert (job.params, job.tags, job.source) == ({"a": 1}, ("y", "x"), "scheduler")
    await one.look()
    assert await scene.jobs() == [job]
    await end(scene, job, code=1)
    await one.look()
    [following] = await scene.jobs()
    assert following.id != job.id


async def test_a_continuous_event_that_somebody_aborted_stands_still(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS))
    one = await runner(scene)
    await one.look()
    [job] = await scene.jobs()
    await end(scene, job, code="abort")
    await one.look()
    # Even if the record of the job is deleted, and whichever conductor looks.
    await scene.store.call("DEL", KEYS.finished())
    await (await runner(scene)).look()
    assert await scene.jobs() == []
    # A change of the event starts it again.
    await scene.define(event("tail", CONTINUOUS, revision=2))
    await (await runner(scene)).look()
    assert len(await scene.jobs()) == 1


async def test_running_it_by_hand_starts_it_again(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS))
    one = await runner(scene)
    await one.look()
    [job] = await scene.jobs()
    await end(scene, job, code="abort")
    await one.look()
    by_hand = launch.prepare(scene.known, Wish(event="tail"), "jhand", NOW)
    await launches.launch(scene.store, [by_hand], "UTC", continuous=["tail"])
    await one.look()
    assert [job.id for job in await scene.jobs()] == ["jhand"]
    await end(scene, by_hand)
    await one.look()
    assert len(await scene.jobs()) == 1


async def test_a_run_by_hand_beside_it_does_not_take_its_place(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS))
    one = await runner(scene)
    await one.look()
    [job] = await scene.jobs()
    by_hand = launch.prepare(scene.known, Wish(event="tail"), "jhand", NOW)
    await launches.launch(scene.store, [by_hand], "UTC", continuous=["tail"])
    await end(scene, by_hand, code="abort")
    await end(scene, job)
    await one.look()
    assert len(await scene.jobs()) == 1


async def test_a_retry_takes_the_place_of_its_job(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS))
    one = await runner(scene)
    await one.look()
    [job] = await scene.jobs()
    again = launch.retry(job, "jagain", NOW, 0)
    await launches.launch(scene.store, [again], "UTC")
    await end(scene, job, code=1, retried=True, jobs=(JobReference("jagain", "retry"),))
    await one.look()
    await one.look()
    assert [job.id for job in await scene.jobs()] == ["jagain"]
    await end(scene, again, code="abort")
    await one.look()
    await one.look()
    assert await scene.jobs() == []


async def test_a_job_of_the_event_that_still_runs_is_waited_for(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS))
    await scene.store.call("SADD", KEYS.occupied("tail"), "jother")
    one = await runner(scene)
    await one.look()
    assert await scene.jobs() == []
    await scene.store.call("DEL", KEYS.occupied("tail"))
    await one.look()
    assert len(await scene.jobs()) == 1


async def test_conductors_side_by_side_run_a_continuous_event_once(scene: Scene) -> None:
    await scene.define(*(event(f"e{n}", CONTINUOUS) for n in range(10)))
    several = [await runner(scene) for _ in range(4)]
    async with asyncio.TaskGroup() as group:
        for one in several:
            group.create_task(one.look())
    assert [job.event for job in await scene.jobs()] == [f"e{n}" for n in range(10)]


async def test_a_disabled_event_is_not_kept_running(scene: Scene) -> None:
    await scene.define(event("tail", CONTINUOUS, enabled=False))
    await (await runner(scene)).look()
    assert await scene.jobs() == []


class Starts:
    """Conductors that come and go."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    async def start(self, group: asyncio.TaskGroup) -> asyncio.Task[None]:
        before = await self.seen()
        conductor = await self.scene.conductor()
        startup = StartupRunner(
            self.scene.store, self.scene.known, conductor.agenda, conductor.clock, "UTC"
        )
        task = group.create_task(startup.run())

        async def is_there() -> bool:
            return bool(await self.seen() - before)

        await eventually(is_there)
        return task

    async def seen(self) -> set[bytes]:
        found = await self.scene.store.call("HKEYS", KEYS.started())
        return {one for one in found if one.startswith(b":seen:")}

    async def stop(self, task: asyncio.Task[None]) -> None:
        before = await self.seen()
        task.cancel()

        async def is_gone() -> bool:
            return bool(before - await self.seen())

        await eventually(is_gone)

    async def launched(self, count: int) -> None:
        async def are_launched() -> bool:
            return len(await self.scene.jobs()) == count

        await eventually(are_launched)


async def test_an_event_runs_once_at_each_start(scene: Scene) -> None:
    await scene.define(event("hello", Timing(type="startup", params={"a": 1})))
    starts = Starts(scene)
    async with asyncio.TaskGroup() as group:
        first = await starts.start(group)
        await starts.launched(1)
        second = await starts.start(group)
        await starts.stop(first)
        third = await starts.start(group)
        await starts.stop(second)
        await starts.stop(third)
        assert [job.source for job in await scene.jobs()] == ["startup"]
        fourth = await starts.start(group)
        await starts.launched(2)
        await starts.stop(fourth)


async def test_an_event_that_is_added_later_waits_for_the_next_start(scene: Scene) -> None:
    seconds = int((await scene.store.call("TIME"))[0])
    starts = Starts(scene)
    async with asyncio.TaskGroup() as group:
        first = await starts.start(group)
        await scene.define(event("hello", Timing(type="startup"), modified=seconds + 60))
        second = await starts.start(group)
        await starts.stop(first)
        await starts.stop(second)
    assert await scene.jobs() == []


async def test_a_conductor_that_was_killed_long_ago_is_forgotten(scene: Scene) -> None:
    await scene.define(event("hello", Timing(type="startup")))
    seconds = int((await scene.store.call("TIME"))[0])
    await scene.store.call(
        "HSET", KEYS.started(), ":seen:old", (seconds - 40) * 1000, ":since", 5, "hello", 5
    )
    starts = Starts(scene)
    async with asyncio.TaskGroup() as group:
        first = await starts.start(group)
        await starts.launched(1)
        await starts.stop(first)
    assert await scene.store.call("HEXISTS", KEYS.started(), ":seen:old") == 0


async def test_a_conductor_that_was_killed_just_now_is_no_new_start(scene: Scene) -> None:
    startup = Timing(type="startup")
    await scene.define(event("hello", startup), event("interrupted", startup))
    seconds = int((await scene.store.call("TIME"))[0])
    since = seconds * 1000 - 99
    await scene.store.call(
        "HSET", KEYS.started(), ":seen:old", since, ":since", since, "hello", since
    )
    starts = Starts(scene)
    async with asyncio.TaskGroup() as group:
        task = await starts.start(group)
        await starts.launched(1)
        await starts.stop(task)
    assert [job.event for job in await scene.jobs()] == ["interrupted"]


async def test_a_startup_loop_that_fails_and_goes_on_is_no_new_start(scene: Scene) -> None:
    await scene.define(event("hello", Timing(type="startup")))
    one = await scene.conductor()
    startup = StartupRunner(scene.store, scene.known, one.agenda, one.clock, "UTC")
    starts = Starts(scene)
    for _ in range(2):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(startup.run())
            await eventually(starts.seen)
            await starts.launched(1)
            await starts.stop(task)
    assert len(await scene.jobs()) == 1


async def destructor(scene: Scene, removed: list[str]) -> Destructor:
    async def remove(name: str) -> None:
        removed.append(name)
        if await scene.store.call("HDEL", KEYS.events(), name) == 0:
            raise NotFound(name)

    return Destructor(scene.store, (await scene.conductor()).agenda, remove)


async def test_an_event_is_deleted_after_its_first_run_and_its_retries(scene: Scene) -> None:
    timings = Timing(type="schedule"), Timing(type="destruct")
    await scene.define(event("once", *timings), event("other", Timing(type="schedule")))
    # A run before it had this timing.
    state = EventState(last_job="jold", last_completed=NOW - 999, total_count=1)
    await scene.store.call("HSET", KEYS.event_states(), "once", msgspec.json.encode(state))
    conductor = await scene.conductor()
    removed: list[str] = []
    one = await destructor(scene, removed)
    await one.look()
    await conductor.launch_all()
    await one.look()
    assert removed == []
    [job] = [job for job in await scene.jobs() if job.event == "once"]
    await end(scene, job, code=1, retried=True, jobs=(JobReference("jagain", "retry"),))
    await one.look()
    assert removed == []
    await end(scene, launch.retry(job, "jagain", NOW + 9, 0))
    await one.look()
    await (await destructor(scene, removed)).look()
    assert removed == ["once", "once"]
