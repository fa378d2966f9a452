"""Launching writes a job once, hands it over, and counts it for limits by day."""

import asyncio
import contextlib

import msgspec
import pytest
from redis.exceptions import ResponseError

from tests.jobs.defined import defined, event
from watchbell import ids
from watchbell.jobs import launches
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Wish
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import Outcome
from watchbell.jobs.model import Job, Limit
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen

NOW = 1_800_000_000.0
KEYS = Jobs()


def made(job_id: str, wish: Wish | None = None, *limits: Limit) -> Job:
    known = defined(event(limits=limits))
    return launch.prepare(known, wish or Wish(event="backup", source="scheduler"), job_id, NOW)


async def stored(store: Store, job_id: str) -> dict[str, object]:
    flat = await store.call("HGETALL", KEYS.job(job_id))
    pairs = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2], strict=True)
    return {name.decode(): msgspec.json.decode(value) for name, value in pairs}


async def test_a_launched_job_is_recorded_and_ready(store: Store) -> None:
    job = made("j1")
    assert await launches.launch(store, [job], "UTC") == [Outcome.LAUNCHED]
    record = await stored(store, "j1")
    assert record.pop("_turn") == 1
    assert msgspec.convert(record, Job) == job
    assert await store.call("LRANGE", KEYS.ready(), 0, -1) == [b"j1"]
    assert await store.call("ZSCORE", KEYS.live(), "j1") == 1_800_000_000
    assert await store.call("EXISTS", KEYS.delayed()) == 0


async def test_a_delayed_job_waits_for_its_time(store: Store) -> None:
    await launches.launch(store, [made("j1", Wish(event="backup", until=NOW + 2.5))], "UTC")
    assert await store.call("ZSCORE", KEYS.delayed(), "j1") == 1_800_000_002.5
    assert await store.call("LLEN", KEYS.ready()) == 0


async def test_launching_again_changes_nothing(store: Store) -> None:
    limit = Limit(type="day", amount=5)
    job = made("j1", None, limit)
    await launches.launch(store, [job], "UTC")
    before = await stored(store, "j1")
    assert await launches.launch(store, [job], "UTC") == [Outcome.KNOWN]
    assert await stored(store, "j1") == before
    assert await store.call("LLEN", KEYS.ready()) == 1
    assert await store.call("HGET", KEYS.launches_of_day("20270115"), "backup:start") == b"1"


async def test_a_job_that_has_finished_is_not_launched_again(store: Store) -> None:
    await store.call("HSET", KEYS.finished(), "j1", "packed")
    assert await launches.launch(store, [made("j1")], "UTC") == [Outcome.KNOWN]
    assert await store.call("EXISTS", KEYS.job("j1"), KEYS.live(), KEYS.ready()) == 0


async def test_the_turn_follows_priority_and_then_the_order_of_launches(store: Store) -> None:
    wishes = [Wish(event="backup", priority=priority) for priority in (0, 9, 0, -9)]
    jobs = [made(f"j{n}", wish) for n, wish in enumerate(wishes)]
    await launches.launch(store, jobs, "UTC")
    turns = {job.id: (await stored(store, job.id))["_turn"] for job in jobs}
    assert sorted(turns, key=lambda one: float(str(turns[one]))) == ["j1", "j0", "j2", "j3"]


async def test_news_name_each_job_that_was_launched(store: Store) -> None:
    async with contextlib.aclosing(listen(store, KEYS.news())) as news:
        assert isinstance(await anext(news), Gap)
        await launches.launch(store, [made("j1"), made("j2")], "UTC")
        await launches.launch(store, [made("j1"), made("j3")], "UTC")
        heard = [await anext(news) for _ in range(3)]
    assert [one.body for one in heard if not isinstance(one, Gap)] == [b"j1", b"j2", b"j3"]


async def test_a_limit_by_day_holds_back_what_was_not_launched_by_people(store: Store) -> None:
    limit = Limit(type="day", amount=2)
    scheduled = [made(f"j{n}", None, limit) for n in range(4)]
    assert await launches.launch(store, scheduled, "UTC") == [
        Outcome.LAUNCHED,
        Outcome.LAUNCHED,
        Outcome.LIMITED,
        Outcome.LIMITED,
    ]
    by_alice = made("j5", Wish(event="backup", username="alice"), limit)
    assert await launches.launch(store, [by_alice], "UTC") == [Outcome.LAUNCHED]
    assert await store.call("HGET", KEYS.launches_of_day("20270115"), "backup:start") == b"3"


async def test_a_limit_by_day_may_count_how_jobs_ended(store: Store) -> None:
    limit = Limit(type="day", amount=1, condition="error")
    assert await launches.launch(store, [made("j1", None, limit)], "UTC") == [Outcome.LAUNCHED]
    assert await launches.launch(store, [made("j2", None, limit)], "UTC") == [Outcome.LAUNCHED]
    day = KEYS.launches_of_day("20270115")
    await store.call("HSET", day, "backup:error", 1)
    assert await launches.launch(store, [made("j3", None, limit)], "UTC") == [Outcome.LIMITED]


@pytest.mark.parametrize(
    ("timezone", "day"),
    [("UTC", "20270115"), ("Pacific/Auckland", "20270115"), ("Pacific/Honolulu", "20270114")],
)
def test_the_day_is_that_of_the_settings_time_zone(timezone: str, day: str) -> None:
    assert launches.day_of(NOW, timezone) == day


async def test_many_jobs_are_launched_in_order(store: Store) -> None:
    jobs = [made(ids.record_id("j", NOW)) for _ in range(1_200)]
    assert set(await launches.launch(store, jobs, "UTC")) == {Outcome.LAUNCHED}
    ready = await store.call("LRANGE", KEYS.ready(), 0, -1)
    assert [one.decode() for one in ready] == [job.id for job in jobs]


async def test_two_callers_launch_the_same_job_once(store: Store) -> None:
    job = made("j1")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(launches.launch(store, [job], "UTC")) for _ in range(5)]
    outcomes = [task.result()[0] for task in tasks]
    assert outcomes.count(Outcome.LAUNCHED) == 1
    assert await store.call("LLEN", KEYS.ready()) == 1


@pytest.mark.parametrize("spoilt", ["live", "ready", "delayed", "sequence"])
async def test_a_key_of_a_wrong_type_leaves_no_half_of_a_job(store: Store, spoilt: str) -> None:
    key = getattr(KEYS, spoilt)()
    await store.call("HSET", key, "a", "b")
    with pytest.raises(ResponseError):
        await launches.launch(store, [made("j1")], "UTC")
    assert await store.call("KEYS", "*") == [key.encode()]
    await store.call("DEL", key)
    assert await launches.launch(store, [made("j1")], "UTC") == [Outcome.LAUNCHED]


async def test_a_spoilt_counter_of_the_day_stops_no_job(store: Store) -> None:
    day = KEYS.launches_of_day("20270115")
    await store.call("SET", day, "spoilt", "EX", 100)
    outcome = await launches.launch(store, [made("j1", None, Limit(type="day", amount=1))], "UTC")
    assert outcome == [Outcome.LAUNCHED]
    await store.call("DEL", day)
