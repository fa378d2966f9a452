"""A pipeline crawls a website of known pages, and its WARC has what the server sent."""

import asyncio
import zipfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.archive.crawled import add, is_over, record_types, responses, warcs
from tests.archive.site import Site, served
from tests.archive.warc_gate import gate
from tests.waiting import eventually
from watchbell.archive import crawls, finishing
from watchbell.archive.model import CrawlOptions
from watchbell.archive.pipeline import Pipeline
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.files.objects import Files
from watchbell.settings import Archive as Settings
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return objects.opened(FilesSettings(), tmp_path)


@asynccontextmanager
async def pipeline(store: Store, data: Path, files: Files) -> AsyncIterator[Pipeline]:
    settings = Settings(allow_private=True, nickname="p1", reserve=0)
    one = Pipeline(store, settings, data, files, SYSTEM, lambda _: None)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(one.run())
        yield one
        task.cancel()


async def test_everything_is_fetched_once(store: Store, tmp_path: Path, files: Files) -> None:
    async with served(Site(300)) as site, pipeline(store, tmp_path, files):
        ident = await add(store, site.start)
        await eventually(lambda: is_over(store, ident))
        crawl = await crawls.get(store, ident)
    finished = tmp_path / "archive" / "finished"
    found = responses(finished)
    assert set(found) == site.urls
    assert set(site.asked.values()) == {1}
    for path, (sent,) in site.sent.items():
        (recorded,) = found[site.url + path]
        assert recorded in (sent, sent[: sent.index(b"\r\n\r\n") + 4])
    assert crawl
    by_class = (crawl.r2xx, crawl.r3xx, crawl.r4xx, crawl.r5xx, crawl.error_count)
    assert by_class == (len(found) - 6, 3, 3, 0, 3)
    assert (crawl.items_downloaded, crawl.items_queued) == (len(found) - 3, len(found))
    assert crawl.bytes_downloaded == sum(len(sent) for (sent,) in site.sent.values())
    await gate(warcs(finished))
    assert list((tmp_path / "archive" / "crawls").iterdir()) == []


async def test_a_second_crawl_refers_to_what_the_first_has_and_is_packed(
    store: Store, tmp_path: Path, files: Files
) -> None:
    options = CrawlOptions(dedups_before=True, makes_wacz=True)
    async with served(Site(10)) as site, pipeline(store, tmp_path, files):
        first = await add(store, site.start)
        await eventually(lambda: is_over(store, first))
        await finishing.expire(store, first)
        second = await add(store, site.start, options=options)
        await eventually(lambda: is_over(store, second))
    finished = tmp_path / "archive" / "finished"
    kinds = Counter(record_types(finished))
    assert kinds["revisit"] >= 10, "pages that are long enough are not stored again"
    (packed,) = finished.glob("*.wacz")
    assert zipfile.is_zipfile(packed)
    assert len(list(finished.glob("*.json"))) == 2, "no file has replaced another"
