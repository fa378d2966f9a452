"""Fetching over real connections: what is recorded, what is reused, what is refused."""

import asyncio
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.archive.wire_server import WireServer, chunked, page, serving
from tests.servers import HOST, certificates, held_port
from tests.waiting import eventually
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Fetched, Limits, Request, networks

Make = Callable[..., Fetcher]


@pytest.fixture
async def make(folder: Path) -> AsyncIterator[Make]:
    made: list[Fetcher] = []

    def one(*, allow_private: bool = True, most_idle: int = 256, **limits: Any) -> Fetcher:
        allowed = networks(allow_private=allow_private)
        made.append(Fetcher(allowed, folder, Limits(**limits), most_idle=most_idle))
        return made[-1]

    yield one
    for fetcher in made:
        fetcher.close()


@pytest.fixture
def fetcher(make: Make) -> Fetcher:
    return make()


@pytest.fixture
async def site() -> AsyncIterator[WireServer]:
    async with serving() as one:
        yield one


async def fetched(fetcher: Fetcher, url: str) -> Fetched:
    return await fetcher.fetch(Request(url=url))


@pytest.mark.parametrize(
    "raw",
    [
        page(b"hello", "Set-Cookie: a=b", "X-Strange:   yes"),
        page(b"", status="404"),
        page(b"moved", "Location: /b", status="301 Moved Permanently"),
        page(b"x" * 3_000_000),
        chunked(b"hello", b"world" * 1_000, trailers=b"Digest: none\r\n"),
        b"HTTP/1.1 204 No Content\n\n",
    ],
    ids=["ordinary", "empty 404", "redirect", "large", "chunked", "line feeds"],
)
async def test_a_response_is_recorded_as_sent(
    site: WireServer, fetcher: Fetcher, raw: bytes
) -> None:
    site.pages["/a"] = raw
    one = await fetched(fetcher, site.url("/a"))
    assert one.error == ""
    assert one.truncated == ""
    assert one.response.read() == raw
    assert b"".join(one.response.pieces()) == raw
    assert one.response.is_in_memory == (len(raw) <= 1 << 20)
    assert raw[one.head_size - 1 : one.head_size] == b"\n"
    assert (one.status, one.ip) == (int(raw[9:12]), HOST)
    assert one.request == site.requests[0]
    one.response.close()


async def test_a_request_is_what_was_asked_for(site: WireServer, fetcher: Fetcher) -> None:
    site.pages["/a?b=%20c"] = page(b"")
    url = site.url("/a?b=%20c#fragment").replace("://", "://alice:s%20cret@")
    headers = (("User-Agent", "tests"), ("Accept", "*/*"))
    await fetcher.fetch(Request(url=url, headers=headers, cookie="a=b; c=d"))
    assert site.requests == [
        f"GET /a?b=%20c HTTP/1.1\r\nHost: {HOST}:{site.port}\r\nUser-Agent: tests\r\n"
        "Accept: */*\r\nAuthorization: Basic YWxpY2U6cyBjcmV0\r\nCookie: a=b; c=d\r\n\r\n".encode()
    ]


async def test_a_post_has_its_body_and_a_connection_of_its_own(
    site: WireServer, fetcher: Fetcher
) -> None:
    site.pages["/form"] = page(b"done")
    await fetched(fetcher, site.url("/form"))
    one = await fetcher.fetch(Request(url=site.url("/form"), method="POST", body=b"a=1"))
    assert one.request.startswith(b"POST /form HTTP/1.1\r\n")
    assert one.request.endswith(b"Content-Length: 3\r\n\r\na=1")
    assert (one.status, site.connections) == (200, 2)


async def test_a_header_with_a_line_break_is_not_sent(site: WireServer, fetcher: Fetcher) -> None:
    one = await fetcher.fetch(Request(url=site.url("/"), cookie="a=b\r\nX: y"))
    assert one.error == "a header of the request has a line break"
    assert site.connections == 0


async def test_a_connection_is_kept_for_the_next_request(
    site: WireServer, fetcher: Fetcher
) -> None:
    site.pages |= {"/a": page(b"hello"), "/b": chunked(b"world")}
    for path in ["/a", "/b", "/a"]:
        assert (await fetched(fetcher, site.url(path))).response.read() == site.pages[path]
    assert site.connections == 1


