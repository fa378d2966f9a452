"""Work queues on every kind of store: nothing lost, nothing twice, order within a key."""

import asyncio
import json
from collections.abc import Sequence

import pytest
from redis.exceptions import ResponseError

from tests.families import keys
from tests.waiting import eventually
from watchbell.errors import LeaseLost
from watchbell.store.client import Store
from watchbell.store.effects import Effects
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.queue_scripts import taking

QUEUE = Queue(key=keys.queue("work"))
APPLIED = keys.applied("work")
OWN = StoreKeys()
BASE = tagged(QUEUE.key)

# KEYS[1] hash, ARGV items: counts each.
count = Effects("for _, item in ipairs(ARGV) do redis.call('HINCRBY', KEYS[1], item, 1) end")


def event(check: str, number: int) -> str:
    return json.dumps({"entity": "web", "check": check, "n": number})


async def push(store: Store, *items: str | bytes) -> None:
    for item in items:
        await store.call("LPUSH", QUEUE.key, item)


async def waiting(store: Store) -> list[bytes]:
    """What is in the queue, the next to be taken first."""
    items: list[bytes] = await store.call("LRANGE", QUEUE.key, 0, -1)
    return items[::-1]


async def drained(taker: Taker) -> list[bytes]:
    items: list[bytes] = []
    while batch := await taker.take():
        items += batch.items
        await taker.acknowledge(batch)
    return items


async def die(store: Store, taker: Taker) -> None:
    """The taker's lease is over, as if it had been silent for its length."""
    await store.call("ZADD", OWN.takers(BASE), "XX", 0, taker.name)


def texts(items: Sequence[bytes]) -> list[str]:
    return [item.decode() for item in items]


async def test_items_are_taken_in_the_order_in_which_they_were_pushed(any_store: Store) -> None:
    await push(any_store, *"abcdefg")
    taker = Taker(any_store, QUEUE, most=3)
    assert texts(await drained(taker)) == list("abcdefg")
    await taker.release()


async def test_facts_about_the_items_come_with_them(any_store: Store) -> None:
    await push(any_store, *"abc")
    script = taking("return {#ARGV, redis.call('LLEN', KEYS[1])}")
    taker = Taker(any_store, QUEUE, most=2, script=script)
    first = await taker.take()
    again = await taker.take()
    assert first is not None
    assert first.facts == [2, 1]
    assert again == first
    await taker.acknowledge(first)
    second = await taker.take()
    assert second is not None
    assert second.facts == [1, 0]
    await taker.acknowledge(second)
    assert await taker.take() is None
    await taker.release()


async def test_a_queue_filled_on_the_right_is_taken_from_the_left(any_store: Store) -> None:
    await any_store.call("RPUSH", QUEUE.key, *"abc")
    taker = Taker(any_store, Queue(key=QUEUE.key, side="LEFT"), most=2)
    first = await taker.take()
    assert first is not None
    assert texts(first.items) == ["a", "b"]
    await taker.release()
    assert texts(await drained(taker)) == ["a", "b", "c"]


async def test_an_empty_queue_gives_nothing(any_store: Store) -> None:
    assert await Taker(any_store, QUEUE).take() is None


async def test_any_bytes_pass_through(any_store: Store) -> None:
    items = [b"\xff\x00\n", b"", b"[" * 100_000, "ü".encode(), b'{"a":' * 2000]
    await push(any_store, *items)
    ordered = Queue(key=QUEUE.key, order_by=("entity", "check"))
    other = Taker(any_store, ordered, most=1)
    assert await other.take() is not None
    assert await drained(Taker(any_store, ordered)) == []  # all have the key of the first
    assert await drained(other) == items


async def test_a_batch_comes_again_until_it_is_acknowledged(any_store: Store) -> None:
    await push(any_store, "a", "b")
    taker = Taker(any_store, QUEUE)
    assert await taker.take() == await taker.take()
    await taker.release()


async def test_effects_happen_once_although_the_answer_was_lost(any_store: Store) -> None:
    await push(any_store, "a")
    taker = Taker(any_store, QUEUE)
    batch = await taker.take()
    assert batch is not None
    for _ in range(3):
        await taker.acknowledge(batch, count, [APPLIED], batch.items)
    assert await any_store.call("HGETALL", APPLIED) == {b"a": b"1"}


async def test_a_batch_is_acknowledged_piece_by_piece(any_store: Store) -> None:
    await push(any_store, *"abcde")
    taker = Taker(any_store, QUEUE)
    batch = await taker.take()
    assert batch is not None
    first, second, third = batch.pieces(2)
    assert [texts(piece.items) for piece in (first, second, third)] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]
    for _ in range(2):  # the answer to the first was lost
        await taker.acknowledge(first, count, [APPLIED], first.items)
    rest = await taker.take()
    assert rest is not None
    assert texts(rest.items) == ["c", "d", "e"]
    await taker.acknowledge(second, count, [APPLIED], second.items)
    await taker.acknowledge(first, count, [APPLIED], first.items)
    await taker.acknowledge(third, count, [APPLIED], third.items)
    assert await taker.take() is None
    assert await any_store.call("HGETALL", APPLIED) == dict.fromkeys(map(str.encode, "abcde"), b"1")
    await taker.release()


