"""What goes first in the lanes: critical problems, each behind the earlier alerts of its check."""

import asyncio

import msgspec
import pytest

from tests.gateways.post import Post, alert, hush
from tests.gateways.test_delivery import QUEUE, cleared, delivering, push
from tests.waiting import eventually
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM, SetClock
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.keys import Gateways
from watchbell.gateways.lanes import Lanes
from watchbell.gateways.outbox import Item, Outbox, check_of, lane_of
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store

ALICE, BOB = "alice@example.com", "bob@example.com"
START = 1_700_000_000.0
WARNING = {"state": "warning"}
RECOVERY = {"state": "ok", "notification_type": "recovery"}


async def admitted(store: Store, *alerts: Alert) -> None:
    await push(store, *alerts)
    box = Outbox(store, QUEUE)
    batch = await box.taker.take()
    assert batch is not None
    await box.admit(batch, SYSTEM.now())
    await box.taker.release()


async def claimed(store: Store, most: int = 10, depth: int = 50) -> list[list[str]]:
    """The ids that come with each lane, in the order in which lanes and alerts are given out."""
    claims, _ = await Lanes(store, QUEUE).claim(most, depth)
    return [[item.id for item in claim.items] for claim in claims]


@pytest.mark.parametrize(
    ("more", "order"),
    [
        ({}, ["a9", "a0", "a1", "a2"]),
        (WARNING, ["a0", "a1", "a9", "a2"]),  # as urgent as other problems, before recoveries
        (RECOVERY, ["a0", "a1", "a2", "a9"]),
        ({"rollup": "problem"}, ["a0", "a1", "a2", "a9"]),
        ({"notification_type": "test"}, ["a0", "a1", "a2", "a9"]),
    ],
)
async def test_a_critical_problem_goes_first_in_its_lane(
    store: Store, more: dict[str, str], order: list[str]
) -> None:
    waiting = [alert(n, check=f"c{n}", **WARNING) for n in range(2)]
    await admitted(store, *waiting, alert(2, check="c2", **RECOVERY))
    await admitted(store, alert(9, check="c9", **more))
    assert await claimed(store) == [order]


async def test_a_critical_problem_takes_the_earlier_alerts_of_its_check_along(
    store: Store,
) -> None:
    await admitted(store, *(alert(n, check=f"c{n % 3}", **WARNING) for n in range(6)))
    await admitted(store, alert(6, check="c1", **RECOVERY), alert(7, check="c1"))
    await admitted(store, alert(8, check="c1", **RECOVERY))
    [ids] = await claimed(store)
    assert ids == ["a1", "a4", "a6", "a7", "a8", "a0", "a3", "a2", "a5"]


async def test_nothing_waits_for_ever_behind_critical_problems(store: Store) -> None:
    await admitted(store, alert(1, check="old", **RECOVERY))
    keys, lane = Gateways(store.prefix), lane_of(ALICE)
    await store.call("ZINCRBY", keys.checks(QUEUE, lane), -86_401e6, check_of(lane, "web-1:old"))
    await admitted(store, alert(2, check="new"))
    assert await claimed(store) == [["a1", "a2"]]


async def test_a_lane_with_a_critical_problem_goes_before_the_others(store: Store) -> None:
    for n, address in enumerate(["charlie@example.com", BOB, ALICE]):
        await admitted(store, alert(n, address, **WARNING))
    await admitted(store, alert(9, ALICE, "disk"))
    lanes = Lanes(store, QUEUE)
    [first], _ = await lanes.claim(1, 1)
    assert [item.id for item in first.items] == ["a9"]
    await lanes.release()  # and so it does when it is claimed again
    assert await claimed(store, most=1) == [["a9", "a2"]]


async def test_an_address_that_rests_after_a_failure_is_not_asked_sooner_for_a_critical_problem(
    store: Store,
) -> None:
    await admitted(store, alert(1, **WARNING))
    lane, keys = lane_of(ALICE), Gateways(store.prefix)
    await store.call("ZADD", keys.lanes(QUEUE), 2**50, lane)
    await admitted(store, alert(2, check="disk"))
    assert await claimed(store) == []


async def test_a_critical_problem_is_sent_next_although_a_claim_is_under_way(store: Store) -> None:
    clock, post = SetClock(START), Post()
    post.slow[ALICE] = asyncio.Event()
    await push(store, *(alert(n, check=f"c{n}", **WARNING) for n in range(10)))
    delivery = Delivery(store, QUEUE, post, post.render_later, Settings(), clock, hush)
    task = asyncio.create_task(delivery.run())
    try:
        await eventually(lambda: post.tried == ["a0"])
        await push(store, alert(99, check="c5"))
        box = Gateways(store.prefix).outbox(QUEUE)
        await eventually(lambda: store.call("HEXISTS", box, "a99"))
        clock.advance(2)
        post.slow[ALICE].set()
        await eventually(lambda: cleared(store))
    finally:
        task.cancel()
        await asyncio.wait({task})
    assert post.ids == ["a0", "a5", "a99", *(f"a{n}" for n in (1, 2, 3, 4, 6, 7, 8, 9))]


async def test_lanes_of_earlier_versions_are_sent_before_what_came_since(store: Store) -> None:
    keys, lane = Gateways(store.prefix), lane_of(ALICE)
    old = [alert(n, check=f"c{n % 2}", **WARNING) for n in range(4)]
    for one in old:
        raw = msgspec.json.encode(Item(alert=one, since=1))
        await store.call("HSET", keys.outbox(QUEUE), one.id, raw)
        await store.call("RPUSH", keys.lane(QUEUE, lane), one.id)
    await store.call("ZADD", keys.lanes(QUEUE), 0, lane)
    await admitted(store, alert(4, check="c1", **RECOVERY))
    assert await claimed(store, depth=3) == [["a1", "a3", "a4"]]
    await store.call("ZADD", keys.lanes(QUEUE), 0, lane)
    await store.call("DEL", keys.claims(QUEUE))
    post = Post()
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert sorted(post.ids) == ["a0", "a1", "a2", "a3", "a4"]
    assert [one for one in post.ids if one in ("a1", "a3", "a4")] == ["a1", "a3", "a4"]
    assert not await store.call("EXISTS", keys.lane(QUEUE, lane))
