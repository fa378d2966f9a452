"""Crawls added and changed, by us and by programs written for ArchiveBot."""

import pytest

from tests.archive.crawling import KEYS, NOW, OWN, PIPELINE, SITE, added, job, new, running, taken
from watchbell.archive import crawls, finishing, queues
from watchbell.archive.crawl_records import state_of
from watchbell.archive.crawls import Change
from watchbell.archive.finishing import Abort
from watchbell.archive.model import CrawlOptions, CrawlSettings
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen


async def test_a_crawl_is_written_with_the_fields_of_the_document(store: Store) -> None:
    await added(store, note="history", no_offsite_links=True, user_agent="Mozilla")
    assert await job(store) == {
        "url": f"https://{SITE}.example.com/",
        "fetch_depth": "inf",
        "log_key": KEYS.log(SITE),
        "user_agent": "Mozilla",
        "ignore_patterns_set_key": KEYS.ignores(SITE),
        "slug": "example.com-inf",
        "started_by": "bob",
        "started_in": "",
        "queued_at": "1790000000.250",
        "settings_age": "4",
        "delay_min": "250",
        "delay_max": "375",
        "concurrency": "3",
        "note": "history",
        "no_offsite_links": "true",
        "suppress_ignore_reports": "true",
    }
    assert await store.call("SMEMBERS", KEYS.ignores(SITE)) == {b"/calendar/"}
    assert await store.call("LRANGE", KEYS.pending(), 0, -1) == [SITE.encode()]


async def test_a_url_has_one_crawl_at_a_time(store: Store) -> None:
    assert (await added(store)).is_new
    assert not (await added(store, note="again")).is_new
    assert await store.call("LLEN", KEYS.pending()) == 1
    assert "note" not in await job(store)


async def test_adding_is_repeated_without_harm(store: Store) -> None:
    for _ in range(3):
        assert (await crawls.add(store, new(), NOW, "token")).is_new
    assert await store.call("LLEN", KEYS.pending()) == 1


async def test_a_crawl_is_read_as_it_was_added(store: Store) -> None:
    options = CrawlOptions(obeys_robots=True, most_urls=7)
    asked = new(
        queue="pending:fast",
        fetch_depth="shallow",
        url_file="https://example.com/list.txt",
        grabber="phantomjs",
        phantomjs_wait=2.5,
        phantomjs_scroll=10,
        no_phantomjs_smart_scroll=True,
        options=options,
        settings=CrawlSettings(age=6, delay_min=0, delay_max=1, concurrency=9, is_paused=True),
    )
    await crawls.add(store, asked, NOW, "token")
    found = await crawls.get(store, SITE)
    assert found is not None
    names = ["url", "url_file", "fetch_depth", "slug", "grabber", "phantomjs_wait", "options"]
    names += ["phantomjs_scroll", "no_phantomjs_smart_scroll", "queue", "started_by"]
    for name in names:
        assert getattr(found, name) == getattr(asked, name), name
    assert found.settings == CrawlSettings(
        age=6,
        delay_min=0,
        delay_max=1,
        concurrency=9,
        is_paused=True,
        suppress_ignore_reports=True,
    )
    assert state_of(found) == "paused"


async def test_a_crawl_that_another_program_queues_is_taken(store: Store) -> None:
    record = ["url", "https://example.com/", "fetch_depth", "shallow", "log_key", KEYS.log(SITE)]
    record += ["user_agent", "", "ignore_patterns_set_key", KEYS.ignores(SITE), "slug", "x-shallow"]
    await store.call("HMSET", KEYS.job(SITE), *record, "started_by", "eve", "started_in", "#a")
    await store.call("LPUSH", KEYS.pending_ao(), SITE)
    await store.call("HSET", KEYS.job(SITE), "queued_at", "1790000000")
    owned = await taken(store)
    assert owned is not None
    found = await crawls.get(store, SITE)
    assert found is not None
    assert (found.pipeline_id, found.started_at, found.fetch_depth) == (
        PIPELINE,
        NOW + 1,
        "shallow",
    )
    assert found.settings == CrawlSettings(suppress_ignore_reports=False)


async def test_each_change_of_settings_is_published_with_its_age(store: Store) -> None:
    await added(store)
    messages = listen(store, KEYS.settings(SITE))
    assert isinstance(await anext(messages), Gap)
    changes = [
        Change(delay=(10, 20)),
        Change(concurrency=5),
        Change(ignore=["a", "b"]),
        Change(unignore=["a"]),
        Change(suppress_ignore_reports=False),
        Change(is_paused=True),
    ]
    for age, change in enumerate(changes, 5):
        assert (await crawls.change(store, SITE, change)).age == age
        message = await anext(messages)
        assert not isinstance(message, Gap)
        assert message.body == b"%d" % age
    assert await crawls.settings(store, SITE) == CrawlSettings(
        age=10,
        delay_min=10,
        delay_max=20,
        concurrency=5,
        ignores=frozenset({"/calendar/", "b"}),
        suppress_ignore_reports=False,
        is_paused=True,
    )
    await messages.aclose()


