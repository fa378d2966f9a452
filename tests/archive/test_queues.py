"""Pipelines take crawls under leases, in order, and lose them only by a newer fence."""

import pytest

from tests.archive.crawling import (
    KEYS,
    NOW,
    OTHER,
    OWN,
    PIPELINE,
    SITE,
    added,
    append,
    entries,
    ident_of,
    job,
    running,
    taken,
)
from watchbell.archive import crawls, finishing, leases, queues
from watchbell.archive.crawl_log import Answer
from watchbell.archive.crawls import Change
from watchbell.archive.log_draining import drain
from watchbell.archive.model import Ending, Ownership
from watchbell.errors import Refused
from watchbell.store.client import Store

TAGS = ["fast", "far", "slow"]


@pytest.mark.parametrize(
    ("nickname", "options", "order"),
    [
        ("alice", {}, ["pending", "pending-ao"]),
        ("alice", {"large": True}, ["pending-large", "pending", "pending-ao"]),
        ("alice", {"only_pages": True}, ["pending-ao"]),
        ("fast", {"only_pages": True, "large": True}, ["pending-large", "pending-ao"]),
        ("far-and-fast", {}, ["pending:far", "pending:fast", "pending", "pending-ao"]),
    ],
)
def test_queues_are_looked_at_in_order(
    nickname: str, options: dict[str, bool], order: list[str]
) -> None:
    assert queues.queue_order(nickname, TAGS, **options) == order


async def test_the_oldest_crawl_of_the_first_queue_is_taken(store: Store) -> None:
    names = ["pending-ao", "pending", "pending", "pending-large", "pending:fast"]
    for number, queue in enumerate(names):
        await added(store, ident_of(number), queue=queue)
    found = []
    while owned := await taken(store, nickname="faster"):
        found.append(int(owned.ident))
    assert found == [4, 1, 2, 0]
    assert await queues.owned(store, PIPELINE) == [ident_of(n) for n in (0, 2, 1, 4)]


async def test_a_taken_crawl_has_an_owner_a_lease_and_a_fence(store: Store) -> None:
    owned = await running(store)
    assert owned == Ownership(SITE, PIPELINE, 1)
    record = await job(store)
    assert (record["pipeline_id"], record["started_at"]) == (PIPELINE, "1790000001.250")
    (now, _), ends = await store.call("TIME"), await store.call("ZSCORE", OWN.leases(), SITE)
    assert 0 < float(ends) - float(now) <= 31
    assert await store.call("LRANGE", KEYS.working(), 0, -1) == [SITE.encode()]


async def test_a_repeated_attempt_takes_the_same_crawl(store: Store) -> None:
    await added(store, ident_of(1))
    await added(store, ident_of(2))
    first = await taken(store, attempt="a")
    assert await taken(store, attempt="a") == first
    second = await taken(store, attempt="b")
    assert second is not None
    assert second.ident == ident_of(2)


async def test_paused_crawls_are_passed_over(store: Store) -> None:
    await added(store, ident_of(1))
    await added(store, ident_of(2))
    await crawls.change(store, ident_of(1), Change(is_paused=True))
    owned = await taken(store)
    assert owned is not None
    assert owned.ident == ident_of(2)
    assert await taken(store) is None
    await crawls.change(store, ident_of(1), Change(is_paused=False))
    assert await taken(store) is not None


async def test_a_crawl_that_another_program_aborted_while_it_waited_ends(store: Store) -> None:
    await added(store)
    await store.call("HSET", KEYS.job(SITE), "abort_requested", "true")
    assert await taken(store) is None
    assert (await job(store))["aborted"] == "true"
    assert await store.call("LLEN", KEYS.pending()) == 0


async def test_a_crawl_is_not_taken_twice(store: Store) -> None:
    await running(store)
    await store.call("LPUSH", KEYS.pending_ao(), SITE, SITE)
    assert await taken(store, OTHER) is None
    assert (await job(store))["pipeline_id"] == PIPELINE
    assert await store.call("LLEN", KEYS.pending_ao()) == 0


async def test_a_record_without_url_fails(store: Store) -> None:
    await store.call("HSET", KEYS.job(SITE), "fetch_depth", "inf")
    await store.call("LPUSH", KEYS.pending(), SITE)
    await added(store, ident_of(2))
    owned = await taken(store)
    assert owned is not None
    assert owned.ident == ident_of(2)
    assert (await job(store))["failed"] == "true"
    assert await store.call("GET", KEYS.failed()) == b"1"


async def test_a_queue_of_a_wrong_type_is_passed_over(store: Store) -> None:
    await store.call("SET", KEYS.pending(), "no list")
    await added(store, queue="pending-ao")
    assert await taken(store) is not None
    await store.call("DEL", KEYS.pending())


@pytest.mark.parametrize("queue", ["pending", "pending-ao", "pending-large", "pending:far"])
async def test_a_crawl_that_waits_in_any_queue_is_noticed(store: Store, queue: str) -> None:
    assert not await queues.is_any_waiting(store)
    await store.call("SET", KEYS.pending_for("odd"), "no list")
    await store.call("SADD", OWN.queues(), "odd")
    await added(store, queue=queue)
    assert await queues.is_any_waiting(store)
    await store.call("DEL", KEYS.pending_for("odd"))


