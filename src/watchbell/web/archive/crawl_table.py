"""The live table of crawls: those that wait or run, and those that ended lately."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.archive import crawls, finishing, pipelines
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.model import CrawlState
from watchbell.clock import Clock
from watchbell.store.client import Store
from watchbell.store.live import Message
from watchbell.web.archive.crawl_shapes import ChangedCrawls, CrawlCounts, CrawlRow
from watchbell.web.archive.crawl_view import UNKNOWN, Rates, row
from watchbell.web.live import table_stream
from watchbell.web.live.background import Background
from watchbell.web.live.events import Source
from watchbell.web.live.live_table import LiveTable
from watchbell.web.live.row_loader import SLICE, Loaded, Published
from watchbell.web.live.table_stream import Changed
from watchbell.web.live.views import Key, Rules

Sort = Literal["state", "url", "rate", "size", "errors", "left"]
ENDED: frozenset[CrawlState] = frozenset({"completed", "aborted", "failed"})
_ORDER: dict[CrawlState, int] = {"running": 0, "paused": 1, "queued": 2}
_FRESH = 1
"""Seconds after which the figures of a crawl at work are read again."""
_FORGOTTEN = finishing.KEPT_BRIEFLY + 1


class CrawlFilter(Struct, frozen=True, kw_only=True):
    """What is left out matches everything."""

    text: str = ""
    """Words that all occur in the URL, the ident, the note, the starter or the pipeline."""
    state: tuple[CrawlState, ...] = ()

    def normal(self) -> "CrawlFilter":
        words = " ".join(sorted(set(self.text.lower().split())))
        return replace(self, text=words, state=tuple(sorted(set(self.state))))


def _matching(wanted: CrawlFilter) -> Callable[[CrawlRow], bool]:
    words, states = wanted.text.split(), set(wanted.state)

    def matches(row: CrawlRow) -> bool:
        if states and row.state not in states:
            return False
        text = f"{row.url}\n{row.id}\n{row.note}\n{row.started_by}\n{row.nickname}".lower()
        return all(word in text for word in words)

    return matches


def _by_state(row: CrawlRow) -> Key:
    """What runs first, the oldest of it first; then what waits; then what ended, the newest
    first."""
    if row.state in ENDED:
        return 3, -int(row.finished_at or 0), row.id
    since = row.started_at if row.state == "running" else row.queued_at
    return _ORDER[row.state], int((since or 0) * 1000), row.id


_ORDERS: dict[str, Callable[[CrawlRow], Key]] = {
    "state": _by_state,
    "url": lambda row: (0, 0, f"{row.url}\n{row.id}"),
    "rate": lambda row: (-int(1000 * (row.rate or 0)), 0, row.id),
    "size": lambda row: (-row.bytes_downloaded, 0, row.id),
    "errors": lambda row: (-row.error_count, 0, row.id),
    "left": lambda row: (-row.urls_left, 0, row.id),
}
_FIGURES = {
    "items_downloaded": 0,
    "urls_left": 0,
    "error_count": 0,
    "responses": 0,
    "bytes_downloaded": 0,
    "warc_size": 0,
    "rate": None,
    "byte_rate": None,
}
_RULES: Rules[CrawlRow, CrawlFilter, CrawlCounts] = Rules(
    CrawlFilter.normal, _matching, _ORDERS, CrawlCounts, lambda row: replace(row, **_FIGURES)
)


class CrawlSource:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._rates, self._nicknames = Rates(), dict[str, str]()
        self.channels = (Crawls(store.prefix).news(), Archive(store.prefix).updates())

    def published(self, message: Message) -> Published:
        """The news are also about pipelines."""
        name = message.body.decode(errors="replace")
        return Published([], is_shared=True) if ":" in name else Published([name])

    async def ids(self) -> AsyncIterator[Sequence[str]]:
        known = await crawls.idents(self._store, self._clock.now())
        for first in range(0, len(known), SLICE):
            yield known[first : first + SLICE]

    async def read(self, ids: Sequence[str], now: int) -> Mapping[str, Loaded[CrawlRow]]:
        found = await crawls.find(self._store, ids, with_ignores=False)
        rows = {}
        for ident, crawl in zip(ids, found, strict=True):
            if crawl is None or crawl.finished_at is not None:
                self._rates.forget(ident)
            if crawl is None:
                continue
            is_at_work = bool(crawl.pipeline_id) and crawl.finished_at is None
            rate = self._rates.of(crawl, now) if is_at_work else UNKNOWN
            made = row(crawl, rate, self._nicknames.get(crawl.pipeline_id, ""))
            rows[ident] = Loaded(made, _wakes(made, now, is_at_work=is_at_work))
        return rows

    async def load_shared(self) -> None:
        known = await pipelines.every(self._store)
        self._nicknames = {one.record.id: one.record.nickname for one in known}

    def completed(self, row: CrawlRow) -> CrawlRow:
        nickname = self._nicknames.get(row.pipeline, row.nickname)
        return row if nickname == row.nickname else replace(row, nickname=nickname)

    def round_ended(self) -> None:
        pass


def _wakes(row: CrawlRow, now: int, *, is_at_work: bool) -> int | None:
    if is_at_work:
        return now + _FRESH
    return now + _FORGOTTEN if row.state in ("aborted", "failed") else None


class CrawlTable(LiveTable[CrawlRow, CrawlFilter, CrawlCounts]):
    def __init__(self, store: Store, clock: Clock, background: Background) -> None:
        super().__init__(
            "crawls", store, clock, background, lambda: CrawlSource(store, clock), _RULES
        )


def changes(table: CrawlTable, wanted: CrawlFilter, since: str) -> Source:
    return table_stream.changes(table, wanted, since, _encoded)


def _encoded(change: Changed[CrawlRow, CrawlCounts]) -> bytes:
    return msgspec.json.encode(
        ChangedCrawls(
            rows=change.rows, gone=change.gone, refreshed=change.refreshed, counts=change.counts
        )
    )
