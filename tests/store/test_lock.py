"""Locks on every kind of store: one holder, and a loss that is noticed."""

import asyncio

import pytest

from tests import servers
from tests.families import keys
from tests.faults.proxy import Mode, Proxy, Way
from tests.waiting import eventually
from watchbell.errors import LockLost, Refused
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.lock import acquire, locked

LOCK = keys.lock("backup")


async def test_fifty_contenders_never_hold_together(any_store: Store) -> None:
    inside: list[int] = []
    tokens: set[str] = set()

    async def contend(number: int) -> None:
        async with locked(any_store, LOCK, 10, wait=60) as held:
            inside.append(number)
            assert inside == [number]
            tokens.add(held.token)
            await asyncio.sleep(0)
            inside.remove(number)

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(contend(number))
    assert len(tokens) == 50


async def test_a_lock_is_refused_while_it_is_held_and_free_after(any_store: Store) -> None:
    async with locked(any_store, LOCK, 10):
        assert await acquire(any_store, LOCK, 10) is None
        with pytest.raises(Refused, match="held by another"):
            async with locked(any_store, LOCK, 10, wait=0.05):
                pass
    held = await acquire(any_store, LOCK, 10)
    assert held is not None
    assert await held.release()
    assert not await held.release()


async def test_a_lock_is_extended_for_as_long_as_its_work_takes(any_store: Store) -> None:
    async with locked(any_store, LOCK, 1.5) as held:
        begun = int(await any_store.call("PEXPIRETIME", LOCK))

        async def outlived_its_lease() -> bool:
            return int(await any_store.call("PEXPIRETIME", LOCK)) > begun + 2_000

        await eventually(outlived_its_lease)
        assert await any_store.call("GET", LOCK) == held.token.encode()


async def test_the_holder_learns_that_its_lock_was_taken_away(any_store: Store) -> None:
    async def work() -> None:
        async with locked(any_store, LOCK, 0.3):
            await any_store.call("SET", LOCK, "somebody else", "PX", 10_000)
            await asyncio.Event().wait()

    with pytest.raises(LockLost):
        await work()
    assert await any_store.call("GET", LOCK) == b"somebody else"


async def test_an_error_of_the_work_frees_the_lock_and_is_the_one_raised(any_store: Store) -> None:
    with pytest.raises(ValueError, match="boom"):
        async with locked(any_store, LOCK, 10):
            raise ValueError("boom")
    assert await any_store.call("EXISTS", LOCK) == 0


async def test_cancelled_work_frees_its_lock(any_store: Store) -> None:
    async def work() -> None:
        async with locked(any_store, LOCK, 10):
            await asyncio.Event().wait()

    async def is_held() -> bool:
        return bool(await any_store.call("EXISTS", LOCK))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        await eventually(is_held)
        task.cancel()
    assert not await is_held()


async def test_a_lock_is_freed_if_its_taker_is_cancelled_before_the_answer_comes(
    server: servers.Single, store: Store
) -> None:
    async def is_held() -> bool:
        return bool(await store.call("EXISTS", LOCK))

    with Proxy((servers.HOST, server.server.port)) as proxy:
        async with Store(store_url.parse(proxy.url)) as far, asyncio.TaskGroup() as group:
            async with locked(far, LOCK, 60):  # so that the server knows the script
                pass
            proxy.set(Mode.STALL, Way.DOWN)
            task = group.create_task(acquire(far, LOCK, 60))
            await eventually(is_held)
            task.cancel()
            proxy.set(Mode.PASS)
        assert task.cancelled()
    assert not await is_held()
