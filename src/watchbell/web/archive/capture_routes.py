"""Endpoints for archived pages: searched, described, downloaded, and opened for a look."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated
from urllib.parse import quote

from litestar import Response, Router, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.archive import captures, crawls
from watchbell.archive.captures import NOT_ENDED, Captures
from watchbell.archive.fetching.decoding import MOST, Decoded, decode
from watchbell.archive.warc import page_search
from watchbell.archive.warc.cdxj import IndexLine
from watchbell.archive.warc.dates import read_timestamp
from watchbell.archive.warc.limited_rewriting import name_of
from watchbell.archive.warc.page_search import FoundPage, Search
from watchbell.archive.warc.stored_responses import StoredResponse
from watchbell.archive.warc.views import VIEW_HEADERS
from watchbell.errors import NotFound, Refused
from watchbell.units import in_bytes
from watchbell.web.access import needs
from watchbell.web.archive import opened_views
from watchbell.web.archive.capture_shapes import (
    ArchivedPage,
    ArchivedPages,
    CaptureShown,
    CaptureTime,
    HeaderShown,
    ViewAsked,
    ViewOpened,
    ViewPlace,
)
from watchbell.web.archive.crawl_routes import Ident
from watchbell.web.archive.log_routes import spelled
from watchbell.web.archive.opened_views import OpenedView
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, identity_of, services_of

VIEWS = "/archived"
"""Where views are; see `view_pages`."""

Words = Annotated[str, QueryParameter(max_length=500, description="A part of the URL.")]
AllKinds = Annotated[
    bool,
    QueryParameter(name="all", description="Also images, styles and the like, and errors."),
]
After = Annotated[
    str, QueryParameter(max_length=16_384, description="`next` of the previous page.")
]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]
WantedUrl = Annotated[
    str, QueryParameter(name="url", min_length=1, max_length=8_192, description="The whole URL.")
]
At = Annotated[
    str,
    QueryParameter(
        pattern="^[0-9]{4,14}$",
        description="The capture nearest to this time: `20261116195051`, or its beginning.",
    ),
]
ViewId = Annotated[str, PathParameter(pattern="^[0-9a-f]{64}$", description="The id of a view.")]


def captures_of(request: Asked, ident: str) -> AbstractAsyncContextManager[Captures]:
    services = services_of(request)
    return captures.opened(services.store, services.settings, services.files(), ident)


@get("/archive/crawls/{ident:str}/pages", opt=needs("read"))
async def pages(
    request: Asked,
    ident: Ident,
    text: Words = "",
    all_kinds: AllKinds = False,
    cursor: After = "",
    limit: Limit = 50,
) -> ArchivedPages:
    """List what the crawls of a URL have archived, in the order of the URLs."""
    name = await spelled(request, ident)
    wanted = Search(contains=text.strip(), only_pages=not all_kinds)
    async with captures_of(request, name) as known:
        found = await asyncio.to_thread(
            page_search.search, known.indexes, wanted, after=cursor, most=limit
        )
        problem = known.problem
    if not problem and await _is_at_work(request, name):
        problem = f"These are of earlier crawls. {NOT_ENDED}"
    return ArchivedPages(
        items=[_page(one) for one in found.items], next=found.next or None, problem=problem
    )


async def _is_at_work(request: Asked, ident: str) -> bool:
    (crawl,) = await crawls.find(services_of(request).store, [ident], with_ignores=False)
    return crawl is not None and crawl.finished_at is None


def _page(found: FoundPage) -> ArchivedPage:
    line = found.newest
    return ArchivedPage(
        url=line.capture.url,
        timestamp=line.timestamp,
        at=read_timestamp(line.timestamp),
        status=_number(line.capture.status),
        media_type=line.capture.mime,
        size=_number(line.capture.length),
        captures=found.captures,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


async def stored_of(known: Captures, url: str, timestamp: str) -> StoredResponse:
    found = await asyncio.to_thread(known.responses.find, url, timestamp)
    if found is None:
        raise NotFound(known.problem or f"{url} was not archived by this crawl")
    return found


@get("/archive/crawls/{ident:str}/capture", opt=needs("read"))
async def capture(request: Asked, ident: Ident, wanted: WantedUrl, timestamp: At) -> CaptureShown:
    """Get a response as it was archived: its time, status and headers, and when the same URL was
    archived, too."""
    async with captures_of(request, await spelled(request, ident)) as known:
        stored = await stored_of(known, wanted, timestamp)
        lines = await asyncio.to_thread(_captures, known, wanted)
    return CaptureShown(
        url=stored.url,
        timestamp=stored.timestamp,
        at=read_timestamp(stored.timestamp),
        status=stored.status,
        reason=stored.reason,
        media_type=stored.media_type,
        headers=[HeaderShown(name, value) for name, value in stored.headers],
        captures=[_time(line) for line in lines],
    )


def _captures(known: Captures, url: str) -> list[IndexLine]:
    try:
        return known.responses.lookup.captures(url, most=200)
    except ValueError:  # a damaged index
        return []


def _time(line: IndexLine) -> CaptureTime:
    is_revisit = line.capture.mime == "warc/revisit"
    return CaptureTime(
        timestamp=line.timestamp,
        at=read_timestamp(line.timestamp),
        status=_number(line.capture.status),
        media_type="" if is_revisit else line.capture.mime,
    )


@get(
    "/archive/crawls/{ident:str}/capture/body",
    opt=needs("read"),
    media_type="application/octet-stream",
)
async def body(request: Asked, ident: Ident, wanted: WantedUrl, timestamp: At) -> Response[bytes]:
    """Download what was archived, without its transfer and content coding; at most 10 MiB."""
    async with captures_of(request, await spelled(request, ident)) as known:
        stored = await stored_of(known, wanted, timestamp)
        decoded = await asyncio.to_thread(_decoded, stored)
    if len(decoded.body) >= MOST and not decoded.is_whole:
        reason = f"it is larger than {in_bytes(MOST)}; download the WARC file that has it"
        raise HttpProblem(413, reason)
    name = quote(stored.url.partition("?")[0].rstrip("/").rpartition("/")[2][:100] or "page")
    headers = VIEW_HEADERS | {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(decoded.body, media_type="application/octet-stream", headers=headers)


def _decoded(stored: StoredResponse) -> Decoded:
    return decode(stored.headers, stored.payload.pieces(), MOST)


@post("/archive/crawls/{ident:str}/views", opt=needs("read"))
async def open_view(request: Asked, ident: Ident, data: JSONBody[ViewAsked]) -> ViewOpened:
    """Open an archived page for a look in a frame. Scripts do not run in it, and nothing is loaded
    from elsewhere. Only somebody who is signed in can do so: a view lasts as long as the session;
    programs get `capture/body`."""
    session = identity_of(request).session
    if not session:
        raise Refused("views are for people who are signed in; programs read `capture/body`")
    name = await spelled(request, ident)
    async with captures_of(request, name) as known:
        stored = await stored_of(known, data.url, data.timestamp)
    made = await opened_views.open_view(
        services_of(request).store,
        OpenedView(ident=name, session=session, url=stored.url, timestamp=stored.timestamp),
    )
    return ViewOpened(
        id=made.id,
        address=f"{VIEWS}/{made.token}/{stored.timestamp}/{name_of(stored.url)}",
        expires_in=opened_views.LASTS,
        url=stored.url,
        timestamp=stored.timestamp,
    )


@get("/archive/views/{id:str}", opt=needs("read"))
async def one_view(request: Asked, id: ViewId) -> ViewPlace:  # noqa: A002
    """Get which page a view shows now, since its reader may have followed a link."""
    found = await opened_views.get(services_of(request).store, id)
    if found is None or found.session != identity_of(request).session:
        raise NotFound("this view has expired")
    return ViewPlace(url=found.url, timestamp=found.timestamp)


ROUTES = Router("/", tags=["Archive"], route_handlers=[pages, capture, body, open_view, one_view])
