"""Servers that attack a crawler: each attack costs one URL, and the crawl goes on."""

import asyncio
import zlib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.archive.crawled import FAST
from tests.archive.crawler import Crawler, working
from tests.archive.site import Site, response, served
from tests.archive.warc_gate import gate
from tests.archive.wire_server import Talk, WireServer, page, serving
from tests.listening import listening
from tests.servers import HOST
from watchbell.archive.fetching.model import Limits
from watchbell.archive.scope import MOST_REDIRECTS
from watchbell.store.client import Store

HTML = "Content-Type: text/html"
ALONE = replace(FAST, concurrency=1)


def linking(*urls: str) -> bytes:
    return page("".join(f'<a href="{url}">x</a>' for url in urls).encode(), HTML)


async def attacked(
    store: Store, data: Path, attack: bytes | Talk, *, closes: bool = True, **options: Any
) -> tuple[WireServer, Crawler]:
    """A crawl of `/`, `/attack` and `/after`, one after the other."""
    async with serving() as site, working(store, data, **options) as crawler:
        site.pages |= {"/": linking("/attack", "/after"), "/after": page(b"fine")}
        if isinstance(attack, bytes):
            site.pages["/attack"] = attack
            if closes:
                site.closing.add("/attack")
        else:
            site.talks["/attack"] = attack
        crawl = await crawler.crawl(site.url("/"), ALONE)
    assert not crawl.failed
    assert crawler.log().count(f"200 {site.url('/after')}") == 1
    return site, crawler


def asked(site: WireServer) -> list[str]:
    return [raw.split(b" ")[1].decode() for raw in site.requests]


def lines(crawler: Crawler) -> list[str]:
    """What was logged of the attack."""
    return [line for line in crawler.log() if "/attack" in line]


# Before the body.


async def endless(writer: asyncio.StreamWriter, unit: bytes) -> None:
    while not writer.is_closing():
        writer.write(unit)
        await writer.drain()


