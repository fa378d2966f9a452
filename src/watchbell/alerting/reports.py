"""Reports on checks: outages, downtime outside maintenance, percentages, freshness."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting.windows import GLUE, Window

BUCKETS = (0, 60, 300, 900, 3600)
"""Buckets of `freshness`: seconds since a check's latest report."""


class Change(Struct, frozen=True):
    """A check entered a state."""

    timestamp: int
    state: str
    summary: str | None = None
    details: str | None = None
    count: int | None = None
    latency: float | None = None


class Outage(Struct, frozen=True):
    """A check was in one state other than ok; `end` is None where it still is."""

    state: str
    start: int
    end: int | None
    duration: int | None
    summary: str | None = None
    details: str | None = None


class Downtime(Struct, frozen=True):
    seconds: dict[str, int]
    """Seconds by state; of ok only where the range has a start and an end."""
    percentages: dict[str, float | None]
    pieces: list[Outage]
    """The outages without scheduled maintenance."""


def outage_began(history: Sequence[Change]) -> Change | None:
    """The change with which the present outage began, whatever other failing states followed;
    None where the check is ok, or its history does not go back that far. `history` is in order."""
    began = None
    for change in reversed(history):
        if change.state == "ok":
            return began
        began = change
    return None


def outages(history: Sequence[Change], start: int | None, end: int | None) -> list[Outage]:
    """The outages of [start, end]; `history` is in order and has the change before the range."""
    if start is not None and end is not None and end < start:
        return []
    found = [
        Outage(
            state=first.state,
            start=first.timestamp if start is None else max(first.timestamp, start),
            end=until,
            duration=None,
            summary=_joined(change.summary for change in run),
            details=_joined(change.details for change in run),
        )
        for run, until in _runs(_within(history, start, end), end)
        if (first := run[0]).state != "ok"
    ]
    return [_measured(outage) for outage in found]


def _within(history: Sequence[Change], start: int | None, end: int | None) -> list[Change]:
    """Those in the range, and the one that was in force when it began."""
    known = [change for change in history if end is None or change.timestamp <= end]
    if start is None:
        return known
    before = [change for change in known if change.timestamp <= start]
    return [*before[-1:], *(change for change in known if change.timestamp > start)]


def _runs(history: Sequence[Change], end: int | None) -> Iterator[tuple[list[Change], int | None]]:
    """Changes into the same state again belong together; each run lasts until the next begins."""
    run: list[Change] = []
    for change in history:
        if run and change.state != run[0].state:
            yield run, change.timestamp
            run = []
        run.append(change)
    if run:
        yield run, end


def downtime(
    outages: Sequence[Outage], scheduled: Iterable[Window], start: int | None, end: int | None
) -> Downtime:
    """Outages without scheduled maintenance. One that goes on is neither cut nor counted."""
    pieces = list(outages)
    for window in scheduled:
        if window.duration > 0:
            pieces = [piece for outage in pieces for piece in _outside(outage, window)]
    seconds = dict.fromkeys((outage.state for outage in outages), 0)
    for piece in pieces:
        seconds[piece.state] += piece.duration or 0
    if start is None or end is None or end <= start:
        return Downtime(seconds, dict.fromkeys([*seconds, "ok"]), pieces)
    seconds["ok"] = end - start - sum(seconds.values())
    percentages = {state: total * 100 / (end - start) for state, total in seconds.items()}
    return Downtime(seconds, {**percentages}, pieces)


def _outside(outage: Outage, window: Window) -> list[Outage]:
    if outage.end is None or window.end <= outage.start or outage.end <= window.start:
        return [outage]
    before = replace(outage, end=window.start)
    after = replace(outage, start=window.end)
    begins, ends = window.start > outage.start, window.end < outage.end
    if begins and ends:
        before = replace(before, summary=_marked(outage.summary, "[split start]"))
        after = replace(after, summary=_marked(outage.summary, "[split finish]"))
    return [*([_measured(before)] if begins else []), *([_measured(after)] if ends else [])]


def in_range(windows: Iterable[Window], start: int | None, end: int | None) -> list[Window]:
    """Windows that begin in [start, end], and earlier ones that were not over when it began."""
    return [
        window
        for window in windows
        if (start is None or window.start >= start or window.end >= start)
        and (end is None or window.start <= end)
    ]


def freshness(updates: Iterable[int], now: int) -> dict[int, int]:
    """The number of checks by the age of their latest report, each in its largest bucket."""
    counts = dict.fromkeys(BUCKETS, 0)
    for update in updates:
        counts[max(bucket for bucket in BUCKETS if bucket <= max(now - update, 0))] += 1
    return counts


def _measured(outage: Outage) -> Outage:
    return replace(outage, duration=None if outage.end is None else outage.end - outage.start)


def _joined(texts: Iterable[str | None]) -> str | None:
    return GLUE.join(text for text in texts if text) or None


def _marked(summary: str | None, mark: str) -> str:
    return f"{summary} {mark}" if summary else mark
