"""Endpoints for jobs: in progress and finished, their output and files, and actions on them."""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import quote

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.response import Stream

from watchbell.actors import Subject, may
from watchbell.errors import NotFound, Refused
from watchbell.fleet import servers
from watchbell.jobs import (
    aborts,
    action_outcomes,
    delays,
    explain,
    history,
    job_files,
    job_records,
    job_tags,
    run_event,
    suspensions,
)
from watchbell.jobs.history import Query
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.model import Job
from watchbell.jobs.timelines import Timelines
from watchbell.web.access import needs
from watchbell.web.jobs import job_view
from watchbell.web.jobs.event_shapes import Launched
from watchbell.web.jobs.job_shapes import (
    AbortAsked,
    InProgress,
    JobPage,
    JobShown,
    LiveJobs,
    TagsAsked,
    UsageShown,
)
from watchbell.web.jobs.job_view import Names
from watchbell.web.jobs.request_checks import (
    catalogue_of,
    check_access,
    read_access_of,
    timezone_of,
)
from watchbell.web.problems import HttpProblem, wrong_cursor
from watchbell.web.services import Asked, actor_of, audited, services_of

Id = Annotated[str, PathParameter(min_length=1, max_length=100, description="A job's id.")]
FileId = Annotated[str, PathParameter(min_length=1, max_length=200, description="A file's id.")]
AtNode = Annotated[
    str,
    QueryParameter(
        max_length=64,
        description="Of a workflow: the node to go on with, in place of what was held back.",
    ),
]
FromNode = Annotated[
    str,
    QueryParameter(
        max_length=64,
        description="Of a workflow: begin at this node, with the results of the others.",
    ),
]
Only = Annotated[str, QueryParameter(max_length=100, description="Only jobs with this id here.")]
Words = Annotated[
    str, QueryParameter(max_length=500, description="Words in the title of the event.")
]
Code = Annotated[
    str,
    QueryParameter(max_length=100, description="`success`, `error` for any failure, or a code."),
]
Moment = Annotated[
    float | None,
    QueryParameter(ge=0, le=1e11, description="Completed since, or before, this time."),
]
Cursor = Annotated[str, QueryParameter(max_length=300, description="`next` of the page before.")]
FewerThan = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]
Limit = Annotated[int, QueryParameter(ge=1, le=1_000, description="The most items to return.")]
Phase = Annotated[
    Literal["", "active", "queued", "delayed", "waiting"],
    QueryParameter(
        description="Only jobs that run, wait for their turn, are delayed, or either of these two."
    ),
]

_UNKNOWN = "(unknown)"
"""The category of an event that was deleted: people with access to some categories have none."""
_STATES: dict[str, tuple[str, ...]] = {
    "active": ("active", "finishing"),
    "queued": ("queued", "ready"),
    "delayed": ("start_delay", "retry_delay"),
    "waiting": ("queued", "ready", "start_delay", "retry_delay"),
}


async def names_of(request: Asked) -> Names:
    known = await servers.every(services_of(request).store)
    return Names(await catalogue_of(request), {one.id: one for one in known})


async def record_of(request: Asked, id: str) -> JobRecord:  # noqa: A002
    """A job that the actor may see."""
    found = (await job_records.find(services_of(request).store, [id]))[0]
    if found is None:
        raise NotFound(f"there is no job {id!r}")
    await check_access(request, "read", found.job.category, found.job.targets)
    return found


@get("/jobs", opt=needs("read"))
async def jobs_in_progress(
    request: Asked,
    phase: Phase = "",
    event: Only = "",
    server: Only = "",
    category: Only = "",
    limit: Limit = 200,
) -> LiveJobs:
    """List jobs in progress, newest first: those that run, wait or are delayed."""
    services, names = services_of(request), await names_of(request)
    access, now = await read_access_of(request), services.clock.now()
    found = [
        job
        for job in await job_records.live(services.store)
        if event in ("", job.event)
        and server in ("", job.server)
        and category in ("", job.category)
        and access.allows(job)
    ]
    counts = _counts(found)
    if phase:
        found = [job for job in found if job.state in _STATES[phase]]
    rows = [job_view.row(job, names, now) for job in job_view.visible(found)[:limit]]
    return LiveJobs(items=rows, total=len(found), counts=counts)


