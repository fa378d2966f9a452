"""Handlers for the output of jobs, and for their changes as they happen."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from litestar import MediaType, Response
from litestar.response import Stream

from watchbell.errors import NotFound
from watchbell.jobs import job_records
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.model import Job
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.app_api.job_reading import visible_record
from watchbell.web.live.sse import Event, streamed
from watchbell.web.output_view import LATEST, LINGER, SOONEST

LOGS = Group("job")
_TAIL = 32_678
"""Bytes of the end of a log, unless a call says otherwise."""
_MOST = 1 << 20
_LINES = 10_000
_AT_END = ("code", "description", "completed", "elapsed", "data", "files", "tags", "retried")
_WHILE_RUNNING = (
    *("state", "progress", "status", "label", "started", "updated", "until", "server", "cpu"),
    *("mem", "reason"),
)


async def _log(call: Call) -> tuple[Job, JobLog]:
    record = await visible_record(call, await call.access())
    return record.job, JobLog(call.store, call.services.files(), record.job.id)


@LOGS.reads(takes="id")
async def get_job_log(call: Call) -> Answer:
    """The log as text; 204 where there is none."""
    _, log = await _log(call)
    if not (await log.end(1)).lines:
        return Response(None, status_code=204)
    return _text(log)


@LOGS.reads(takes="id t")
async def view_job_log(call: Call) -> Answer:
    job, log = await _log(call)
    if not (await log.end(1)).lines:
        raise NotFound(f"job {job.id!r} has no log")
    return _text(log)


@LOGS.reads(takes="id t")
async def download_job_log(call: Call) -> Answer:
    job, log = await _log(call)
    if not (await log.end(1)).lines:
        raise NotFound(f"job {job.id!r} has no log")
    return _text(log, {"Content-Disposition": f'attachment; filename="job-{job.id}.txt"'})


def _text(log: JobLog, headers: dict[str, str] | None = None) -> Response[Any]:
    return Stream(
        log.download(),
        headers={"X-Content-Type-Options": "nosniff", **(headers or {})},
        media_type=MediaType.TEXT,
    )


@LOGS.reads(takes="id bytes", gives="text")
async def tail_live_job_log(call: Call) -> Answer:
    """The end of the log of a job in progress, from the beginning of a line on."""
    job, log = await _log(call)
    if job.state == "complete":
        return {"text": ""}
    left, found = min(max(call.number("bytes", _TAIL), 0), _MOST), list[bytes]()
    for line in reversed((await log.end(_LINES)).lines):
        left -= len(line.text)
        if left < 0:
            break
        found.append(line.text)
    return {"text": b"".join(reversed(found)).decode(errors="replace")}


@LOGS.reads(takes="id")
async def stream_job(call: Call) -> Answer:
    """Events `start`, `update` with what has changed, and `end`."""
    record = await visible_record(call, await call.access())
    return streamed(call.request, _updates(call, record.job.id))


async def _updates(call: Call, id: str) -> AsyncGenerator[Event]:  # noqa: A002
    yield Event("", "start", b"{}")
    sent: dict[str, Any] = {}
    pause = SOONEST
    while True:
        job = await job_records.read(call.store, id)
        if job is None:
            break
        shown = _shown(job)
        news = {name: value for name, value in shown.items() if sent.get(name) != value}
        pause = SOONEST if news else min(pause * 1.5, LATEST)
        if news:
            sent = shown
            yield Event("", "update", msgspec.json.encode({"xy": 1, "id": job.id, **news}))
        if job.state == "complete":
            break
        await asyncio.sleep(pause)
    yield Event("", "end", b"{}")
    await asyncio.sleep(LINGER)


def _shown(job: Job) -> dict[str, Any]:
    names = (*_WHILE_RUNNING, *_AT_END) if job.state == "complete" else _WHILE_RUNNING
    found = {name: msgspec.to_builtins(getattr(job, name)) for name in names}
    return {name: value for name, value in found.items() if value is not None}
