"""Notices about crawls that begin and end."""

from tests.archive.crawling import KEYS, NOW, SITE, added, ident_of, running
from watchbell.archive import announcements, finishing
from watchbell.archive.model import Ending
from watchbell.store.client import Store


async def test_a_crawl_at_work_is_announced_once(store: Store) -> None:
    await added(store)
    assert not await announcements.queue(store, SITE)
    await finishing.abort(store, SITE, "", NOW)
    await finishing.expire(store, SITE)
    await running(store)
    for _ in range(2):
        assert await announcements.queue(store, SITE)
    notice = f"Archiving https://{SITE}.example.com/"
    assert await store.call("ZRANGE", KEYS.tweets(), 0, -1) == [notice.encode()]
    await announcements.post(store)
    assert await announcements.queue(store, SITE)
    assert await store.call("EXISTS", KEYS.tweets()) == 0
    assert [text for text, _ in await announcements.feed(store)] == [notice]


async def test_old_notices_are_removed(store: Store) -> None:
    await store.call("ZADD", KEYS.tweeted(), 5, "Archiving something long ago")
    await announcements.post(store)
    assert await announcements.feed(store) == []


async def test_ends_are_announced_in_order_until_done(store: Store) -> None:
    for number in (1, 2):
        owned = await running(store, ident_of(number), started_in="#archive")
        await finishing.finish(store, owned, Ending(finished_at=NOW + number))
    first, second = await announcements.ended(store)
    assert (first.ident, first.state, first.started_in) == (ident_of(1), "completed", "#archive")
    assert second.ident == ident_of(2)
    await announcements.done(store, first)
    assert await announcements.ended(store) == [second]
    await announcements.done(store, second)
    assert await announcements.ended(store) == []


async def test_notices_of_other_programs_are_read_as_far_as_possible(store: Store) -> None:
    texts = ['{"url": "https://a/", "aborted": "true", "ident": 5}', "no JSON", "[]"]
    for text in texts:
        await store.call("RPUSH", KEYS.finish_notifications(), text)
    notices = await announcements.ended(store)
    found = [(notice.url, notice.state) for notice in notices]
    assert found == [("https://a/", "aborted"), ("", ""), ("", "")]
