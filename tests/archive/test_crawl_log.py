"""Log entries, cursors and counters: what a pipeline appends is counted, broadcast and trimmed."""

from typing import Any

import msgspec

from tests.archive.crawling import (
    KEYS,
    NOW,
    OWN,
    SITE,
    added,
    append,
    cursors,
    download,
    entries,
    ident_of,
    job,
    running,
)
from watchbell.archive import crawl_log, log_draining
from watchbell.archive.crawl_log import Answer
from watchbell.archive.finishing import finish
from watchbell.archive.log_draining import drain
from watchbell.archive.model import Ending, Increments, LogEntry, Ownership
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen

NOTHING = Increments()


async def test_entries_and_counters_are_written_together(store: Store) -> None:
    owned = await running(store)
    assert await append(store, owned, 1, 200, 404, 301) is Answer.WRITTEN
    record = await job(store)
    names = ["log_score", "bytes_downloaded", "items_downloaded", "items_queued"]
    assert [record[name] for name in names] == ["3", "300", "2", "2"]
    found = await entries(store)
    assert [one["index"] for one in found] == [1, 2, 3]
    assert found[1] == {
        "type": "download",
        "ts": NOW,
        "url": "https://example.com/",
        "response_code": 404,
        "wget_code": "OK",
        "is_error": False,
        "is_warning": True,
        "index": 2,
    }
    assert await crawl_log.hosts(store, SITE) == {"example.com": (3, 300)}
    assert await crawl_log.matches(store, SITE) == {"/calendar/": 1}


async def test_a_repeated_batch_changes_nothing(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200)
    before = await job(store)
    assert await append(store, owned, 1, 200) is Answer.REPEATED
    assert await job(store) == before
    assert len(await entries(store)) == 1


async def test_equal_entries_stay_apart(store: Store) -> None:
    owned = await running(store)
    line = LogEntry(type="stdout", ts=NOW, message="the same")
    await crawl_log.append(store, owned, 1, [line, line], NOTHING)
    found = await entries(store)
    assert found == [
        {"type": "stdout", "ts": int(NOW), "message": "the same", "index": n} for n in (1, 2)
    ]


async def test_long_values_are_cut(store: Store) -> None:
    owned = await running(store)
    lines = [
        LogEntry(type="stdout", ts=NOW, message="m" * 100_000),
        LogEntry(type="ignore", ts=NOW, url="u" * 100_000, pattern="u", source="accept_url"),
    ]
    await crawl_log.append(store, owned, 1, lines, NOTHING)
    message, ignore = await entries(store)
    assert len(message["message"]) == crawl_log.LONGEST_MESSAGE
    assert len(ignore["url"]) == crawl_log.LONGEST_URL


