"""The dashboard's endpoints over HTTP, in ArchiveBot's form."""

from typing import Any

import msgspec
from litestar import MediaType, Request, Response, Router, get
from litestar.datastructures import State
from litestar.params import FromPath
from msgspec import Struct

from watchbell.archive import (
    announcements,
    crawl_log,
    crawls,
    idents,
    ignore_sets,
    pipelines,
    queues,
    status,
)
from watchbell.archive.crawl_records import time_text
from watchbell.archive.model import Crawl
from watchbell.clock import Clock
from watchbell.errors import NotFound
from watchbell.store.client import Store
from watchbell.web.archive.dashboard import feeds, pages, texts
from watchbell.web.archive.dashboard.job_data import entries_of, typed, without_logins
from watchbell.web.problems import HttpProblem

MOST_ENTRIES = 10
MOST_IDENTS = 50
_FEED = 100
_PIPELINE = (
    *("id", "nickname", "version", "status", "mem_usage", "mem_available", "disk_usage"),
    *("disk_available", "load_average_1m", "load_average_5m", "load_average_15m"),
)
"""What strangers may know of a pipeline: neither its machine nor its process."""

Asked = Request[Any, Any, State]


class Sources(Struct, frozen=True):
    """What the endpoints read."""

    store: Store
    clock: Clock
    pages_url: str
    """Where Watchbell's own pages are."""


def _sources(request: Asked) -> Sources:
    found: Sources = request.app.state["sources"]
    return found


