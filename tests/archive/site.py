"""A website on loopback that knows its own graph, and every byte it has sent."""

import asyncio
import gzip
import ssl
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Self, TypeVar

from tests.listening import listening
from tests.servers import HOST

Answer = Callable[["Site", dict[str, str]], bytes]


def response(body: bytes, status: str = "200 OK", *headers: str, kind: str = "text/html") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def chunked(body: bytes, size: int = 100) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + framed + b"0\r\n\r\n"


class Site:
    """Pages `/p/N` in a tree with cross links, and the oddities below `/odd`."""

    def __init__(self, pages: int, *, seed: int = 1, odd: bool = True) -> None:
        self._random = Random(seed)
        self.pages = pages
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        """By path: what was sent for each request."""
        self.asked: Counter[str] = Counter()
        self.headers: dict[str, dict[str, str]] = {}
        """By path: those of the last request."""
        self.answers: dict[str, Answer] = {}
        self.otherwise: Callable[[str], bytes] = lambda _path: response(b"", "404 Not Found")
        """What other paths are answered with."""
        self.port = 0
        self.open = 0
        self.most_open = 0
        self.tls: ssl.SSLContext | None = None
        self.held: dict[str, asyncio.Event] = {}
        """By path: until it is set, the path is not answered."""
        self.gate: asyncio.Event | None = None
        """While it is there and not set, nobody gets an answer."""
        for number in range(pages):
            self._add(f"/p/{number}", response(self._page(number)))
        odd_link = b'<a href="/odd">odd things</a>' if odd else b""
        self._add("/", response(b'<a href="/p/0">the first page</a>' + odd_link))
        if odd:
            self._add_oddities()

    def gated(self) -> Self:
        """Nobody gets an answer before `gate` is set."""
        self.gate = asyncio.Event()
        return self

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{HOST}:{self.port}"

    @property
    def start(self) -> str:
        return f"{self.url}/"

    @property
    def urls(self) -> set[str]:
        """All that a crawl from the start must fetch."""
        return {self.url + path for path in [*self.answers, "/robots.txt", "/sitemap.xml"]}

    def _add(self, path: str, content: bytes) -> None:
        self.answers[path] = lambda _site, _headers: content

    def _page(self, number: int) -> bytes:
        links = [2 * number + 1, 2 * number + 2, *self._random.choices(range(self.pages), k=10)]
        anchors = [f'<a href="/p/{n}">page {n}</a>' for n in links if n < self.pages]
        text = " ".join(self._random.choices(["bell", "watch", "archive", "tide", "lamp"], k=200))
        body = f"<!doctype html><title>Page {number}</title>{' '.join(anchors)}<p>{text}</p>"
        return body.encode()

    def _add_oddities(self) -> None:
        page = b"<!doctype html><title>Odd</title><p>An odd page.</p>"
        self._add("/odd/chunked", chunked(page * 20))
        packed = gzip.compress(b'<a href="/odd/in-gzip">in gzip</a>' + page, mtime=0)
        self._add("/odd/gzip", response(packed, "200 OK", "Content-Encoding: gzip"))
        self._add("/odd/in-gzip", response(page))
        self._add("/odd/missing", response(b"not here", "404 Not Found"))
        self._add("/odd/redirect", response(b"", "302 Found", "Location: /odd/redirected"))
        self._add("/odd/redirected", response(page))
        self._add("/odd/loop-a", response(b"", "301 Moved", "Location: /odd/loop-b"))
        self._add("/odd/loop-b", response(b"", "301 Moved", "Location: /odd/loop-a"))
        self._add("/odd/picture.png", response(b"\x89PNG\r\n\x1a\n\x00\xff", kind="image/png"))
        self._add("/odd/large.png", response(b"\x89PNG large", kind="image/png"))
        css = b'@import "more.css"; body { background: url("back.png") }'
        self._add("/odd/style.css", response(css, kind="text/css"))
        self._add("/odd/more.css", response(b"p { color: red }", kind="text/css"))
        self._add("/odd/back.png", response(b"\x89PNG back", kind="image/png"))
        self._add("/odd/%C3%A9t%C3%A9", response(page))
        self._add("/odd/space%20here", response(page))
        self._add("/odd/empty", response(b"", "204 No Content"))
        self._add("/odd/framed", response(page))
        self._add("/odd/refreshed", response(page))
        refresh = b'<meta http-equiv="refresh" content="0; url=/odd/refreshed">'
        self._add("/odd/refreshing", response(refresh))
        self._add("/odd/based/deep/page", response(page))
        self._add("/odd/base", response(b'<base href="/odd/based/"><a href="deep/page">x</a>'))
        item = "<item><link>URL/odd/fed</link></item>"
        feed = f'<?xml version="1.0"?><rss><channel>{item}</channel></rss>'
        self.answers["/odd/feed"] = lambda site, _headers: response(
            feed.replace("URL", site.url).encode(), kind="application/rss+xml"
        )
        self._add("/odd/fed", response(page))
        self._add("/odd", response(self._odd_index()))

    def _odd_index(self) -> bytes:
        names = (
            *("chunked", "gzip", "missing", "redirect", "loop-a", "empty", "refreshing", "base"),
            *("été", "space here", "feed"),
        )
        anchors = [f'<a href="/odd/{name}">{name}</a>' for name in names]
        broken = [
            *('<a href="http://">x</a>', '<a href="javascript:alert(1)">x</a>'),
            *('<a href="mailto:a@b.c">x</a>', '<a href="http://[bad/">x</a>'),
            *('<a href="#top">x</a>', '<a href="data:text/plain,x">x</a>', "<a href>x</a>"),
        ]
        head = '<meta charset="utf-8"><link rel="stylesheet" href="/odd/style.css">'
        picture = '<img src="/odd/picture.png" srcset="/odd/large.png 2x, /odd/picture.png 1x">'
        frame = '<iframe src="/odd/framed"></iframe>'
        return "".join([head, picture, frame, *anchors, *broken]).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        path = first.split(" ")[1]
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        await reader.readexactly(int(headers.get("content-length", 0)))
        self.asked[path] += 1
        self.headers[path] = headers
        if self.gate:
            await self.gate.wait()
        if path in self.held:
            await self.held[path].wait()
        answer = self.answers.get(path)
        content = answer(self, headers) if answer else self.otherwise(path)
        self.sent[path].append(content)
        writer.write(content)
        await writer.drain()
        return await self.keeps_connection(path)

    async def keeps_connection(self, _path: str) -> bool:
        """Whether the connection stays open after the answer."""
        return True


SiteT = TypeVar("SiteT", bound=Site)


@asynccontextmanager
async def served(site: SiteT) -> AsyncIterator[SiteT]:
    async with listening(site.serve, HOST, site.tls) as site.port:
        yield site
