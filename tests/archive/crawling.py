"""Crawls and pipelines for tests of the archive."""

from typing import Any

import msgspec

from watchbell import ids
from watchbell.archive import crawl_log, crawls, queues
from watchbell.archive.crawl_log import Answer
from watchbell.archive.crawls import Added, NewCrawl
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.model import CrawlSettings, Increments, LogEntry, Ownership
from watchbell.store.client import Store

NOW = 1_790_000_000.25
KEYS, OWN = Archive(), Crawls()
PIPELINE = "pipeline:" + "a" * 32
OTHER = "pipeline:" + "b" * 32
SITE = "43z7a11vo6of3a7i173441dtc"


def ident_of(number: int) -> str:
    return f"{number:025d}"


def new(ident: str = SITE, **fields: Any) -> NewCrawl:
    settings = CrawlSettings(age=4, ignores=frozenset({"/calendar/"}))
    known = {"url": f"https://{ident}.example.com/", "slug": "example.com-inf", "started_by": "bob"}
    return NewCrawl(**{"ident": ident, "settings": settings, **known, **fields})


async def added(store: Store, ident: str = SITE, **fields: Any) -> Added:
    return await crawls.add(store, new(ident, **fields), NOW, ids.token())


async def taken(
    store: Store, pipeline: str = PIPELINE, nickname: str = "alice", **options: Any
) -> Ownership | None:
    given = {"attempt": ids.token(), "lease": 30.0, "now": NOW + 1, **options}
    return await queues.reserve(store, pipeline, nickname, **given)


async def running(store: Store, ident: str = SITE, **fields: Any) -> Ownership:
    await added(store, ident, **fields)
    owned = await taken(store)
    assert owned is not None
    assert owned.ident == ident
    return owned


def download(code: int, url: str = "https://example.com/", ts: float = NOW) -> LogEntry:
    return LogEntry(
        type="download",
        ts=ts,
        url=url,
        response_code=code,
        wget_code="OK",
        is_error=code >= 500,
        is_warning=400 <= code < 500,
    )


async def append(store: Store, owned: Ownership, batch: int, *codes: int) -> Answer:
    good = sum(200 <= code < 400 for code in codes)
    increments = Increments(
        bytes_downloaded=100 * len(codes),
        items_downloaded=good,
        items_queued=2,
        hosts={"example.com": (len(codes), 100 * len(codes))},
        matches={"/calendar/": 1},
    )
    return await crawl_log.append(store, owned, batch, [download(c) for c in codes], increments)


async def job(store: Store, ident: str = SITE) -> dict[str, str]:
    found = await store.call("HGETALL", KEYS.job(ident))
    return {name.decode(): value.decode() for name, value in found.items()}


async def entries(store: Store, ident: str = SITE) -> list[dict[str, Any]]:
    found = await store.call("ZRANGE", KEYS.log(ident), 0, -1)
    return [msgspec.json.decode(one) for one in found]


def cursors(record: dict[str, str]) -> list[str | None]:
    names = ["last_analyzed_log_entry", "last_broadcasted_log_entry", "last_trimmed_log_entry"]
    return [record.get(name) for name in names]