@pytest.mark.parametrize(
    "raw",
    [
        page(b"hello", "Connection: close"),
        page(b"hello", version="1.0"),
        page(b"hello") + b"and more",
        page(b"hello") + page(b"another"),
        chunked(b"hello") + b"\r\n",
    ],
    ids=["close", "HTTP/1.0", "too long", "two responses", "an empty line"],
)
async def test_a_connection_that_is_not_clean_is_not_reused(
    site: WireServer, fetcher: Fetcher, raw: bytes
) -> None:
    site.pages["/a"] = raw
    first = await fetched(fetcher, site.url("/a"))
    assert first.error == ""
    assert raw.startswith(first.response.read())
    assert b"another" not in first.response.read()
    await fetched(fetcher, site.url("/a"))
    assert site.connections == 2


async def test_a_connection_closed_while_idle_is_replaced(
    site: WireServer, fetcher: Fetcher
) -> None:
    """Also where the server reads the request, and closes without a response."""
    site.pages["/a"] = page(b"hello")

    async def closes_when_reused(
        _reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        is_fresh = site.requests[-2:-1] != [site.requests[0]]
        if is_fresh or len(site.requests) > 2:
            writer.write(page(b"fresh", "Connection: close"))
            await writer.drain()

    site.talks["/b"] = closes_when_reused
    assert (await fetched(fetcher, site.url("/a"))).status == 200
    one = await fetched(fetcher, site.url("/b"))
    assert one.error == ""
    assert one.response.read() == page(b"fresh", "Connection: close")
    assert [raw.split(b" ")[1] for raw in site.requests] == [b"/a", b"/b", b"/b"]
    assert site.connections == 2


async def test_a_fresh_connection_without_a_response_is_an_error(
    site: WireServer, fetcher: Fetcher
) -> None:
    one = await fetched(fetcher, site.url("/nothing"))
    assert (one.error, one.status) == ("connection closed without a response", 0)
    assert one.is_retryable
    assert len(site.requests) == 1


async def test_a_connection_with_unasked_bytes_is_not_reused(
    site: WireServer, fetcher: Fetcher
) -> None:
    gate = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"hello"))
        await gate.wait()
        writer.write(page(b"nobody asked"))
        await reader.read()

    site.talks["/a"] = late
    site.pages["/b"] = page(b"world")
    assert (await fetched(fetcher, site.url("/a"))).response.read() == page(b"hello")
    assert site.open == 1
    gate.set()
    await eventually(lambda: site.open == 0)
    assert (await fetched(fetcher, site.url("/b"))).response.read() == page(b"world")
    assert site.connections == 2


async def test_a_server_that_speaks_first_is_an_error(fetcher: Fetcher) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-tests\r\n")
        await reader.read()
        writer.close()

    async with await asyncio.start_server(greet, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        one = await fetched(fetcher, f"http://{HOST}:{port}/")
    assert (one.error, one.response.read()) == ("not an HTTP response", b"SSH-2.0-tests\r\n")


@pytest.mark.parametrize("length", ["", "Content-Length: 9\r\n"])
async def test_a_reset_connection_is_an_error(
    site: WireServer, fetcher: Fetcher, length: str
) -> None:
    raw = f"HTTP/1.1 200 OK\r\n{length}\r\nhalf".encode()
    arrived = asyncio.Event()

    async def reset(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lingering = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingering)
        writer.write(raw)
        await writer.drain()
        await arrived.wait()

    site.talks["/a"] = reset
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fetched(fetcher, site.url("/a")))
        await eventually(lambda: site.requests)
        arrived.set()
    one = task.result()
    assert one.error.startswith("connection closed with")
    assert one.is_retryable
    assert raw.startswith(one.response.read())


async def test_idle_connections_are_bounded(make: Make) -> None:
    fetcher = make(most_idle=2)
    pages = {"/": page(b"")}
    async with serving(pages) as a, serving(pages) as b, serving(pages) as c:
        for site in (a, b, c):
            await fetched(fetcher, site.url("/"))
        await eventually(lambda: a.open == 0)
        assert (b.open, c.open) == (1, 1)


