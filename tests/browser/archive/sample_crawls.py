"""Crawls in every state, made without a pipeline, for tests of pages."""

from watchbell import ids
from watchbell.archive import crawl_log, crawls, finishing, log_draining, queues
from watchbell.archive.commands import Archive
from watchbell.archive.ignore_sets import built_in, every
from watchbell.archive.model import (
    Ending,
    FinishedFile,
    Increments,
    LogEntry,
    Ownership,
    Pipeline,
)
from watchbell.archive.pipelines import Capacity, UploadProgress, report
from watchbell.archive.submission import Starter, Submitted, submit
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

PIPELINE = "pipeline:" + "a" * 32
CODES = (200, 200, 200, 301, 200, 404, 200, 200, 503, 200)


async def add(store: Store, url: str, options: str = "", by: str = "alice") -> str:
    command = Archive(url, options)
    made = await submit(
        store, command, Starter(by), await every(store), now=SYSTEM.now(), token=ids.token()
    )
    assert isinstance(made, Submitted), made
    return made.added.ident


async def pipeline(store: Store, running: int = 1) -> None:
    record = Pipeline(
        id=PIPELINE,
        nickname="attic",
        hostname="web-1",
        fqdn="web-1.example.com",
        pid=4711,
        version="0.1.0",
        python="3.11.7",
        ts=SYSTEM.now(),
        disk_usage=62.5,
        disk_available=412 << 30,
        mem_usage=31,
        mem_available=11 << 30,
        load_average_1m=0.82,
        load_average_5m=0.71,
        load_average_15m=0.55,
    )
    uploads = UploadProgress(files=3, size=5 << 30, sent=1 << 30, problem="the bucket is away")
    room = Capacity(concurrent=20, running=running, large=True, uploads=uploads)
    await report(store, record, room)


async def take(store: Store) -> Ownership:
    owned = await queues.reserve(
        store, PIPELINE, "attic", attempt=ids.token(), lease=3_600, now=SYSTEM.now()
    )
    assert owned is not None
    return owned


async def log(store: Store, owned: Ownership, batch: int, count: int, host: str) -> None:
    """Responses of all kinds, an ignored URL and a message."""
    now = SYSTEM.now()
    entries = [
        LogEntry(
            type="download",
            ts=now - 60 * (count - n),
            url=f"https://{host}/articles/{2_000 + n}/page-{n}.html?sort=date",
            response_code=CODES[n % len(CODES)],
            wget_code="OK",
            is_error=CODES[n % len(CODES)] >= 500,
            is_warning=CODES[n % len(CODES)] == 404,
        )
        for n in range(count)
    ]
    ignored = f"https://{host}/account/logout"
    entries.append(
        LogEntry(type="ignore", ts=now, url=ignored, pattern="/logout/?$", source=f"https://{host}")
    )
    entries.append(LogEntry(type="stdout", ts=now, message=f"{host} asked to wait 2 s."))
    increments = Increments(
        bytes_downloaded=48_211 * count,
        items_downloaded=count,
        items_queued=3 * count,
        hosts={host: (count, 48_211 * count), f"cdn.{host}": (count // 3 + 1, 900_000)},
        matches={built_in()["global"][0]: 7},
    )
    await crawl_log.append(store, owned, batch, entries, increments)
    await log_draining.drain(store, owned.ident, quiet=0)


async def filled(store: Store) -> dict[str, str]:
    """By word: the idents of a crawl that runs, is paused, waits, and is completed."""
    await pipeline(store)
    found = {"completed": await add(store, "https://museum.example.com/", "--explain=Moved")}
    owned = await take(store)
    await log(store, owned, 1, 40, "museum.example.com")
    files = (
        FinishedFile("museum.example.com-inf-20261116-101500-00000.warc.gz", 1_928_440),
        FinishedFile("museum.example.com-inf-20261116-101500-meta.warc.gz", 10_242),
        FinishedFile("museum.example.com-inf-20261116-101500.json", 812),
    )
    await finishing.finish(
        store, owned, Ending(finished_at=SYSTEM.now(), files=files, warc_size=1_938_682)
    )
    words = '--explain="Closes in May" --concurrency=5 --no-offsite --max-urls=50000'
    found["running"] = await add(store, "https://news.example.com/2026/", words)
    await log(store, await take(store), 1, 120, "news.example.com")
    found["paused"] = await add(store, "https://forum.example.org/board/", by="bob")
    await log(store, await take(store), 1, 30, "forum.example.org")
    await crawls.change(store, found["paused"], crawls.Change(is_paused=True))
    found["queued"] = await add(store, "https://blog.example.net/", by="charlie")
    for number in range(3):
        await add(store, f"https://shop-{number}.example.com/", "--pipeline=cellar")
    return found
