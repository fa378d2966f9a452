"""A store that refuses for a while: crawls go on meanwhile, and all is counted once."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.archive.crawled import add
from tests.archive.site import Site, served
from tests.faults.crawl_scene import begun, check, scene
from tests.servers.process import HOST, Server
from tests.servers.refusal import SNAPSHOTS, misconf
from tests.waiting import eventually


@contextmanager
def full(server: Server) -> Iterator[None]:
    server.call("CONFIG", "SET", "maxmemory", 1)
    yield
    server.call("CONFIG", "SET", "maxmemory", 0)


@contextmanager
def demoted(server: Server) -> Iterator[None]:
    server.call("REPLICAOF", HOST, 1)
    yield
    server.call("REPLICAOF", "NO", "ONE")


@contextmanager
def loading(server: Server) -> Iterator[None]:
    server.kill()
    server.launch("--key-load-delay", "1000000")  # microseconds for each key
    yield
    server.kill()
    server.start()


@contextmanager
def without_scripts(server: Server) -> Iterator[None]:
    server.call("SCRIPT", "FLUSH")
    yield
    server.call("SCRIPT", "FLUSH")


FAULTS: dict[str, Callable[[Server], AbstractContextManager[None]]] = {
    "OOM": full,
    "MISCONF": misconf,
    "READONLY": demoted,
    "LOADING": loading,
    "NOSCRIPT": without_scripts,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_crawl_outlasts_a_store_that_refuses(folder: Path, fault: str) -> None:
    async with scene(folder, SNAPSHOTS) as one, served(Site(80).gated()) as site:
        one.archivist().start()
        one.pipeline().start()
        ident = await add(one.store, site.start)
        hold = await begun(site, 30)
        refusing = FAULTS[fault](one.server)
        await asyncio.to_thread(refusing.__enter__)
        hold.set()
        await eventually(lambda: len(site.sent) == len(site.urls), why="all was fetched")
        await asyncio.to_thread(refusing.__exit__, None, None, None)
        await one.over(ident)
        await check(one, ident, site, one.finished(), interruptions=0)
