"""How far a crawl goes, with whose name, and what it takes along: options, cookies, credentials."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.archive.crawled import FAST
from tests.archive.crawler import working
from tests.archive.site import Site, response, served
from tests.archive.wire_server import page, serving
from tests.listening import listening
from tests.waiting import eventually
from watchbell.archive.model import CrawlOptions
from watchbell.store.client import Store

HTML = "Content-Type: text/html"


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def linking(*urls: str, **images: str) -> bytes:
    anchors = "".join(f'<a href="{url}">x</a>' for url in urls)
    return page((anchors + "".join(f'<img src="{i}">' for i in images.values())).encode(), HTML)


# Other sites.


@pytest.mark.parametrize(
    ("no_offsite_links", "offsite_depth", "reached"),
    [(False, 1, "ab"), (False, 2, "abc"), (False, 0, "a"), (True, 2, "a"), (False, 9, "abcd")],
)
async def test_links_to_other_sites_are_followed_as_far_as_asked(
    store: Store, tmp_path: Path, *, no_offsite_links: bool, offsite_depth: int, reached: str
) -> None:
    async with (
        serving({"/": linking(), "/pic.png": page(b"picture")}) as d,
        serving({"/": linking(d.url("/"))}) as c,
        serving({"/": linking(c.url("/"))}) as b,
        serving({"/": linking(b.url("/"), "/page", image=d.url("/pic.png"))}) as a,
        working(store, tmp_path) as crawler,
    ):
        a.pages["/page"] = linking()
        options = CrawlOptions(offsite_depth=offsite_depth)
        await crawler.crawl(a.url("/"), options=options, no_offsite_links=no_offsite_links)
    pages = {name: site.url("/") for name, site in zip("abcd", (a, b, c, d), strict=True)}
    found = set(crawler.responses())
    assert "".join(name for name, url in pages.items() if url in found) == reached
    assert {a.url("/page"), d.url("/pic.png")} <= found, "what a page needs is always fetched"


async def test_a_host_may_be_an_ipv6_address(store: Store, tmp_path: Path) -> None:
    site = Site(3, odd=False)
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    async with listening(site.serve, "::1") as port, working(store, tmp_path) as crawler:
        crawl = await crawler.crawl(f"http://[::1]:{port}/")
    assert {f"http://[::1]:{port}/p/{n}" for n in range(3)} <= set(crawler.responses())
    assert site.headers["/p/0"]["host"] == f"[::1]:{port}"
    assert crawl.items_downloaded == 4
    [ip] = {record.fields["warc-ip-address"] for record, _ in crawler.records("response")}
    assert ip == "::1"


# Limits.


async def test_a_crawl_ends_after_as_many_urls_as_it_may_have(store: Store, tmp_path: Path) -> None:
    async with served(Site(100, odd=False)) as site, working(store, tmp_path) as crawler:
        crawl = await crawler.crawl(site.start, options=CrawlOptions(most_urls=7))
    assert (crawl.items_queued, sum(site.asked.values())) == (7, 7)
    assert "The crawl has 7 URLs, its limit; no more of them are fetched." in crawler.log()


async def test_a_limit_of_bytes_includes_those_before_a_restart(
    store: Store, tmp_path: Path
) -> None:
    async with served(Site(200, odd=False)) as site:
        size = len(response(site._page(0)))
        options = CrawlOptions(most_bytes=60 * size)
        site.gate = asyncio.Event()
        site.gate.set()
        async with working(store, tmp_path) as crawler:
            ident = await crawler.add(site.start, options=options)
            await eventually(lambda: len(site.asked) > 30)
            site.gate.clear()
            await eventually(lambda: _committed(tmp_path).count("\n") > 25)
        before = len(site.asked)
        site.gate.set()
        async with working(store, tmp_path) as crawler:
            crawl = await crawler.ended(ident)
    assert before < len(site.asked) < 85, "not as many as if it had begun from nothing"
    assert not crawl.aborted
    assert [line for line in crawler.log() if line.startswith("The crawl ends: it has fetched ")]


def _committed(data: Path) -> str:
    """What the crawl has logged so far."""
    (log,) = data.glob("archive/crawls/*/crawl.log")
    return log.read_text()


# Cookies.


async def test_cookies_belong_to_one_crawl_and_survive_a_restart(
    store: Store, tmp_path: Path
) -> None:
    site = Site(0, odd=False)
    site.answers |= {
        "/a/": lambda _, __: response(b'<a href="two">x</a>', "200 OK", "Set-Cookie: who=a"),
        "/b/": lambda _, __: response(b'<a href="two">x</a>'),
    }
    site.otherwise = lambda _path: response(b"fine")
    async with served(site):
        async with _stopped_at(site, "/a/two"), working(store, tmp_path) as crawler:
            first = await crawler.add(f"{site.url}/a/")
            await eventually(lambda: site.asked["/a/two"])
            await eventually(lambda: f"200 {site.url}/a/\n" in _committed(tmp_path))
        async with working(store, tmp_path) as crawler:
            await crawler.ended(first)
            assert site.headers["/a/two"]["cookie"] == "who=a"
            assert site.asked["/a/"] == 1
            await crawler.crawl(f"{site.url}/b/")
            assert "cookie" not in site.headers["/b/two"]


@asynccontextmanager
async def _stopped_at(site: Site, path: str) -> AsyncIterator[None]:
    """Nobody gets an answer to this path until the block has ended."""
    answer = site.otherwise
    site.otherwise = lambda asked: b"" if asked == path else answer(asked)
    try:
        yield
    finally:
        site.otherwise = answer


async def test_a_crawl_without_cookies_sends_none(store: Store, tmp_path: Path) -> None:
    site = Site(0, odd=False)
    site.otherwise = lambda _: response(b'<a href="/two">x</a>', "200 OK", "Set-Cookie: who=a")
    async with served(site), working(store, tmp_path) as crawler:
        await crawler.crawl(site.start, options=CrawlOptions(has_cookies=False))
    assert site.asked["/two"] == 1
    assert "cookie" not in site.headers["/two"]


# Credentials.


async def test_a_password_reaches_its_server_and_no_log(store: Store, tmp_path: Path) -> None:
    async with serving() as other, serving() as site, working(store, tmp_path) as crawler:
        url = site.url("/").replace("://", "://alice:s3cret@")
        site.pages |= {
            "/": linking("/relative", site.url("/absolute"), other.url("/"), "/moved"),
            "/relative": page(b"r"),
            "/absolute": page(b"a"),
            "/moved": page(b"", f"Location: {site.url('/there')}", status="301 Moved"),
            "/there": page(b"t"),
        }
        other.pages["/"] = page(b"other")
        ident = await crawler.add(url)
        crawl = await crawler.ended(ident)
        logged = await crawler.recent(ident)
    assert crawl.items_downloaded == 6
    assert all(b"Authorization: Basic YWxpY2U6czNjcmV0" in raw for raw in site.requests)
    assert [raw for raw in other.requests if b"Authorization" in raw] == []
    texts = [logged, *crawler.log(), *crawler.responses()]
    texts += [path.read_text() for path in crawler.finished.glob("*.[cj]*")]
    assert not [text for text in texts if "s3cret" in text or "alice" in text]
    assert site.url("/relative") in crawler.responses()


# Streams.


async def test_a_live_stream_is_recorded_without_its_endless_body(
    store: Store, tmp_path: Path
) -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: Radio\r\n\r\n"

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await reader.read()

    async with serving() as site, working(store, tmp_path) as crawler:
        site.pages["/"] = linking("/stream")
        site.talks["/stream"] = play
        await crawler.crawl(site.url("/"), FAST)
    [(record, block)] = [one for one in crawler.records("response") if "stream" in one[0].url]
    assert (block, record.fields["warc-truncated"]) == (head, "unspecified")
    assert crawler.log().count(f"200 {site.url('/stream')}") == 1