def _counts(jobs: Sequence[Job]) -> InProgress:
    def count(*states: str) -> int:
        return sum(job.state in states for job in jobs)

    return InProgress(
        active=count("active"),
        queued=count(*_STATES["queued"]),
        delayed=count(*_STATES["delayed"]),
        finishing=count("finishing"),
    )


@get("/jobs/search", opt=needs("read"))
async def finished_jobs(
    request: Asked,
    text: Words = "",
    event: Only = "",
    category: Only = "",
    plugin: Only = "",
    server: Only = "",
    user: Only = "",
    tag: Only = "",
    source: Only = "",
    workflow: Only = "",
    code: Code = "",
    since: Moment = None,
    until: Moment = None,
    cursor: Cursor = "",
    limit: FewerThan = 50,
) -> JobPage:
    """Search finished jobs, newest first. A page may be empty and still have a next one, since each
    request looks at a limited number of jobs."""
    services, names = services_of(request), await names_of(request)
    catalogue, now = await catalogue_of(request), services.clock.now()
    access = await read_access_of(request)
    query = Query(
        events=job_view.events_named(catalogue, text, event),
        categories=_one(category),
        plugins=_one(plugin),
        servers=_one(server),
        usernames=_one(user),
        tags=_one(tag),
        sources=_one(source),
        workflows=_one(workflow),
        codes=_one(code),
        since=since,
        until=until,
    )
    try:
        page = await history.search(services.store, query, limit, cursor)
    except Refused as error:
        raise wrong_cursor() from error
    rows = [job_view.row(job, names, now) for job in page.jobs if access.allows(job)]
    return JobPage(items=rows, next=page.following)


def _one(value: str) -> tuple[str, ...]:
    return (value,) if value else ()


@get("/jobs/{id:str}", opt=needs("read"))
async def one_job(request: Asked, id: Id) -> JobShown:  # noqa: A002
    """Get a job: its whole record, what it uses now, its files, and what became of its actions."""
    services, names = services_of(request), await names_of(request)
    record, catalogue = await record_of(request, id), await catalogue_of(request)
    job, actor = record.job, actor_of(request)
    about, now = Subject(job.category), services.clock.now()
    masked = not may(actor, "edit_events", about)
    used = await job_records.processes(services.store, id) if record.is_live else None
    return JobShown(
        row=job_view.row(job, names, now),
        job=job_view.whole(job, catalogue, masked=masked),
        is_masked=masked,
        explanation=job_view.explained(
            await explain.job(services.store, services.settings.jobs, record, now)
        ),
        procs=used.procs if used else None,
        conns=used.conns if used else [],
        files=job_view.files(job),
        actions=job_view.actions(
            job, catalogue, await action_outcomes.read(services.store, job, now)
        ),
        jobs=job_view.references(job, names),
        event_exists=job.event in catalogue.events,
        is_suspended=record.is_live and await suspensions.is_suspended(services.store, record),
        can_abort=record.is_live and bool(may(actor, "abort_jobs", about)),
        can_rerun=job.event in catalogue.events and bool(may(actor, "run_jobs", about)),
    )


@post("/jobs/{id:str}/abort", status_code=204, opt=needs("abort_jobs"))
async def abort(request: Asked, id: Id, data: JSONBody[AbortAsked]) -> None:  # noqa: A002
    """Abort a job: end its processes, or take it out of its queue."""
    services, actor = services_of(request), actor_of(request)
    job = (await record_of(request, id)).job
    await check_access(request, "abort_jobs", job.category, job.targets)
    reason = data.reason or f"Aborted by {actor.display_name}"
    await aborts.abort(services.store, id, reason, actor, now=services.clock.now())
    await audited(request, "jobs.abort", id, reason)


@post("/jobs/{id:str}/resume", status_code=204, opt=needs("run_jobs"))
async def resume(request: Asked, id: Id, node: AtNode = "") -> None:  # noqa: A002
    """Resume a job that is suspended."""
    services, job = services_of(request), (await record_of(request, id)).job
    await check_access(request, "run_jobs", job.category, job.targets)
    await suspensions.resume(services.store, id, actor_of(request), services.clock.now(), node)
    await audited(request, "jobs.resume", id, node)


