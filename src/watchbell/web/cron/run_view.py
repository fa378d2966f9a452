"""Runs of cron as the API shows them, and their live output."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime

import msgspec

from watchbell.cron import history, run_texts
from watchbell.cron.history import RunRecord
from watchbell.errors import NotFound
from watchbell.runs.output_store import OutputLine, OutputWindow
from watchbell.store.client import Store
from watchbell.web.cron.run_shapes import LineShown, News, OutputShown, RunShown
from watchbell.web.live.sse import Event

LIVE_LINES = 1_000
"""The most lines in one event; if there are more, the newest are sent."""
SOONEST, LATEST = 0.25, 1.0
"""Seconds between two reads of a run that prints, and of one that is silent."""
LINGER = 2.0
"""Seconds for which a finished stream waits for its reader to close it: a browser takes a stream
that the server closes for a lost connection, and connects again."""
_POSITION = re.compile(r"(\d{1,12}\.\d{6})-(\d{1,15})")
_LONGEST_NAME = 60


def shown(seen: RunRecord) -> RunShown:
    record, detail = seen.record, seen.detail
    ended = seen.ended
    if ended is None and record.duration is not None and record.status != "running":
        ended = record.start_time + record.duration
    return RunShown(
        id=seen.id,
        job=record.job_name,
        status=record.status,
        start=record.start_time,
        ended=ended,
        duration=record.duration,
        retcode=record.retcode,
        words=run_texts.ending(record, detail),
        host=record.host,
        instance=detail.instance,
        why=detail.why,
        fire=detail.fire,
        attempt=detail.attempt,
        attempts=detail.attempts,
        retry_at=detail.retry_at or None,
        cpu=detail.cpu,
        memory=detail.memory,
        output_bytes=detail.output_bytes,
    )


def lines(found: list[OutputLine]) -> list[LineShown]:
    return [LineShown(one.number, round(one.at, 3), _text(one.text)) for one in found]


def _text(raw: bytes) -> str:
    text = raw.decode(errors="replace")
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def output(window: OutputWindow) -> OutputShown:
    return OutputShown(
        total=window.total,
        complete=window.complete,
        start=window.first,
        lines=lines(window.lines),
    )


def position(line: OutputLine) -> str:
    """The position after which a reader continues."""
    return f"{line.at:.6f}-{line.number}"


def line_at(position: str) -> OutputLine | None:
    """None for an invalid position."""
    found = _POSITION.fullmatch(position)
    return OutputLine(int(found[2]), float(found[1]), b"") if found else None


async def live(store: Store, run: str, since: str) -> AsyncGenerator[Event]:
    """The output of a run from a position on, and its status, until it has ended."""
    last = line_at(since)
    if since and last is None:
        yield Event("", "reset", b"null")
    sent: RunShown | None = None
    pause = SOONEST
    while True:
        try:
            status = shown(await history.run(store, run))
        except NotFound:
            yield Event("", "gone", b"null")
            return
        window = await history.output(store, run).newest(last, LIVE_LINES)
        pause = SOONEST if window.lines else min(pause * 1.5, LATEST)
        if window.lines:
            last = window.lines[-1]
            yield Event(position(last), "lines", msgspec.json.encode(_news(window)))
        if status != sent:
            sent = status
            is_over = status.status != "running"
            yield Event("", "end" if is_over else "status", msgspec.json.encode(status))
            if is_over:
                await asyncio.sleep(LINGER)
                return
        await asyncio.sleep(pause)


def _news(window: OutputWindow) -> News:
    return News(
        total=window.total,
        complete=window.complete,
        start=window.first,
        skipped=window.first - window.asked,
        lines=lines(window.lines),
    )


async def whole(store: Store, seen: RunRecord) -> AsyncIterator[bytes]:
    """The stored output of a run, as it was printed."""
    last: OutputLine | None = None
    printed = history.output(store, seen.id)
    while (window := await printed.following(last)).lines:
        last = window.lines[-1]
        yield b"".join(line.text for line in window.lines)
    if last is None and seen.record.output:
        yield b"[only the last lines are kept]\n" + seen.record.output.encode()


def file_name(seen: RunRecord) -> str:
    """The name of a download: plain letters only, whatever the job is called."""
    job = re.sub(r"[^A-Za-z0-9._-]+", "-", seen.record.job_name).strip("-.")[:_LONGEST_NAME]
    start = datetime.fromtimestamp(int(seen.record.start_time), UTC)
    return f"{job or 'run'}-{start:%Y%m%dT%H%M%SZ}.txt"