def _wants_page(request: Asked) -> bool:
    """Programs that take anything get JSON, as from ArchiveBot."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and "application/json" not in accepted


def _json(value: Any) -> Response[bytes]:
    return Response(without_logins(msgspec.json.encode(value)), media_type=MediaType.JSON)


def _text(text: str, media_type: str = MediaType.TEXT) -> Response[bytes]:
    return Response(without_logins(text.encode(errors="replace")), media_type=media_type)


@get(["/", "/beta", "/3"])
async def index(request: Asked) -> Response[bytes]:
    link = f"{_sources(request).pages_url}/archive"
    return pages.table(pages.HOME, link, ["Path", "Meaning"], pages.PATHS)


@get("/stream")
async def stream(request: Asked) -> None:
    host = request.headers.get("host", "")
    raise HttpProblem(
        426, f"this is a WebSocket: ws://{host}/stream", headers={"Upgrade": "websocket"}
    )


@get("/logs/recent")
async def recent(request: Asked) -> Response[bytes]:
    """ArchiveBot, too, gives ten to who asks for more."""
    wanted = request.query_params.get("count", str(MOST_ENTRIES))
    if not (wanted.isascii() and wanted.isdigit() and int(wanted[:9])):
        raise HttpProblem(400, f"count is {wanted[:100]!r}; expected 1 to {MOST_ENTRIES}")
    store, count = _sources(request).store, min(int(wanted[:9]), MOST_ENTRIES)
    found: list[dict[str, Any]] = []
    for crawl in await crawls.working(store):
        job = typed(crawl)
        entries = entries_of(await crawl_log.recent(store, crawl.ident, count))
        found += [{**entry, "job_data": job, "ident": crawl.ident} for entry in entries]
    return _json(found)


@get("/ignores/{names:str}")
async def ignores(request: Asked, names: FromPath[str]) -> Response[bytes]:
    wanted = list(dict.fromkeys(names.split(",")))
    is_compact = request.query_params.get("compact") == "true"
    most = 1 if is_compact else MOST_IDENTS
    if len(wanted) > most:
        raise HttpProblem(400, f"there are {len(wanted)} idents; expected at most {most}")
    store = _sources(request).store
    found = {name: (await _crawl(store, name)).settings.ignores for name in wanted}
    if not is_compact:
        return _text(texts.ignores(found))
    return _text(texts.compact_ignores(wanted[0], found[wanted[0]], await ignore_sets.every(store)))


async def _crawl(store: Store, name: str) -> Crawl:
    if not idents.is_ident(name):
        raise HttpProblem(400, f"{name[:100]!r} is no ident; expected small letters and digits")
    for crawl in await crawls.find(store, idents.spellings(name)):
        if crawl is not None:
            return crawl
    raise NotFound(f"there is no crawl {name}")


@get("/pipelines")
async def pipeline_list(request: Asked) -> Response[bytes]:
    """All values are text, as in the store; pages of ArchiveBot rely on it."""
    sources = _sources(request)
    known = [one.record for one in await pipelines.every(sources.store)]
    rows = [{name: str(getattr(one, name)) for name in _PIPELINE} for one in known]
    for row, one in zip(rows, known, strict=True):
        row["ts"] = time_text(one.ts)
    if not _wants_page(request):
        return _json({"pipelines": rows})
    columns = ("nickname", "id", "version", "status", "mem_usage", "disk_usage")
    return pages.table(
        "Pipelines",
        f"{sources.pages_url}/archive/pipelines",
        ["Nickname", "Pipeline", "Version", "Status", "Memory %", "Disk %"],
        [[row[name] for name in columns] for row in rows],
        "No pipeline is running.",
    )


@get("/pending")
async def pending(request: Asked) -> Response[bytes]:
    store = _sources(request).store
    found = {}
    for name, waiting in (await queues.pending(store)).items():
        records = await crawls.find(store, waiting, with_ignores=False)
        shown = [
            (ident, one.url if one else "") for ident, one in zip(waiting, records, strict=True)
        ]
        if shown:
            found[name] = shown
    return _text(texts.pending(found))


@get("/status")
async def counts(request: Asked) -> Response[bytes]:
    store = _sources(request).store
    found, waiting = await status.counts(store), await queues.pending(store)
    return _json(
        {
            "pending": found.pending,
            "pending-ao": found.pending_ao,
            "pending-large": found.pending_large,
            "pending-others": found.pending_other,
            "pending-others-details": {
                name: len(idents) for name, idents in waiting.items() if ":" in name
            },
            "working": found.working,
            "completed": found.completed,
            "aborted": found.aborted,
            "failed": found.failed,
        }
    )


@get("/finished")
async def finished(request: Asked) -> Response[bytes]:
    sources = _sources(request)
    known = await crawls.idents(sources.store, sources.clock.now())
    records = await crawls.find(sources.store, known, with_ignores=False)
    ended = [one for one in records if one is not None and one.finished_at is not None]
    if not _wants_page(request):
        return _json([typed(one) for one in ended])
    return pages.table(
        "Finished crawls",
        f"{sources.pages_url}/archive/history",
        ["Ident", "URL", "Responses", "Bytes"],
        [[one.ident, _shown(one.url), *_figures(one)] for one in ended],
        "No crawl has ended in the last two days.",
    )


def _figures(crawl: Crawl) -> tuple[str, str]:
    codes = (crawl.r1xx, crawl.r2xx, crawl.r3xx, crawl.r4xx, crawl.r5xx, crawl.runk)
    return f"{sum(codes):,}", f"{crawl.bytes_downloaded:,}"


def _shown(url: str) -> str:
    return without_logins(url.encode(errors="replace")).decode()


@get("/feed")
async def feed(request: Asked) -> Response[bytes]:
    accepted = request.headers.get("accept", "")
    if "application/rss+xml" in accepted and "application/atom+xml" not in accepted:
        return await _rss(request)
    if "application/json" in accepted and "application/atom+xml" not in accepted:
        return _json(feeds.as_json(await _notices(request)))
    return await _atom(request)


@get("/feed/archivebot.rss")
async def rss_feed(request: Asked) -> Response[bytes]:
    return await _rss(request)


@get("/feed/archivebot.atom")
async def atom_feed(request: Asked) -> Response[bytes]:
    return await _atom(request)


async def _rss(request: Asked) -> Response[bytes]:
    link = f"{_sources(request).pages_url}/archive"
    return _text(feeds.rss(await _notices(request), link), "application/rss+xml; charset=utf-8")


async def _atom(request: Asked) -> Response[bytes]:
    sources = _sources(request)
    link, now = f"{sources.pages_url}/archive", sources.clock.now()
    text = feeds.atom(await _notices(request), link, now)
    return _text(text, "application/atom+xml; charset=utf-8")


async def _notices(request: Asked) -> list[feeds.Notice]:
    return await announcements.feed(_sources(request).store, _FEED)


ROUTES = Router(
    "/",
    route_handlers=[
        *(index, stream, recent, ignores, pipeline_list, pending, counts, finished),
        *(feed, rss_feed, atom_feed),
    ],
)
