"""The stream of a list of checks: what has changed in it, at most four times a second."""

import asyncio
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_rows import CheckRow
from watchbell.web.alerting.check_table import CheckTable, Watching
from watchbell.web.alerting.views import CheckCounts
from watchbell.web.live.events import Event, Source

GATHER = 0.25
"""Seconds between two events."""


class Heard(Struct, frozen=True, array_like=True):
    """A check that is as it was, and was heard of."""

    id: str
    last_update: int | None
    summary: str


class Changed(Struct, frozen=True, kw_only=True):
    rows: list[CheckRow]
    """Those that have changed, or that are meant now."""
    gone: list[str]
    """Those that are meant no more."""
    heard: list[Heard]
    """Those of which only the summary, or when they were last heard of, has changed."""
    counts: CheckCounts


async def changes(board: CheckTable, wanted: CheckFilter, since: str) -> Source:
    """Beginning at a moment, or now. After a `reset` the list is to be read anew."""
    async with board.watching(wanted) as at:
        missed = at.ledger.missed(since) if since else []
        yield _reset(at) if missed is None else _event(at, missed, [])
        while not at.watch.is_over:
            await asyncio.sleep(GATHER)
            await at.watch.stirred.wait()
            taken = at.watch.take()
            yield _reset(at) if taken is None else _event(at, *taken)


def _reset(at: Watching) -> Event:
    return Event(at.ledger.moment, "reset", b"null")


def _event(at: Watching, changed: Iterable[str], heard: Iterable[str]) -> Event:
    rows, gone = list[CheckRow](), list[str]()
    for name in changed:
        row = at.ledger.rows.get(name)
        if row is not None and at.view.matches(row):
            rows.append(row)
        else:
            gone.append(name)
    murmurs = [at.ledger.rows[name] for name in heard if name in at.ledger.rows]
    told = Changed(
        rows=rows,
        gone=gone,
        heard=[Heard(row.id, row.last_update, row.summary) for row in murmurs],
        counts=at.view.counts,
    )
    return Event(at.ledger.moment, "changed", msgspec.json.encode(told))
