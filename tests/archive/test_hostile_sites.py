"""Sites that would keep a crawler busy for ever, or lead it where it must not go."""

import asyncio
import ssl
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.crawled import FAST
from tests.archive.crawler import Crawler, working
from tests.archive.site import Site, response, served
from tests.archive.warc_gate import gate
from tests.archive.wire_server import page, serving
from tests.servers import HOST, certificates, held_port
from tests.waiting import eventually
from watchbell.archive import finishing
from watchbell.archive.fetching.model import Limits
from watchbell.clock import SYSTEM
from watchbell.http.networks import Networks
from watchbell.store.client import Store

ALONE = replace(FAST, concurrency=1)
HTML = "Content-Type: text/html"


def linking(*urls: str) -> bytes:
    return page("".join(f'<a href="{url}">x</a>' for url in urls).encode(), HTML)


async def test_an_endless_calendar_ends_at_the_budget_of_its_host(
    store: Store, tmp_path: Path
) -> None:
    def month(path: str) -> bytes:
        number = int(path.rpartition("/")[2] or 0) if "txt" not in path and "xml" not in path else 0
        links = "".join(f'<a href="/month/{number * 3 + n}">x</a>' for n in (1, 2, 3))
        return response(links.encode())

    site = Site(0, odd=False)
    site.otherwise = month
    site.answers.clear()
    async with served(site), working(store, tmp_path, host_urls=50) as crawler:
        crawl = await crawler.crawl(site.start)
    assert (len(site.asked), crawl.items_queued) == (50, 50)
    full = f"{HOST}:{site.port} has 50 URLs, its limit; no more of them are fetched."
    assert crawler.log().count(full) == 1


async def test_a_host_that_asks_for_time_is_left_alone_while_others_go_on(
    store: Store, tmp_path: Path
) -> None:
    busy = response(b"", "429 Too Many Requests", "Retry-After: 3000")
    async with (
        served(Site(0, odd=False)) as other,
        served(Site(20, odd=False)) as site,
        working(store, tmp_path) as crawler,
    ):
        other.otherwise = lambda _path: busy
        links = [f"{other.url}/{n}" for n in range(5)] + ["/p/0"]
        start = linking(*links)
        site.answers["/"] = lambda _site, _headers: start
        ident = await crawler.add(site.start, ALONE)
        await eventually(lambda: len(site.asked) == 23, why="the site is fetched")
        await eventually(lambda: _has_logged(crawler, ident, '"response_code":429'))
        await finishing.abort(store, ident, "Alice", SYSTEM.now())
        crawl = await crawler.ended(ident)
    assert sum(other.asked.values()) == 1, "its other URLs wait, too"
    assert (crawl.aborted, crawl.r4xx, crawl.items_queued) == (True, 3, 28)


async def _has_logged(crawler: Crawler, ident: str, words: str) -> bool:
    return words in await crawler.recent(ident)


async def test_a_tarpit_frees_its_slot(store: Store, tmp_path: Path) -> None:
    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"x" * 1_000, HTML)[:-999])
        while not writer.is_closing():
            writer.write(b"x")
            await asyncio.sleep(0.01)
        left.append(writer)

    left: list[asyncio.StreamWriter] = []
    limits = Limits(stall=0.3, stall_size=100)
    async with (
        serving({"/": linking("/tar", "/after"), "/after": page(b"fine")}) as site,
        working(store, tmp_path, limits=limits) as crawler,
    ):
        site.talks["/tar"] = drip
        crawl = await crawler.crawl(site.url("/"), ALONE)
        await eventually(lambda: len(left) == 3, why="no connection to the tarpit is left")
    lines = crawler.log()
    slow = f"200 {site.url('/tar')} (fewer than 100 bytes within 0.3 s)"
    assert lines.count(slow) == 3
    assert f"200 {site.url('/after')}" in lines
    assert not crawl.failed
    cut = [one for one, _ in crawler.records("response") if one.url == site.url("/tar")]
    assert [one.fields["warc-truncated"] for one in cut] == ["time"] * 3


@pytest.mark.parametrize(
    "spelling", ["127.0.0.2", "127.2", "0x7f.0.0.2", "2130706434", "[::ffff:127.0.0.2]"]
)
async def test_a_redirect_to_a_private_address_is_refused(
    store: Store, tmp_path: Path, spelling: str
) -> None:
    asked: list[object] = []
    secret = await asyncio.start_server(lambda *them: asked.append(them), "127.0.0.2", 0)
    port = secret.sockets[0].getsockname()[1]
    reachable = Networks((f"{HOST}/32",), advice="archive.allow_private can permit it")
    moved = page(b"", f"Location: http://{spelling}:{port}/admin", status="302 Found")
    async with (
        secret,
        serving({"/": moved}) as site,
        working(store, tmp_path, reachable=reachable) as crawler,
    ):
        await crawler.crawl(site.url("/"))
    refused = [line for line in crawler.log() if "/admin" in line]
    assert len(refused) == 1
    assert "is not on the public Internet; archive.allow_private can permit it" in refused[0]
    assert not asked


