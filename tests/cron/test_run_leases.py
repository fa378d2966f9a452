"""Runs and their locks: kept while they go on, and ended when the lock is lost or can't be kept."""

from functools import partial
from pathlib import Path

from tests import servers
from tests.conftest import watched
from tests.cron.crew import definition, ended, put, running, serving, until
from tests.cron.fleet import alive
from tests.faults.faketime import SteppedClock
from tests.faults.proxy import Mode, Proxy
from tests.waiting import eventually
from watchbell.cron import history, jobs
from watchbell.cron.keys import Cron
from watchbell.cron.model import lock_of
from watchbell.process.run import Cause
from watchbell.runs.leases import LOCK_LOST, NOT_RENEWED, OVER
from watchbell.store import url as store_url
from watchbell.store.client import Store

KEYS = Cron()
LOCK = KEYS.lock(lock_of("long"))


async def test_a_lock_is_held_for_as_long_as_the_run_lasts(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    await put(store, "long", definition(until(gate), ttl=60))

    async def is_extended(before: int) -> bool:
        assert await store.call("GET", LOCK) == seen.id.encode()
        return bool(await store.call("PEXPIRETIME", LOCK) > before)

    async with serving(store, folder, heartbeat=1):
        await jobs.trigger(store, "long")
        [seen] = await running(store, "long")
        for _ in range(3):
            beat = await store.call("ZSCORE", KEYS.active(), seen.id)
            assert 0 < await store.call("PTTL", LOCK) <= 60_000
            lapses = await store.call("PEXPIRETIME", LOCK)
            await eventually(partial(is_extended, lapses), why="a lock that lasts longer")
            assert float(await store.call("ZSCORE", KEYS.active(), seen.id)) > float(beat)
        gate.touch()
        [done] = await ended(store, "long")
    assert done.record.status == "success"
    assert await is_free(store)


async def test_a_run_whose_lock_is_another_s_is_ended(store: Store, folder: Path) -> None:
    await put(store, "long", definition("sleep 1000", ttl=60))
    async with serving(store, folder, heartbeat=1):
        await jobs.trigger(store, "long")
        [seen] = await running(store, "long")
        await eventually(lambda: alive(seen.id))
        await store.call("SET", LOCK, "another", "PX", 60_000)
        [done] = await ended(store, "long")
    assert (done.record.status, done.record.retcode) == ("fail", -15)
    assert done.detail.reason == LOCK_LOST
    assert await store.call("GET", LOCK) == b"another"


async def test_a_lock_that_nobody_holds_is_taken_again(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    await put(store, "long", definition(until(gate), ttl=60))
    async with serving(store, folder, heartbeat=1):
        await jobs.trigger(store, "long")
        [seen] = await running(store, "long")
        await store.call("DEL", LOCK)

        async def is_held() -> bool:
            return bool(await store.call("GET", LOCK) == seen.id.encode())

        await eventually(is_held)
        gate.touch()
        [done] = await ended(store, "long")
    assert done.record.status == "success"


async def test_a_run_that_was_declared_over_is_ended_and_its_result_refused(
    store: Store, folder: Path
) -> None:
    await put(store, "long", definition("sleep 1000", lock=False))
    async with serving(store, folder, heartbeat=1):
        await jobs.trigger(store, "long")
        [seen] = await running(store, "long")
        await eventually(lambda: alive(seen.id))
        raw = await store.call("HGET", KEYS.runs(), seen.id)
        frozen = raw.replace(b'"running"', b'"frozen"')
        await store.call("HSET", KEYS.runs(), seen.id, frozen)
        await store.call("ZREM", KEYS.active(), seen.id)
        await eventually(lambda: not alive(seen.id), 20, OVER)
        await eventually(lambda: nothing_runs(store))
    assert await store.call("HGET", KEYS.runs(), seen.id) == frozen
    assert await store.call("EXISTS", KEYS.results("success"), KEYS.results("fail")) == 0


async def nothing_runs(store: Store) -> bool:
    return not await history.active(store)


async def test_cut_off_from_the_store_a_run_has_ended_before_its_lock_lapses(
    folder: Path,
) -> None:
    """The store's clock stands: the lock lapses when this test says so, and not before."""
    clock = SteppedClock(folder)
    with (
        servers.single(folder / "s", environment=clock.environment) as single,
        Proxy((servers.HOST, single.server.port)) as proxy,
    ):
        async for near in watched(single.url):
            async with Store(store_url.parse(proxy.url)) as far:
                await cut_off(near, far, proxy, clock, folder)


async def cut_off(near: Store, far: Store, proxy: Proxy, clock: SteppedClock, folder: Path) -> None:
    deaf, gate = folder / "deaf", folder / "gate"
    deafly = f"trap '' TERM; touch {deaf}; sleep 60; sleep 60"
    # A starved instance must not lose the lock before this test cuts it off.
    await put(near, "long", definition(deafly, ttl=10, kill_after=60))
    await put(near, "free", definition(f"{until(gate)}; echo done", lock=False))
    async with serving(far, folder):
        clock.stop()
        await jobs.trigger(near, "free")
        await jobs.trigger(near, "long")
        [seen] = await running(near, "long")
        await eventually(deaf.exists)
        proxy.set(Mode.STALL)
        await eventually(lambda: not alive(seen.id))
        assert await near.call("GET", LOCK) == seen.id.encode()
        clock.step("+1m")
        await eventually(lambda: is_free(near))
        proxy.set(Mode.PASS)
        gate.touch()
        [done], [free] = await ended(near, "long"), await ended(near, "free")
    assert (done.record.status, done.record.retcode) == ("fail", -9)
    assert done.detail.reason in (NOT_RENEWED, Cause.LAPSED.value)
    assert (free.record.status, free.record.output) == ("success", "done\n")


async def is_free(store: Store) -> bool:
    return bool(await store.call("EXISTS", LOCK) == 0)