async def test_a_piece_does_not_overtake_the_one_before_it(store: Store) -> None:
    await push(store, *"abc")
    taker = Taker(store, QUEUE)
    batch = await taker.take()
    assert batch is not None
    first, second = batch.pieces(2)
    with pytest.raises(ResponseError, match="not acknowledged yet"):
        await taker.acknowledge(second, count, [APPLIED], second.items)
    assert await store.call("EXISTS", APPLIED) == 0
    await taker.acknowledge(first)
    await taker.acknowledge(second)
    await taker.release()


async def test_of_a_taker_that_died_half_way_only_the_rest_goes_back(any_store: Store) -> None:
    await push(any_store, *"abcde")
    dead, alive = Taker(any_store, QUEUE, most=4), Taker(any_store, QUEUE)
    batch = await dead.take()
    assert batch is not None
    first, second = batch.pieces(2)
    await dead.acknowledge(first)
    await die(any_store, dead)
    seen = []
    while taken := await alive.take():
        seen.append((texts(taken.items), taken.attempts))
        await alive.acknowledge(taken)
    assert seen == [(["c"], 1), (["d"], 1), (["e"], 0)]
    with pytest.raises(LeaseLost):
        await dead.acknowledge(second)


async def test_what_a_dead_taker_held_goes_back_in_its_order(any_store: Store) -> None:
    await push(any_store, *"abcdef")
    dead, alive = Taker(any_store, QUEUE, most=3), Taker(any_store, QUEUE)
    batch = await dead.take()
    assert batch is not None
    await die(any_store, dead)
    assert texts(await drained(alive)) == list("abcdef")
    with pytest.raises(LeaseLost):
        await dead.acknowledge(batch, count, [APPLIED], batch.items)
    assert await any_store.call("EXISTS", APPLIED) == 0


async def test_an_item_that_a_taker_died_with_comes_alone_and_counted(any_store: Store) -> None:
    await push(any_store, *"abcd")
    first = Taker(any_store, QUEUE, most=2)
    assert await first.take() is not None
    await die(any_store, first)
    second = Taker(any_store, QUEUE)
    batch = await second.take()
    assert batch is not None
    assert (texts(batch.items), batch.attempts) == (["a"], 1)
    await die(any_store, second)
    third = Taker(any_store, QUEUE)
    seen: list[Batch] = []
    while batch := await third.take():
        seen.append(batch)
        await third.acknowledge(batch)
    assert [(texts(b.items), b.attempts) for b in seen] == [
        (["a"], 2),
        (["b"], 1),
        (["c", "d"], 0),
    ]
    assert await any_store.call("EXISTS", OWN.attempts(BASE)) == 0


async def test_what_is_released_is_there_at_once_in_its_order(any_store: Store) -> None:
    await push(any_store, *"abc")
    taker = Taker(any_store, QUEUE, most=2)
    assert await taker.take() is not None
    assert texts(await waiting(any_store)) == ["c"]
    await taker.release()
    assert texts(await waiting(any_store)) == ["a", "b", "c"]
    assert await any_store.call("EXISTS", OWN.takers(BASE)) == 0


async def test_items_of_a_held_key_go_to_its_holder(any_store: Store) -> None:
    ordered = Queue(key=QUEUE.key, order_by=("entity", "check"))
    await push(any_store, event("http", 1), event("http", 2), event("disk", 1), event("HTTP", 3))
    one, two = Taker(any_store, ordered, most=1), Taker(any_store, ordered)
    first = await one.take()
    other = await two.take()
    assert first is not None
    assert other is not None
    assert texts(first.items) == [event("http", 1)]
    assert texts(other.items) == [event("disk", 1)]
    await one.acknowledge(first)
    assert texts(await drained(one)) == [event("http", 2), event("HTTP", 3)]


async def test_the_key_of_an_id_is_that_of_its_payload(store: Store) -> None:
    payloads = keys.applied("")
    ordered = Queue(key=QUEUE.key, order_by=("entity", "check"), payloads=payloads)
    for item, content in (
        ("1", event("http", 1)),
        ("2", event("disk", 1)),
        ("3", event("http", 2)),
    ):
        await store.call("SET", payloads + item, content)
        await push(store, item)
    one, two = Taker(store, ordered, most=1), Taker(store, ordered)
    first = await one.take()
    assert first is not None
    assert texts(await drained(two)) == ["2"]
    await one.acknowledge(first)
    assert texts(await drained(one)) == ["3"]
    await store.call("DEL", *(payloads + item for item in ("1", "2", "3")))


