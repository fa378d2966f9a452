"""How crawls end: counters, expiry, history, notices and checks, each once."""

from typing import Any

import msgspec
import pytest

from tests.archive.crawling import (
    KEYS,
    NOW,
    OWN,
    PIPELINE,
    SITE,
    added,
    append,
    cursors,
    job,
    running,
)
from watchbell.alerting.keys import Alerting
from watchbell.archive import crawls, finishing
from watchbell.archive.finishing import Finished, finish
from watchbell.archive.model import Ending, FinishedFile, Ownership
from watchbell.errors import Refused
from watchbell.store.client import Store

DONE = Ending(finished_at=NOW + 60, files=(FinishedFile("a.warc.gz", 9),), warc_size=9)


async def events(store: Store) -> list[dict[str, Any]]:
    found = await store.call("LRANGE", Alerting().events(), 0, -1)
    return [msgspec.json.decode(one) for one in found]


async def test_a_completed_crawl_is_kept_for_two_days(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 500)
    assert await finish(store, owned, DONE) is Finished.RECORDED
    record = await job(store)
    assert (record["finished_at"], record["warc_size"]) == ("1790000060.250", "9")
    assert (record["r2xx"], record["r5xx"]) == ("1", "1")
    assert "aborted" not in record
    assert cursors(record) == ["2", "2", "2"]
    assert await store.call("GET", KEYS.completed()) == b"1"
    assert await store.call("EXISTS", KEYS.working(), OWN.leases()) == 0
    keys = [KEYS.job(SITE), KEYS.ignores(SITE), OWN.crawl(SITE), OWN.recent(SITE)]
    for key in [*keys, OWN.matches(SITE), OWN.hosts(SITE), OWN.minutes(SITE)]:
        assert 172_000 < await store.call("TTL", key) <= 172_800, key
    assert await events(store) == []


async def test_an_aborted_crawl_is_kept_for_five_seconds(store: Store) -> None:
    owned = await running(store)
    ending = Ending(finished_at=NOW, is_aborted=True)
    assert await finish(store, owned, ending) is Finished.RECORDED
    assert (await job(store))["aborted"] == "true"
    assert await store.call("GET", KEYS.aborted()) == b"1"
    assert 0 < await store.call("TTL", KEYS.job(SITE)) <= 5
    assert 0 < await store.call("TTL", OWN.crawl(SITE)) <= 5


async def test_finishing_is_repeated_without_harm(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200)
    assert await finish(store, owned, DONE) is Finished.RECORDED
    assert await finish(store, owned, DONE) is Finished.ENDED
    assert await store.call("GET", KEYS.completed()) == b"1"
    assert await store.call("LLEN", KEYS.finish_notifications()) == 1
    assert await store.call("HLEN", OWN.history()) == 1
    await store.call("DEL", KEYS.job(SITE))
    assert await finish(store, owned, DONE) is Finished.GONE
    assert await store.call("EXISTS", KEYS.job(SITE)) == 0


async def test_a_pipeline_that_lost_its_crawl_ends_nothing(store: Store) -> None:
    owned = await running(store)
    old = Ownership(SITE, PIPELINE, owned.fence - 1)
    assert await finish(store, old, DONE) is Finished.LOST
    assert "finished_at" not in await job(store)


async def test_a_long_log_is_counted_before_the_end(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, *[200] * 2_345)
    assert await finish(store, owned, DONE) is Finished.RECORDED
    record = await job(store)
    assert (record["r2xx"], record["log_score"]) == ("2345", "2345")
    assert cursors(record) == ["2345"] * 3


async def test_the_end_is_announced(store: Store) -> None:
    owned = await running(store, started_in="#archive", note="history")
    await finish(store, owned, DONE)
    (text,) = await store.call("LRANGE", KEYS.finish_notifications(), 0, -1)
    notice = msgspec.json.decode(text)
    assert notice["ident"] == SITE
    assert notice["url"] == f"https://{SITE}.example.com/"
    assert (notice["started_by"], notice["started_in"]) == ("bob", "#archive")
    assert (notice["aborted"], notice["state"]) == (False, "completed")


async def test_a_failed_crawl_fails_its_check_until_one_completes(store: Store) -> None:
    owned = await running(store)
    await finish(store, owned, Ending(finished_at=NOW, failure="the disk is full"))
    assert (await job(store))["failed"] == "true"
    assert await store.call("GET", KEYS.failed()) == b"1"
    (event,) = await events(store)
    assert (event["entity"], event["check"], event["state"]) == ("archive", SITE, "critical")
    assert event["summary"] == f"https://{SITE}.example.com/: the disk is full"
    await finishing.expire(store, SITE)
    await finish(store, await running(store), DONE)
    assert [one["state"] for one in await events(store)] == ["ok", "critical"]
    assert await store.call("EXISTS", OWN.failing()) == 0


@pytest.mark.parametrize("is_running", [True, False])
async def test_a_crawl_can_be_given_up(store: Store, is_running: bool) -> None:
    await (running(store) if is_running else added(store))
    await finishing.fail(store, SITE, "nobody wants it", NOW)
    assert (await job(store))["failed"] == "true"
    assert await store.call("EXISTS", KEYS.working(), KEYS.pending(), OWN.leases()) == 0
    with pytest.raises(Refused, match="has ended"):
        await finishing.fail(store, SITE, "nobody wants it", NOW)


async def test_a_count_of_a_wrong_type_stops_no_crawl(store: Store) -> None:
    owned = await running(store)
    await store.call("SET", KEYS.completed(), "many")
    await finish(store, owned, DONE)
    assert await store.call("GET", KEYS.completed()) == b"1"


async def test_a_record_whose_cursors_were_lost_still_ends(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200)
    await store.call("HSET", KEYS.job(SITE), "last_analyzed_log_entry", "+inf")
    await store.call("SET", OWN.minutes(SITE), "no hash")
    await store.call("SET", OWN.recent(SITE), "no list")
    assert await finish(store, owned, DONE) is Finished.RECORDED
    found = await crawls.get(store, SITE)
    assert found is not None
    assert found.last_trimmed_log_entry == 1
    await store.call("DEL", OWN.minutes(SITE), OWN.recent(SITE))
