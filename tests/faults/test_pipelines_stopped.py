"""Pipelines that are stopped, hurried and killed, alone and in `up`: crawls continue later."""

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil

from tests.archive.crawled import add, is_over, responses, warcs
from tests.archive.crawling import PIPELINE
from tests.archive.site import Site, served
from tests.archive.warc_gate import gate
from tests.conftest import Up, embedded
from tests.faults.crawl_scene import Scene, begun, check, scene
from tests.waiting import eventually
from watchbell.archive import pipelines, queues
from watchbell.clock import SYSTEM
from watchbell.roles.pipeline_handover import MODULE
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently


def has_said(one: Scene, words: str) -> bool:
    return words in (one.folder / "one.log").read_text()


async def test_a_pipeline_finishes_its_crawl_when_it_is_stopped(folder: Path) -> None:
    async with scene(folder) as one, served(Site(40).gated()) as site:
        pipeline = one.pipeline().start()
        ident = await add(one.store, site.start)
        hold = await begun(site, 20)
        pipeline.signal(signal.SIGTERM)
        await eventually(lambda: has_said(one, "finishing 1 crawl; press Ctrl-C again"))
        waiting = await add(one.store, f"{site.url}/p/3")
        hold.set()
        assert await pipeline.ended() == 0
        assert await is_over(one.store, ident)
        assert not await is_over(one.store, waiting), "it takes no more"
        assert await pipelines.every(one.store) == []


async def test_a_second_signal_stops_at_once_and_the_crawl_continues_later(folder: Path) -> None:
    async with scene(folder) as one, served(Site(40).gated()) as site:
        pipeline = one.pipeline().start()
        ident = await add(one.store, site.start)
        hold = await begun(site, 20)
        pipeline.signal(signal.SIGINT)
        await eventually(lambda: has_said(one, "it continues at the next start"))
        pipeline.signal(signal.SIGINT)
        assert await pipeline.ended() == 130
        assert not await is_over(one.store, ident)
        hold.set()
        pipeline.start()
        await one.over(ident)
        await check(one, ident, site, one.finished())


async def test_a_pipeline_that_is_asked_to_stop_ends_after_its_crawl(folder: Path) -> None:
    async with scene(folder) as one, served(Site(40).gated()) as site:
        pipeline = one.pipeline().start()
        ident = await add(one.store, site.start)
        hold = await begun(site, 20)
        known = await pipelines.find(one.store, "one")
        await pipelines.stop(one.store, known.record.id)
        pipeline.kill()
        pipeline.start()  # it was killed, and is still to stop
        hold.set()
        assert await pipeline.ended() == 0
        await check(one, ident, site, one.finished())
        assert await pipelines.every(one.store) == []


class Archiving(Up):
    """`up` that archives a site on loopback."""

    def __init__(self, data: Path) -> None:
        settings = {"ALLOW_PRIVATE": "true", "RESERVE": "0", "NICKNAME": "one"}
        more = {f"WATCHBELL_ARCHIVE_{name}": value for name, value in settings.items()}
        super().__init__(data, "--port", "0", **more)

    @property
    def finished(self) -> Path:
        return self.data / "archive" / "finished"

    def pipeline(self) -> psutil.Process | None:
        for process in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # it has just ended
                if MODULE in process.cmdline():
                    return process
        return None


async def finish(up: Archiving, ident: str, site: Site) -> None:
    async with Store(store_url.parse(up.url)) as store:
        await eventually(lambda: patiently(lambda: is_over(store, ident)), why="the end")
    found = responses(up.finished)
    assert set(found) == site.urls
    assert sum(map(len, found.values())) == len(site.urls)
    await gate(warcs(up.finished))


async def added(up: Archiving, site: Site) -> str:
    async with Store(store_url.parse(up.url)) as store:
        return await add(store, site.start)


async def test_up_starts_a_pipeline_that_was_killed_again(folder: Path) -> None:
    async with served(Site(40).gated()) as site:
        with Archiving(folder / "data") as up:
            ident = await added(up, site)
            hold = await begun(site, 20)
            first = up.pipeline()
            assert first
            first.kill()
            await eventually(lambda: (second := up.pipeline()) and second.pid != first.pid)
            assert "the process of the pipeline was killed by SIGKILL" in up.log.read_text()
            hold.set()
            await finish(up, ident, site)


async def test_up_that_ends_or_is_killed_ends_its_pipeline_and_continues_later(
    folder: Path,
) -> None:
    async with served(Site(60).gated()) as site:
        with Archiving(folder / "data") as up:
            ident = await added(up, site)
            await end_and_start(up, site, 20, signal.SIGTERM)
            await end_and_start(up, site, 40, signal.SIGKILL)
            (await begun(site, 50)).set()
            await finish(up, ident, site)


async def end_and_start(up: Archiving, site: Site, many: int, number: signal.Signals) -> None:
    await begun(site, many)
    pipeline = up.pipeline()
    assert pipeline
    up.process.send_signal(number)
    up.process.wait(60)
    await eventually(lambda: not is_running(pipeline), why="its pipeline is gone")
    up.again()


async def test_up_begins_a_crawl_that_its_pipeline_had_just_taken_when_it_was_killed(
    folder: Path,
) -> None:
    async with served(Site(5)) as site:
        with embedded(folder) as bare:
            async with Store(store_url.parse(bare.url)) as store:
                ident = await add(store, site.start)
                taken = await queues.reserve(
                    store, PIPELINE, "one", attempt="1", lease=30, now=SYSTEM.now()
                )
                assert taken
        place = folder / "data" / "archive"
        place.mkdir(0o700)
        (place / "pipeline.id").write_text(f"{PIPELINE}\n")
        with Archiving(folder / "data") as up:
            await finish(up, ident, site)


def is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def test_a_pipeline_that_can_never_start_is_reported_and_tried_later_each_time(
    folder: Path,
) -> None:
    async with served(Site(10)) as site:
        with Archiving(folder / "data") as up:
            place = up.data / "archive"
            place.mkdir(0o700, exist_ok=True)
            held = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
            ident = await added(up, site)
            await eventually(lambda: up.log.read_text().count("another pipeline uses") >= 2)
            said = up.log.read_text()
            assert "the process of the pipeline ended with 1" in said
            assert "Traceback" not in said.partition("another pipeline uses")[0]
            os.close(held)
            await finish(up, ident, site)
