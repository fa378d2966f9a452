"""Crawls as the API shows them. Pure."""

from collections import deque
from typing import NamedTuple

from watchbell.archive.crawl_records import state_of
from watchbell.archive.history import EndedCrawl
from watchbell.archive.model import Crawl
from watchbell.web.archive.crawl_shapes import CrawlRow, PastCrawl

_SPAN = 10
"""Seconds over which rates are measured."""


class Rate(NamedTuple):
    responses: float | None = None
    bytes: float | None = None


UNKNOWN = Rate()


class Rates:
    """How fast crawls go, by what was seen of them in the last seconds."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[int, int, int]]] = {}

    def of(self, crawl: Crawl, now: int) -> Rate:
        seen = self._seen.setdefault(crawl.ident, deque())
        point = (now, crawl.tried, crawl.bytes_downloaded)
        if seen and (seen[-1][0] > now or seen[-1][1] > point[1]):
            seen.clear()  # it was begun again, or the clock was set back
        if not seen or seen[-1][0] < now:
            seen.append(point)
        while len(seen) > 2 and seen[1][0] <= now - _SPAN:
            seen.popleft()
        first = seen[0]
        if now <= first[0]:
            return UNKNOWN
        seconds = now - first[0]
        return Rate((point[1] - first[1]) / seconds, (point[2] - first[2]) / seconds)

    def forget(self, ident: str) -> None:
        self._seen.pop(ident, None)


def row(crawl: Crawl, rate: Rate = UNKNOWN, nickname: str = "") -> CrawlRow:
    settings = crawl.settings
    return CrawlRow(
        id=crawl.ident,
        url=crawl.url,
        is_list=bool(crawl.url_file),
        fetch_depth=crawl.fetch_depth,
        state=state_of(crawl),
        is_aborting=settings.abort_requested and crawl.finished_at is None,
        reason=crawl.reason,
        note=crawl.note,
        started_by=crawl.started_by,
        queue=crawl.queue,
        pipeline=crawl.pipeline_id,
        nickname=nickname,
        queued_at=crawl.queued_at,
        started_at=crawl.started_at,
        finished_at=crawl.finished_at,
        items_downloaded=crawl.items_downloaded,
        urls_left=crawl.urls_left,
        error_count=crawl.error_count,
        responses=crawl.tried,
        bytes_downloaded=crawl.bytes_downloaded,
        warc_size=crawl.warc_size,
        rate=rate.responses,
        byte_rate=rate.bytes,
        delay_min=settings.delay_min,
        delay_max=settings.delay_max,
        concurrency=settings.concurrency,
    )


def past(ended: EndedCrawl) -> PastCrawl:
    crawl = ended.crawl
    return PastCrawl(
        id=ended.id,
        ident=crawl.ident,
        url=crawl.url,
        state=ended.state,
        fetch_depth=crawl.fetch_depth,
        note=crawl.note,
        reason=crawl.reason,
        started_by=crawl.started_by,
        nickname=ended.nickname,
        queued_at=crawl.queued_at,
        started_at=crawl.started_at,
        finished_at=crawl.finished_at,
        items_downloaded=crawl.items_downloaded,
        error_count=crawl.error_count,
        bytes_downloaded=crawl.bytes_downloaded,
        warc_size=crawl.warc_size,
        files=len(ended.files),
    )
