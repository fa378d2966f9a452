"""Jobs in a delay become ready when their time comes, and not before."""

import asyncio
import contextlib

import msgspec
import pytest
from redis.exceptions import ResponseError

from tests.jobs.defined import defined, event
from tests.jobs.timed import KEYS
from tests.waiting import eventually
from watchbell.jobs import delays, job_records, launches
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Wish
from watchbell.jobs.delays import DelayEnder
from watchbell.jobs.model import Job
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen


async def seconds(store: Store) -> int:
    return int((await store.call("TIME"))[0])


async def delayed(store: Store, job_id: str, by: float, state: str = "start_delay") -> Job:
    """A job whose delay ends so many seconds from the store's present."""
    now = await seconds(store)
    wish = Wish(event="backup", until=now + by)
    job = launch.prepare(defined(event()), wish, job_id, now + by - 1)
    job = msgspec.structs.replace(job, state=state)
    await launches.launch(store, [job], "UTC")
    return job


async def state(store: Store, job_id: str) -> tuple[str, float | None]:
    job = await job_records.read(store, job_id)
    assert job is not None
    return job.state, job.until


@pytest.mark.parametrize("kind", ["start_delay", "retry_delay"])
async def test_a_delay_that_has_ended_makes_its_job_ready(store: Store, kind: str) -> None:
    await delayed(store, "j1", -5, kind)
    await delayed(store, "j2", 500)
    await DelayEnder(store).release()
    assert await state(store, "j1") == ("ready", None)
    assert (await state(store, "j2"))[0] == "start_delay"
    assert await store.call("LRANGE", KEYS.ready(), 0, -1) == [b"j1"]
    assert await store.call("ZRANGE", KEYS.delayed(), 0, -1) == [b"j2"]


async def test_jobs_become_ready_in_the_order_of_their_times(store: Store) -> None:
    for job_id, ago in (("j1", 3), ("j2", 9), ("j3", 6)):
        await delayed(store, job_id, -ago)
    await DelayEnder(store).release()
    assert await store.call("LRANGE", KEYS.ready(), 0, -1) == [b"j2", b"j3", b"j1"]


async def test_the_next_look_is_when_the_next_delay_ends(store: Store) -> None:
    ender = DelayEnder(store)
    assert await ender.release() == delays.LONGEST
    await delayed(store, "j1", 500)
    assert await ender.release() == delays.LONGEST
    await delayed(store, "j2", 1)
    assert 0 <= await ender.release() <= 1


async def test_many_delays_that_end_together_are_ended_in_batches(store: Store) -> None:
    now = await seconds(store)
    for n in range(700):
        await store.call("ZADD", KEYS.delayed(), now - 9, f"j{n}")
        await store.call("HSET", KEYS.job(f"j{n}"), "state", '"start_delay"')
    ender = DelayEnder(store)
    assert await ender.release() == 0
    await ender.release()
    assert await store.call("LLEN", KEYS.ready()) == 700


async def test_a_job_that_was_aborted_meanwhile_is_not_made_ready(store: Store) -> None:
    await delayed(store, "j1", -5)
    await store.call("HSET", KEYS.job("j1"), "state", '"finishing"')
    await delayed(store, "j2", -5)
    await store.call("DEL", KEYS.job("j2"))
    await DelayEnder(store).release()
    assert await store.call("EXISTS", KEYS.ready(), KEYS.delayed(), KEYS.job("j2")) == 0
    assert (await state(store, "j1"))[0] == "finishing"


async def test_two_conductors_make_a_job_ready_once(store: Store) -> None:
    for n in range(20):
        await delayed(store, f"j{n}", -5)
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(DelayEnder(store).release())
    assert await store.call("LLEN", KEYS.ready()) == 20


async def test_a_delay_can_be_skipped(store: Store) -> None:
    await delayed(store, "j1", 500)
    async with contextlib.aclosing(listen(store, KEYS.news())) as news:
        assert isinstance(await anext(news), Gap)
        assert await delays.skip(store, "j1")
        message = await anext(news)
        assert not isinstance(message, Gap)
        assert message.body == b"j1"
    assert await state(store, "j1") == ("ready", None)
    assert not await delays.skip(store, "j1")
    assert not await delays.skip(store, "unknown")
    assert await store.call("LLEN", KEYS.ready()) == 1


async def test_the_loop_ends_delays_as_they_come(store: Store) -> None:
    ender = DelayEnder(store)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(ender.run())
        await delayed(store, "j1", 1)
        ender.wake()

        async def is_ready() -> bool:
            return (await state(store, "j1"))[0] == "ready"

        await eventually(is_ready)
        task.cancel()


async def test_a_ready_list_of_a_wrong_type_loses_no_delay(store: Store) -> None:
    await delayed(store, "j1", -5)
    await store.call("SET", KEYS.ready(), "spoilt")
    with pytest.raises(ResponseError):
        await DelayEnder(store).release()
    await store.call("DEL", KEYS.ready())
    await DelayEnder(store).release()
    assert await state(store, "j1") == ("ready", None)
