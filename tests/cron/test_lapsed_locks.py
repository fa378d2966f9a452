"""Locks that lapsed under a run that may go on: none is taken before the run's instance had
notice."""

from typing import Any

import pytest

from tests.cron.test_fire_claims import FIRE, claim, fires, job
from tests.cron.test_result_writer import final, writing
from tests.cron.test_shared_locks import finish
from watchbell import ids
from watchbell.cron import pending_fires
from watchbell.cron.claims import BEGUN, LEFT_OUT, QUEUED
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.lua import LONGEST_NOTICE
from watchbell.cron.model import Begun, Overlap, lock_of
from watchbell.cron.result_writer import Outcome
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()
LOCK, HOLDER = KEYS.lock(lock_of("backup")), OWN.holder(lock_of("backup"))


async def lapsed(store: Store, **fields: Any) -> Begun:
    """A run whose lock could not be renewed."""
    _, [begun], _ = await fires(store).claim([claim(job(**fields))], 1)
    await store.call("DEL", LOCK)
    return begun


async def notice(store: Store) -> int:
    """Milliseconds until the lock may be taken; -1 where no notice was given."""
    left: int = await store.call("PTTL", HOLDER)
    return left


@pytest.mark.parametrize("overlap", ["skip", "queue"])
async def test_a_lapsed_lock_is_taken_when_the_notice_is_over(
    store: Store, overlap: Overlap
) -> None:
    begun, two = await lapsed(store, overlap=overlap), fires(store, "two")
    assert await notice(store) == -1
    assert (await two.claim([claim(job(overlap=overlap), FIRE + 1)], 1))[0] == [QUEUED]
    assert 0 < await notice(store) <= LONGEST_NOTICE
    assert (await pending_fires.look(two.call))[1] == 0
    assert await store.call("GET", HOLDER) == f"{LONGEST_NOTICE}:{begun.run}".encode()
    await store.call("DEL", HOLDER)  # as it does by itself when the notice is over
    assert (await pending_fires.look(two.call))[1] == 1
    [run], _, _ = await two.take([ids.token()])
    assert await store.call("GET", LOCK) == run.run.encode()
    assert await store.call("GET", HOLDER) == f"{LONGEST_NOTICE}:{run.run}".encode()
    assert await notice(store) == -1


async def test_notice_is_given_once(store: Store) -> None:
    await lapsed(store)
    await fires(store).claim([claim(job(), FIRE + 1)], 1)
    await store.call("PEXPIRE", HOLDER, 5_000)
    answers, _, _ = await fires(store, "two").claim([claim(job(), FIRE + 2)], 1)
    await pending_fires.look(fires(store, "three").call)
    assert answers == [LEFT_OUT], "another fire waits"
    assert 0 < await notice(store) <= 5_000


async def test_a_fire_that_waited_before_the_lock_lapsed_gives_notice_too(store: Store) -> None:
    queued, one = job(overlap="queue"), fires(store)
    await one.claim([claim(queued, FIRE + n) for n in range(2)], 5)
    await pending_fires.look(one.call)
    assert await notice(store) == -1, "the lock is held"
    await store.call("DEL", LOCK)
    assert (await pending_fires.look(one.call))[1] == 0
    assert await notice(store) > 0


async def test_a_run_that_ends_releases_a_lock_that_has_lapsed(store: Store) -> None:
    begun = await lapsed(store)
    await finish(store, begun)
    assert await store.call("EXISTS", HOLDER) == 0
    assert (await fires(store).claim([claim(job(), FIRE + 1)], 1))[0] == [BEGUN]


async def test_the_end_of_an_older_run_leaves_the_holder_alone(store: Store) -> None:
    begun = await lapsed(store)
    await store.call("DEL", HOLDER)
    _, [later], _ = await fires(store, "two").claim([claim(job(), FIRE + 1)], 1)
    await finish(store, begun)
    assert await store.call("GET", LOCK) == later.run.encode()
    assert await store.call("GET", HOLDER) == f"{LONGEST_NOTICE}:{later.run}".encode()


@pytest.mark.parametrize("has_lock_lapsed", [True, False])
async def test_a_run_that_is_declared_frozen_has_notice(
    store: Store, *, has_lock_lapsed: bool
) -> None:
    _, [begun], _ = await fires(store).claim([claim(job())], 1)
    if has_lock_lapsed:
        await store.call("DEL", LOCK)
    frozen = final(begun.run, "frozen", lock=lock_of("backup"), stale=f"{begun.start + 60:.6f}")
    async with writing(store) as result_writer:
        assert await result_writer.finish(frozen) is Outcome.DONE
        assert await result_writer.finish(frozen._replace(record=b"{}")) is Outcome.OVER
    assert 0 < await notice(store) <= LONGEST_NOTICE
    assert await store.call("EXISTS", LOCK) == (0 if has_lock_lapsed else 1)


@pytest.mark.parametrize(
    ("overlap", "has_lock"), [("skip", True), ("queue", True), ("allow", False)]
)
async def test_a_run_whose_claim_was_not_answered_still_counts_as_one_under_its_lock(
    store: Store, overlap: Overlap, *, has_lock: bool
) -> None:
    """With `allow`, a run without lock is as good; the others are ended if it is another's."""
    begun = await lapsed(store, overlap=overlap)
    [again] = await fires(store).recall([begun.run])
    assert again.has_lock is has_lock


async def test_a_holder_of_a_wrong_type_stops_nothing(store: Store) -> None:
    await store.call("RPUSH", HOLDER, "x")
    answers, [begun], _ = await fires(store).claim([claim(job())], 1)
    assert answers == [BEGUN]
    await finish(store, begun)
    assert await store.call("EXISTS", LOCK, HOLDER) == 0
