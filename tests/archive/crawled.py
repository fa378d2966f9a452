"""Crawls of a website on loopback, from their queue to their files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from watchbell import ids
from watchbell.archive import crawls
from watchbell.archive.crawls import NewCrawl
from watchbell.archive.idents import ident_of
from watchbell.archive.model import CrawlSettings
from watchbell.archive.slugs import slug_of
from watchbell.archive.warc.reader import WarcReader
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

FAST = CrawlSettings(age=4, delay_min=0, delay_max=0, concurrency=4)


async def add(store: Store, url: str, settings: CrawlSettings = FAST, **more: Any) -> str:
    slug = slug_of(url, more.get("fetch_depth", "inf"))
    known: dict[str, Any] = {"ident": ident_of(url), "url": url, "slug": slug}
    new = NewCrawl(**known, settings=settings, **more)
    return (await crawls.add(store, new, SYSTEM.now(), ids.token())).ident


async def is_over(store: Store, ident: str) -> bool:
    crawl = await crawls.get(store, ident)
    return crawl is None or crawl.finished_at is not None


def responses(folder: Path) -> dict[str, list[bytes]]:
    """By URL: the bytes of all responses that a crawl has recorded."""
    found: dict[str, list[bytes]] = {}
    for path in sorted(folder.glob("*[0-9].warc.gz")):
        with WarcReader(path) as reader:
            for record in reader:
                if record.type in ("response", "revisit"):
                    found.setdefault(record.url, []).append(reader.block())
    return found


def warcs(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.name.endswith(".warc.gz")]


def record_types(folder: Path) -> Iterator[str]:
    for path in warcs(folder):
        with WarcReader(path) as reader:
            yield from (record.type for record in reader)
