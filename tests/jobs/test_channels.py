"""Channels: several ways at once, with a limit a day."""

import asyncio

from tests.jobs import acting
from tests.jobs.acting import NOW, carry_out, finish, job, record, result, settings
from watchbell.clock import SetClock
from watchbell.jobs import channel_sending, definitions
from watchbell.jobs.model import Action, Channel
from watchbell.store.client import Store

ACTION = Action(trigger="error", type="channel", channel_id="ops")
DAY = 86_400


async def channel(store: Store, **more: object) -> None:
    await acting.known(store)
    values = {"id": "ops", "title": "Operations", **more}
    await definitions.create(store, "channel", values, acting.WHO, NOW)


async def test_a_channel_uses_all_its_ways(store: Store) -> None:
    await channel(
        store,
        email="alice@example.com",
        url="https://example.com/hook",
        run_event="backup",
    )
    await finish(store, job(ACTION))
    await carry_out(store)
    known = await record(store)
    assert known.actions[0].code == 0
    assert known.actions[0].message == "j1-0-email j1-0-web_hook"
    assert known.actions[0].description == (
        "queued: email to alice@example.com; queued: webhook to https://example.com/hook; "
        f"launched job {known.jobs[0].id} of backup"
    )


async def test_one_way_that_fails_holds_up_no_other(store: Store) -> None:
    await channel(store, email="alice@example.com", url="https://example.com/hook")
    await finish(store, job(ACTION))
    await carry_out(store, settings({"email": {}}))
    known = await result(store)
    assert known.code == 0
    assert known.description.startswith("queued: email to alice@example.com; no gateway for web")


async def test_a_channel_that_reaches_nobody_is_a_failure(store: Store) -> None:
    await channel(store)
    await finish(store, job(ACTION))
    await carry_out(store)
    known = await result(store)
    assert (known.code, known.description) == (1, "the channel Operations reaches nobody")


async def test_a_channel_that_does_not_exist_is_a_failure(store: Store) -> None:
    await finish(store, job(ACTION))
    await carry_out(store)
    assert (await result(store)).description == "there is no channel 'ops'"


async def test_the_limit_of_a_day_holds_and_ends_with_the_day(store: Store) -> None:
    await channel(store, email="alice@example.com", max_per_day=2)
    clock = SetClock(NOW)
    for number in range(3):
        await finish(store, job(ACTION, id=f"j{number}"))
    await carry_out(store, clock=clock)
    found = [await result(store, job_id=f"j{number}") for number in range(3)]
    assert [one.code for one in found].count(1) == 1
    (refused,) = [one for one in found if one.code]
    assert refused.description == (
        "the channel Operations was used 2 times today, which is its limit"
    )
    clock.advance(DAY)
    await finish(store, job(ACTION, id="j9"))
    await carry_out(store, clock=clock)
    assert (await result(store, job_id="j9")).code == 0


async def test_a_use_that_asks_again_counts_once(store: Store) -> None:
    ops = Channel(id="ops", title="Operations", max_per_day=1)
    asked = [channel_sending.obstacle(store, ops, "j1-0", NOW) for _ in range(5)]
    assert set(await asyncio.gather(*asked)) == {""}
    assert await channel_sending.obstacle(store, ops, "j2-0", NOW) == (
        "the channel Operations was used once today, which is its limit"
    )


async def test_a_disabled_channel_is_not_used(store: Store) -> None:
    ops = Channel(id="ops", title="Operations", enabled=False)
    assert await channel_sending.obstacle(store, ops, "j1-0", NOW) == (
        "the channel Operations is disabled"
    )
