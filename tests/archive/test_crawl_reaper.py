"""Crawls whose pipeline is gone are reported, and go back to their queue."""

from typing import Any

import msgspec

from tests.archive.crawling import (
    KEYS,
    NOW,
    OTHER,
    OWN,
    SITE,
    added,
    append,
    entries,
    ident_of,
    job,
    running,
    taken,
)
from watchbell.alerting.keys import Alerting
from watchbell.archive import crawls, finishing, leases, queues
from watchbell.archive.crawl_log import Answer
from watchbell.archive.crawl_reaper import CrawlReaper
from watchbell.clock import SetClock
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store

SETTINGS = Settings()


class Watch:
    """A reaper, and time that passes for it."""

    def __init__(self, store: Store) -> None:
        self._store, self.clock = store, SetClock(NOW)
        self.reaper = CrawlReaper(store, SETTINGS, self.clock)

    async def looks(self, count: int = 1, every: float = 31) -> None:
        for _ in range(count):
            await self.reaper.look()
            self.clock.advance(every)

    async def lease_ended(self, ident: str, ago: float) -> None:
        seconds, _ = await self._store.call("TIME")
        await self._store.call("ZADD", OWN.leases(), int(seconds) - ago, ident)


async def events(store: Store) -> list[tuple[str, str, str]]:
    found = await store.call("LRANGE", Alerting().events(), 0, -1)
    decoded: list[Any] = [msgspec.json.decode(one) for one in found]
    return [(one["check"], one["state"], one["summary"].split(": ")[1]) for one in decoded]


async def test_a_crawl_whose_pipeline_is_gone_goes_back_and_says_so(store: Store) -> None:
    owned = await running(store)
    await added(store, ident_of(2))
    watch = Watch(store)
    await watch.lease_ended(SITE, 601)
    await watch.looks(1)
    assert await store.call("LLEN", KEYS.working()) == 1, "it was not watched yet"
    await watch.looks(1)
    assert (await queues.pending(store))["pending"] == [SITE, ident_of(2)]
    found = await crawls.get(store, SITE)
    assert found is not None
    assert found.reason == "back in the queue, since its pipeline alice is gone"
    assert (await entries(store))[-1]["message"] == found.reason
    assert await append(store, owned, 1, 200) is Answer.LOST
    assert await leases.beat(store, [owned], 30) == {owned}
    other = await taken(store, OTHER, "bob")
    assert other is not None
    assert other.fence > owned.fence


async def test_a_silent_pipeline_fails_the_check_of_its_crawl_once(store: Store) -> None:
    owned = await running(store)
    watch = Watch(store)
    await watch.lease_ended(SITE, 5)
    await watch.looks(4)
    assert await events(store) == [(SITE, "critical", "its pipeline alice gives no sign of life")]
    await leases.beat(store, [owned], 30)
    await watch.looks(3)
    assert (await events(store))[0] == (SITE, "ok", "the crawl goes on")
    assert len(await events(store)) == 2


async def test_a_pipeline_that_renews_keeps_its_crawl(store: Store) -> None:
    owned = await running(store)
    watch = Watch(store)
    for lease in (-1000, -900, -800):
        await leases.beat(store, [owned], lease)
        await watch.looks()
    assert await store.call("LLEN", KEYS.working()) == 1
    assert await events(store) == []


async def test_an_outage_of_the_store_costs_no_crawl(store: Store) -> None:
    await running(store)
    watch = Watch(store)
    await watch.lease_ended(SITE, 10_000)
    await watch.looks(1)
    watch.reaper.restart()
    await watch.looks(1)
    assert await store.call("LLEN", KEYS.working()) == 1
    await watch.looks(1)
    assert await store.call("LLEN", KEYS.working()) == 0


async def test_an_aborted_crawl_without_pipeline_ends(store: Store) -> None:
    await running(store)
    await finishing.abort(store, SITE, "alice", NOW)
    watch = Watch(store)
    await watch.lease_ended(SITE, 1)
    await watch.looks(2)
    assert (await job(store))["aborted"] == "true"
    assert await store.call("EXISTS", KEYS.working(), KEYS.pending(), OWN.leases()) == 0


async def test_an_entry_without_owner_goes_back_to_its_queue(store: Store) -> None:
    await added(store, fetch_depth="shallow", queue="pending-ao")
    await store.call("RPOPLPUSH", KEYS.pending_ao(), KEYS.working())
    watch = Watch(store)
    await watch.looks(2)
    assert await store.call("LLEN", KEYS.working()) == 1
    await watch.lease_ended(SITE, 600)
    await watch.looks(2)
    assert (await queues.pending(store))["pending-ao"] == [SITE]


