"""Endpoints for the log of a crawl, and for what is counted of it."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.archive import crawl_log, crawls, idents
from watchbell.web.access import needs
from watchbell.web.archive import log_view
from watchbell.web.archive.crawl_routes import Ident
from watchbell.web.archive.log_feed import follow
from watchbell.web.archive.log_shapes import (
    CrawlHosts,
    HostShown,
    Ignores,
    IgnoreShown,
    LogLines,
    Responses,
)
from watchbell.web.live.sse import EVENT_STREAM, EventStream, LastEvent, Resume, streamed
from watchbell.web.services import Asked, services_of

Lines = Annotated[int, QueryParameter(ge=1, le=500, description="The most lines to return.")]


async def spelled(request: Asked, ident: str) -> str:
    """The ident as the record has it. One whose record is gone has empty figures."""
    names = idents.spellings(ident)
    found = await crawls.find(services_of(request).store, names, with_ignores=False)
    return next((one.ident for one in found if one is not None), names[0])


@get("/archive/crawls/{ident:str}/log", opt=needs("read"))
async def log(request: Asked, ident: Ident, limit: Lines = 200) -> LogLines:
    """Get the newest lines of the log of a crawl. Its WARC files have the whole log."""
    store = services_of(request).store
    found = await crawl_log.recent(store, await spelled(request, ident), limit)
    return LogLines(items=log_view.lines(found))


@get("/archive/crawls/{ident:str}/log/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(
    request: Asked, ident: Ident, last: LastEvent = "", resume: Resume = ""
) -> EventStream:
    """Follow the log of a crawl as server-sent events: `lines`, at most four times a second. If
    there are very many lines, only the newest are sent, with the number that was left out."""
    services, since = services_of(request), last or resume
    place = int(since) if since.isascii() and since.isdigit() and len(since) < 16 else 0
    name = await spelled(request, ident)
    return streamed(request, follow(services.log_feed, services.store, name, place))


@get("/archive/crawls/{ident:str}/hosts", opt=needs("read"))
async def hosts(request: Asked, ident: Ident) -> CrawlHosts:
    """List the hosts that a crawl has fetched from, by responses and bytes."""
    found = await crawl_log.hosts(services_of(request).store, await spelled(request, ident))
    shown = [HostShown(host, count, size) for host, (count, size) in found.items()]
    return CrawlHosts(sorted(shown, key=lambda one: (-one.responses, one.host)))


@get("/archive/crawls/{ident:str}/responses", opt=needs("read"))
async def responses(request: Asked, ident: Ident) -> Responses:
    """Get how many responses of each class of codes a crawl got over time."""
    store = services_of(request).store
    return log_view.responses(await crawl_log.minutes(store, await spelled(request, ident)))


@get("/archive/crawls/{ident:str}/ignores", opt=needs("read"))
async def ignores(request: Asked, ident: Ident) -> Ignores:
    """List the ignore patterns of a crawl, with how many URLs each has matched."""
    store, name = services_of(request).store, await spelled(request, ident)
    known = await crawls.settings(store, name)
    matches = await crawl_log.matches(store, name)
    patterns = known.ignores if known else frozenset[str]()
    shown = [IgnoreShown(one, matches.get(one, 0)) for one in patterns]
    return Ignores(sorted(shown, key=lambda one: (-one.matches, one.pattern)))


ROUTES = Router("/", tags=["Archive"], route_handlers=[log, live, hosts, responses, ignores])
