"""The locks of records, as other programs meet them."""

import asyncio

from tests.waiting import eventually
from watchbell.alerting import record_locks
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

CLASSES = ("contact", "medium")


async def hold(store: Store, gate: asyncio.Event) -> bool:
    async with record_locks.held(store, CLASSES, int(SYSTEM.now())) as is_held:
        if is_held:
            gate.set()
            await asyncio.Event().wait()
        return is_held


async def lock_keys(store: Store) -> int:
    names = [f"{one}::lock:{part}" for one in CLASSES for part in ("owner", "expiry")]
    count: int = await store.call("EXISTS", *names)
    return count


async def test_locks_are_released_by_a_holder_that_is_cancelled(store: Store) -> None:
    gate = asyncio.Event()
    task = asyncio.create_task(hold(store, gate))
    await gate.wait()
    assert await lock_keys(store) == 4
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await lock_keys(store) == 0


async def test_locks_that_are_taken_after_a_cancellation_are_released(store: Store) -> None:
    """The store answers only after the taker was cancelled."""
    await record_locks_are_loaded(store)
    await store.call("CLIENT", "PAUSE", 60_000, "WRITE")
    task = asyncio.create_task(hold(store, asyncio.Event()))

    async def is_waiting() -> bool:
        return b"cmd=evalsha" in await store.call("CLIENT", "LIST")

    await eventually(is_waiting)
    task.cancel()
    await store.call("CLIENT", "UNPAUSE")
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert await lock_keys(store) == 0


async def record_locks_are_loaded(store: Store) -> None:
    async with record_locks.held(store, CLASSES, int(SYSTEM.now())) as is_held:
        assert is_held


async def test_none_is_taken_where_another_program_holds_one(store: Store) -> None:
    now = int(SYSTEM.now())
    await store.call("SET", "medium::lock:owner", "another", "EX", 60)
    await store.call("SET", "medium::lock:expiry", f"{now + 60}.125", "EX", 60)
    async with record_locks.held(store, CLASSES, now) as is_held:
        assert not is_held
        assert await lock_keys(store) == 2
    assert await store.call("GET", "medium::lock:owner") == b"another"


async def test_locks_of_a_holder_that_died_expire(store: Store) -> None:
    """For programs that know the lock's expiry, and for those that only try to set the keys."""
    now = int(SYSTEM.now())
    async with record_locks.held(store, CLASSES, now):
        assert 0 < await store.call("TTL", "contact::lock:owner") <= 60
        assert 0 < await store.call("TTL", "contact::lock:expiry") <= 60
        assert int(await store.call("GET", "contact::lock:expiry")) == now + 60
    await store.call("SET", "contact::lock:owner", "dead", "EX", 60)
    await store.call("SET", "contact::lock:expiry", now - 1, "EX", 60)
    async with record_locks.held(store, CLASSES, now) as is_held:
        assert is_held
