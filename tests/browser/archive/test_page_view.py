"""Archived pages in a real browser: they look as they did, and can do nothing for their reader."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from msgspec.structs import replace
from playwright.async_api import Request, expect

from tests.archive.archived_site import HOME, TIMESTAMP, archived
from tests.archive.crawling import SITE
from tests.archive.exchanges import http
from tests.browser.test_accessibility import in_both_schemes
from tests.browser.visits import Visits, held
from tests.web.site import Site, chosen, serving_services
from watchbell.archive import crawls
from watchbell.archive.warc.limited_rewriting import name_of
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.app import open_services

START = b"""<!doctype html><title>Start</title><link rel="stylesheet" href="/style.css">
<h1>The museum</h1><p>Open every day from nine to five.</p><a href="/next">Next page</a>
<img src="/dot.svg" alt="A dot" width="20" height="20">"""
DOT = b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><circle r="5"/></svg>'
ATTACK = b"""<!doctype html><title>Attack</title><h1>Attack</h1><p id="result">no script ran</p>
<script>
  document.getElementById("result").textContent = "a script ran"
  fetch("/api/v1/session", {credentials: "include"})
  try { document.cookie = "stolen=1"; top.location = "/account" } catch {}
</script>
<img src="nothing" onerror="top.location='/account'">
<svg onload="parent.document.title='owned'"></svg>
<iframe src="/api/v1/overview"></iframe><object data="/api/v1/overview"></object>
<embed src="/api/v1/overview">
<form action="/api/v1/archive/crawls" method="post" target="_top">
  <input name="url" value="https://evil.example/"><button>Send</button></form>
