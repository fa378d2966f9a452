"""Who works on a lane: claims that are granted, lost, extended, released, and never left behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.gateways.gates import GatedStore
from tests.gateways.post import Post, alert, hush
from tests.gateways.test_delivery import QUEUE, admitted, cleared, push
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.gateways import lanes, outbox, outcomes
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.keys import Gateways
from watchbell.gateways.lanes import Lanes
from watchbell.gateways.medium import SendLimits
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store

ENDLESS = 100_000.0
"""Seconds of a lease that no test outlives: what waits for its end never comes."""
LANE = outbox.lane_of("alice@example.com")
CLAIM, SETTLE = lanes._CLAIM.digest, outcomes._SETTLE.digest


@pytest.fixture
async def gated(store: Store) -> AsyncIterator[GatedStore]:
    async with GatedStore(store) as one:
        for script in (lanes._CLAIM, outcomes._SETTLE):
            # Gates know scripts by their digests, by which a store is asked once it has them.
            await store.call("SCRIPT", "LOAD", script.lua)
        yield one


@asynccontextmanager
async def delivering(store: Store, post: Post, lease: float = ENDLESS) -> AsyncIterator[Delivery]:
    delivery = Delivery(store, QUEUE, post, post.render_later, Settings(), SYSTEM, hush, lease)
    task = asyncio.create_task(delivery.run())
    try:
        yield delivery
        assert not task.done(), task.exception()
    finally:
        for hanging in post.slow.values():
            hanging.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def lapse(store: Store, holder: str | None = None) -> None:
    """The lease of alice's lane ends, and another process has it then, if one is named."""
    keys = Gateways(store.prefix)
    if holder is not None:
        await store.call("HSET", keys.claims(QUEUE), LANE, holder)
    due = 0 if holder is None else 2**50
    await store.call("ZADD", keys.lanes(QUEUE), "XX", due, LANE)


async def test_a_lane_is_claimed_again_before_its_process_knows_that_it_is_released(
    store: Store, gated: GatedStore
) -> None:
    post = Post()
    released = gated.gate(SETTLE, b"released")
    async with delivering(gated, post):
        await push(store, alert(1))
        await released.reached.wait()
        await push(store, alert(2))
        await eventually(lambda: post.tried == ["a1", "a2"])
        released.open()
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1", "a2"]


async def test_what_comes_while_a_lane_is_released_is_sent_right_after(
    store: Store, gated: GatedStore
) -> None:
    post = Post()
    post.slow["alice@example.com"] = asyncio.Event()
    async with delivering(gated, post):
        await push(store, alert(1))
        await eventually(lambda: post.tried == ["a1"])
        await push(store, alert(2))  # after the claim, before its release
        box = Gateways(store.prefix).outbox(QUEUE)
        await eventually(lambda: store.call("HEXISTS", box, "a2"))
        post.slow["alice@example.com"].set()
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1", "a2"]


async def test_a_claim_whose_answer_is_lost_is_granted_again_at_once(
    store: Store, gated: GatedStore
) -> None:
    post = Post()
    await admitted(store, alert(1), alert(2, "bob@example.com"))
    claimed = gated.gate(CLAIM, loses=True)
    async with delivering(gated, post):
        await claimed.reached.wait()
        claimed.open()
        await eventually(lambda: cleared(store))
    assert sorted(post.ids) == ["a1", "a2"]


async def test_after_a_long_sleep_a_lane_that_nobody_took_is_still_ours(
    store: Store, gated: GatedStore
) -> None:
    post = Post()
    post.slow["alice@example.com"] = asyncio.Event()
    await push(store, alert(1), alert(2))
    async with delivering(gated, post):
        await eventually(lambda: post.tried == ["a1"])
        await lapse(store)
        looks = gated.times(CLAIM)
        await eventually(lambda: gated.times(CLAIM) >= looks + 2)
        assert float(await store.call("ZSCORE", Gateways(store.prefix).lanes(QUEUE), LANE)) > 1
        assert post.tried == ["a1"]
        post.slow["alice@example.com"].set()
        await eventually(lambda: cleared(store))
    assert post.tried == ["a1", "a2"]


async def test_after_a_long_sleep_nothing_is_sent_from_a_lane_that_another_took(
    store: Store,
) -> None:
    post = Post()
    post.slow["alice@example.com"] = asyncio.Event()
    await push(store, alert(1), alert(2))
    async with delivering(store, post, lease=3) as delivery:
        await eventually(lambda: post.tried == ["a1"])
        await lapse(store, "another:1")
        (claim,) = delivery._active
        await eventually(lambda: claim.until == 0)
        post.slow["alice@example.com"].set()
        await eventually(lambda: not delivery._active)
        keys = Gateways(store.prefix)
        assert post.tried == ["a1"]
        assert await store.call("HGET", keys.claims(QUEUE), LANE) == b"another:1"
        await lapse(store)  # that one dies
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1", "a2"]


async def test_a_process_that_slept_beyond_its_lease_sends_nothing_more(store: Store) -> None:
    post = Post()
    post.slow["alice@example.com"] = asyncio.Event()
    await push(store, alert(1), alert(2))
    async with delivering(store, post) as delivery:
        await eventually(lambda: post.tried == ["a1"])
        (first,) = delivery._active
        first.until = SYSTEM.monotonic()
        post.slow["alice@example.com"].set()
        await eventually(lambda: post.tried == ["a1", "a2"])
        assert first not in delivery._active  # a2 came with a claim of its own
        await eventually(lambda: cleared(store))


async def test_an_old_claim_releases_no_newer_one(store: Store) -> None:
    ours, theirs = Lanes(store, QUEUE), Lanes(store, QUEUE)
    box = outbox.Outbox(store, QUEUE)
    await push(store, alert(1))
    batch = await box.taker.take()
    assert batch is not None
    await box.admit(batch, SYSTEM.now())
    [old], _ = await ours.claim(1, 1)
    await lapse(store)
    [new], _ = await theirs.claim(1, 1)
    assert await ours.extend([old]) == [old]
    await outcomes.settle(store, QUEUE, [outcomes.released(LANE, old.name, 0)], 0, 0)
    await ours.release()
    assert await theirs.extend([new]) == []
    assert (await ours.claim(1, 1))[0] == []
    await theirs.release()
    [again], _ = await ours.claim(1, 1)
    assert [item.id for item in again.items] == ["a1"]
    await box.taker.release()


async def test_a_gateway_that_stops_while_it_claims_leaves_no_lane_behind(
    store: Store, gated: GatedStore
) -> None:
    await admitted(store, alert(1))  # else the first claim could be that of nothing
    claims = Gateways(store.prefix).claims(QUEUE)
    gated.gate(CLAIM)
    async with delivering(gated, Post()):
        await eventually(lambda: store.call("EXISTS", claims))
    assert not await store.call("EXISTS", claims)
    post = Post()
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1"]


async def test_a_gateway_ends_although_the_store_stays_away(
    store: Store, gated: GatedStore
) -> None:
    post = Post(SendLimits(timeout=0.1))
    post.slow["alice@example.com"] = asyncio.Event()
    await push(store, alert(1))
    delivery = Delivery(gated, QUEUE, post, post.render_later, Settings(), SYSTEM, hush, 0.3)
    task = asyncio.create_task(delivery.run())
    await eventually(lambda: post.tried == ["a1"])
    gated.is_away = True
    post.slow["alice@example.com"].set()
    await eventually(lambda: post.ids == ["a1"])
    task.cancel()
    with pytest.raises(ExceptionGroup) as failed:
        await task
    assert failed.group_contains(TimeoutError)
