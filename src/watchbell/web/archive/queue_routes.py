"""Endpoints for the queues of crawls, and for pipelines."""

from collections.abc import Iterable
from typing import Annotated

from litestar import Router, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.archive import crawls, pipelines, queues
from watchbell.archive.pipelines import KnownPipeline
from watchbell.archive.queues import PENDING, PENDING_AO, PENDING_LARGE
from watchbell.store.client import Store
from watchbell.web.access import needs
from watchbell.web.archive import crawl_view
from watchbell.web.archive.crawl_routes import Ident, found_of
from watchbell.web.archive.crawl_shapes import CrawlRow
from watchbell.web.archive.queue_shapes import (
    MoveAsked,
    Pipelines,
    PipelineShown,
    Queues,
    QueueShown,
)
from watchbell.web.services import Asked, audited, services_of

Most = Annotated[int, QueryParameter(ge=1, le=1_000, description="The most crawls of each queue.")]
PipelineId = Annotated[
    str,
    PathParameter(min_length=1, max_length=200, description="A pipeline's id or nickname."),
]

_WORDS = {
    PENDING: "Sites. All pipelines take them, except those for single pages.",
    PENDING_AO: "Single pages.",
    PENDING_LARGE: "Large sites. Only pipelines for large crawls take them.",
}


async def rows(store: Store, idents: Iterable[str]) -> list[CrawlRow]:
    found = await crawls.find(store, list(idents), with_ignores=False)
    return [crawl_view.row(one) for one in found if one is not None]


@get("/archive/queues", opt=needs("read"))
async def list_queues(request: Asked, limit: Most = 200) -> Queues:
    """List the crawls that wait, queue by queue, the next one first."""
    store = services_of(request).store
    found = await queues.pending(store)
    return Queues(
        [
            QueueShown(
                name=name,
                words=_words(name),
                total=len(waiting),
                crawls=await rows(store, waiting[:limit]),
            )
            for name, waiting in found.items()
        ]
    )


def _words(queue: str) -> str:
    tag = queue.partition(":")[2]
    return _WORDS.get(queue, f"Only pipelines with {tag!r} in their nickname take these.")


@post("/archive/crawls/{ident:str}/move", status_code=204, opt=needs("operate"))
async def move(request: Asked, ident: Ident, data: JSONBody[MoveAsked]) -> None:
    """Move a crawl that waits to the front or the back of its queue."""
    crawl = await found_of(request, ident)
    await queues.move(services_of(request).store, crawl.ident, data.where)
    await audited(request, "crawl.move", crawl.ident, data.where)


@get("/archive/pipelines", opt=needs("read"))
async def list_pipelines(request: Asked) -> Pipelines:
    """List the pipelines, what they use and the crawls that they run."""
    services = services_of(request)
    store, lease = services.store, services.settings.archive.lease
    shown = []
    for one in await pipelines.every(store):
        idents = await queues.owned(store, one.record.id)
        shown.append(_shown(one, await rows(store, idents), lease))
    return Pipelines(shown)


def _shown(known: KnownPipeline, running: list[CrawlRow], lease: float) -> PipelineShown:
    record, capacity = known.record, known.capacity
    is_stopping = known.should_stop or record.status == "Stopping"
    return PipelineShown(
        id=record.id,
        nickname=record.nickname,
        hostname=record.hostname,
        fqdn=record.fqdn,
        pid=record.pid,
        version=record.version,
        python=record.python,
        state="silent" if known.silent >= lease else "stopping" if is_stopping else "running",
        silent=known.silent,
        concurrent=capacity.concurrent if capacity else None,
        only_pages=capacity is not None and capacity.only_pages,
        large=capacity is not None and capacity.large,
        crawls=running,
        uploads=capacity.uploads if capacity else None,
        disk_usage=record.disk_usage,
        disk_available=record.disk_available,
        mem_usage=record.mem_usage,
        mem_available=record.mem_available,
        load_average_1m=record.load_average_1m,
        load_average_5m=record.load_average_5m,
        load_average_15m=record.load_average_15m,
    )


@post("/archive/pipelines/{id:str}/stop", status_code=204, opt=needs("operate"))
async def stop(request: Asked, id: PipelineId) -> None:  # noqa: A002
    """Ask a pipeline to take no more crawls, and to end after those that it runs."""
    store = services_of(request).store
    known = await pipelines.find(store, id)
    await pipelines.stop(store, known.record.id)
    await audited(request, "pipeline.stop", known.record.id, known.record.nickname)


@delete("/archive/pipelines/{id:str}", opt=needs("operate"))
async def forget(request: Asked, id: PipelineId) -> None:  # noqa: A002
    """Forget a pipeline that is gone for good, and end the failure of its check."""
    services = services_of(request)
    known = await pipelines.find(services.store, id)
    await pipelines.forget(services.store, known, services.settings.archive.lease)
    await audited(request, "pipeline.forget", known.record.id, known.record.nickname)


ROUTES = Router(
    "/", tags=["Archive"], route_handlers=[list_queues, move, list_pipelines, stop, forget]
)