async def test_queues_of_other_programs_are_discovered(store: Store) -> None:
    await added(store)
    await store.call("RENAME", KEYS.pending(), KEYS.pending_for("quick"))
    assert await taken(store, nickname="quickest") is None
    await queues.discover(store)
    owned = await taken(store, nickname="quickest")
    assert owned is not None


async def test_a_pipeline_that_comes_back_gets_a_new_fence(store: Store) -> None:
    before = await running(store)
    assert await append(store, before, 1, 200) is Answer.WRITTEN
    after = await queues.resume(store, SITE, PIPELINE, "alice", lease=30)
    assert after is not None
    assert after.fence > before.fence
    assert await append(store, before, 2, 200) is Answer.LOST
    assert await append(store, after, 1, 200) is Answer.REPEATED
    assert await append(store, after, 2, 200) is Answer.WRITTEN
    assert await queues.resume(store, SITE, OTHER, "bob", lease=30) is None


async def test_a_pipeline_that_has_lost_its_folder_counts_from_the_beginning(store: Store) -> None:
    await append(store, await running(store), 5, 200)
    owned = await queues.resume(store, SITE, PIPELINE, "alice", lease=30, is_fresh=True)
    assert owned is not None
    assert await append(store, owned, 1, 200) is Answer.WRITTEN


async def test_a_heartbeat_renews_the_lease_of_own_crawls_only(store: Store) -> None:
    owned = await running(store)
    await store.call("ZADD", OWN.leases(), 5, SITE)
    old = Ownership(SITE, PIPELINE, owned.fence - 1)
    gone = Ownership(ident_of(7), PIPELINE, owned.fence)
    assert await leases.beat(store, [old, gone], 30) == {old, gone}
    assert await store.call("ZSCORE", OWN.leases(), SITE) == 5
    assert await leases.beat(store, [owned], 30) == set()
    assert float(await store.call("ZSCORE", OWN.leases(), SITE)) > 5
    assert (await job(store))["heartbeat"] == "1"
    assert await store.call("EXISTS", KEYS.job(ident_of(7))) == 0


async def test_a_heartbeat_after_the_end_loses_nothing(store: Store) -> None:
    owned = await running(store)
    await finishing.finish(store, owned, Ending(finished_at=NOW))
    assert await leases.beat(store, [owned], 30) == set()
    assert await store.call("EXISTS", OWN.leases()) == 0
    other = await running(store, ident_of(2))
    await finishing.fail(store, ident_of(2), "nobody wants it", NOW)
    assert await leases.beat(store, [owned, other], 30) == {other}


async def test_a_heartbeat_survives_a_record_of_a_wrong_type(store: Store) -> None:
    owned = await running(store)
    other = Ownership(ident_of(7), PIPELINE, 9)
    await store.call("SET", KEYS.job(ident_of(7)), "no hash")
    assert await leases.beat(store, [other, owned], 30) == {other}
    assert (await job(store))["heartbeat"] == "1"
    await store.call("DEL", KEYS.job(ident_of(7)))


async def test_a_crawl_that_is_given_back_is_the_next(store: Store) -> None:
    owned = await running(store, queue="pending-ao")
    await added(store, ident_of(2), queue="pending-ao")
    assert await queues.release(store, owned, "the disk is full", NOW)
    assert not await queues.release(store, owned, "the disk is full", NOW)
    assert (await queues.pending(store))["pending-ao"] == [SITE, ident_of(2)]
    assert await store.call("EXISTS", KEYS.working(), OWN.leases()) == 0
    record = await job(store)
    assert "pipeline_id" not in record
    assert "started_at" not in record
    assert (await entries(store))[-1]["message"] == "the disk is full"
    found = await crawls.get(store, SITE)
    assert found is not None
    assert found.reason == "the disk is full"
    assert await append(store, owned, 1, 200) is Answer.LOST
    assert await queues.resume(store, SITE, PIPELINE, "alice", lease=30) is None


@pytest.mark.parametrize("how", ["given back", "folder lost"])
async def test_what_earlier_attempts_have_fetched_is_not_taken_from_what_is_left(
    store: Store, how: str
) -> None:
    owned: Ownership | None = await running(store)
    assert owned
    await append(store, owned, 1, 200, 301, 404)
    await drain(store, SITE, quiet=0)
    if how == "given back":
        await queues.release(store, owned, "the disk is full", NOW)
        owned = await taken(store)
    else:
        owned = await queues.resume(store, SITE, PIPELINE, "alice", lease=30, is_fresh=True)
    assert owned
    await append(store, owned, 1, 200)
    await drain(store, SITE, quiet=0)
    crawl = await crawls.get(store, SITE)
    assert crawl
    assert (crawl.tried, crawl.items_queued, crawl.urls_left) == (4, 2, 1)


async def test_a_queue_can_be_rearranged(store: Store) -> None:
    for number in range(3):
        await added(store, ident_of(number))
    await queues.move(store, ident_of(2), "front")
    await queues.move(store, ident_of(0), "back")
    assert (await queues.pending(store))["pending"] == [ident_of(n) for n in (2, 1, 0)]
    await taken(store)
    with pytest.raises(Refused, match="not in a queue"):
        await queues.move(store, ident_of(2), "back")


async def test_an_ended_crawl_in_a_queue_is_removed(store: Store) -> None:
    await added(store)
    await finishing.abort(store, SITE, "", NOW)
    await store.call("LPUSH", KEYS.pending(), SITE, ident_of(9))
    assert await taken(store) is None
    assert await store.call("EXISTS", KEYS.pending(), KEYS.working()) == 0
