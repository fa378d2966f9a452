"""The website of known pages, with everything that goes wrong on real ones, below `/rough`."""

import asyncio
import gzip
import re
from collections import Counter

from tests.archive.site import Site, chunked, response

PAGE = b"<!doctype html><title>Rough</title><p>A page of a rough site.</p>"
SESSION = "PHPSESSID=0123456789abcdef"
REPEATED = 5
"""Times that a folder may be repeated in a path."""
MONTHS = 10
"""Months of the calendar before those that a pattern ignores."""
CALENDAR = r"/rough/calendar\?month=\d\d"


_HIDDEN = re.compile(r"hidden|\?")


class RoughSite(Site):
    """`times` has how often a URL is asked for, where that is not once."""

    def __init__(self, pages: int) -> None:
        self.times: Counter[str] = Counter()
        self.left_out: dict[str, int] = {}
        """By path: bytes after the end of the response."""
        self.stalls: set[str] = set()
        """Paths whose first answer does not go on after a part of it."""
        self.closes: set[str] = set()
        self.released = asyncio.Event()
        super().__init__(pages)
        self._add_failures()
        self._add_lengths()
        self._add_traps()
        self._add_cookies()
        self._add_maps()
        self._add_redirects()
        names = sorted({path.split("/")[2] for path in self.answers if path.startswith("/rough/")})
        anchors = [
            f'<a href="/rough/{name}">{name}</a>' for name in names if not _HIDDEN.search(name)
        ]
        self._add("/rough", response("".join(anchors).encode()))
        self._add(
            "/", response(b'<a href="/p/0">0</a> <a href="/odd">odd</a> <a href=/rough>r</a>')
        )

    @property
    def urls(self) -> set[str]:
        return {self.url + path for path in self.answers}

    def response_in(self, sent: bytes) -> bytes:
        """Without the interim response before it."""
        return sent[sent.index(b"HTTP/1.1 200") :] if b" 103 " in sent[:20] else sent

    def _first(self, path: str, first: bytes, then: bytes) -> None:
        self.answers[path] = lambda site, _: first if site.asked[path] == 1 else then
        self.times[path] = 2

    def _add_failures(self) -> None:
        self._add("/rough/500", response(b"sorry", "500 Internal Server Error"))
        self.times["/rough/500"] = 3
        self._first("/rough/502", response(b"", "502 Bad Gateway"), response(PAGE + b"502"))
        busy = response(b"", "429 Too Many Requests", "Retry-After: 1")
        self._first("/rough/429", busy, response(PAGE + b"429"))
        self._first("/rough/503", response(b"", "503 Unavailable"), response(PAGE + b"503"))
        whole = response(PAGE + b"cut")
        self._first("/rough/cut", whole[:-20], whole)
        self._add(
            "/rough/always-cut", response(b'<a href="/rough/hidden-in-cut">x</a>' + PAGE)[:-9]
        )
        self._add("/rough/hidden-in-cut", response(PAGE + b"hidden"))
        self.times["/rough/always-cut"] = 3
        slow = response(PAGE + b"slow")
        self._first("/rough/slow", slow[:-20], slow)
        self.stalls.add("/rough/slow")
        self.closes |= {"/rough/cut", "/rough/always-cut"}

    def _add_lengths(self) -> None:
        self._add("/rough/more-than-said", response(PAGE) + b"and more")
        self.left_out["/rough/more-than-said"] = len(b"and more")
        head = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"
        self._add("/rough/until-closed", head + PAGE + b"until closed")
        self._add("/rough/bad-length", head[:-2] + b"Content-Length: many\r\n\r\n" + PAGE)
        self.closes |= {"/rough/until-closed", "/rough/bad-length"}
        packed = gzip.compress(b'<a href="/rough/hidden-in-both">x</a>', mtime=0)
        coded = chunked(packed, 7).replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n", 1)
        self._add("/rough/gzip-in-chunks", coded)
        self._add("/rough/hidden-in-both", response(PAGE + b"both"))
        self._add("/rough/no-gzip", response(PAGE, "200 OK", "Content-Encoding: gzip"))
        self._add("/rough/early", b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" + response(PAGE))

    def _add_traps(self) -> None:
        for times in range(1, REPEATED + 1):
            path = "/rough/" + "again/" * times
            self._add(path, response(b'<a href="again/">again</a>' + PAGE + b"%d" % times))
        self._add("/rough/again", response(b"", "301 Moved", "Location: /rough/again/"))
        for month in range(MONTHS):
            link = f'<a href="/rough/calendar?month={month + 1}">the next month</a>'
            self._add(f"/rough/calendar?month={month}", response(link.encode()))
        self._add("/rough/calendar", response(b'<a href="?month=0">the first month</a>'))
        links = "".join(f'<a href="kept?{SESSION}{n}">{n}</a>' for n in range(20))
        self._add("/rough/sessions", response(links.encode()))
        self._add(f"/rough/kept?{SESSION}0", response(PAGE + b"session"))

    def _add_cookies(self) -> None:
        link = b'<a href="/rough/hidden/cookie">needs a cookie</a>'
        self._add(
            "/rough/cookie", response(link, "200 OK", "Set-Cookie: key=it-is-me; Path=/rough")
        )
        self.answers["/rough/hidden/cookie"] = lambda _, headers: (
            response(b"welcome") if "key=it-is-me" in headers.get("cookie", "") else b""
        )

    def _add_maps(self) -> None:
        def located(*paths: str) -> str:
            return "".join(f"<url><loc>{self.url}{path}</loc></url>" for path in paths)

        for number in range(3):
            self._add(f"/mapped/{number}", response(PAGE + b"mapped %d" % number))
        maps = {
            "/robots.txt": (lambda: f"Sitemap: {self.url}/maps.xml\nDisallow: /", "text/plain"),
            "/maps.xml": (
                lambda: f"<sitemapindex>{located('/map.xml.gz')}</sitemapindex>",
                "application/xml",
            ),
            "/sitemap.xml": (lambda: f"<urlset>{located('/mapped/0')}</urlset>", "text/xml"),
        }
        for path, (text, kind) in maps.items():
            self.answers[path] = lambda _, __, text=text, kind=kind: response(  # type: ignore[misc]
                text().encode(), kind=kind
            )
        self.answers["/map.xml.gz"] = lambda _, __: response(
            gzip.compress(
                f"<urlset>{located('/mapped/1', '/mapped/2')}</urlset>".encode(), mtime=0
            ),
            kind="application/gzip",
        )

    def _add_redirects(self) -> None:
        def to(location: str) -> bytes:
            head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            return head.encode()

        self._add("/rough/to-itself", to("/rough/to-itself"))
        self._add("/rough/to-nowhere", to("http://[broken"))
        self._add("/rough/to-script", to("javascript:alert(1)"))
        self._add("/rough/to-unicode", to("/rough/hidden/gr\u00fc\u00dfe"))
        self._add("/rough/hidden/gr%C3%BC%C3%9Fe", response(PAGE + b"unicode"))
        for number in range(9):
            self._add(f"/rough/hidden/hop-{number}", to(f"/rough/hidden/hop-{number + 1}"))
        self.answers["/rough/hops"] = self.answers["/rough/hidden/hop-0"]
        del self.answers["/rough/hidden/hop-0"]  # and the ninth redirect is not followed

    async def keeps_connection(self, path: str) -> bool:
        if path in self.stalls and self.asked[path] == 1:
            await self.released.wait()
        return path not in self.closes
