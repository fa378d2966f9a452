"""Why a crawl waits, runs, is paused or is over."""

from pathlib import Path
from typing import Any

import pytest

from tests.archive.crawler import working
from tests.archive.crawling import KEYS, NOW, OWN, PIPELINE, SITE, added, append, ident_of, running
from tests.archive.site import Site, served
from tests.waiting import eventually
from watchbell.archive import crawls, finishing, pipelines, queues, status
from watchbell.archive.crawl_explanations import QueuePlace, explain
from watchbell.archive.crawl_watch import Verdict
from watchbell.archive.crawls import Change
from watchbell.archive.model import Crawl, CrawlSettings, Ending, Pipeline
from watchbell.archive.pipelines import Capacity, KnownPipeline
from watchbell.archive.status import Counts, explanation
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store

FREE = Capacity(concurrent=2, running=1)


def record(nickname: str, **fields: Any) -> Pipeline:
    return Pipeline(
        id=fields.pop("id", PIPELINE),
        nickname=nickname,
        hostname="h1",
        fqdn="h1",
        pid=1,
        version="1",
        python="3",
        ts=NOW,
        disk_usage=0,
        disk_available=0,
        mem_usage=0,
        mem_available=0,
        load_average_1m=0,
        load_average_5m=0,
        load_average_15m=0,
        **fields,
    )


def known(nickname: str = "alice", silent: float = 1, **capacity: Any) -> KnownPipeline:
    room = Capacity(**{"concurrent": 2, "running": 1, **capacity})
    return KnownPipeline(record(nickname), silent, room, should_stop=False)


FOREIGN = KnownPipeline(record("bob"), 1, None, should_stop=False)
STOPPING = KnownPipeline(record("carol", status="Stopping"), 1, FREE, should_stop=False)
ASKED = KnownPipeline(record("carol"), 1, FREE, should_stop=True)
LEAVE = Verdict("leave")


def crawl(**fields: Any) -> Crawl:
    return Crawl(ident=SITE, url="https://example.com/", **fields)


PAUSED = CrawlSettings(is_paused=True)
WAITS = [
    (None, [], "It is in no queue: another program has registered it and not queued it yet."),
    (("pending", 0), [], "It waits in pending, and no pipeline is running."),
    (("pending", 0), [known(silent=40)], "It waits in pending, and no pipeline is running."),
    (
        ("pending", 0),
        [known()],
        "It is the next in pending. A pipeline takes it within seconds.",
    ),
    (("pending", 1), [known()], "It waits in pending: 1 crawl is ahead of it."),
    (("pending", 2), [known()], "It waits in pending: 2 crawls are ahead of it."),
    (
        ("pending", 2),
        [known(running=2)],
        "It waits in pending: the pipeline that may take it is full, and 2 crawls are ahead of it.",
    ),
    (
        ("pending", 0),
        [known(running=2), known(running=3)],
        "It waits in pending: all 2 pipelines that may take it are full.",
    ),
    (
        ("pending", 0),
        [STOPPING, ASKED],
        "It waits in pending: all pipelines that may take it are stopping.",
    ),
    (
        ("pending", 0),
        [known(only_pages=True)],
        "It waits in pending: all pipelines that are running take single pages only.",
    ),
    (
        ("pending-large", 0),
        [known()],
        "It waits in pending-large: no pipeline that is running takes large crawls.",
    ),
    (
        ("pending-large", 0),
        [FOREIGN],
        "It is the next in pending-large. A pipeline takes it within seconds.",
    ),
    (
        ("pending:fast", 0),
        [known()],
        (
            "It waits in pending:fast: no pipeline that is running has 'fast' in its nickname and"
            " takes sites."
        ),
    ),
    (
        ("pending:fast", 0),
        [known("so-fast")],
        "It is the next in pending:fast. A pipeline takes it within seconds.",
    ),
]


@pytest.mark.parametrize(("place", "there", "words"), WAITS)
def test_a_waiting_crawl_is_explained(
    place: tuple[str, int] | None, there: list[KnownPipeline], words: str
) -> None:
    found = explain(
        crawl(),
        place=QueuePlace(*place) if place else None,
        pipelines=there,
        verdict=LEAVE,
        lease=30,
        expires_in=None,
        now=NOW,
    )
    assert found == words