async def test_a_note_is_no_setting(store: Store) -> None:
    await added(store)
    assert (await crawls.change(store, SITE, Change(note="why"))).age == 4
    assert (await job(store))["note"] == "why"


@pytest.mark.parametrize(
    "change",
    [
        Change(delay=(2, 1)),
        Change(delay=(-1, 1)),
        Change(delay=(0, 10_000_000)),
        Change(concurrency=0),
        Change(concurrency=100),
        Change(ignore=[str(n) for n in range(10_000)]),
    ],
)
async def test_settings_that_make_no_sense_are_refused(store: Store, change: Change) -> None:
    await added(store)
    before = await job(store)
    with pytest.raises(Refused):
        await crawls.change(store, SITE, change)
    assert await job(store) == before


async def test_nothing_is_written_to_a_crawl_that_is_gone(store: Store) -> None:
    for change in (Change(delay=(1, 2)), Change(ignore=["a"]), Change(note="x")):
        with pytest.raises(NotFound):
            await crawls.change(store, SITE, change)
    with pytest.raises(NotFound):
        await finishing.abort(store, SITE, "alice", NOW)
    assert await crawls.settings(store, SITE) is None
    assert await store.call("DBSIZE") == 0


async def test_patterns_of_other_programs_are_bounded(store: Store) -> None:
    await added(store)
    for begin in range(0, 11_000, 1_000):
        await store.call("SADD", KEYS.ignores(SITE), *range(begin, begin + 1_000))
    found = await crawls.settings(store, SITE)
    assert found is not None
    assert len(found.ignores) == crawls.MOST_IGNORES


async def test_values_that_make_no_sense_count_as_the_usual(store: Store) -> None:
    await added(store)
    wrong = ["delay_min", "soon", "delay_max", "nan", "concurrency", "-4", "settings_age", "x"]
    await store.call("HSET", KEYS.job(SITE), *wrong, "r2xx", "many", "queued_at", "inf")
    found = await crawls.get(store, SITE)
    assert found is not None
    usual = CrawlSettings()
    assert (found.settings.delay_min, found.settings.delay_max) == (
        usual.delay_min,
        usual.delay_max,
    )
    assert (found.settings.concurrency, found.r2xx, found.queued_at) == (usual.concurrency, 0, None)
    assert (await crawls.change(store, SITE, Change(concurrency=2))).age == 1


async def test_a_waiting_crawl_is_aborted_at_once(store: Store) -> None:
    await added(store, queue="pending:fast")
    assert await finishing.abort(store, SITE, "alice", NOW + 5) is Abort.ENDED
    record = await job(store)
    assert (record["aborted"], record["finished_at"]) == ("true", "1790000005.250")
    assert 0 < await store.call("TTL", KEYS.job(SITE)) <= 5
    assert 0 < await store.call("TTL", OWN.crawl(SITE)) <= 5
    assert await store.call("EXISTS", KEYS.pending_for("fast"), KEYS.working()) == 0
    assert await store.call("GET", KEYS.aborted()) == b"1"
    with pytest.raises(Refused, match="has ended"):
        await finishing.abort(store, SITE, "alice", NOW + 6)
    assert await store.call("GET", KEYS.aborted()) == b"1"


async def test_the_pipeline_of_a_running_crawl_is_asked_to_abort_it(store: Store) -> None:
    await running(store)
    for _ in range(2):
        assert await finishing.abort(store, SITE, "alice", NOW) is Abort.REQUESTED
    settings = await crawls.settings(store, SITE)
    assert settings is not None
    assert (settings.abort_requested, settings.age) == (True, 5)
    assert await store.call("TTL", KEYS.job(SITE)) == -1


async def test_only_an_ended_crawl_can_be_forgotten(store: Store) -> None:
    await added(store)
    with pytest.raises(Refused, match="expiry timer"):
        await finishing.expire(store, SITE)
    await finishing.abort(store, SITE, "alice", NOW)
    await finishing.expire(store, SITE)
    assert await crawls.get(store, SITE) is None
    assert (await added(store)).is_new


async def test_all_crawls_are_listed_running_ones_first(store: Store) -> None:
    await added(store, "1" * 25)
    await added(store, "2" * 25, queue="pending-ao")
    await added(store, "3" * 25)
    await added(store, "4" * 25)
    await taken(store)
    await finishing.abort(store, "3" * 25, "", NOW)
    found = [(one.ident[0], state_of(one)) for one in await crawls.every(store, NOW)]
    assert found == [("1", "running"), ("4", "queued"), ("2", "queued"), ("3", "aborted")]


async def test_a_key_of_a_wrong_type_concerns_one_crawl(store: Store) -> None:
    wrong, right = "1" * 25, "2" * 25
    await store.call("LPUSH", KEYS.pending(), right, wrong)
    await store.call("SET", wrong, "no hash")
    await store.call("DEL", KEYS.pending())
    await added(store, right)
    await store.call("RPUSH", KEYS.pending(), wrong)
    assert [one.ident for one in await crawls.every(store, NOW)] == [right]
    assert await crawls.settings(store, wrong) is None
    owned = await taken(store)
    assert owned is not None
    assert owned.ident == right
    assert (await queues.pending(store))["pending"] == []
    await store.call("DEL", wrong)