async def test_a_dead_holder_gives_back_what_others_handed_to_it(any_store: Store) -> None:
    ordered = Queue(key=QUEUE.key, order_by=("entity", "check"))
    await push(any_store, *(event("http", n) for n in range(5)))
    dead, alive = Taker(any_store, ordered, most=1), Taker(any_store, ordered)
    assert await dead.take() is not None
    assert await alive.take() is None
    await die(any_store, dead)
    assert texts(await drained(alive)) == [event("http", n) for n in range(5)]


async def test_a_batch_is_bounded_in_bytes_too(any_store: Store) -> None:
    await push(any_store, *["x" * 1000] * 300)
    taker = Taker(any_store, QUEUE, most=300, most_bytes=50_000)
    batch = await taker.take()
    assert batch is not None
    assert len(batch.items) == 128  # the piece in which the limit was passed
    await taker.release()


async def test_a_waiting_taker_is_woken_by_a_push(any_store: Store) -> None:
    taker = Taker(any_store, QUEUE, lease=60)
    async with asyncio.TaskGroup() as group:

        async def first() -> Batch:
            async for batch in taker.batches():
                await taker.acknowledge(batch)
                return batch
            raise AssertionError

        task = group.create_task(first())
        await eventually(lambda: blocked(any_store))
        await push(any_store, "a")
        assert texts((await task).items) == ["a"]


async def test_a_taker_that_did_all_there_was_waits_before_it_asks_again(store: Store) -> None:
    await push(store, "a")
    taker = Taker(store, QUEUE, lease=60)

    async def work() -> None:
        async for batch in taker.batches():
            await taker.acknowledge(batch)

    async with asyncio.TaskGroup() as group:
        before = await scripts(store)
        task = group.create_task(work())
        await eventually(lambda: blocked(store))
        assert await scripts(store) - before == 2
        task.cancel()


async def test_what_was_handed_to_a_taker_meanwhile_is_not_waited_for(any_store: Store) -> None:
    ordered = Queue(key=QUEUE.key, order_by=("entity", "check"))
    await push(any_store, event("http", 1))
    one, two = Taker(any_store, ordered, lease=60), Taker(any_store, ordered)
    seen: list[bytes] = []

    async def work() -> None:
        async for batch in one.batches():
            if not seen:
                await push(any_store, event("http", 2))
                assert await two.take() is None  # it goes to who holds the first of its key
            seen.extend(batch.items)
            await one.acknowledge(batch)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        await eventually(lambda: len(seen) == 2)
        task.cancel()
    assert texts(seen) == [event("http", 1), event("http", 2)]


async def scripts(store: Store) -> int:
    """How many were run so far, those included that the store had to be told first."""
    told = await store.call("INFO", "commandstats")
    rows = [told[name] for name in ("cmdstat_eval", "cmdstat_evalsha") if name in told]
    return sum(int(row["calls"]) - int(row["failed_calls"]) for row in rows)


async def blocked(store: Store) -> bool:
    return any([(await p.call("INFO"))["blocked_clients"] for p in await store.primaries()])


async def test_work_that_lost_its_lease_is_stopped(any_store: Store) -> None:
    await push(any_store, "a")
    taker = Taker(any_store, QUEUE, lease=0.3)
    assert await taker.take() is not None

    async def work() -> None:
        async with taker.holding():
            await die(any_store, taker)
            assert texts(await drained(Taker(any_store, QUEUE))) == ["a"]
            await asyncio.Event().wait()

    with pytest.raises(LeaseLost):
        await work()


async def test_a_lease_is_extended_while_the_work_goes_on(any_store: Store) -> None:
    await push(any_store, "a")
    taker = Taker(any_store, QUEUE, lease=2)
    batch = await taker.take()
    assert batch is not None
    begun = float(await any_store.call("ZSCORE", OWN.takers(BASE), taker.name))

    async def has_outlived_its_lease() -> bool:
        return float(await any_store.call("ZSCORE", OWN.takers(BASE), taker.name)) > begun + 2_500

    async with taker.holding():
        await eventually(has_outlived_its_lease)
    await taker.acknowledge(batch)


async def test_a_holder_with_plenty_leaves_the_rest_to_the_queue_in_its_order(
    any_store: Store,
) -> None:
    ordered = Queue(key=QUEUE.key, order_by=("entity", "check"))
    numbers = range(50)
    await push(any_store, *(event("http", n) for n in numbers), event("disk", 1))
    one, two = Taker(any_store, ordered, most=4), Taker(any_store, ordered, most=4)
    assert await one.take() is not None
    assert await two.take() is None
    handed = await any_store.call("LRANGE", OWN.taken(BASE, one.name), 0, -1)
    assert texts(handed) == [event("http", n) for n in range(8)]
    left = [event("http", n) for n in range(8, 50)] + [event("disk", 1)]
    assert texts(await waiting(any_store)) == left
    await one.release()
    assert texts(await drained(two)) == [event("http", n) for n in numbers] + [event("disk", 1)]
