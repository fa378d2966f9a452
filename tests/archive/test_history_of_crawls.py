"""Crawls that have ended are kept with all of note, and read the newest first."""

from tests.archive.crawling import KEYS, NOW, OWN, SITE, added, append, ident_of, running
from watchbell.archive import finishing, history
from watchbell.archive.model import Ending, FinishedFile
from watchbell.store.client import Store


async def ended(store: Store, number: int, **fields: str) -> None:
    owned = await running(store, ident_of(number), **fields)
    await finishing.finish(store, owned, Ending(finished_at=NOW + number))


async def test_a_crawl_keeps_what_is_of_note(store: Store) -> None:
    owned = await running(store, note="before it closes", started_in="#archive")
    await append(store, owned, 1, 200, 404)
    files = (FinishedFile("a-00000.warc.gz", 70), FinishedFile("a.json", 7))
    ending = Ending(finished_at=NOW + 60, files=files, warc_size=70)
    await finishing.finish(store, owned, ending)
    await finishing.expire(store, SITE)
    (found,) = (await history.page(store)).items
    assert (found.state, found.nickname, found.files) == ("completed", "alice", files)
    assert found.id == f"{SITE}:1790000000.250"
    crawl = found.crawl
    assert (crawl.url, crawl.note) == (f"https://{SITE}.example.com/", "before it closes")
    assert (crawl.started_by, crawl.started_in) == ("bob", "#archive")
    times = (crawl.queued_at, crawl.started_at, crawl.finished_at)
    assert times == (NOW, NOW + 1, NOW + 60)
    assert (crawl.r2xx, crawl.r4xx, crawl.error_count, crawl.warc_size) == (1, 1, 1, 70)
    assert crawl.reason == "completed"


async def test_aborted_and_failed_crawls_are_kept_with_their_reason(store: Store) -> None:
    await added(store, ident_of(1))
    await finishing.abort(store, ident_of(1), "alice", NOW + 1)
    await added(store, ident_of(2))
    await finishing.fail(store, ident_of(2), "the site is gone", NOW + 2)
    found = [(one.state, one.crawl.reason) for one in (await history.page(store)).items]
    assert found == [("failed", "the site is gone"), ("aborted", "aborted by alice")]


async def test_pages_have_the_newest_first(store: Store) -> None:
    for number in range(5):
        await ended(store, number)
    assert await history.count(store) == 5
    first = await history.page(store, limit=2)
    await ended(store, 5)
    second = await history.page(store, limit=2, after=first.next)
    third = await history.page(store, limit=2, after=second.next)
    pages = [first, second, third]
    assert [[int(one.crawl.ident) for one in page.items] for page in pages] == [[4, 3], [2, 1], [0]]
    assert third.next == ""
    await store.call("ZREM", OWN.ended(), second.next)
    assert (await history.page(store, after=second.next)).items == []


async def test_crawls_of_one_ident_are_found_by_index(store: Store) -> None:
    for number in (1, 2, 10):
        await ended(store, number)
    await finishing.expire(store, ident_of(1))
    owned = await running(store, ident_of(1))
    await store.call("HSET", KEYS.job(ident_of(1)), "queued_at", f"{NOW + 9:.3f}")
    await finishing.finish(store, owned, Ending(finished_at=NOW + 99))
    assert await store.call("HLEN", OWN.history()) == 4
    ends = [one.crawl.finished_at for one in await history.of_ident(store, ident_of(1), 5)]
    assert ends == [NOW + 99, NOW + 1]
    newest = await history.page(store, ident=ident_of(1), limit=1)
    older = await history.page(store, ident=ident_of(1), limit=1, after=newest.next)
    assert [one.crawl.finished_at for one in (*newest.items, *older.items)] == ends
    assert older.next == ""
    assert await history.of_ident(store, ident_of(1)[:-1]) == []


async def test_crawls_are_found_by_when_they_ended(store: Store) -> None:
    for number in range(5):
        await ended(store, number)
    found = await history.between(store, NOW + 1, NOW + 3, 2)
    assert [int(one.crawl.ident) for one in found] == [3, 2]


async def test_a_search_goes_on_where_it_was_given_up(store: Store) -> None:
    script = """for i = 1, 10001 do
      redis.call('HSET', KEYS[1], 'x:' .. i, '{}')
      redis.call('ZADD', KEYS[2], ARGV[1] + i, 'x:' .. i)
    end"""
    await store.call("EVAL", script, 2, OWN.history(), OWN.ended(), int(NOW) + 10)
    await ended(store, 1)
    first = await history.page(store, contains="example")
    assert first.items == []
    second = await history.page(store, contains="example", after=first.next)
    assert [int(one.crawl.ident) for one in second.items] == [1]


async def test_history_is_searched(store: Store) -> None:
    await ended(store, 1, note="Weather", started_by="carol")
    await ended(store, 2)
    await ended(store, 3)

    async def numbers(contains: str = "", ident: str = "") -> list[int]:
        found = await history.page(store, contains=contains, ident=ident)
        return [int(one.crawl.ident) for one in found.items]

    assert await numbers("weather") == [1]
    assert await numbers("CAROL") == [1]
    assert await numbers("example.com") == [3, 2, 1]
    assert await numbers(ident=ident_of(2)) == [2]
    assert await numbers("nothing") == []


async def test_old_history_is_removed(store: Store) -> None:
    for number in range(3):
        await ended(store, number)
    await store.call("HSET", OWN.failing(), ident_of(0), "it has failed")
    assert await history.trim(store, NOW + 86_400 + 1, days=1) == 1
    assert await store.call("EXISTS", OWN.failing()) == 0
    assert [int(one.crawl.ident) for one in (await history.page(store)).items] == [2, 1]
    assert await store.call("HLEN", OWN.history()) == 2
    assert await store.call("ZCARD", OWN.ended_by_ident()) == 2


async def test_a_spoilt_record_hides_no_other(store: Store) -> None:
    await ended(store, 1)
    for text in ("no JSON", "[]", '{"ident": 5}', '{"ident": "x", "job": {}}'):
        await store.call("HSET", OWN.history(), text, text)
        await store.call("ZADD", OWN.ended(), NOW + 50, text)
    assert [int(one.crawl.ident) for one in (await history.page(store)).items] == [1]


async def test_a_crawl_that_another_program_ended_is_recorded_once(store: Store) -> None:
    await running(store)
    await store.call("HSET", KEYS.job(SITE), "finished_at", "1790000099", "aborted", "true")
    for key in (KEYS.job(SITE), KEYS.ignores(SITE)):
        await store.call("EXPIRE", key, 5)
    for _ in range(2):
        await finishing.record_ended(store, SITE)
    (found,) = (await history.page(store)).items
    assert (found.state, found.crawl.finished_at) == ("aborted", 1_790_000_099)
    assert 0 < await store.call("TTL", OWN.crawl(SITE)) <= 5
    assert await store.call("EXISTS", KEYS.working(), OWN.leases()) == 0