@post("/jobs/{id:str}/skip-delay", status_code=204, opt=needs("run_jobs"))
async def skip_delay(request: Asked, id: Id) -> None:  # noqa: A002
    """Start a delayed job now."""
    services, job = services_of(request), (await record_of(request, id)).job
    await check_access(request, "run_jobs", job.category, job.targets)
    if not await delays.skip(services.store, id):
        raise HttpProblem(409, "the job is not delayed", code="not_delayed")
    await audited(request, "jobs.skip_delay", id)


@post("/events/{id:str}/flush-queue", status_code=200, opt=needs("abort_jobs"))
async def flush_queue(request: Asked, id: Id) -> int:  # noqa: A002
    """Abort all queued jobs of an event. Returns how many."""
    services, catalogue = services_of(request), await catalogue_of(request)
    event = catalogue.events.get(id)
    category, targets = (event.category, event.targets) if event else (_UNKNOWN, ())
    await check_access(request, "abort_jobs", category, targets)
    count = await aborts.flush_queue(
        services.store, id, actor_of(request), now=services.clock.now()
    )
    await audited(request, "jobs.flush", id, str(count))
    return count


@get("/jobs/{id:str}/usage", opt=needs("read"))
async def usage(request: Asked, id: Id) -> UsageShown:  # noqa: A002
    """Get what the processes of a job used: each second of the last five minutes, and each minute
    of the last day."""
    services = services_of(request)
    await record_of(request, id)
    found = await Timelines(services.store, services.files()).read(id)
    return UsageShown(job_view.points(found.second), job_view.points(found.minute))


@get("/jobs/{id:str}/files/{name:str}", opt=needs("read"), media_type="application/octet-stream")
async def one_file(request: Asked, id: Id, name: FileId) -> Stream:  # noqa: A002
    """Download a file that a job has uploaded."""
    file = job_files.find((await record_of(request, id)).job, name)
    quoted = quote(job_files.safe_name(file.filename))
    return Stream(
        job_files.read(services_of(request).files(), file),
        headers={
            "Content-Disposition": f'attachment; filename="{quoted}"',
            "X-Content-Type-Options": "nosniff",
            "Content-Length": str(file.size),
        },
        media_type="application/octet-stream",
    )


@post("/jobs/{id:str}/rerun", opt=needs("run_jobs"))
async def rerun(request: Asked, id: Id, from_node: FromNode = "") -> Launched:  # noqa: A002
    """Launch a job once more, with the same parameters, targets and input."""
    services, catalogue = services_of(request), await catalogue_of(request)
    job = (await record_of(request, id)).job
    await services.definitions.changed("event", job.event)
    made = await run_event.rerun(
        services.store,
        catalogue,
        actor_of(request),
        job,
        services.clock.now(),
        timezone=timezone_of(request),
        defaults=services.job_defaults,
        from_node=from_node,
    )
    await audited(request, "jobs.rerun", id, made.id)
    return Launched(made.id)


@put("/jobs/{id:str}/tags", status_code=204, opt=needs("tag_jobs"))
async def change_tags(request: Asked, id: Id, data: JSONBody[TagsAsked]) -> None:  # noqa: A002
    """Replace the tags of a finished job. Those that Watchbell added stay."""
    services, job = services_of(request), (await record_of(request, id)).job
    await check_access(request, "tag_jobs", job.category, job.targets)
    await job_tags.change(services.store, id, data.tags)
    await audited(request, "jobs.tag", id, ", ".join(data.tags))


@delete("/jobs/{id:str}", opt=needs("delete_jobs"))
async def delete_job(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete a finished job with its log and files."""
    services, record = services_of(request), await record_of(request, id)
    await check_access(request, "delete_jobs", record.job.category, record.job.targets)
    if record.is_live:
        raise HttpProblem(409, "the job is in progress; abort it first", code="in_progress")
    await history.delete(services.store, services.files(), [id])
    await audited(request, "jobs.delete", id, record.job.event)


ROUTES = Router(
    "/",
    tags=["Jobs"],
    route_handlers=[
        *(jobs_in_progress, finished_jobs, one_job, usage, one_file, abort, rerun, resume),
        *(skip_delay, change_tags, delete_job, flush_queue),
    ],
)
