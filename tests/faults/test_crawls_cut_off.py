"""Pipelines that are gone, frozen or cut off for too long: one crawl has one owner."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.archive.crawled import add, responses, warcs
from tests.archive.site import Site, served
from tests.archive.warc_gate import gate
from tests.faults.crawl_scene import KEYS, OWN, SHORT, Scene, begun, check, scene
from tests.faults.proxy import Mode, Proxy, Way
from tests.servers.process import HOST
from tests.waiting import eventually
from watchbell.archive import crawls, history


async def is_on(one: Scene, ident: str, name: str) -> bool:
    return bool(await one.store.call("HGET", OWN.crawl(ident), "nickname") == name.encode())


async def record(one: Scene, ident: str) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = await one.store.call("HGETALL", KEYS.job(ident))
    return found


def is_empty(one: Scene, name: str) -> bool:
    """A pipeline has nothing left to do."""
    return not list((one.folder / name / "archive" / "crawls").iterdir())


async def check_both(one: Scene, ident: str, site: Site) -> None:
    """The second pipeline has everything, the first what it had, and the crawl has ended once."""
    await eventually(lambda: is_empty(one, "first"), why="the first has completed its files")
    assert set(responses(one.finished("second"))) == site.urls
    kept = [path.name for path in warcs(one.finished("first"))]
    assert len(kept) == 2
    assert all("-interrupted-" in name for name in kept), kept
    assert set(responses(one.finished("first"))) < site.urls
    await gate([*warcs(one.finished("first")), *warcs(one.finished("second"))])
    await check_end(one, ident)


async def check_end(one: Scene, ident: str) -> None:
    assert len((await history.page(one.store, ident=ident)).items) == 1
    assert await one.store.call("GET", KEYS.completed()) == b"1"
    assert await one.store.call("EXISTS", KEYS.working(), KEYS.pending(), OWN.leases()) == 0


async def test_a_crawl_whose_pipeline_is_gone_is_taken_by_another(folder: Path) -> None:
    async with scene(folder, lease=SHORT) as one, served(Site(60).gated()) as site:
        one.archivist().start()
        first = one.pipeline("first").start()
        ident = await add(one.store, site.start)
        hold = await begun(site, 30)
        await one.shipped(ident, 15)
        first.kill()
        one.pipeline("second").start()
        await one.fails(ident, "its pipeline first gives no sign of life")
        await eventually(lambda: is_on(one, ident, "second"))
        hold.set()
        await one.over(ident)
        before = await record(one, ident)
        first.start()
        await check_both(one, ident, site)
        assert await record(one, ident) == before


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_frozen_pipeline_that_wakes_up_writes_nothing(folder: Path, is_over: bool) -> None:
    """While the second pipeline works, or after it has ended the crawl."""
    async with scene(folder, lease=SHORT) as one, served(Site(60).gated()) as site:
        one.archivist().start()
        first = one.pipeline("first").start()
        ident = await add(one.store, site.start)
        hold = await begun(site, 30)
        await one.shipped(ident, 15)
        first.signal(signal.SIGSTOP)
        one.pipeline("second").start()
        await eventually(lambda: is_on(one, ident, "second"))
        if is_over:
            hold.set()
            await one.over(ident)
            before = await record(one, ident)
            site.gate = asyncio.Event()  # else it may have fetched all before it learns of its loss
            first.signal(signal.SIGCONT)
            await check_both(one, ident, site)
            assert await record(one, ident) == before
        else:
            first.signal(signal.SIGCONT)
            await eventually(lambda: is_empty(one, "first"), why="it has completed its files")
            hold.set()
            await one.over(ident)
            await check_both(one, ident, site)
        crawl = await crawls.get(one.store, ident)
        assert crawl
        assert crawl.items_queued == len(site.urls)


async def test_a_pipeline_that_was_cut_off_for_long_drops_its_crawl(folder: Path) -> None:
    async with scene(folder, lease=SHORT) as one, served(Site(60).gated()) as site:
        with Proxy((HOST, one.server.port)) as proxy:
            one.archivist().start()
            one.pipeline("first", store=proxy.url).start()
            ident = await add(one.store, site.start)
            hold = await begun(site, 30)
            await one.shipped(ident, 15)
            await asyncio.to_thread(proxy.set, Mode.BLACK_HOLE, Way.UP)
            one.pipeline("second").start()
            await eventually(lambda: is_on(one, ident, "second"))
            await asyncio.to_thread(proxy.set, Mode.PASS)
            await eventually(lambda: is_empty(one, "first"), why="it has completed its files")
            hold.set()
            await one.over(ident)
            await check_both(one, ident, site)


async def test_a_crawl_that_ends_while_it_is_cut_off_for_long_ends_once(folder: Path) -> None:
    """Both pipelines have all of it, and the first does not record that."""
    async with scene(folder, lease=SHORT) as one, served(Site(60).gated()) as site:
        with Proxy((HOST, one.server.port)) as proxy:
            one.archivist().start()
            one.pipeline("first", store=proxy.url).start()
            ident = await add(one.store, site.start)
            hold = await begun(site, 30)
            await asyncio.to_thread(proxy.set, Mode.RESET)
            hold.set()
            await eventually(lambda: list(one.finished("first").glob("*.json")))
            one.pipeline("second").start()
            await one.over(ident)
            before = await record(one, ident)
            await asyncio.to_thread(proxy.set, Mode.PASS)
            await eventually(lambda: is_empty(one, "first"), why="it drops the crawl")
            assert await record(one, ident) == before
            await check_end(one, ident)
            for name in ("first", "second"):
                assert set(responses(one.finished(name))) == site.urls
                await gate(warcs(one.finished(name)))


async def test_a_crawl_goes_on_while_its_pipeline_is_cut_off(folder: Path) -> None:
    async with scene(folder, lease=SHORT) as one, served(Site(120).gated()) as site:
        with Proxy((HOST, one.server.port)) as proxy:
            one.archivist().start()
            one.pipeline("first", store=proxy.url, lease="3600").start()
            ident = await add(one.store, site.start)
            hold = await begun(site, 30)
            await asyncio.to_thread(proxy.set, Mode.RESET)
            hold.set()
            await eventually(lambda: len(site.sent) == len(site.urls), why="all was fetched")
            await asyncio.to_thread(proxy.set, Mode.PASS)
            await one.over(ident)
            await check(one, ident, site, one.finished("first"), interruptions=0)
