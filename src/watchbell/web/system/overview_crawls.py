"""Crawls, for the overview."""

from watchbell.archive import crawls, history, pipelines, status
from watchbell.store.client import Store
from watchbell.web.archive import crawl_view
from watchbell.web.system.overview_shapes import CrawlsView

MOST_CRAWLS = 6
RECENT = 86_400
_MOST_READ = 200


async def crawls_seen(store: Store, now: float) -> CrawlsView:
    counts = await status.counts(store)
    at_work = await crawls.at_work(store, MOST_CRAWLS)
    known = await pipelines.every(store) if at_work else []
    names = {one.record.id: one.record.nickname for one in known}
    recent = await history.between(store, now - RECENT, now, _MOST_READ)
    failed = [one for one in recent if one.state == "failed"][:MOST_CRAWLS]
    return CrawlsView(
        running=counts.working,
        queued=counts.pending + counts.pending_ao + counts.pending_large + counts.pending_other,
        ended=await history.count(store),
        items=[crawl_view.row(one, nickname=names.get(one.pipeline_id, "")) for one in at_work],
        failed=[crawl_view.past(one) for one in failed],
    )
