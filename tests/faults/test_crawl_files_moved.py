"""Files of a crawl that are moved when its pipeline is killed: each arrives once, and whole."""

from pathlib import Path

import msgspec
import pytest

from tests.archive.crawled import add, responses, warcs
from tests.archive.site import Site, served
from tests.archive.warc_gate import gate
from tests.faults.crawl_scene import SHORT, begun, check, scene
from tests.waiting import eventually
from tests.whole.test_up import small_disk
from watchbell.archive import finishing
from watchbell.clock import SYSTEM


@pytest.mark.parametrize("probe", ["crawl.file_copied", "crawl.file_copied:3", "crawl.file_moved"])
async def test_a_move_to_another_disk_that_is_killed_is_repeated(folder: Path, probe: str) -> None:
    with small_disk(folder, 24) as disk:
        async with scene(folder) as one, served(Site(40)) as site:
            finished = disk / "finished"
            pipeline = one.pipeline(finished=str(finished)).start(fault=probe)
            ident = await add(one.store, site.start)
            await pipeline.died()
            pipeline.start()
            await one.over(ident)
            await check(one, ident, site, finished, interruptions=0)
            assert not list(finished.glob(".*")), "no part of a copy is left"


@pytest.mark.parametrize("probe", ["crawl.kept", "crawl.file_moved", "crawl.file_moved:4"])
async def test_files_of_a_lost_crawl_are_kept_by_a_pipeline_that_is_killed(
    folder: Path, probe: str
) -> None:
    async with scene(folder, lease=SHORT) as one, served(Site(60).gated()) as site:
        pipeline = one.pipeline().start()
        ident = await add(one.store, site.start)
        await begun(site, 30)
        await one.shipped(ident, 15)
        pipeline.kill()
        await finishing.fail(one.store, ident, "nobody wants it", SYSTEM.now())
        pipeline.start(fault=probe)
        await pipeline.died()
        pipeline.start()
        left = one.folder / "one" / "archive" / "crawls"
        await eventually(lambda: not list(left.iterdir()), why="its files are kept")
        finished = one.finished()
        names = {path.name for path in finished.iterdir()}
        assert all("-interrupted" in name for name in names), names
        assert set(responses(finished)) <= site.urls
        (index,) = finished.glob("*.cdxj")
        await gate(warcs(finished), index=index)
        (sidecar,) = finished.glob("*.json")
        told = {file["name"] for file in msgspec.json.decode(sidecar.read_bytes())["files"]}
        assert told == names - {sidecar.name}
