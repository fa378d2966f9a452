"""Runs of cron as the API shows them, and their live output."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime

import msgspec

from watchbell.cron import history, run_texts
from watchbell.cron.history import RunRecord
from watchbell.errors import NotFound
from watchbell.store.client import Store
from watchbell.web.cron.run_shapes import RunShown
from watchbell.web.live.sse import Event
from watchbell.web.output_view import LATEST, LINGER, LIVE_LINES, SOONEST, line_at, news, position

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
            yield Event(position(last), "lines", msgspec.json.encode(news(window)))
        if status != sent:
            sent = status
            is_over = status.status != "running"
            yield Event("", "end" if is_over else "status", msgspec.json.encode(status))
            if is_over:
                await asyncio.sleep(LINGER)
                return
        await asyncio.sleep(pause)


async def whole(store: Store, seen: RunRecord) -> AsyncIterator[bytes]:
    """The stored output of a run, as it was printed."""
    last = None
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