async def test_a_crawl_that_is_given_back_while_the_reaper_looks_stays_in_its_queue(
    store: Store,
) -> None:
    owned = await running(store)

    class Interrupted(CrawlReaper):
        async def _named(self, idents: list[bytes]) -> list[str]:
            assert await queues.release(store, owned, "its pipeline can't begin it", NOW)
            return await super()._named(idents)

    await Interrupted(store, SETTINGS, SetClock(NOW)).look()
    assert await store.call("LLEN", KEYS.working()) == 0
    assert await taken(store, OTHER, "bob")


async def test_the_pipeline_of_another_program_is_followed_by_its_heartbeat(store: Store) -> None:
    await added(store)
    await store.call("RPOPLPUSH", KEYS.pending(), KEYS.working())
    await store.call("HSET", KEYS.job(SITE), "pipeline_id", OTHER, "started_at", "1790000001.5")
    await store.call("HINCRBY", KEYS.job(SITE), "heartbeat", 1)
    watch = Watch(store)
    await watch.looks(1)
    assert (await job(store))["last_acknowledged_heartbeat"] == "1"
    await watch.looks(3)
    assert (await job(store))["death_timer"] == "3"
    await store.call("HSET", KEYS.job(SITE), "heartbeat", "+2")
    await watch.looks(1)
    record = await job(store)
    assert (record["death_timer"], record["last_acknowledged_heartbeat"]) == ("0", "+2")
    await store.call("HSET", KEYS.job(SITE), "death_timer", 3_599)
    await watch.looks(1)
    assert (await queues.pending(store))["pending"] == [SITE]


async def test_a_waiting_crawl_that_another_program_aborted_ends(store: Store) -> None:
    await added(store, queue="pending:fast")
    await added(store, ident_of(2))
    await store.call("HSET", KEYS.job(SITE), "abort_requested", "true")
    await Watch(store).looks(2)
    assert (await job(store))["aborted"] == "true"
    assert await queues.pending(store) == {
        "pending": [ident_of(2)],
        "pending-ao": [],
        "pending-large": [],
    }


async def test_a_returned_crawl_is_found_in_its_own_queue(store: Store) -> None:
    await running(store, queue="pending:ali")
    await queues.discover(store)
    assert await queues.tags(store) == []
    watch = Watch(store)
    await watch.lease_ended(SITE, 601)
    await watch.looks(2)
    assert await queues.tags(store) == ["ali"]
    assert (await queues.pending(store))["pending:ali"] == [SITE]


async def test_entries_without_record_are_removed(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200)
    await store.call("DEL", KEYS.job(SITE), KEYS.log(SITE), KEYS.ignores(SITE))
    await store.call("LPUSH", KEYS.working(), ident_of(3))
    await store.call("SET", KEYS.job(ident_of(3)), "no hash")
    await store.call("HSET", OWN.failing(), SITE, "stuck")
    await Watch(store).looks(1)
    names = [KEYS.working(), OWN.leases(), OWN.crawl(SITE), OWN.hosts(SITE), OWN.failing()]
    assert await store.call("EXISTS", *names) == 0
    (event,) = await store.call("LRANGE", Alerting().events(), 0, -1)
    assert msgspec.json.decode(event)["state"] == "ok"
    await store.call("DEL", KEYS.job(ident_of(3)))


async def test_a_crawl_that_lost_its_entry_gets_it_back(store: Store) -> None:
    await running(store)
    await store.call("DEL", KEYS.working())
    await Watch(store).looks(1)
    assert await store.call("LRANGE", KEYS.working(), 0, -1) == [SITE.encode()]


async def test_two_reapers_return_a_crawl_once(store: Store) -> None:
    await running(store)
    one, other = Watch(store), Watch(store)
    await one.lease_ended(SITE, 601)
    for _ in range(2):
        await one.looks(1)
        await other.looks(1)
    assert await store.call("LRANGE", KEYS.pending(), 0, -1) == [SITE.encode()]
    assert len(await entries(store)) == 1


async def test_a_crawl_of_a_wrong_type_does_not_stop_the_reaper(store: Store) -> None:
    await running(store, ident_of(1))
    await running(store, ident_of(2))
    watch = Watch(store)
    for number in (1, 2):
        await watch.lease_ended(ident_of(number), 601)
    await store.call("DEL", OWN.crawl(ident_of(1)))
    await store.call("SET", OWN.crawl(ident_of(1)), "no hash")
    await watch.looks(2)
    assert (await queues.pending(store))["pending"] == [ident_of(2)]
    await store.call("DEL", OWN.crawl(ident_of(1)))