CLOSED = [
    (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", "", ""),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 99\r\n\r\nshort", "within the body", "disconnect"),
    (chunked(b"hello")[:-4], "within the body", "disconnect"),
    (b"HTTP/1.1 200 OK\r\nA: b\r\n", "within the headers", ""),
    (b"<html>a server of 1991</html>", "not an HTTP response", ""),
    (b"ICY 200 OK\r\n\r\nnoise", "not an HTTP response", ""),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\n",
        "broken chunks",
        "unspecified",
    ),
]


@pytest.mark.parametrize(("raw", "error", "truncated"), CLOSED)
async def test_what_arrived_before_the_connection_ended_is_kept(
    site: WireServer, fetcher: Fetcher, raw: bytes, error: str, truncated: str
) -> None:
    site.pages["/a"] = raw
    site.closing.add("/a")
    one = await fetched(fetcher, site.url("/a"))
    assert error in one.error
    assert bool(error) == bool(one.error)
    assert one.truncated == truncated
    assert one.response.read() == raw


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """Some bytes left out, repeated or changed."""
    for _ in range(chance.randrange(1, 5)):
        start = chance.randrange(len(raw))
        end = start + chance.randrange(8)
        piece = chance.choice([b"", raw[start:end] * 2, chance.randbytes(3), b"\r\n", b"\n\n"])
        raw = raw[:start] + piece + raw[end:]
    return raw


async def test_a_damaged_response_is_kept_as_far_as_it_goes(
    site: WireServer, fetcher: Fetcher
) -> None:
    chance = random.Random(4711)
    whole = [page(b"hello", "Connection: keep-alive"), chunked(b"hello", b"world", b"!")]
    for number in range(300):
        path = f"/{number}"
        site.pages[path] = damaged(chance.choice(whole), chance)
        site.closing.add(path)
        one = await fetched(fetcher, site.url(path))
        assert site.pages[path].startswith(one.interim + one.response.read()), number
        assert one.error or one.status, number
    assert (await fetched(fetcher, site.url("/none"))).error


async def test_interim_responses_are_not_part_of_the_response(
    site: WireServer, fetcher: Fetcher
) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    site.pages["/a"] = interim + page(b"hello")
    one = await fetched(fetcher, site.url("/a"))
    assert (one.status, one.interim, one.response.read()) == (200, interim, page(b"hello"))


async def test_a_response_beyond_the_size_is_cut(site: WireServer, make: Make) -> None:
    site.pages["/a"] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n" + b"x" * 500_000
    one = await fetched(make(size=200_000), site.url("/a"))
    assert one.truncated == "length"
    assert one.error == ""
    assert one.response.read() == site.pages["/a"][:200_000]
    await eventually(lambda: site.open == 0)


async def test_a_live_stream_ends_with_its_headers(site: WireServer, fetcher: Fetcher) -> None:
    raw = b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: radio\r\n\r\n"
    site.pages["/a"] = raw
    one = await fetched(fetcher, site.url("/a"))
    assert (one.status, one.truncated, one.response.read()) == (200, "unspecified", raw)


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def drip(writer: asyncio.StreamWriter, piece: bytes) -> None:
    while True:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.01)