async def test_a_terabyte_is_cut_where_the_settings_say(store: Store, tmp_path: Path) -> None:
    head = f"HTTP/1.1 200 OK\r\n{HTML}\r\nContent-Length: {1 << 40}\r\n\r\n".encode()

    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with (
        serving({"/": linking("/tera", "/after"), "/after": page(b"fine")}) as site,
        working(store, tmp_path, most_size=1) as crawler,
    ):
        site.talks["/tera"] = endless
        await crawler.crawl(site.url("/"), ALONE)
    [(record, block)] = [one for one in crawler.records("response") if "/tera" in one[0].url]
    assert len(block) == 1 << 20
    assert block.startswith(head)
    assert record.fields["warc-truncated"] == "length"
    assert f"200 {site.url('/after')}" in crawler.log()
    await gate(crawler.warcs())


async def test_bad_certificates_are_no_obstacle_and_are_recorded_once(
    store: Store, tmp_path: Path
) -> None:
    made = certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server, made.server_key)
    async with (
        serving({"/": linking("/a", "/b"), "/a": page(b"a"), "/b": page(b"b")}, context) as site,
        working(store, tmp_path / "data") as crawler,
    ):
        crawl = await crawler.crawl(site.url("/"))
    assert crawl.items_downloaded == 3
    [(record, chain)] = crawler.records("metadata")
    assert chain.decode() == made.server.read_text()
    assert record.fields["content-type"] == "application/pem-certificate-chain"
    exchanges = crawler.records("request") + crawler.records("response")
    assert {one.fields["warc-protocol"] for one, _ in exchanges} == {"tls/1.3"}
    assert all(one.fields["warc-cipher-suite"].startswith("TLS_") for one, _ in exchanges)
    assert record.url == f"urn:X-watchbell:certificate:{HOST}:{site.port}"
    of = record.fields["warc-concurrent-to"]
    assert of in [one.id for one, _ in crawler.records("request")]
    await gate(crawler.warcs())


async def test_a_server_that_speaks_no_tls_is_an_error_of_its_own(
    store: Store, tmp_path: Path
) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(page(b"Bad Request", status="400"))
        writer.close()

    async with (
        await asyncio.start_server(plain, HOST, 0) as other,
        serving() as site,
        working(store, tmp_path) as crawler,
    ):
        broken = f"https://{HOST}:{other.sockets[0].getsockname()[1]}/"
        site.pages |= {"/": linking(broken, "/after"), "/after": page(b"fine")}
        await crawler.crawl(site.url("/"))
    lines = crawler.log()
    assert lines.count(f"--- {broken} (TLS: wrong version number)") == 1
    assert f"200 {site.url('/after')}" in lines


async def test_an_abort_does_not_wait_for_a_slow_server(store: Store, tmp_path: Path) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"x" * 1_000, HTML)[:-500])
        await reader.read()

    limits = Limits(head=3_600, stall=3_600)
    async with serving() as site, working(store, tmp_path, limits=limits) as crawler:
        site.pages["/"] = linking("/slow", "/after")
        site.talks["/slow"] = hang
        ident = await crawler.add(site.url("/"), ALONE)
        await eventually(lambda: any(b"/slow" in raw for raw in site.requests))
        await finishing.abort(store, ident, "Alice", SYSTEM.now())
        crawl = await crawler.ended(ident)
        waiting = await crawler.add(site.url("/other"), url_file=site.url("/slow"))
        await eventually(lambda: sum(b"/slow" in raw for raw in site.requests) == 2)
        await finishing.abort(store, waiting, "Alice", SYSTEM.now())
        without_list = await crawler.ended(waiting)
    assert (crawl.aborted, crawl.r2xx) == (True, 1)
    assert (without_list.aborted, without_list.items_queued) == (True, 0)


async def test_a_host_that_stays_down_is_given_up(store: Store, tmp_path: Path) -> None:
    with held_port() as hold:
        down = f"{HOST}:{hold.getsockname()[1]}"
        async with serving() as site, working(store, tmp_path) as crawler:
            site.pages |= {
                "/": linking(*(f"http://{down}/{n}" for n in range(100)), "/after"),
                "/after": page(b"fine"),
                "/robots.txt": page(b"", status="404 Not Found"),
                "/sitemap.xml": page(b"", status="404 Not Found"),
            }
            crawl = await crawler.crawl(site.url("/"))
    lines = crawler.log()
    tried = [line for line in lines if line.startswith(f"--- http://{down}/")]
    assert 25 <= len(tried) < 35
    assert len({*tried}) < 100
    [given_up] = [line for line in lines if line.startswith(f"{down} was down 25 times in a row; ")]
    assert given_up.endswith(" URLs are given up.")
    assert f"200 {site.url('/after')}" in lines
    assert not crawl.failed


async def test_a_site_that_redirects_to_itself_until_it_sees_its_cookie(
    store: Store, tmp_path: Path
) -> None:
    site = Site(3, odd=False)
    start = site.answers["/"]
    wall = response(b"", "302 Found", "Location: /", "Set-Cookie: seen=1")
    site.answers["/"] = lambda s, headers: (
        start(s, headers) if "seen=1" in headers.get("cookie", "") else wall
    )
    site.answers["/stubborn"] = lambda _, __: response(
        b"", "302 Found", "Location: /stubborn", "Set-Cookie: again=1"
    )
    site.answers["/p/0"] = lambda _, __: linking("/stubborn", "/p/1", "/p/2")
    async with served(site), working(store, tmp_path) as crawler:
        await crawler.crawl(site.start)
    assert (site.asked["/"], site.asked["/p/2"], site.asked["/stubborn"]) == (2, 1, 3)
    assert crawler.responses()[site.start] == site.sent["/"]
