"""Jobs that share a lock: they take turns, and nobody dies with a turn."""

from pathlib import Path

import msgspec
import pytest

from tests.cron.crew import EVERY_SECOND, definition, ended, now, put, serving
from tests.cron.test_fire_claims import FIRE, claim, fires, job, reasons
from tests.cron.test_result_writer import writing
from watchbell import ids
from watchbell.cron.claims import BEGUN, LEFT_OUT, QUEUED
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Begun, Overlap, Record, encoded, lock_of
from watchbell.cron.run_results import RunResult
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()
LOCK = KEYS.lock(lock_of("shared"))


async def finish(store: Store, begun: Begun, *, least_hold: int = 0, start: float = 0.0) -> None:
    record = Record(
        job_name=begun.fire.job, start_time=start or begun.start, host="web-1", status="success"
    )
    final = RunResult(
        begun.run, begun.fire.job, begun.fire.lock, "success", encoded(record, upstream=False),
        b"{}", 1.0,
    )  # fmt: skip
    async with writing(store, least_hold=least_hold) as writer:
        await writer.finish(final)


@pytest.mark.parametrize("overlap", ["skip", "queue"])
async def test_a_job_waits_for_its_turn_and_is_not_overtaken(
    store: Store, overlap: Overlap
) -> None:
    one = fires(store)
    often, seldom = (job(name, lock="shared", overlap=overlap) for name in ("often", "seldom"))
    answers, [first], _ = await one.claim([claim(often), claim(seldom)], 5)
    assert answers == [BEGUN, QUEUED]
    await finish(store, first)
    # The turn of the one that waits, though it is on its way and the lock held by no run.
    assert (await one.claim([claim(often, FIRE + 1)], 5))[0] == [QUEUED]
    [second], _, _ = await fires(store, "two").take([ids.token(), ids.token()])
    assert second.fire.job == "seldom"
    assert await store.call("GET", LOCK) == second.run.encode()
    assert (await one.claim([claim(seldom, FIRE + 1)], 5))[0][0] in (QUEUED, LEFT_OUT)
    await finish(store, second)
    [third], _, _ = await one.take([ids.token()])
    assert third.fire.job == "often"


async def test_a_turn_that_nobody_takes_lapses(store: Store) -> None:
    one = fires(store)
    jobs = [job(name, lock="shared") for name in ("first", "second")]
    _, [begun], _ = await one.claim([claim(of) for of in jobs], 5)
    await finish(store, begun)
    assert 0 < await store.call("PTTL", LOCK) <= 5_000
    await store.call("DEL", LOCK)  # as it does by itself
    answers, _, _ = await one.claim([claim(jobs[0], FIRE + 1)], 5)
    assert answers == [BEGUN]
    assert (await one.take([ids.token()]))[0] == []
    assert await store.call("LLEN", OWN.waiting(lock_of("shared"))) == 1


async def test_the_turn_of_a_job_that_was_removed_goes_to_the_next(store: Store) -> None:
    one = fires(store)
    names = ("first", "gone", "third")
    await store.call("HSET", KEYS.jobs(), *(word for name in names for word in (name, "{}")))
    jobs = [job(name, lock="shared") for name in names]
    claims = [claim(of, is_kept=True) for of in jobs]
    _, [begun], _ = await one.claim(claims, 5)
    await store.call("HDEL", KEYS.jobs(), "gone")
    await finish(store, begun)
    [run], _, _ = await one.take([ids.token(), ids.token()])
    assert run.fire.job == "third"


async def test_a_fire_is_skipped_while_a_run_of_its_own_job_goes_on(store: Store) -> None:
    one, backup = fires(store), job()
    await one.claim([claim(backup)], 5)
    for later in (1, 2):
        assert (await one.claim([claim(backup, FIRE + later)], 5))[0] == [LEFT_OUT]
    assert await reasons(store) == ["skipped: the lock is held, a run goes on"] * 2
    count = await store.call("HGET", OWN.skipped(), "backup")
    assert count == f"2:{FIRE + 1}:{lock_of('backup')}".encode()


async def test_a_lock_that_another_program_holds_is_not_waited_for(store: Store) -> None:
    """It may have been taken for the same fire, by an instance of Cronken."""
    await store.call("SET", LOCK, "c0ffee", "PX", 60_000)
    assert (await fires(store).claim([claim(job("a", lock="shared"))], 5))[0] == [LEFT_OUT]


async def test_neither_of_two_busy_jobs_with_one_lock_starves(store: Store, folder: Path) -> None:
    for name in ("one", "two"):
        await put(store, name, definition("sleep 0.8", EVERY_SECOND, lock="shared"))
    async with serving(store, folder):
        for name in ("one", "two"):
            await ended(store, name, 3)


async def test_a_short_lock_is_held_for_instances_of_cronken_and_free_for_ours(
    store: Store,
) -> None:
    one, backup = fires(store), job("backup", lock="shared")
    _, [begun], _ = await one.claim([claim(backup)], 5)
    await finish(store, begun, least_hold=600_000, start=await now(store))
    assert 0 < await store.call("PTTL", LOCK) <= 10_000  # never longer than the lock itself
    assert await store.call("GET", LOCK) == begun.run.encode()
    answers, [again], _ = await one.claim([claim(backup, FIRE + 1)], 5)
    assert answers == [BEGUN]
    assert await store.call("GET", LOCK) == again.run.encode()


async def test_the_lock_of_a_long_run_is_free_at_once(store: Store) -> None:
    one = fires(store)
    _, [begun], _ = await one.claim([claim(job("backup", lock="shared"))], 5)
    raw = msgspec.json.decode(await store.call("HGET", KEYS.runs(), begun.run))
    raw["start_time"] -= 1
    await store.call("HSET", KEYS.runs(), begun.run, msgspec.json.encode(raw))
    await finish(store, begun, least_hold=200)
    assert await store.call("EXISTS", LOCK) == 0
