"""A pipeline with very many crawls, and a crawl with very many URLs."""

import asyncio
import resource
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from tests.archive.crawled import FAST, add, is_over
from tests.archive.site import Site, response, served
from tests.waiting import eventually
from watchbell.archive import crawls
from watchbell.archive.model import CrawlSettings
from watchbell.roles.pipeline_handover import MODULE, Handed
from watchbell.settings import Archive, Files
from watchbell.store.client import Store

CRAWLS, PAGES = 200, 4
USUAL_OPEN_FILES = 1_024
LINKS = 10_000
"""Of one page."""
MOST_MEMORY = 200 << 20


@asynccontextmanager
async def pipeline(store: Store, data: Path, concurrent: int) -> AsyncIterator[psutil.Process]:
    """A process as `up` starts it, with the usual limit of open files."""
    settings = Archive(
        allow_private=True,
        nickname="p1",
        reserve=0,
        concurrent=concurrent,
        host_urls=10_000_000,
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", MODULE), stdin=PIPE, stdout=PIPE
    )
    assert process.stdin
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (min(USUAL_OPEN_FILES, hard), hard))
    try:
        process.stdin.write(Handed(store.url, settings, Files(), str(data), "error").packed())
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        await process.wait()


def small_site(number: int) -> dict[str, bytes]:
    links = "".join(f'<a href="/{number}/{page}">{page}</a>' for page in range(PAGES))
    return {f"/{number}/{name}": response(links.encode()) for name in ("", *range(PAGES))}


async def test_200_crawls_run_at_the_same_time_and_complete(store: Store, tmp_path: Path) -> None:
    site = Site(0, odd=False).gated()
    small = {
        path: answer for number in range(CRAWLS) for path, answer in small_site(number).items()
    }
    site.otherwise = lambda path: small.get(path, response(b"", "404 Not Found"))
    slow = CrawlSettings(age=4, delay_min=1, delay_max=5, concurrency=3)
    async with served(site), pipeline(store, tmp_path, CRAWLS) as process:
        assert site.gate
        idents = [await add(store, f"{site.url}/{number}/", slow) for number in range(CRAWLS)]
        starts = {f"/{number}/" for number in range(CRAWLS)}
        await eventually(lambda: starts <= set(site.asked), why="all crawls have begun")
        assert process.num_fds() > USUAL_OPEN_FILES, "they all are open"
        site.gate.set()
        for ident in idents:
            await eventually(lambda one=ident: is_over(store, one))  # type: ignore[misc]
        found = await crawls.find(store, idents)
        working = tmp_path / "archive" / "crawls"
        await eventually(lambda: not list(working.iterdir()), why="their folders are gone")
        left = [file.path for file in process.open_files() if str(working) in file.path]
    assert {(one.items_downloaded, one.failed) for one in found if one} == {(PAGES + 1, False)}
    assert set(small) <= set(site.asked)
    assert left == []


async def test_a_crawl_that_finds_very_many_urls_needs_little_memory(
    store: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """100,000 URLs; with --long 1,000,000."""
    lists = 100 if request.config.getoption("--long") else 10
    site = Site(0, odd=False)

    def listed(path: str) -> bytes:
        number = path.removeprefix("/list/")
        entries = (f'<a href="/entry/{number}/{entry}">{entry}</a>\n' for entry in range(LINKS))
        return response("".join(entries).encode())

    start = "".join(f'<a href="/list/{number}">{number}</a>' for number in range(lists))
    site.answers["/"] = lambda _site, _headers: response(start.encode())
    site.otherwise = lambda path: listed(path) if path.startswith("/list/") else response(b"entry")
    async with served(site), pipeline(store, tmp_path, 1) as process:
        ident = await add(store, site.start, FAST)

        async def has_found_all() -> bool:
            crawl = await crawls.get(store, ident)
            return crawl is not None and crawl.items_queued >= lists * LINKS

        await eventually(has_found_all, 1_000)
        memory = process.memory_info().rss
    assert memory < MOST_MEMORY, f"{memory >> 20} MiB"