async def headers(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await endless(writer, b"X-Header: " + b"x" * 1_000 + b"\r\n")


async def one_header(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Header: ")
    await endless(writer, b"x" * 1_000)


async def interim(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await endless(writer, b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("attack", [headers, one_header, interim])
async def test_headers_without_end(store: Store, tmp_path: Path, attack: Talk) -> None:
    site, crawler = await attacked(store, tmp_path, attack)
    too_large = "headers larger than 65,536 bytes"
    assert lines(crawler) == [f"--- {site.url('/attack')} ({too_large})"]
    assert site.url("/attack") not in crawler.responses()


@pytest.mark.parametrize(
    "raw", [b"<html>hello, this is HTTP/0.9", b"\0" * 1_000, b"ICY 200 OK\r\n\r\n", b"SSH-2.0-x\n"]
)
async def test_what_is_not_http(store: Store, tmp_path: Path, raw: bytes) -> None:
    site, crawler = await attacked(store, tmp_path, raw)
    assert lines(crawler) == [f"--- {site.url('/attack')} (not an HTTP response)"]


# Redirects.


async def test_a_chain_of_redirects_through_many_hosts(store: Store, tmp_path: Path) -> None:
    site = Site(0, odd=False)

    def hop(path: str) -> bytes:
        number = int(path.removeprefix("/hop-")) + 1
        location = f"Location: http://127.0.{number // 250}.{number % 250 + 1}:{port}/hop-{number}"
        return response(b"", "302 Found", location)

    site.answers.clear()
    site.otherwise = lambda path: hop(path) if "hop" in path else response(b"")
    async with (
        listening(site.serve, "0.0.0.0") as port,  # all of 127.0.0.0/8
        working(store, tmp_path) as crawler,
    ):
        crawl = await crawler.crawl(f"http://{HOST}:{port}/hop-0", fetch_depth="shallow")
    assert len(site.asked) == 1 + MOST_REDIRECTS
    assert crawl.r3xx == 1 + MOST_REDIRECTS


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (b"/a\0b", "/a%00b"),
        (b"/a\"b'c<d>", "/a%22b'c%3Cd%3E"),
        (b"/a\tb", "/ab"),
        (b"/a\r\n b", "/a%20b"),
        (b"/a b\x1b[31m", "/a%20b%1B[31m"),
        (b"\xff\xfe", "/%C3%BF%C3%BE"),
    ],
)
async def test_a_redirect_to_strange_characters(
    store: Store, tmp_path: Path, location: bytes, path: str
) -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"
    site, crawler = await attacked(store, tmp_path, moved)
    assert path in asked(site)
    assert [line for line in crawler.log() if not line.isprintable()] == []


# Large documents.


async def test_a_page_with_one_tag_of_100_megabytes(store: Store, tmp_path: Path) -> None:
    size = 100 << 20

    async def tag(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\n{HTML}\r\nContent-Length: {size}\r\n\r\n".encode())
        writer.write(b'<a href="')
        for _ in range(size // 65_536):
            writer.write(b"x" * 65_536)
            await writer.drain()
        await reader.read()  # until the crawler has everything

    _, crawler = await attacked(store, tmp_path, tag)
    [line] = lines(crawler)
    assert line.startswith("200 ")


@pytest.mark.parametrize("unit", [b"<div>", b"<b><p>", b"<a href=/x>", b"<table><td>", b"<!--"])
async def test_a_page_that_is_nested_without_end(store: Store, tmp_path: Path, unit: bytes) -> None:
    _, crawler = await attacked(store, tmp_path, page(unit * 100_000, HTML))
    assert lines(crawler)[0].startswith("200 ")


async def test_a_page_with_a_million_links(store: Store, tmp_path: Path) -> None:
    links = b"".join(b"<a href=/%d>" % number for number in range(1_000_000))
    site = Site(0, odd=False)
    site.answers["/"] = lambda _, __: response(links)
    async with served(site), working(store, tmp_path, host_urls=100) as crawler:
        crawl = await crawler.crawl(site.start)
    assert (len(site.asked), crawl.items_queued, set(site.asked.values())) == (100, 100, {1})


async def test_a_small_file_that_unpacks_to_gigabytes(store: Store, tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(b"\0" * (1 << 20)) for _ in range(200)) + packer.flush()
    twice = zlib.compressobj(9, wbits=31)
    bomb = twice.compress(packed) + twice.flush()
    raw = page(bomb, HTML, "Content-Encoding: gzip, gzip")
    site, crawler = await attacked(store, tmp_path, raw)
    assert crawler.responses()[site.url("/attack")] == [raw]
    await gate(crawler.warcs())


# What a crawl keeps.


async def test_a_flood_of_cookies(store: Store, tmp_path: Path) -> None:
    site = Site(40, odd=False)
    flood = [f"Set-Cookie: c{number}={'x' * 500}" for number in range(100)]
    for path, answer in list(site.answers.items()):
        site.answers[path] = lambda s, h, answer=answer: response(  # type: ignore[misc]
            answer(s, h).partition(b"\r\n\r\n")[2], "200 OK", *flood
        )
    async with served(site), working(store, tmp_path) as crawler:
        crawl = await crawler.crawl(site.start)
    assert crawl.items_downloaded == 41
    assert 500 < len(site.headers["/p/39"]["cookie"]) <= 8_192


async def test_a_file_name_that_leads_out_of_the_folder(store: Store, tmp_path: Path) -> None:
    name = 'Content-Disposition: attachment; filename="../../../../tmp/owned"'
    _, crawler = await attacked(store, tmp_path, page(b"x", name))
    assert len(list(crawler.finished.iterdir())) == 4
    assert _named_owned(tmp_path) == []


def _named_owned(folder: Path) -> list[Path]:
    return [*folder.rglob("*owned*"), *Path("/tmp").glob("owned*")]


async def test_a_flood_of_ignored_links_is_not_logged_in_full(store: Store, tmp_path: Path) -> None:
    links = linking(*(f"/ignored/{number}" for number in range(20_000)))
    settings = replace(FAST, ignores=frozenset({"/ignored/"}), suppress_ignore_reports=False)
    async with serving({"/": links}) as site, working(store, tmp_path) as crawler:
        await crawler.crawl(site.url("/"), settings)
    logged = [line for line in crawler.log() if line.startswith("ignored ")]
    assert 2_000 <= len(logged) < 20_000
    assert [line for line in crawler.log() if line.startswith("More URLs were ignored than ")]


# Connections.


async def test_more_than_one_response_for_a_request(store: Store, tmp_path: Path) -> None:
    """The second one is not taken for the answer to the next request."""
    raw = page(b"first", HTML) + page(b"poison", HTML)
    site, crawler = await attacked(store, tmp_path, raw, closes=False)
    found = crawler.responses()
    assert found[site.url("/attack")] == [page(b"first", HTML)]
    assert found[site.url("/after")] == [page(b"fine")]


async def test_a_response_that_nobody_asked_for(store: Store, tmp_path: Path) -> None:
    """It comes while the connection waits for its next request."""
    release = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"first", HTML))
        await release.wait()
        writer.write(page(b"poison", HTML))
        await reader.read()

    async with serving() as site, working(store, tmp_path) as crawler:
        site.pages |= {"/": linking("/attack"), "/after": page(b"fine")}
        site.talks["/attack"] = late
        await crawler.crawl(site.url("/attack"), fetch_depth="shallow")
        release.set()
        await crawler.crawl(site.url("/after"), fetch_depth="shallow")
    assert crawler.responses()[site.url("/after")] == [page(b"fine")]


async def test_a_connection_that_ends_when_it_is_used_again_is_no_error(
    store: Store, tmp_path: Path
) -> None:
    requests = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request, and hangs up at the next one."""
        nonlocal requests
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        links = "".join(f'<a href="/{n}">x</a>' for n in range(20))
        writer.write(page(links.encode() if path == b"/" else b"fine", HTML))
        await reader.readuntil(b"\r\n\r\n")
        requests += 1
        writer.transport.abort()

    async with await asyncio.start_server(once, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with working(store, tmp_path, limits=Limits()) as crawler:
            crawl = await crawler.crawl(f"http://{HOST}:{port}/", ALONE)
    assert requests >= 20
    assert (crawl.items_downloaded, crawl.error_count, crawl.runk) == (23, 0, 0)
    assert [line for line in crawler.log() if line.startswith("---")] == []
