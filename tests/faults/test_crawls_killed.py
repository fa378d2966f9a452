"""Pipelines that are killed: every URL is in the WARC, and the files stay valid."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests import servers
from tests.archive.crawled import add, is_over, responses, warcs
from tests.archive.site import Site, served
from tests.archive.warc_gate import gate
from tests.conftest import watchbell, watched
from tests.faults.job_fleet import Process
from tests.waiting import eventually
from watchbell.archive import crawls, history
from watchbell.archive.keys import Archive, Crawls
from watchbell.store.client import Store

QUICK = {"WATCHBELL_ARCHIVE_ALLOW_PRIVATE": "true", "WATCHBELL_ARCHIVE_RESERVE": "0"}
PROBES = (
    *("archive.reserved", "crawl.begun", "crawl.fetched:20", "crawl.recorded:20", "warc.record:40"),
    *("crawl.committed:2", "archive.appended", "crawl.ending", "crawl.completed", "crawl.moved"),
    *("crawl.file_moved", "crawl.file_moved:3", "crawl.finished"),
)


UPLOAD = {"WATCHBELL_ARCHIVE_UPLOAD_URL": "files", "WATCHBELL_ARCHIVE_UPLOAD_KEEP": "false"}
UPLOAD_PROBES = ("crawl.moved", "crawl.finished", "crawl.uploading", "upload.sent:2")


@asynccontextmanager
async def crawling(
    folder: Path, more: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Store, Process]]:
    with servers.single(folder) as single:
        command = watchbell(
            *("run", "pipeline", "--store", single.url, "--data", str(folder / "data"))
        )
        pipeline = Process(folder / "pipeline.log", command, {**QUICK, **(more or {})})
        async with asynccontextmanager(watched)(single.url) as store:
            try:
                yield store, pipeline
            finally:
                pipeline.kill()


async def check(store: Store, ident: str, site: Site, finished: Path) -> None:
    """Everything is there, what was in flight at most twice, and counted once."""
    found = responses(finished)
    assert set(found) == site.urls
    crawl = await crawls.get(store, ident)
    assert crawl
    assert (crawl.aborted, crawl.failed) == (False, False)
    assert crawl.items_queued == len(site.urls)
    assert sum(map(len, found.values())) == len(site.urls), "what is in the WARC is there once"
    assert max(site.asked.values()) <= 2, "what was in flight is fetched again"
    await gate(warcs(finished))
    assert await store.call("EXISTS", Archive().working(), Crawls().leases()) == 0


@pytest.mark.parametrize("probe", PROBES)
async def test_a_pipeline_that_is_killed_goes_on_where_it_was(folder: Path, probe: str) -> None:
    async with crawling(folder) as (store, pipeline), served(Site(120)) as site:
        pipeline.start(fault=probe)
        ident = await add(store, site.start)
        await pipeline.died()
        pipeline.start()
        await eventually(lambda: is_over(store, ident))
        await check(store, ident, site, folder / "data" / "archive" / "finished")
        left = folder / "data" / "archive" / "crawls"
        await eventually(lambda: not list(left.iterdir()), why="the folder of the crawl is gone")


@pytest.mark.parametrize("probe", UPLOAD_PROBES)
async def test_the_files_of_a_killed_pipeline_are_uploaded(folder: Path, probe: str) -> None:
    async with crawling(folder, UPLOAD) as (store, pipeline), served(Site(20)) as site:
        pipeline.start(fault=probe)
        ident = await add(store, site.start)
        await pipeline.died()
        pipeline.start()
        await eventually(lambda: _is_uploaded(store, ident))
        await check(store, ident, site, folder / "data" / "files" / "archive")
        uploads = folder / "data" / "archive" / "uploads"
        await eventually(lambda: not list(uploads.iterdir()))
        assert not warcs(folder / "data" / "archive" / "finished")


async def _is_uploaded(store: Store, ident: str) -> bool:
    found = await history.of_ident(store, ident)
    return bool(found) and all(file.place for file in found[0].files)