async def tarpit(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await drip(writer, b".")


async def tarpit_of_headers(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    await drip(writer, b".")


async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await drip(writer, b"." * 10_000)


SLOW = [
    (silent, {"head": 0.2}, "no response within 0.2 s", True),
    (tarpit_of_headers, {"head": 1}, "no response within 1 s", True),
    (tarpit, {"stall": 0.2}, "fewer than 1,024 bytes within 0.2 s", True),
    (flood, {"total": 1, "stall": 0.1, "stall_size": 0}, "not complete after 1 s", False),
]


@pytest.mark.parametrize(("talk", "limits", "error", "again"), SLOW)
async def test_a_slow_server_frees_its_slot(
    site: WireServer, make: Make, talk: Any, limits: dict[str, Any], error: str, again: bool
) -> None:
    site.talks["/a"] = talk
    one = await fetched(make(**limits), site.url("/a"))
    assert (one.error, one.is_retryable) == (error, again)
    assert one.truncated == ("time" if one.status else "")
    assert one.response.size or talk is silent
    await eventually(lambda: site.open == 0)


async def test_a_request_that_took_too_long_is_not_repeated(site: WireServer, make: Make) -> None:
    fetcher = make(head=0.2)
    site.pages["/a"] = page(b"hello")
    site.talks["/b"] = silent
    await fetched(fetcher, site.url("/a"))
    assert (await fetched(fetcher, site.url("/b"))).error == "no response within 0.2 s"
    assert [raw.split(b" ")[1] for raw in site.requests] == [b"/a", b"/b"]


async def test_a_cancelled_fetch_closes_its_connection(site: WireServer, fetcher: Fetcher) -> None:
    site.talks["/a"] = silent
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fetched(fetcher, site.url("/a")))
        await eventually(lambda: site.requests)
        task.cancel()
    await eventually(lambda: site.open == 0)


# Where we connect to


@pytest.mark.parametrize("host", [HOST, "localhost", "127.1", "0x7f000001", "[::1]", "169.254.0.1"])
async def test_private_addresses_are_refused(site: WireServer, make: Make, host: str) -> None:
    one = await fetched(make(allow_private=False), site.url("/a", host))
    assert "is not on the public Internet; archive.allow_private can permit it" in one.error
    assert not one.is_retryable
    assert site.connections == 0


REFUSED = [
    ("http://exa mple.com/", "not a URL"),
    ("mailto:alice@example.com", "scheme mailto: is not fetched"),
    ("http://example.com/" + "a" * 8_192, "URL longer than 8,192 characters"),
    ("http://name.invalid/", "DNS: "),
    (f"http://{'a' * 64}.example.com/", "DNS: "),
]


@pytest.mark.parametrize(("url", "error"), REFUSED)
async def test_a_url_that_leads_nowhere_is_an_error(fetcher: Fetcher, url: str, error: str) -> None:
    one = await fetched(fetcher, url)
    assert one.error.startswith(error)
    assert (one.status, one.request, one.response.size) == (0, b"", 0)


async def test_a_closed_port_is_an_error_worth_a_retry(fetcher: Fetcher) -> None:
    with held_port() as hold:
        one = await fetched(fetcher, f"http://{HOST}:{hold.getsockname()[1]}/")
    assert (one.error, one.is_retryable) == ("connection refused", True)


# TLS


@pytest.fixture(scope="module")
def tls_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    made = certificates(tmp_path_factory.mktemp("tls"))
    return made.server, made.server_key


def tls_server(files: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


async def test_a_certificate_is_recorded_and_not_verified(
    fetcher: Fetcher, tls_files: tuple[Path, Path]
) -> None:
    async with serving({"/": page(b"secret")}, tls_server(tls_files)) as site:
        one = await fetched(fetcher, site.url("/", "localhost"))
        again = await fetched(fetcher, site.url("/", "localhost"))
        assert site.connections == 1
    assert (one.error, one.response.read()) == ("", page(b"secret"))
    assert one.certificate
    assert ssl.DER_cert_to_PEM_cert(one.certificate.der) == tls_files[0].read_text()
    assert one.certificate.protocol == "TLSv1.3"
    assert again.certificate == one.certificate
    assert site.names == ["localhost"]


@pytest.mark.filterwarnings("ignore:ssl.OP_NO_SSL:DeprecationWarning")
async def test_old_tls_is_allowed(fetcher: Fetcher, tls_files: tuple[Path, Path]) -> None:
    context = tls_server(tls_files)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.options |= ssl.OP_NO_TLSv1_3 | ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_1
    async with serving({"/": page(b"old")}, context) as site:
        one = await fetched(fetcher, site.url("/"))
    assert (one.error, one.response.read()) == ("", page(b"old"))
    assert one.certificate
    assert one.certificate.protocol == "TLSv1"


async def test_a_server_that_never_answers_the_handshake_frees_its_slot(
    site: WireServer, make: Make
) -> None:
    one = await fetched(make(connect=0.2), site.url("/").replace("http:", "https:"))
    assert (one.error, one.is_retryable) == ("no connection within 0.2 s", True)
    await eventually(lambda: site.connections and site.open == 0)


async def test_a_server_without_tls_is_an_error(fetcher: Fetcher) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(page(b"Bad Request", status="400"))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(plain, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        one = await fetched(fetcher, f"https://{HOST}:{port}/")
    assert (one.error, one.is_retryable) == ("TLS: wrong version number", False)
    assert one.status == 0