async def test_a_log_that_nobody_drains_stays_bounded(store: Store) -> None:
    owned = await running(store)
    many = crawl_log.MOST_UNDRAINED
    for batch in range(1, 9):
        await append(store, owned, batch, *[200] * (many // 4))
        assert await store.call("ZCARD", KEYS.log(SITE)) <= many
    record = await job(store)
    assert record["log_score"] == str(2 * many)
    left = await store.call("ZCARD", KEYS.log(SITE))
    assert int(record["r2xx"]) >= 2 * many - left


async def test_only_so_many_hosts_are_counted_one_by_one(store: Store) -> None:
    owned = await running(store)
    hosts = {f"h{n}": (1, 10) for n in range(crawl_log.MOST_HOSTS + 5)}
    await crawl_log.append(store, owned, 1, [], Increments(hosts=hosts))
    found = await crawl_log.hosts(store, SITE)
    assert len(found) == crawl_log.MOST_HOSTS + 1
    assert found[crawl_log.OTHER_HOSTS] == (5, 50)


async def test_nothing_is_appended_to_a_crawl_that_is_gone(store: Store) -> None:
    owned = await running(store)
    await store.call("DEL", KEYS.job(SITE))
    assert await append(store, owned, 1, 200) is Answer.GONE
    assert await store.call("EXISTS", KEYS.job(SITE), KEYS.log(SITE), OWN.hosts(SITE)) == 0


async def test_an_old_fence_appends_nothing(store: Store) -> None:
    owned = await running(store)
    old = Ownership(SITE, owned.pipeline, owned.fence - 1)
    assert await append(store, old, 1, 200) is Answer.LOST
    assert await entries(store) == []


async def test_responses_are_counted_by_class(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 100, 200, 204, 301, 404, 410, 500, 0, 999, 226)
    await drain(store, SITE)
    record = await job(store)
    names = ["r1xx", "r2xx", "r3xx", "r4xx", "r5xx", "runk", "error_count", "items_downloaded"]
    assert [record[name] for name in names] == ["1", "3", "1", "2", "1", "2", "3", "4"]


async def test_draining_again_counts_nothing_twice(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 500)
    for _ in range(3):
        await drain(store, SITE, quiet=1e9)
    record = await job(store)
    assert (record["r2xx"], record["r5xx"], record["error_count"]) == ("1", "1", "1")
    assert cursors(record) == ["2", "2", None]


async def test_a_drained_log_has_three_equal_cursors(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 500)
    await drain(store, SITE)
    assert len(await entries(store)) == 2, "other programs may still read it"
    await store.call("HSET", KEYS.job(SITE), "ts", "5")
    await drain(store, SITE)
    assert cursors(await job(store)) == ["2", "2", "2"]
    assert await entries(store) == []


async def test_a_long_log_is_trimmed_at_once(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, *[200] * log_draining.TRIM_AT)
    await append(store, owned, 2, 200)
    await drain(store, SITE)
    assert cursors(await job(store)) == ["500", "500", "500"]
    assert [one["index"] for one in await entries(store)] == [501]


async def test_entries_are_broadcast_with_the_record(store: Store) -> None:
    owned = await running(store)
    messages = listen(store, OWN.entries())
    assert isinstance(await anext(messages), Gap)
    await append(store, owned, 1, 200, 404)
    await drain(store, SITE)
    message = await anext(messages)
    assert not isinstance(message, Gap)
    found = msgspec.json.decode(message.body)
    assert found["ident"] == SITE
    assert [one["index"] for one in found["entries"]] == [1, 2]
    assert found["job_data"]["r2xx"] == "1"
    await messages.aclose()


async def test_recent_entries_are_readable_before_and_after_they_are_trimmed(store: Store) -> None:
    async def numbers(count: int = 500) -> list[int]:
        return [
            msgspec.json.decode(one)["index"] for one in await crawl_log.recent(store, SITE, count)
        ]

    owned = await running(store)
    await append(store, owned, 1, 200, 200)
    assert await numbers() == [1, 2]
    await drain(store, SITE, quiet=0)
    await append(store, owned, 2, 200)
    assert await numbers() == [1, 2, 3]
    assert await numbers(2) == [2, 3]


async def foreign(store: Store, *texts: bytes) -> None:
    for text in texts:
        score = await store.call("HINCRBY", KEYS.job(SITE), "log_score", 1)
        await store.call("ZADD", KEYS.log(SITE), score, text)


async def test_entries_of_other_programs_are_handled_whatever_they_are(store: Store) -> None:
    await running(store)
    nested = b'{"a":' * 5_000
    good = b'{"ts": 1.5, "url": "u", "response_code": 200, "type": "download"}'
    await foreign(store, b"no JSON \xff", b"[1]", b"5", b"{}", nested, good, b'"x"')
    found = await drain(store, SITE, quiet=0)
    assert found is not None
    assert found.handled == 7
    record = await job(store)
    assert record["r2xx"] == "1"
    assert cursors(record) == ["7", "7", "7"]
    recent = await crawl_log.recent(store, SITE)
    decoded: list[Any] = [msgspec.json.decode(one.decode(errors="replace")) for one in recent]
    assert [one["index"] for one in decoded] == list(range(1, 8))


async def test_cursors_of_another_analyzer_are_continued(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 200, 200)
    await store.call("HSET", KEYS.job(SITE), "last_analyzed_log_entry", "2", "r2xx", "2")
    await drain(store, SITE)
    record = await job(store)
    assert record["r2xx"] == "3"
    assert cursors(record)[:2] == ["3", "3"]
    assert len(await crawl_log.recent(store, SITE)) == 3


async def test_counters_that_are_no_numbers_are_begun_anew(store: Store) -> None:
    owned = await running(store)
    wrong = ["r2xx", "many", "log_score", "x", "last_analyzed_log_entry", "nan", "heartbeat", "y"]
    await store.call("HSET", KEYS.job(SITE), *wrong)
    await append(store, owned, 1, 200)
    await drain(store, SITE)
    record = await job(store)
    assert (record["r2xx"], record["log_score"]) == ("1", "1")


async def test_only_logs_with_something_to_do_are_looked_at(store: Store) -> None:
    names = [ident_of(number) for number in range(5)]
    await append(store, await running(store, names[0]), 1, 200)
    await running(store, names[1])
    await finish(store, await running(store, names[2]), Ending(finished_at=NOW))
    await added(store, names[3])
    await store.call("HSET", KEYS.job(names[3]), "finished_at", "5")
    assert await log_draining.undrained(store, names) == [names[0], names[3]]


async def test_a_log_of_a_wrong_type_concerns_one_crawl(store: Store) -> None:
    await running(store)
    await store.call("SET", KEYS.log(SITE), "no log")
    found = await drain(store, SITE)
    assert found is not None
    assert found.is_spoilt
    assert await drain(store, "1" * 25) is None
    await store.call("DEL", KEYS.log(SITE))


async def test_responses_over_time_take_bounded_space(store: Store) -> None:
    owned = await running(store)
    now, _ = await store.call("TIME")
    begin = 120 * (int(now) // 120) - 86_400 * 7
    many = 6 * log_draining.MOST_TIMES + 1
    for batch in range(0, many, 300):
        times = range(batch, min(batch + 300, many))
        lines = [download(200, ts=begin + 60 * n) for n in times]
        await crawl_log.append(store, owned, batch + 1, lines, NOTHING)
        await drain(store, SITE)
    found = await crawl_log.minutes(store, SITE)
    assert found.pop("step") == 120
    assert sum(found.values()) == many
    assert len(found) <= many // 2 + 1
