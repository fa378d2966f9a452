"""What becomes of a job that has ended: its final record, a retry, and what it sets off. Pure."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.jobs.decide import actions, launch, retrying
from watchbell.jobs.decide.retrying import first_limit
from watchbell.jobs.decide.workflow_state import EndedJob, Step
from watchbell.jobs.model import (
    ABORTED,
    Activity,
    Code,
    Job,
    JobFile,
    JobReference,
    Total,
    Usage,
)
from watchbell.jobs.outcomes import has_failed
from watchbell.units import counted

MOST_ACTIVITY = 1_000
_LONGEST_CODE, _LONGEST_DESCRIPTION = 64, 16 << 10
_SYSTEM_TAG = re.compile(r"_\w+")
_WHOLE = re.compile(r"[+-]?\d{1,15}")
_OTHER = re.compile(r"\W", re.ASCII)
UNKNOWN = "unknown"


class Result(Struct, frozen=True, kw_only=True):
    """How a job ended, as its agent reports it, or whoever ended it before it started."""

    at: float = 0
    code: Any = 0
    description: str = ""
    elapsed: float = 0
    retry_ok: bool = False
    limit: int | None = None
    size: int = 0
    lines: int = 0
    cut: int = 0
    cpu: dict[str, Any] = {}
    mem: dict[str, Any] = {}
    disk: dict[str, Any] = {}
    net: dict[str, Any] = {}
    files: tuple[dict[str, Any], ...] = ()
    activity: tuple[str, ...] = ()


_UNREADABLE = Result(
    code=UNKNOWN, description="The result of the job can't be read.", retry_ok=True
)


class Completion(Struct, frozen=True, kw_only=True):
    job: Job
    """The final record."""
    retry: Job | None = None
    items: tuple[bytes, ...] = ()
    """For the queue `actions`."""
    counts: bool = True
    """Whether it counts for its event: tests and attempts that are retried do not."""
    fired: tuple[str, ...] = ()
    """The triggers, for limits by day."""
    step: bytes = b""
    """For the run of the workflow that launched it."""


def result(raw: bytes | None) -> Result:
    try:
        return msgspec.json.decode(raw or b"", type=Result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _UNREADABLE


def complete(
    job: Job,
    ended: Result,
    *,
    known_tags: Collection[str],
    retry_id: str,
    now: float,
    shared: dict[str, Any] | None = None,
) -> Completion:
    """`retry_id` is for a new attempt, if there is one. `shared` is what the job has changed of
    what the jobs of its workflow share."""
    final, reached = actions.limited(_ended(job, ended, now), ended.limit, now)
    final = _tagged(final, known_tags)
    limit = retrying.verdict(final).limit
    retry = launch.retry(job, retry_id, now, limit.duration or 0) if limit else None
    if retry is not None:
        references = (*final.jobs, JobReference(retry.id, "retry"))
        final = replace(final, retried=True, jobs=references)
    final, items = actions.completed(_without_replay(final), now)
    fired = actions.triggers(final)
    return Completion(
        job=_with_system_tags(final),
        retry=retry,
        items=(*reached, *items),
        counts=not final.retried and not final.test and final.type != "adhoc",
        fired=tuple(fired),
        step=_step(final, shared or {}),
    )


def _without_replay(job: Job) -> Job:
    """Results of an earlier run are of use to the run itself, and to another attempt at it."""
    if job.workflow is None or not job.workflow.replay:
        return job
    return replace(job, workflow=replace(job.workflow, replay={}))


def shared_data(job: Job, raw: bytes | None) -> dict[str, Any]:
    """What a job has changed of what the jobs of its workflow share; a workflow passes on all."""
    if job.type == "workflow":
        return job.workflowData
    try:
        return msgspec.json.decode(raw, type=dict[str, Any]) if raw else {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _step(job: Job, shared: dict[str, Any]) -> bytes:
    """What the run is told of the end of one of its jobs."""
    if job.workflow is None or not job.workflow.job:
        return b""
    step = Step(run=job.workflow.job, what="ended", job=ended_job(job, shared))
    return msgspec.json.encode(step)


def ended_job(job: Job, shared: dict[str, Any]) -> EndedJob:
    return EndedJob(
        id=job.id,
        code=job.code,
        description=job.description,
        server=job.server,
        started=job.started,
        completed=job.completed,
        elapsed=job.elapsed,
        tags=job.tags,
        data=job.data,
        files=job.files,
        retry=next((one.id for one in job.jobs if one.reason == "retry"), ""),
        workflowData=shared,
        table=job.table,
        html=job.html,
        cpu=job.cpu,
        mem=job.mem,
    )


def _ended(job: Job, ended: Result, now: float) -> Job:
    """The job with its result."""
    code = normalised(ended.code)
    completed = ended.at if job.started <= ended.at <= now else now
    elapsed = ended.elapsed or (completed - job.started if job.started else 0)
    description = ended.description.strip()[:_LONGEST_DESCRIPTION]
    if has_failed(code) and not description:
        description = "The job was aborted." if code == ABORTED else f"The job ended with {code}."
    lines = [*ended.activity, *_cut(ended)]
    return replace(
        job,
        state="complete",
        code=code,
        description=description,
        retry_ok=ended.retry_ok,
        completed=completed,
        updated=now,
        elapsed=round(max(elapsed, 0), 3) if math.isfinite(elapsed) else 0,
        until=None,
        reason="",
        remote=False,
        log_file_size=max(ended.size - ended.cut, 0) or job.log_file_size,
        files=_joined(_files(ended.files), job.files),
        cpu=_usage(ended.cpu, job.cpu),
        mem=_usage(ended.mem, job.mem),
        disk=_total(ended.disk, job.disk),
        net=_total(ended.net, job.net),
        activity=with_activity(job, lines, completed),
    )


def _cut(ended: Result) -> list[str]:
    return [f"The log leaves out {counted(ended.cut, 'byte')} of output."] if ended.cut > 0 else []


def normalised(code: Any) -> Code:
    """0 for success, a number, or a lower-case word."""
    if code is None or code is False or code == "":
        return 0
    if isinstance(code, str):
        if _WHOLE.fullmatch(code.strip()):
            return int(code)
        return _OTHER.sub("_", code.lower())[:_LONGEST_CODE]
    if isinstance(code, bool) or not isinstance(code, int | float) or not math.isfinite(code):
        return UNKNOWN
    return int(code) if code == int(code) else code


def with_activity(job: Job, lines: Iterable[str], at: float) -> tuple[Activity, ...]:
    """The newest lines of the activity log, with these at its end."""
    added = (Activity(epoch=at, msg=line, server=job.server) for line in lines)
    return (*job.activity, *added)[-MOST_ACTIVITY:]


def _tagged(job: Job, known: Collection[str]) -> Job:
    """The job without tags that do not exist, or exceed its limit."""
    given = dict.fromkeys(tag for tag in job.tags if not _SYSTEM_TAG.fullmatch(tag))
    kept = [tag for tag in given if tag in known]
    lines = [f"The tag {tag!r} does not exist." for tag in given if tag not in known]
    limit = first_limit(job, "tag")
    if limit is not None and limit.amount is not None and len(kept) > limit.amount:
        most = max(int(limit.amount), 0)
        lines.append(f"Of {len(kept)} tags, {most} are kept, which is the limit.")
        kept = kept[:most]
    return replace(job, tags=tuple(kept), activity=with_activity(job, lines, job.completed))


def _with_system_tags(job: Job) -> Job:
    tags = [*job.tags, "_error" if has_failed(job.code) else "_success"]
    tags.append("_retried" if job.retried else "_last")
    tags += ["_test"] if job.test else []
    tags += ["_files"] if job.files else []
    return replace(job, tags=tuple(tags))


def _joined(own: tuple[JobFile, ...], added: tuple[JobFile, ...]) -> tuple[JobFile, ...]:
    """The files of a job, with those that others have added to it meanwhile."""
    paths = {one.path for one in own}
    return (*own, *(one for one in added if one.path not in paths))


def _files(found: Iterable[Mapping[str, Any]]) -> tuple[JobFile, ...]:
    """The files that were uploaded; what can't be read as one is left out."""
    files = []
    for one in found:
        try:
            files.append(msgspec.convert(one, JobFile))
        except msgspec.ValidationError:
            continue
    return tuple(files)


def _usage(found: Mapping[str, Any], before: Usage | None) -> Usage | None:
    try:
        return msgspec.convert(found, Usage) if found else before
    except msgspec.ValidationError:
        return before


def _total(found: Mapping[str, Any], before: Total | None) -> Total | None:
    try:
        return msgspec.convert(found, Total) if found else before
    except msgspec.ValidationError:
        return before
