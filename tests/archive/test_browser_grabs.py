"""Crawls with a browser: what scripts make of the pages is archived, request by request."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.browser_crawls import BROWSER, NEEDS_CHROMIUM, browsers_of, dom_of, resources
from tests.archive.crawled import FAST
from tests.archive.crawler import working
from tests.archive.scripted_site import ScriptedSite
from tests.archive.site import served
from tests.archive.warc_gate import gate
from tests.waiting import eventually
from watchbell.archive.grabbing import browser, certificate, tab
from watchbell.archive.model import CrawlOptions
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

pytestmark = NEEDS_CHROMIUM


async def test_a_scripted_site_is_archived_whole(store: Store, tmp_path: Path) -> None:
    async with served(ScriptedSite()) as site, working(store, tmp_path) as crawler:
        crawl = await crawler.crawl(site.start, **BROWSER)
    found = crawler.responses()
    assert set(found) == site.urls, "with what only scripts ask for"
    assert set(site.asked.values()) == {1}, "nothing is fetched twice"
    assert crawl.items_queued == len(site.urls) - 1, "a POST is no URL of the crawl"
    dom = dom_of(crawler, site.start)
    assert '<a href="/made/one">one</a>' in dom
    assert "<p>sent</p>" in dom
    pages = ("", "plain", "made/one", "made/two", "led", "scrolled/1", "scrolled/2", "from-frame")
    made = resources(crawler)
    for page in pages:
        assert made[f"urn:X-watchbell:screenshot:{site.url}/{page}"].startswith(b"\x89PNG"), page
    assert len(made) == 2 * len(pages), "what is no page is not shown"
    await gate(crawler.warcs())


async def test_a_page_that_leads_elsewhere_is_not_waited_for(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab, "_LOAD", 1_000.0)
    async with served(ScriptedSite()) as site, working(store, tmp_path) as crawler:
        await crawler.crawl(f"{site.url}/made/two", fetch_depth="shallow", **BROWSER)
    assert "<p>Moved</p>" in dom_of(crawler, f"{site.url}/made/two")


async def test_https_goes_through_the_proxy_as_well(store: Store, tmp_path: Path) -> None:
    site = ScriptedSite()
    site.tls = certificate.made(tmp_path, SYSTEM.now()).tls
    async with served(site), working(store, tmp_path / "data") as crawler:
        await crawler.crawl(site.start, **BROWSER)
    assert set(crawler.responses()) == site.urls
    assert set(site.asked.values()) == {1}


async def test_a_page_is_scrolled_as_often_as_the_crawl_says(store: Store, tmp_path: Path) -> None:
    script = b"""<!doctype html><div style="height: 1500px"></div><script>
        let count = 0; addEventListener("scroll", () => { document.title = "scrolled " + ++count });
        </script>"""
    site = ScriptedSite()
    site.page("/", script)
    endless = b"""<!doctype html><body><div style="height: 1500px"></div><script>
        let count = 0; addEventListener("scroll", () => { document.title = "scrolled " + ++count;
          document.body.insertAdjacentHTML("beforeend", '<div style="height: 2000px"></div>') });
        </script>"""
    site.page("/endless", endless)
    async with served(site), working(store, tmp_path) as crawler:
        await crawler.crawl(site.start, fetch_depth="shallow", **BROWSER)
        few = {**BROWSER, "phantomjs_scroll": 3}
        await crawler.crawl(f"{site.url}/endless", fetch_depth="shallow", **few)
    assert "<title>scrolled 1</title>" in dom_of(crawler, site.start), "the page ends there"
    assert "<title>scrolled 3</title>" in dom_of(crawler, f"{site.url}/endless")


async def test_the_browser_keeps_the_limits_of_the_crawl(store: Store, tmp_path: Path) -> None:
    site = ScriptedSite()
    settings = replace(FAST, ignores=frozenset({"/api/items"}))
    options = CrawlOptions(most_urls=4)
    async with served(site), working(store, tmp_path) as crawler:
        crawl = await crawler.crawl(site.start, settings, options=options, **BROWSER)
    assert "/api/items.json" not in site.asked, "it is ignored"
    assert crawl.items_queued == 4
    assert len({*site.asked} - {"/api/send"}) == 4
    assert "<p>sent</p>" in dom_of(crawler, site.start)


async def test_cookies_of_the_crawl_reach_the_browser_and_back(
    store: Store, tmp_path: Path
) -> None:
    site = ScriptedSite()
    site.page("/", b'<!doctype html><a href="/second">x</a><script>fetch("/set")</script>')
    site.page("/second", b'<!doctype html><script>fetch("/get")</script>')
    site.add("/set", b"", "text/plain", "Set-Cookie: visitor=alice")
    site.add("/get", b"", "text/plain")
    async with served(site), working(store, tmp_path) as crawler:
        await crawler.crawl(site.start, **BROWSER)
    assert site.headers["/get"]["cookie"] == "visitor=alice"
    assert "cookie" not in site.headers["/set"]
    assert "watchbell" in site.headers["/get"]["user-agent"]
    assert not any(name.startswith("sec-ch-ua") for name in site.headers["/get"])


@pytest.mark.parametrize("program", ["/no/such/browser", "/bin/false", "/bin/cat"])
async def test_without_a_browser_pages_are_fetched_without_one(
    store: Store, tmp_path: Path, program: str
) -> None:
    site = ScriptedSite()
    async with served(site), working(store, tmp_path, browser=program) as crawler:
        crawl = await crawler.crawl(site.start, **BROWSER)
    assert any("without a browser" in line or "no browser" in line for line in crawler.log())
    assert f"{site.url}/plain" in crawler.responses()
    assert not resources(crawler)
    assert not crawl.failed


async def test_an_idle_browser_ends(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "_IDLE", 0.1)
    async with served(ScriptedSite()) as site, working(store, tmp_path) as crawler:
        for page in ("plain", "from-frame"):
            await crawler.crawl(f"{site.url}/{page}", fetch_depth="shallow", **BROWSER)
            assert f"urn:X-watchbell:dom:{site.url}/{page}" in resources(crawler)
            await eventually(lambda: not browsers_of(tmp_path), why="nobody needs it")
    assert not browsers_of(tmp_path)


async def test_a_browser_that_is_killed_is_replaced(store: Store, tmp_path: Path) -> None:
    site = ScriptedSite()
    held = site.held["/below.png"] = asyncio.Event()
    async with served(site), working(store, tmp_path) as crawler:
        ident = await crawler.add(site.start, **BROWSER)
        await eventually(lambda: site.asked["/below.png"], why="the page is shown")
        for pid in browsers_of(tmp_path):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        held.set()
        await crawler.ended(ident)
    assert set(crawler.responses()) == site.urls
    assert '<a href="/made/one">one</a>' in dom_of(crawler, site.start)
