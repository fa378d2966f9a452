"""Disks that are full, during a crawl and at its end: it pauses, says why, and loses nothing."""

import shutil
from contextlib import suppress
from pathlib import Path

from tests.archive.crawled import add
from tests.archive.site import Site, served
from tests.faults.crawl_scene import Scene, begun, check, scene
from tests.waiting import eventually
from tests.whole.test_up import small_disk

MEGABYTES = 24


class Filler:
    """Takes all space of a disk, or all but some."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "filler"

    def fill(self, left: int = 0) -> None:
        with self._path.open("wb", buffering=0) as file, suppress(OSError):
            while (free := shutil.disk_usage(self._path).free) > left:
                file.write(bytes(min(free - left, 1 << 20)))

    def remove(self) -> None:
        self._path.unlink()


async def test_a_crawl_pauses_on_a_full_disk_and_goes_on(folder: Path) -> None:
    with small_disk(folder, MEGABYTES) as disk:
        async with scene(folder) as one, served(Site(200).gated()) as site:
            filler = Filler(disk)
            one.archivist().start()
            one.pipeline(data=disk / "data").start()
            ident = await add(one.store, site.start)
            gate = await begun(site, 40)
            filler.fill()
            gate.set()
            await one.fails(ident, "can't use its disk")
            filler.remove()
            await one.over(ident)
            assert await one.failing(ident) == ""
            await check(one, ident, site, disk / "data/archive/finished", interruptions=200)


async def test_a_crawl_pauses_while_the_store_and_the_disk_are_away(folder: Path) -> None:
    with small_disk(folder, MEGABYTES) as disk:
        async with scene(folder) as one, served(Site(200).gated()) as site:
            filler = Filler(disk)
            one.archivist().start()
            one.pipeline(data=disk / "data").start()
            ident = await add(one.store, site.start)
            gate = await begun(site, 40)
            one.server.kill()
            filler.fill()
            gate.set()
            await eventually(lambda: _disk_is_blamed(one), why="it can't use its disk")
            one.server.start()
            await one.fails(ident, "can't use its disk")
            filler.remove()
            await one.over(ident)
            await check(one, ident, site, disk / "data/archive/finished", interruptions=200)


def _disk_is_blamed(one: Scene) -> bool:
    return "a crawl can't use its disk" in (one.folder / "one.log").read_text()


async def test_a_crawl_ends_once_its_disk_has_space(folder: Path) -> None:
    with small_disk(folder, MEGABYTES) as disk:
        async with scene(folder) as one, served(Site(100)) as site:
            filler = Filler(disk)
            one.archivist().start()
            pipeline = one.pipeline(data=disk / "data").start(fault="crawl.ending")
            ident = await add(one.store, site.start)
            await pipeline.died()
            filler.fill()
            pipeline.start()
            await one.fails(ident, "can't use its disk")
            filler.remove()
            await one.over(ident)
            await check(one, ident, site, disk / "data/archive/finished")


async def test_finished_files_wait_for_space_on_another_disk(folder: Path) -> None:
    with small_disk(folder, MEGABYTES) as disk:
        async with scene(folder) as one, served(Site(100)) as site:
            filler = Filler(disk)
            filler.fill(left=4096)
            one.archivist().start()
            one.pipeline(finished=str(disk / "finished")).start()
            ident = await add(one.store, site.start)
            await one.fails(ident, "can't use its disk")
            filler.remove()
            await one.over(ident)
            await check(one, ident, site, disk / "finished", interruptions=0)


async def test_crawls_pause_before_the_reserve_is_used(folder: Path) -> None:
    with small_disk(folder, MEGABYTES) as disk:
        async with scene(folder) as one, served(Site(200).gated()) as site:
            filler = Filler(disk)
            one.archivist().start()
            one.pipeline(data=disk / "data", reserve="8").start()
            ident = await add(one.store, site.start)
            gate = await begun(site, 40)
            filler.fill(left=4 << 20)
            await one.fails(ident, "left", "kept free (archive.reserve)")
            waiting = await add(one.store, f"{site.url}/p/7")
            assert "is full" in await one.explained(waiting)
            gate.set()
            asked = site.asked.total()
            await eventually(lambda: sum(map(len, site.sent.values())) == asked)
            assert site.asked.total() == asked, "nothing is asked for while it pauses"
            filler.remove()
            await one.over(ident)
            await one.over(waiting)
