"""Names and passwords in URLs are for their servers: neither people nor other keys get them."""

from tests.archive.crawling import KEYS, NOW, SITE, added, taken
from watchbell.archive import announcements, chat, crawls, finishing, history, leases
from watchbell.archive.chat import Person
from watchbell.archive.crawl_reaper import CrawlReaper
from watchbell.archive.model import Ending
from watchbell.clock import SetClock
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store

URL = "https://alice:s3cret@example.com/page@home"
SHOWN = "https://***@example.com/page@home"
LIST = "ftp://bob:s3cret@example.com/list"
OP = Person("carol", "#archive", is_op=True)


async def found_in(store: Store, words: bytes) -> set[str]:
    """The keys that contain the words."""
    found = set[str]()
    for key in await store.call("KEYS", "*"):
        kind = (await store.call("TYPE", key)).decode()
        content = {
            "string": ("GET", key),
            "list": ("LRANGE", key, 0, -1),
            "set": ("SMEMBERS", key),
            "zset": ("ZRANGE", key, 0, -1),
            "hash": ("HGETALL", key),
        }.get(kind, ("XRANGE", key, "-", "+"))
        if words in repr(await store.call(*content)).encode():
            found.add(key.decode())
    return found


async def test_only_the_record_of_a_crawl_has_them_until_it_expires(store: Store) -> None:
    record = {KEYS.job(SITE)}
    await added(store, url=URL, url_file=LIST)
    owned = await taken(store)
    assert owned
    await announcements.queue(store, SITE)
    await announcements.post(store)
    await leases.beat(store, [owned], 30, {owned: "the disk is full"})
    await CrawlReaper(store, Settings(), SetClock(NOW)).look()
    assert await store.call("LLEN", "events") == 1
    assert await found_in(store, b"s3cret") == record
    await finishing.finish(store, owned, Ending(failure="no", finished_at=NOW))
    assert await found_in(store, b"s3cret") == record
    await finishing.expire(store, SITE)
    assert await found_in(store, b"s3cret") == set()
    (past,) = await history.of_ident(store, SITE)
    assert (past.crawl.url, past.crawl.url_file) == (SHOWN, "ftp://***@example.com/list")


async def test_who_reads_a_crawl_gets_none_but_its_pipeline(store: Store) -> None:
    await added(store, url=URL, url_file=LIST)
    for crawl in (await crawls.get(store, SITE), *await crawls.every(store, NOW)):
        assert crawl
        assert (crawl.url, crawl.url_file) == (SHOWN, "ftp://***@example.com/list")
    own = await crawls.to_fetch(store, SITE)
    assert own
    assert (own.url, own.url_file) == (URL, LIST)


async def test_chat_answers_without_them(store: Store) -> None:
    ident = (await chat.answer(store, Settings(), f"!a {URL}", OP, NOW))[0].split()[3]
    others = (f"!a {URL}", f"!status {ident}", f"!status {URL}", "!pending")
    for text in (*others, f"!a {LIST} --robots=1", "!status http://bob:s3cret@example.com/"):
        lines = await chat.answer(store, Settings(), text, OP, NOW)
        assert lines
        assert not [line for line in lines if "s3cret" in line or "alice" in line]
