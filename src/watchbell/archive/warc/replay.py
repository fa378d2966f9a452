"""Serves archived pages on this machine, with links that stay inside the archive.

`/` lists pages, `/20261116195051/URL` is a page near that time, `/20261116195051id_/URL` has the
bytes as they were sent, without their transfer coding. Nobody else's server is ever asked.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from html import escape
from urllib.parse import parse_qs, quote

from msgspec import Struct

from watchbell import logs
from watchbell.archive.fetching.decoding import decode
from watchbell.archive.urls import normalised
from watchbell.archive.warc.reader import WarcDamaged
from watchbell.archive.warc.stored_responses import StoredResponse, StoredResponses
from watchbell.archive.warc.views import is_rewritten, rewritten

HOST = "127.0.0.1"
PAGES = 200
_MOST_REWRITTEN = 20 << 20
_LONGEST_REQUEST = 1 << 16
_SECONDS = 60
_ADDRESS = re.compile(r"/(\d{4,14})(id_)?/(.+)", re.DOTALL)
_OURS = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?")
# Scripts of archived pages run, but with an origin of their own, and reach this server only.
_POLICY = (
    "sandbox allow-scripts allow-forms allow-popups;"
    " default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"
)


class Request(Struct, frozen=True):
    target: str
    """The path with the query."""
    host: str
    referer: str = ""


class Answer(Struct, frozen=True):
    status: int
    headers: list[tuple[str, str]]
    body: Iterator[bytes]


class Replay:
    """What is answered to a request; how it came is the server's business."""

    def __init__(self, responses: StoredResponses) -> None:
        self._responses = responses

    def answer(self, request: Request) -> Answer:
        if not _OURS.fullmatch(request.host):
            return _page(421, "Wrong host", "<p>This server answers to 127.0.0.1 only.</p>")
        path, _, query = request.target.partition("?")
        if path == "/":
            return self._list(parse_qs(query).get("after", [""])[0])
        found = _ADDRESS.fullmatch(request.target)
        if found:
            return self._archived(found[1], found[3], is_raw=bool(found[2]))
        return self._leaked(request)

    def _archived(self, at: str, text: str, *, is_raw: bool) -> Answer:
        url = normalised(text)
        stored = self._responses.find(url, at) if url else None
        if not stored:
            reason = f"<p><code>{escape(text)}</code> is not in this archive.</p>"
            return _page(404, "Not archived", reason + '<p><a href="/">All pages</a></p>')
        return _raw(stored) if is_raw else _replayed(stored)

    def _leaked(self, request: Request) -> Answer:
        """A script asked for a path of its own site: the page that it is on says which."""
        page = re.search(r"://[^/]+(/.*)", request.referer, re.DOTALL)
        found = _ADDRESS.fullmatch(page[1]) if page else None
        url = normalised(request.target, found[3]) if found else None
        if not found or not url:
            return _page(404, "Not found", '<p><a href="/">All pages</a></p>')
        return _redirect(_place(found[1], url))

    def _list(self, after: str) -> Answer:
        lines = self._responses.lookup.pages(PAGES, after)
        items = [
            f'<li><a href="{escape(_place(line.timestamp, line.capture.url))}">'
            f"{escape(line.capture.url)}</a> <small>{line.timestamp}</small></li>"
            for line in lines
        ]
        more = ""
        if len(lines) == PAGES:
            more = f'<p><a href="/?after={quote(lines[-1].key)}">More pages</a></p>'
        body = f"<ul>{''.join(items)}</ul>{more}" if items else "<p>This archive has no pages.</p>"
        return _page(200, "Archived pages", body)


def _place(at: str, url: str) -> str:
    return f"/{at}/{url}"


def _raw(stored: StoredResponse) -> Answer:
    headers = [("Content-Type", stored.header("content-type") or "application/octet-stream")]
    coding = stored.header("content-encoding")
    if coding:
        headers.append(("Content-Encoding", coding))
    return Answer(stored.status or 200, [*headers, *_common(stored)], stored.body())


def _replayed(stored: StoredResponse) -> Answer:
    location = stored.header("location")
    if 300 <= stored.status < 400 and location:
        url = normalised(location, stored.url)
        return _redirect(_place(stored.timestamp, url)) if url else _raw(stored)
    if not is_rewritten(stored):
        return _raw(stored)
    decoded = decode(stored.headers, stored.payload.pieces(), _MOST_REWRITTEN)
    body = rewritten(decoded.body, stored, lambda url: _place(stored.timestamp, url))
    kind = "text/css" if stored.media_type == "text/css" else "text/html"
    headers = [("Content-Type", f"{kind}; charset=utf-8"), *_common(stored)]
    return Answer(stored.status or 200, headers, iter([body]))


def _common(stored: StoredResponse) -> list[tuple[str, str]]:
    return [
        ("Content-Security-Policy", _POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Archive-Timestamp", stored.timestamp),
        ("X-Archive-Url", stored.url),
    ]


def _redirect(place: str) -> Answer:
    return Answer(302, [("Location", place)], iter([]))


def _page(status: int, title: str, body: str) -> Answer:
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>body{{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}}"
        f"li{{overflow-wrap:anywhere}}</style><h1>{title}</h1>{body}</html>"
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    headers = [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy)]
    return Answer(status, headers, iter([page.encode()]))


@asynccontextmanager
async def serving(responses: StoredResponses, port: int = 0) -> AsyncIterator[str]:
    """The address of the server, as long as the context lasts."""
    replay = Replay(responses)
    log = logs.get(role="replay")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _serve_one(replay, reader, writer)
        except (OSError, EOFError, TimeoutError, ValueError, WarcDamaged) as error:
            log.debug("request not answered", error=str(error))
        except Exception:
            log.exception("request failed")
        finally:
            writer.close()

    server = await asyncio.start_server(connected, HOST, port, limit=_LONGEST_REQUEST)
    async with server:
        yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}/"


async def _serve_one(
    replay: Replay, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    async with asyncio.timeout(_SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, target, _ = head.split("\r\n", 1)[0].split(" ", 2)
    fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*?)[ \t]*\r$", head.lower(), re.MULTILINE))
    referer = re.search(r"^referer:[ \t]*(\S+)", head, re.MULTILINE | re.IGNORECASE)
    request = Request(target, fields.get("host", ""), referer[1] if referer else "")
    if method in ("GET", "HEAD"):
        answer = await asyncio.to_thread(replay.answer, request)
    else:
        answer = _page(405, "Not possible", "<p>An archive can only be read.</p>")
    lines = [f"HTTP/1.1 {answer.status} Archived", "Connection: close"]
    lines += [f"{name}: {_one_line(value)}" for name, value in answer.headers]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace"))
    while method != "HEAD":
        piece = await asyncio.to_thread(next, answer.body, None)
        if piece is None:
            break
        writer.write(piece)
        await writer.drain()


def _one_line(value: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]", " ", value)
