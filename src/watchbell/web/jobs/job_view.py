"""Jobs as the API shows them, and their live output."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from watchbell.clock import Clock
from watchbell.fleet.model import Server
from watchbell.fleet.servers import label
from watchbell.jobs import job_records, outcomes, parameters, workflow_params
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.decide.explanation import Explained
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.model import ABORTED, Action, Job, Usage
from watchbell.jobs.outcomes import ActionOutcome
from watchbell.store.client import Store
from watchbell.web.jobs.job_shapes import (
    ActionShown,
    FileShown,
    JobRow,
    ReferenceShown,
    UsagePoint,
    Verdict,
)
from watchbell.web.live.sse import Event
from watchbell.web.output_view import LATEST, LINGER, LIVE_LINES, SOONEST, line_at, news, position

_LONGEST_NAME = 60
_IN_PROGRESS: dict[str, str] = {
    "queued": "queued",
    "start_delay": "waiting for its start delay",
    "retry_delay": "waiting for its next attempt",
    "ready": "about to start",
    "active": "running",
    "finishing": "finishing",
}


class Names:
    """What ids of events and servers stand for."""

    def __init__(self, catalogue: Catalogue, servers: Mapping[str, Server]) -> None:
        self._catalogue, self._servers = catalogue, servers

    def event(self, id: str) -> str:  # noqa: A002
        event = self._catalogue.events.get(id)
        return event.title if event else id

    def server(self, id: str) -> str:  # noqa: A002
        server = self._servers.get(id)
        return label(server) if server else id


def verdict(job: Job) -> Verdict:
    if job.state != "complete":
        return ""
    if not outcomes.has_failed(job.code):
        return "success"
    return job.code if job.code in ("warning", "critical", ABORTED) else "error"  # type: ignore[return-value]


def words(job: Job) -> str:
    """What it does or waits for, or how it ended."""
    if job.state == "complete":
        return outcomes.phrase(job)
    doing = _IN_PROGRESS[job.state]
    return f"{doing}: {job.reason}" if job.reason else job.status or doing


def title(job: Job, names: Names) -> str:
    """A job of a node that runs no event is named after the node."""
    found = names.event(job.event)
    return f"{found}: {job.label}" if job.type == "adhoc" and job.label else found


def row(job: Job, names: Names, now: float) -> JobRow:
    is_running = job.state in ("active", "finishing")
    return JobRow(
        id=job.id,
        event=job.event,
        title=title(job, names),
        state=job.state,
        words=words(job),
        verdict=verdict(job),
        category=job.category,
        plugin=job.plugin,
        server=job.server,
        hostname=names.server(job.server) if job.server else "",
        source=job.source,
        username=job.username,
        launched=job.launched,
        started=job.started,
        completed=job.completed,
        elapsed=max(now - job.started, 0) if is_running and job.started else job.elapsed,
        until=job.until,
        progress=job.progress,
        status=job.status,
        code=job.code,
        description=job.description,
        tags=job.tags,
        cpu=_level(job.cpu, is_running=is_running),
        memory=_level(job.mem, is_running=is_running),
        retry_count=job.retry_count,
        retried=job.retried,
        files=len(job.files),
        log_size=job.log_file_size,
    )


def _level(usage: Usage | None, *, is_running: bool) -> float | None:
    if usage is None or not usage.count:
        return None
    return usage.current if is_running else usage.total / usage.count


def whole(job: Job, catalogue: Catalogue, *, masked: bool) -> dict[str, Any]:
    """The record with all its properties."""
    fields: dict[str, Any] = msgspec.structs.asdict(job)
    if masked:
        fields["params"] = parameters.masked(catalogue.plugins.get(job.plugin), job.params)
        if job.workflow is not None:
            fields["workflow"] = workflow_params.masked_run(job.workflow, catalogue)
        fields["env"] = dict.fromkeys(job.env, parameters.MASK)
        fields["actions"] = parameters.masked_actions(job.actions)
        fields["update_event"] = dict.fromkeys(job.update_event, parameters.MASK)
        fields["script"] = parameters.MASK if job.script else ""
    return fields


def files(job: Job) -> list[FileShown]:
    return [
        FileShown(
            filename=one.filename,
            size=one.size,
            url=f"/api/v1/jobs/{job.id}/files/{one.id}",
        )
        for one in job.files
    ]


def actions(job: Job, catalogue: Catalogue, found: Sequence[ActionOutcome]) -> list[ActionShown]:
    return [
        ActionShown(
            trigger=action.trigger,
            type=action.type,
            words=_what(action, catalogue),
            state=outcome.state,
            result=outcome.words,
            date=action.date,
        )
        for action, outcome in zip(job.actions, found, strict=True)
    ]


def _what(action: Action, catalogue: Catalogue) -> str:
    if action.type == "email":
        return f"mail to {', '.join([action.email, *action.users]).strip(', ')}"
    if action.type == "web_hook":
        return f"web hook {action.url}"
    if action.type == "run_event":
        event = catalogue.events.get(action.event_id)
        return f"run {event.title if event else action.event_id}"
    if action.type == "channel":
        channel = catalogue.channels.get(action.channel_id)
        return f"notify {channel.title if channel else action.channel_id}"
    plain = {
        "disable": "disable the event",
        "delete": "delete the event",
        "suspend": "suspend the job until somebody resumes it",
        "snapshot": "take a snapshot of the server",
        "tag": f"add {', '.join(action.tags)}",
    }
    return plain[action.type]


def references(job: Job, names: Names) -> list[ReferenceShown]:
    return [
        ReferenceShown(id=one.id, reason=one.reason, title=names.event(job.event))
        for one in job.jobs
    ]


async def live(
    store: Store,
    log: JobLog,
    id: str,  # noqa: A002
    names: Names,
    since: str,
    clock: Clock,
) -> AsyncGenerator[Event]:
    """The output of a job from a position on, and its row, until it has ended."""
    last = line_at(since)
    if since and last is None:
        yield Event("", "reset", b"null")
    sent: JobRow | None = None
    pause = SOONEST
    while True:
        job = await job_records.read(store, id)
        if job is None:
            yield Event("", "gone", b"null")
            return
        window = await log.newest(last, LIVE_LINES)
        pause = SOONEST if window.lines else min(pause * 1.5, LATEST)
        if window.lines:
            last = window.lines[-1]
            yield Event(position(last), "lines", msgspec.json.encode(news(window)))
        status, is_over = row(job, names, clock.now()), job.state == "complete"
        if is_over or _differs(status, sent):
            sent = status
            yield Event("", "end" if is_over else "status", msgspec.json.encode(status))
            if is_over:
                await asyncio.sleep(LINGER)
                return
        await asyncio.sleep(pause)


def _differs(status: JobRow, sent: JobRow | None) -> bool:
    """The time that passes is no news."""
    return sent is None or msgspec.structs.replace(status, elapsed=sent.elapsed) != sent


def file_name(job: Job, title: str) -> str:
    """The name of a download: plain letters only, whatever the event is called."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.")[:_LONGEST_NAME]
    start = datetime.fromtimestamp(int(job.started or job.launched), UTC)
    return f"{name or 'job'}-{start:%Y%m%dT%H%M%SZ}.txt"


def visible(jobs: Sequence[Job]) -> list[Job]:
    """Newest first."""
    return sorted(jobs, key=lambda job: -job.launched)


def points(samples: Sequence[Mapping[str, Any]]) -> list[UsagePoint]:
    """The sums over the processes of each sample."""
    return [
        UsagePoint(float(one["epoch"]), _sum(one, "cpu"), _sum(one, "memRss")) for one in samples
    ]


def _sum(sample: Mapping[str, Any], name: str) -> float:
    return sum(float(process.get(name, 0)) for process in sample["procs"].values())


def explained(found: Explained) -> list[str]:
    return [found.headline, *(line.text for line in found.lines)]


def events_named(catalogue: Catalogue, text: str, event: str) -> tuple[str, ...] | None:
    """The events that are searched for; None for all."""
    words = text.casefold().split()
    if not words:
        return (event,) if event else None
    return tuple(
        one.id
        for one in catalogue.events.values()
        if event in ("", one.id) and all(word in one.title.casefold() for word in words)
    )