<form action="/api/v1/session" method="get"><button>Ask</button></form>
<a href="/account" target="_top">Leave</a>
<a href="javascript:top.location='/account'">Run</a>
<a href="https://evil.example/" target="_blank">Window</a>
<style>@import "//evil.example/x.css"; h1 { background: url(https://evil.example/track.png) }
</style>
<p style="background-image: image-set('https://evil.example/set.png' 1x)">set</p>
<noscript><img src="https://evil.example/noscript.png"></noscript>
<link rel="prefetch" href="https://evil.example/prefetch"><base href="https://evil.example/">"""
PAGES = {
    "": http(START, "X-Served-By: shelf-3"),
    "next": http(b"<title>Next</title><h1>The next page</h1>"),
    "style.css": http(b"h1 { color: rgb(1, 2, 3) }", kind="text/css"),
    "dot.svg": http(DOT, kind="image/svg+xml"),
    "attack": http(ATTACK),
    "away": http(
        b'<meta http-equiv="refresh" content="0; url=https://evil.example/"><h1>Away</h1>'
    ),
}
LIST = f"/archive/pages?ident={SITE}"


@pytest_asyncio.fixture(loop_scope="session")
async def museum(store: Store, tmp_path: Path) -> AsyncIterator[Site]:
    await archived(store, tmp_path / "finished", PAGES)
    again = {"": http(START.replace(b"five", b"six"))}
    await archived(store, tmp_path / "finished", again, later=86_400, base="example.com-inf-2")
    plain = chosen()
    archive = replace(plain.archive, finished=str(tmp_path / "finished"))
    services = await open_services(replace(plain, data=tmp_path, archive=archive), store, SYSTEM)
    async with serving_services(services) as site:
        yield site


def link(path: str) -> str:
    return f"/archive/page?ident={SITE}&url={HOME}{path}&at={TIMESTAMP}"


async def test_a_page_is_found_and_looks_as_it_did(museum: Site, visit: Visits) -> None:
    page = await visit(museum, "viewer", f"/archive/crawl?ident={SITE}")
    await page.get_by_role("link", name="Browse pages").click()
    rows = page.get_by_role("table", name="Archived pages").locator("tbody tr")
    await expect(rows).to_have_count(4)
    await page.get_by_role("searchbox").fill("NEXT")
    await expect(rows).to_have_count(1)
    await page.get_by_role("searchbox").fill("")
    await page.get_by_label("Images, styles and errors, too").check()
    await expect(rows).to_have_count(6)
    await rows.get_by_role("link", name=HOME, exact=True).click()
    frame = page.frame_locator("iframe")
    await expect(frame.get_by_text("nine to six")).to_be_visible()
    await expect(frame.get_by_role("heading")).to_have_css("color", "rgb(1, 2, 3)")
    image = frame.get_by_role("img", name="A dot")
    await expect(image).to_have_js_property("naturalWidth", 10)
    await page.get_by_label("Capture").select_option(TIMESTAMP)
    await expect(frame.get_by_text("nine to five")).to_be_visible()
    await page.get_by_text("Response headers").click()
    await expect(page.get_by_text("shelf-3")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download").click()
    path = await (await download.value).path()
    assert path.read_bytes() == START


async def test_details_follow_links_inside_of_the_page(museum: Site, visit: Visits) -> None:
    page = await visit(museum, "viewer", link(""))
    frame = page.frame_locator("iframe")
    await frame.get_by_role("link", name="Next page").click()
    await expect(frame.get_by_role("heading", name="The next page")).to_be_visible()
    await expect(page.get_by_role("heading", name=f"{HOME}next")).to_be_visible()
    await page.reload()
    await expect(frame.get_by_role("heading", name="The next page")).to_be_visible()


async def test_a_link_is_followed_before_the_page_has_loaded(museum: Site, visit: Visits) -> None:
    page = await visit(museum, "viewer")
    async with held(page, f"**/{name_of(f'{HOME}dot.svg')}"):
        await page.goto(link(""), wait_until="commit")
        frame = page.frame_locator("iframe")
        await frame.get_by_role("link", name="Next page").click()
        await expect(frame.get_by_role("heading", name="The next page")).to_be_visible()
    await expect(page.get_by_role("heading", name=f"{HOME}next")).to_be_visible()


async def test_a_hostile_page_reaches_nothing(museum: Site, store: Store, visit: Visits) -> None:
    visit.forgive("/archived/.* answered 404")
    visit.forgive("against the policy|Content Security Policy|sandboxed|Unsafe attempt|BY_ORB")
    visit.forgive("request to another host: https://evil.example/set.png")
    page = await visit(museum, "administrator")
    asked: list[Request] = []
    page.context.on(
        "request", lambda one: asked.append(one) if one.frame != page.main_frame else None
    )
    await page.goto(link("attack"))
    frame = page.frame_locator("iframe")
    await expect(frame.get_by_role("heading", name="Attack")).to_be_visible()
    for name in ("Send", "Ask"):
        await frame.get_by_role("button", name=name).click()
    for name in ("Leave", "Run", "Window"):
        await frame.get_by_role("link", name=name).click()
    await expect(frame.locator("#result")).to_have_text("no script ran")
    await expect(page.get_by_role("heading", name=f"{HOME}attack")).to_be_visible()
    assert len(page.context.pages) == 1
    assert asked
    for request in asked:
        if request.url == "https://evil.example/set.png":
            assert request.failure == "csp"
            continue
        assert request.url.startswith(f"{museum.url}/archived/"), request.url
        assert request.method == "GET"
        is_page = request.resource_type == "document"  # which our own page has asked for
        assert is_page or "cookie" not in await request.all_headers()
    assert await page.evaluate("document.cookie") == ""
    assert await crawls.every(store, SYSTEM.now()) == []


async def test_a_page_that_redirects_stays_in_the_archive(museum: Site, visit: Visits) -> None:
    visit.forgive("sandboxed")
    page = await visit(museum, "viewer")
    async with page.expect_console_message(
        lambda one: "Refused to execute the redirect" in one.text
    ):
        await page.goto(link("away"))
    frame = page.frame_locator("iframe")
    await expect(frame.get_by_role("heading", name="Away")).to_be_visible()


async def test_pages_that_are_elsewhere_are_explained(
    museum: Site, visit: Visits, tmp_path: Path
) -> None:
    for path in [*(tmp_path / "finished").iterdir()]:
        path.unlink()
    page = await visit(museum, "viewer", LIST)
    await expect(page.get_by_text("they are where the pipeline alice ran")).to_be_visible()


async def test_the_pages_have_no_serious_finding(museum: Site, visit: Visits) -> None:
    page = await visit(museum, "viewer")
    await page.goto(LIST)
    await expect(page.get_by_role("table", name="Archived pages")).to_be_visible()
    findings = await in_both_schemes(page)
    await page.goto(link(""))
    await expect(page.frame_locator("iframe").get_by_role("heading")).to_be_visible()
    await page.get_by_text("Response headers").click()
    findings += await in_both_schemes(page)
    assert findings == [], "\n".join(findings)
