"""Pipelines that are killed while they show pages: nothing is lost, and no browser stays."""

from pathlib import Path

import pytest

from tests.archive.browser_crawls import BROWSER, NEEDS_CHROMIUM, browsers_of
from tests.archive.crawled import add, is_over, responses, warcs
from tests.archive.crawler import records
from tests.archive.scripted_site import ScriptedSite
from tests.archive.site import served
from tests.archive.warc_gate import gate
from tests.faults.test_crawls_killed import crawling
from tests.waiting import eventually
from watchbell.archive import crawls

pytestmark = NEEDS_CHROMIUM

# The other two are those of any crawl; see `test_crawls_killed.py`.
PROBES = (
    *("crawl.grabbed:2", "warc.record:12"),
    *(
        pytest.param(probe, marks=pytest.mark.long)
        for probe in ("crawl.recorded:5", "crawl.committed:3")
    ),
)


@pytest.mark.parametrize("probe", PROBES)
async def test_a_pipeline_that_is_killed_shows_its_pages_again(folder: Path, probe: str) -> None:
    async with crawling(folder) as (store, pipeline), served(ScriptedSite()) as site:
        pipeline.start(fault=probe)
        ident = await add(store, site.start, **BROWSER)
        await pipeline.died()
        data = folder / "data"
        await eventually(lambda: not browsers_of(data), why="the browser ends with the pipeline")
        pipeline.start()
        await eventually(lambda: is_over(store, ident))
        crawl = await crawls.get(store, ident)
    assert crawl
    assert (crawl.aborted, crawl.failed) == (False, False)
    finished = data / "archive" / "finished"
    assert set(responses(finished)) == site.urls
    made = [
        record.url
        for path in warcs(finished)
        if "-meta" not in path.name
        for record, _ in records(path)
        if record.type == "resource"
    ]
    pages = ("", "plain", "made/one", "made/two", "led", "scrolled/1", "scrolled/2", "from-frame")
    assert sorted(made) == sorted(
        f"urn:X-watchbell:{kind}:{site.url}/{page}"
        for kind in ("dom", "screenshot")
        for page in pages
    ), "once for each page"
    await gate(warcs(finished))
