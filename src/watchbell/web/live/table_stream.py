"""The stream of a live table: what has changed in a list, at most four times a second."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic

from msgspec import Struct

from watchbell.web.live.events import Event, Source
from watchbell.web.live.live_table import LiveTable, Watching
from watchbell.web.live.views import C, F, R

GATHER = 0.25
"""Seconds between two events."""


class Changed(Struct, Generic[R, C], frozen=True, kw_only=True):
    rows: list[R]
    """Those that have changed, or match now."""
    gone: list[str]
    """Those that no longer match."""
    refreshed: list[R]
    """Those that differ only in what does not matter at a glance."""
    counts: C


async def changes(
    table: LiveTable[R, F, C], wanted: F, since: str, encode: Callable[[Changed[R, C]], bytes]
) -> Source:
    """From a moment on, or from now. After a `reset` the list has to be read again."""
    async with table.watching(wanted) as at:
        missed = at.rows.missed(since) if since else []
        yield _reset(at) if missed is None else _event(at, missed, [], encode)
        while not at.watch.is_over:
            await asyncio.sleep(GATHER)
            await at.watch.stirred.wait()
            taken = at.watch.take()
            yield _reset(at) if taken is None else _event(at, *taken, encode)


def _reset(at: Watching[R, F, C]) -> Event:
    return Event(at.rows.moment, "reset", b"null")


def _event(
    at: Watching[R, F, C],
    changed: Iterable[str],
    refreshed: Iterable[str],
    encode: Callable[[Changed[R, C]], bytes],
) -> Event:
    rows, gone, known = list[R](), list[str](), at.rows.rows
    for name in changed:
        row = known.get(name)
        if row is not None and at.view.matches(row):
            rows.append(row)
        else:
            gone.append(name)
    change = Changed(
        rows=rows,
        gone=gone,
        refreshed=[known[name] for name in refreshed if name in known],
        counts=at.view.counts,
    )
    return Event(at.rows.moment, "changed", encode(change))