@pytest.mark.parametrize(
    ("fields", "verdict", "words"),
    [
        ({}, LEAVE, "It has been running on alice for 1 hour."),
        ({"settings": PAUSED}, LEAVE, "It is paused on alice. It goes on once it is resumed."),
        (
            {"settings": CrawlSettings(abort_requested=True)},
            LEAVE,
            "alice is ending it, because it was aborted.",
        ),
        (
            {},
            Verdict("alarm", "no progress for more than an hour"),
            "It is on alice, but there is trouble: no progress for more than an hour.",
        ),
        (
            {},
            Verdict("return", "back in the queue, since its pipeline alice is gone"),
            "It goes back in the queue, since its pipeline alice is gone.",
        ),
        (
            {},
            Verdict("abort", "aborted, since its pipeline alice is gone"),
            "It is aborted, since its pipeline alice is gone.",
        ),
        ({"finished_at": NOW}, LEAVE, "It has completed. It can be archived again in 2 days."),
        (
            {"finished_at": NOW, "failed": True, "reason": "the disk is full"},
            LEAVE,
            "It has failed: the disk is full. It can be archived again in 2 days.",
        ),
        (
            {"finished_at": NOW, "aborted": True, "reason": "aborted by bob"},
            LEAVE,
            "It has been aborted by bob. It can be archived again in 2 days.",
        ),
    ],
)
def test_a_crawl_at_work_or_over_is_explained(
    fields: dict[str, Any], verdict: Verdict, words: str
) -> None:
    found = explain(
        crawl(started_at=NOW - 3_600, pipeline_id=PIPELINE, **fields),
        place=None,
        pipelines=[known()],
        verdict=verdict,
        lease=30,
        expires_in=172_800,
        now=NOW,
    )
    assert found == words


async def test_a_crawl_is_explained_from_its_beginning_to_its_end(store: Store) -> None:
    async def why() -> str:
        return await explanation(store, Settings(), SITE, NOW + 11)

    with pytest.raises(NotFound):
        await why()
    await added(store)
    assert await why() == "It waits in pending, and no pipeline is running."
    await crawls.change(store, SITE, Change(is_paused=True))
    assert "passed over until it is resumed" in await why()
    await finishing.abort(store, SITE, "carol", NOW)
    assert (await why()).startswith("It has been aborted by carol.")
    await finishing.expire(store, SITE)
    assert await why() == "Its last crawl has been aborted by carol. It can be archived again."
    await pipelines.report(store, record("alice"), FREE)
    owned = await running(store)
    assert await why() == "It has been running on alice for 10 seconds."
    await store.call("ZADD", OWN.leases(), 5, SITE)
    assert "back in the queue" in await why()
    assert (await queues.release(store, owned, "back in the queue, since x is gone", NOW)) is True
    assert (await why()).endswith("It is back in the queue, since x is gone.")


async def test_crawls_are_counted(store: Store) -> None:
    for number, queue in enumerate(["pending", "pending-ao", "pending-large", "pending:z"]):
        await added(store, ident_of(number), queue=queue)
    await added(store, ident_of(5), queue="pending:b")
    await finishing.abort(store, ident_of(5), "", NOW)
    owned = await running(store, ident_of(6), queue="pending:alice")
    await append(store, owned, 1, 200)
    await finishing.finish(store, owned, Ending(finished_at=NOW))
    await running(store, ident_of(7), queue="pending:alice")
    await store.call("SET", KEYS.failed(), "many")
    assert await status.counts(store) == Counts(
        completed=1,
        aborted=1,
        failed=0,
        working=1,
        pending=1,
        pending_ao=1,
        pending_large=1,
        pending_other=1,
    )


async def test_a_crawl_that_cannot_begin_is_given_back_and_says_why(
    store: Store, tmp_path: Path
) -> None:
    async with served(Site(1, odd=False)) as site, working(store, tmp_path) as crawler:
        folders = tmp_path / "archive" / "crawls"
        await eventually(folders.is_dir)
        folders.rmdir()
        folders.write_bytes(b"")
        ident = await crawler.add(site.start)

        async def reason() -> str:
            crawl = await crawls.get(store, ident)
            return crawl.reason if crawl else ""

        assert await eventually(reason, why="it is given back") == (
            "back in the queue, since the pipeline can't use its disk: [Errno 20] Not a directory:"
            f" '{folders / ident}'"
        )
        explained = await explanation(store, Settings(), ident, SYSTEM.now())
        assert explained.endswith(f" It is {await reason()}.")
        await finishing.abort(store, ident, "Alice", SYSTEM.now())
    assert not site.asked
