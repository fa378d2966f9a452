"""Crawls of lists, of FTP servers, and crawls that obey robots.txt."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.crawled import FAST
from tests.archive.crawler import working
from tests.archive.ftp_server import serving_ftp
from tests.archive.site import Site, response, served
from tests.archive.warc_gate import gate
from tests.archive.wire_server import page, serving
from tests.waiting import eventually
from watchbell.archive import crawls, finishing
from watchbell.archive.crawls import Change
from watchbell.archive.keys import Archive
from watchbell.archive.model import CrawlOptions
from watchbell.archive.status import explanation
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.settings import Archive as Settings
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store

HTML = "Content-Type: text/html"
OBEDIENT = CrawlOptions(obeys_robots=True)


async def test_a_list_from_a_file_is_fetched_page_by_page(store: Store, tmp_path: Path) -> None:
    async with served(Site(5, odd=False)) as site, working(store, tmp_path) as crawler:
        lines = [site.start, f"{site.url}/p/3", "", f"  {site.url}/p/3 ", "no URL", "mailto:a@b.c"]
        file = tmp_path / "list"
        file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
        files = objects.opened(FilesSettings(), tmp_path)
        await files.put("lists/one", file)
        options = CrawlOptions(list_name="lists/one")
        await crawler.crawl(site.start, fetch_depth="shallow", options=options)
    assert site.asked == {"/": 1, "/p/3": 1}
    assert "URLs of the list: 2. Entries left out as repeated, or no URLs: 4." in crawler.log()
    (kept,) = crawler.finished.glob("*-urls.txt")
    assert kept.read_bytes() == file.read_bytes()


async def test_a_list_is_bounded_as_any_crawl(store: Store, tmp_path: Path) -> None:
    async with served(Site(50, odd=False)) as site, working(store, tmp_path) as crawler:
        text = "\n".join(f"{site.url}/p/{n}" for n in range(50)).encode()
        site.answers["/list"] = lambda _, __: response(text, kind="text/plain")
        options = CrawlOptions(most_urls=4)
        crawl = await crawler.crawl(site.start, url_file=f"{site.url}/list", options=options)
    assert (crawl.items_queued, crawl.items_downloaded) == (4, 4)


async def test_a_list_that_is_missing_can_be_corrected_while_the_crawl_waits(
    store: Store, tmp_path: Path
) -> None:
    async with served(Site(3, odd=False)) as site, working(store, tmp_path) as crawler:
        moved = response(b"", "302 Found", "Location: /real-list")
        site.answers["/list"] = lambda _, __: moved
        site.answers["/real-list"] = lambda s, _: response(f"{s.url}/p/0 {s.url}/p/2".encode())
        ident = await crawler.add(site.start, url_file=f"{site.url}/missing", fetch_depth="shallow")
        await eventually(lambda: site.asked["/missing"] > 1)
        await store.call("HSET", Archive().job(ident), "url_file", f"{site.url}/list")
        await crawler.ended(ident)
    assert (site.asked["/p/0"], site.asked["/p/1"], site.asked["/p/2"]) == (1, 0, 1)
    assert "user-agent" in site.headers["/real-list"]
    missing = f"Can't get the list: {site.url}/missing: the server answered 404."
    assert [line for line in crawler.log() if line.startswith(missing)]


async def test_a_crawl_that_waits_for_its_list_can_be_aborted(store: Store, tmp_path: Path) -> None:
    async with served(Site(0, odd=False)) as site, working(store, tmp_path) as crawler:
        ident = await crawler.add(site.start, url_file=f"{site.url}/missing")
        await eventually(lambda: site.asked["/missing"])
        await finishing.abort(store, ident, "Alice", SYSTEM.now())
        crawl = await crawler.ended(ident)
    assert (crawl.aborted, crawl.items_queued) == (True, 0)


async def test_a_crawl_whose_list_is_missing_is_in_trouble_until_it_is_there(
    store: Store, tmp_path: Path
) -> None:
    slow = replace(FAST, delay_min=600_000, delay_max=600_000, concurrency=1)
    async with served(Site(2, odd=False)) as site, working(store, tmp_path) as crawler:
        list_url = f"{site.url}/list"
        ident = await crawler.add(site.start, slow, url_file=list_url, fetch_depth="shallow")

        async def explained() -> str:
            return await explanation(store, Settings(), ident, SYSTEM.now())

        why = f"it can't get its list: {list_url}: the server answered 404"
        await eventually(lambda: holds(explained, f"there is trouble: {why}."))
        await eventually(lambda: site.asked["/list"] > 2, why="it is tried again and again")
        site.answers["/list"] = lambda s, _: response(f"{s.url}/p/0 {s.url}/p/1".encode())
        await eventually(lambda: holds(explained, "It has been running on p1"))
        await finishing.abort(store, ident, "Alice", SYSTEM.now())
        await crawler.ended(ident)
    failed = [line for line in crawler.log() if line.startswith("Can't get the list: ")]
    assert len(failed) == 1, "one line, however often it is tried"


async def test_a_paused_crawl_does_not_ask_for_its_list(store: Store, tmp_path: Path) -> None:
    async with served(Site(1, odd=False)) as site, working(store, tmp_path) as crawler:
        ident = await crawler.add(site.start, url_file=f"{site.url}/list", fetch_depth="shallow")
        await eventually(lambda: site.asked["/list"])
        await crawls.change(store, ident, Change(is_paused=True))
        other = await crawler.add(f"{site.url}/p/0", FAST, url_file=f"{site.url}/other-list")

        async def is_quiet() -> bool:
            """As often as it is asked for another list, it would be asked for this one."""
            before, others = site.asked["/list"], site.asked["/other-list"]
            await eventually(lambda: site.asked["/other-list"] > others + 50)
            return site.asked["/list"] == before

        await eventually(is_quiet, why="the pause takes effect")
        site.answers["/list"] = lambda s, _: response(s.start.encode())
        await crawls.change(store, ident, Change(is_paused=False))
        await crawler.ended(ident)
        await finishing.abort(store, other, "Alice", SYSTEM.now())
        await crawler.ended(other)


async def holds(read: Callable[[], Awaitable[str]], words: str) -> bool:
    return words in await read()


async def test_an_ftp_server_is_archived_folder_by_folder(store: Store, tmp_path: Path) -> None:
    async with serving_ftp() as site, working(store, tmp_path) as crawler:
        listing = b"type=dir; sub\r\ntype=file; a.txt\r\ntype=file; secret.txt\r\n"
        site.listings = {
            "pub": {"MLSD": listing},
            "pub/sub": {"MLSD": b"type=file; b.bin\r\n"},
        }
        site.files = {"pub/a.txt": b"hello", "pub/sub/b.bin": b"\0" * 3_000_000}
        crawl = await crawler.crawl(site.url("pub/"), replace(FAST, concurrency=1))
    files = {record.url: block for record, block in crawler.records("resource")}
    assert files == {
        site.url("pub/"): listing,
        site.url("pub/sub/"): b"type=file; b.bin\r\n",
        site.url("pub/a.txt"): b"hello",
        site.url("pub/sub/b.bin"): b"\0" * 3_000_000,
    }, "and no empty file in place of the one that was refused"
    said = {record.url: block for record, block in crawler.records("metadata")}
    refused = said[f"urn:X-watchbell:transcript:{site.url('pub/secret.txt')}"]
    assert b"550 No such file" in refused
    assert (crawl.items_downloaded, crawl.r2xx, crawl.r5xx) == (4, 4, 1)
    await gate(crawler.warcs())


def obeying(rules: bytes, hops: int) -> dict[str, bytes]:
    pages = {"/robots.txt": page(b"", "Location: /hop-1", status="301 Moved")}
    for hop in range(1, hops):
        pages[f"/hop-{hop}"] = page(b"", f"Location: /hop-{hop + 1}", status="302 Found")
    pages[f"/hop-{hops}"] = page(rules, "Content-Type: text/plain")
    return pages


async def test_robots_txt_is_obeyed_after_redirects_and_recorded(
    store: Store, tmp_path: Path
) -> None:
    async with serving() as site, working(store, tmp_path) as crawler:
        rules = f"User-agent: *\nDisallow: /private\nSitemap: {site.url('/map.xml')}\n".encode()
        site.pages |= obeying(rules, hops=5)
        links = b'<a href="/private/a">x</a> <a href="/public">x</a> <a href="/b">x</a>'
        mapped = f"<urlset><loc>{site.url('/mapped')}</loc></urlset>".encode()
        site.pages |= {
            "/": page(links, HTML),
            "/public": page(b"public", HTML),
            "/b": page(b"b", HTML),
            "/map.xml": page(mapped, "Content-Type: text/xml"),
            "/mapped": page(b"mapped", HTML),
            "/sitemap.xml": page(b"", status="404 Not Found"),
        }
        crawl = await crawler.crawl(site.url("/"), options=OBEDIENT)
    asked = [raw.split(b" ")[1].decode() for raw in site.requests]
    assert sorted(asked) == sorted(site.pages), "each once, and nothing that is forbidden"
    assert asked[:6] == ["/robots.txt", *(f"/hop-{n}" for n in range(1, 6))]
    assert crawler.responses() == {site.url(path): [raw] for path, raw in site.pages.items()}
    assert f"robots.txt forbids {site.url('/private/a')}" in crawler.log()
    assert f"301 {site.url('/robots.txt')}" in crawler.log()
    assert crawl.items_queued == len(asked) + 1
    await gate(crawler.warcs())


@pytest.mark.parametrize("hops", [["/"], ["/", "/en/"], ["/en/"]])
async def test_robots_txt_that_leads_to_a_page_leaves_that_to_the_crawl(
    store: Store, tmp_path: Path, hops: list[str]
) -> None:
    """As where a site redirects everything it lacks to its front page."""
    pages = {
        "/robots.txt": page(b"", f"Location: {hops[0]}", status="302 Found"),
        "/": page(b'<a href="/en/">x</a> <a href="/b">x</a>', HTML),
        "/en/": page(b'<a href="/c">x</a>', HTML),
        "/b": page(b"b", HTML),
        "/c": page(b"c", HTML),
        "/sitemap.xml": page(b"", status="404 Not Found"),
    }
    if len(hops) > 1:
        pages["/"] = page(b"", f"Location: {hops[1]}", status="302 Found")
        del pages["/b"]
    async with serving(pages) as site, working(store, tmp_path) as crawler:
        crawl = await crawler.crawl(site.url("/"), options=OBEDIENT)
    assert set(crawler.responses()) == {site.url(path) for path in pages}
    assert crawl.urls_left == 0
    await gate(crawler.warcs())


async def test_robots_txt_behind_too_many_redirects_has_no_rules(
    store: Store, tmp_path: Path
) -> None:
    pages = obeying(b"User-agent: *\nDisallow: /", hops=7) | {"/": page(b"welcome", HTML)}
    async with serving(pages) as site, working(store, tmp_path) as crawler:
        await crawler.crawl(site.url("/"), fetch_depth="shallow", options=OBEDIENT)
    assert site.url("/") in crawler.responses()
    assert site.url("/hop-6") not in crawler.responses()


async def test_a_site_whose_robots_txt_fails_is_asked_again_and_then_given_up(
    store: Store, tmp_path: Path
) -> None:
    site = Site(5, odd=False)
    site.answers["/robots.txt"] = lambda _, __: response(b"", "500 Internal Server Error")
    async with served(site), working(store, tmp_path) as crawler:
        await crawler.crawl(site.start, options=OBEDIENT)
    assert site.asked == {"/robots.txt": 3}
    assert f"robots.txt forbids {site.start}" in crawler.log()


async def test_robots_txt_that_comes_late_is_obeyed(store: Store, tmp_path: Path) -> None:
    site = Site(5, odd=False)
    site.answers["/robots.txt"] = lambda s, _: (
        response(b"", "503 Unavailable")
        if s.asked["/robots.txt"] == 1
        else response(b"User-agent: *\nDisallow: /p/3", kind="text/plain")
    )
    async with served(site), working(store, tmp_path) as crawler:
        await crawler.crawl(site.start, options=OBEDIENT)
    wanted = {"/": 1, "/robots.txt": 2, "/sitemap.xml": 1}
    assert site.asked == wanted | {f"/p/{n}": 1 for n in (0, 1, 2, 4)}
