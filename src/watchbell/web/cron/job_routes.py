"""Endpoints for cron jobs: lists, definitions, and actions on them."""

import base64
import binascii
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import msgspec
from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, QueryParameter

from watchbell.actors import may
from watchbell.cron import job_filter, jobs, overview, triggers
from watchbell.cron.job_filter import JobFilter, Place, Sort
from watchbell.cron.model import Invalid, Job
from watchbell.cron.reading import Reading, reading
from watchbell.cron.triggers import Answer
from watchbell.cron.validation import from_fields
from watchbell.errors import Changed, Refused
from watchbell.process.command import LIMITS
from watchbell.web.access import needs
from watchbell.web.cron import job_view
from watchbell.web.cron.job_shapes import (
    Ahead,
    ChangedJob,
    Chosen,
    CronJobPage,
    CronJobShown,
    Defaults,
    Definition,
    Item,
    Items,
    JobProblems,
    MaybeChosen,
    NewJob,
    Preview,
    PreviewAsked,
    Saved,
    Validated,
)
from watchbell.web.problems import HttpProblem, wrong_cursor
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, IfMatch

_FIRES = 10
_MOST_INVALID = 1_000
_ANSWER_WAIT = 3.0
"""Seconds to wait for the ids of triggered runs."""
_ANY_COMMAND = {"cmd": "true", "lock": True, "ttl": 60}

Name = Annotated[str, QueryParameter(min_length=1, max_length=5_000, description="A job's name.")]
Text = Annotated[
    str,
    QueryParameter(
        max_length=500, description="Words that must all be in the name or the command."
    ),
]
Yes = Annotated[
    bool | None, QueryParameter(description="Only jobs for which this is true, or false.")
]
By = Annotated[Sort, QueryParameter(description="Sort by name, next run or last run.")]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]
Cursor = Annotated[str, QueryParameter(max_length=40_000, description="`next` of the page before.")]
Hours = Annotated[int, QueryParameter(ge=1, le=168, description="How many hours to look ahead.")]
Buckets = Annotated[
    int, QueryParameter(ge=1, le=500, description="Into how many parts to divide them.")
]


def reading_of(request: Asked) -> Reading:
    return reading(services_of(request).settings.cron)


def _is_masked(request: Asked) -> bool:
    return not may(actor_of(request), "write")


@asynccontextmanager
async def changing(request: Asked) -> AsyncIterator[None]:
    """Drops the job cache after a change, whether it succeeded or not."""
    try:
        yield
    finally:
        services_of(request).cron_jobs.forget()


@get("/cron/jobs", opt=needs("read"))
async def list_jobs(
    request: Asked,
    text: Text = "",
    paused: Yes = None,
    invalid: Yes = None,
    failing: Yes = None,
    running: Yes = None,
    sort: By = "name",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> CronJobPage:
    """List jobs with their next and latest runs."""
    services = services_of(request)
    now, known = services.clock.now(), await services.cron_jobs.jobs()
    wanted = JobFilter(text=text, paused=paused, invalid=invalid, failing=failing, running=running)
    found = job_filter.filtered(known.of(sort), wanted)
    after = _place(cursor, sort) if cursor else None
    chosen, last = job_filter.page(found, sort, after, limit)
    return CronJobPage(
        items=await job_view.rows(services.store, chosen, now, masked=_is_masked(request)),
        next=_cursor(last) if last else None,
        total=len(found),
        counts=known.counts,
    )


def _cursor(place: Place) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _place(cursor: str, sort: Sort) -> Place:
    kind = tuple[str, str] if sort.endswith("name") else tuple[float, str]
    try:
        raw = base64.urlsafe_b64decode(cursor.encode())
        return msgspec.json.decode(raw, type=kind)  # type: ignore[return-value]
    except (binascii.Error, UnicodeError, msgspec.MsgspecError):
        raise wrong_cursor() from None


@get("/cron/ahead", opt=needs("read"))
async def ahead(request: Asked, hours: Hours = 24, buckets: Buckets = 96) -> Ahead:
    """Count the scheduled runs of the next hours, of all jobs that are not paused."""
    services = services_of(request)
    seconds = max(hours * 3600 // buckets, 1)
    known = (await services.cron_jobs.jobs()).by_name()
    return await job_view.ahead(known, services.now(), seconds, buckets)


@get("/cron/defaults", opt=needs("read"))
async def defaults(request: Asked) -> Defaults:
    """Get the defaults of job definitions, from the settings of this server."""
    settings = services_of(request).settings.cron
    return Defaults(
        timezone=settings.timezone,
        missed_grace=settings.missed_grace,
        kill_after=settings.kill_after,
        output_limit=settings.output_limit,
        shell=settings.job_shell,
        limits=list(LIMITS),
    )


@get("/cron/job", opt=needs("read"))
async def one_job(request: Asked, name: Name) -> CronJobShown:
    """Get a job: its definition, next runs and latest runs. Values of its environment are masked
    unless you may write."""
    services = services_of(request)
    now, masked = services.clock.now(), _is_masked(request)
    standing = await services.cron_jobs.one(name)
    row = (await job_view.rows(services.store, [standing], now, masked=masked))[0]
    job = standing.job
    obstacle = await overview.obstacle_to(services.store, job) if job else ""
    return CronJobShown(
        row=msgspec.structs.replace(row, state=standing.verdict(obstacle).state),
        definition=job_view.definition(standing.raw, masked=masked),
        is_masked=masked,
        version=jobs.version(standing.raw),
        obstacle=obstacle,
        fires=job_view.fires(job.schedule, now, _FIRES) if job and not row.is_paused else [],
    )


@post("/cron/jobs", opt=needs("write"))
async def create_job(request: Asked, data: JSONBody[NewJob]) -> Saved:
    """Add a job."""
    return await _save(request, data.name, data.definition, "new")


@put("/cron/job", opt=needs("write"), responses=STALE)
async def replace_job(
    request: Asked, name: Name, data: JSONBody[ChangedJob], if_match: IfMatch = ""
) -> Saved:
    """Replace the definition of a job. A run in progress is not affected."""
    version = if_match.strip().strip('"*')
    return await _save(request, name, data.definition, "known", version)


async def _save(
    request: Asked, name: str, definition: Definition, mode: jobs.Mode, version: str = ""
) -> Saved:
    services, how = services_of(request), reading_of(request)
    judged = from_fields(name, definition, how)
    if isinstance(judged, Invalid):
        raise _not_valid(judged)
    try:
        async with changing(request):
            job = await jobs.save(services.store, name, definition, how, mode, replaces=version)
    except Changed as error:
        raise HttpProblem(412, str(error)) from None
    except Refused as error:
        raise HttpProblem(422, error.reason, field=error.field) from None
    action = "cron.create" if mode == "new" else "cron.replace"
    await audited(request, action, name, job.schedule.describes())
    return _saved(job, services.clock.now())


def _not_valid(judged: Invalid) -> HttpProblem:
    trouble = HttpProblem(422, judged.text)
    trouble.errors = job_view.problems(judged.errors, masked=False)
    return trouble


def _saved(job: Job, now: float) -> Saved:
    return Saved(
        name=job.name,
        words=job.schedule.describes(),
        next=None if job.is_paused else job.schedule.next_after(now),
        is_paused=job.is_paused,
    )


@delete("/cron/job", opt=needs("write"))
async def remove_job(request: Asked, name: Name) -> None:
    """Delete a job and the records of its runs; a run in progress is finished."""
    async with changing(request):
        await jobs.remove(services_of(request).store, name)
    await audited(request, "cron.remove", name)


@post("/cron/jobs/pause", status_code=200, opt=needs("operate"))
async def pause(request: Asked, data: JSONBody[Chosen]) -> Items:
    """Pause jobs until they are resumed."""
    return await _turn(request, data.names, paused=True)


@post("/cron/jobs/resume", status_code=200, opt=needs("operate"))
async def resume(request: Asked, data: JSONBody[Chosen]) -> Items:
    """Resume paused jobs; runs that were due during the pause are not caught up."""
    return await _turn(request, data.names, paused=False)


async def _turn(request: Asked, names: list[str], *, paused: bool) -> Items:
    async with changing(request):
        found = await jobs.set_paused(
            services_of(request).store, names, reading_of(request), paused=paused
        )
    return await _answered(request, "cron.pause" if paused else "cron.resume", names, found)


@post("/cron/jobs/trigger", status_code=200, opt=needs("operate"))
async def trigger(request: Asked, data: JSONBody[Chosen]) -> Items:
    """Run jobs now, in addition to their schedules. Returns the ids of runs that start within
    seconds; `reason` says why others wait or are not run."""
    store = services_of(request).store
    async with changing(request):
        made, refused = await jobs.trigger_some(store, data.names, reading_of(request))
    answers = await triggers.answers(store, made, _ANSWER_WAIT)
    done = [one.job for one in made]
    items = await _answered(request, "cron.trigger", data.names, done, refused)
    return Items([_with_answers(item, answers.get(item.name, [])) for item in items.items])


def _with_answers(item: Item, answers: Sequence[Answer]) -> Item:
    runs = [answer.run for answer in answers if answer.run]
    skipped = [answer.skipped for answer in answers if answer.skipped]
    waits = [answer.waits for answer in answers if answer.waits]
    reason = item.reason or "; ".join(sorted({*skipped, *waits}))
    return Item(item.name, item.done and not (skipped and not runs), reason, runs)


async def _answered(
    request: Asked,
    action: str,
    names: list[str],
    found: Sequence[str],
    unfit: Mapping[str, str] | None = None,
) -> Items:
    """Returns the result for each job, and writes one line into the audit log for all."""
    done, reasons = set(found), unfit or {}
    if done:
        listed = sorted(done)
        subject = listed[0] if len(listed) == 1 else f"{len(listed):,} jobs"
        details = "" if len(listed) == 1 else ", ".join(listed)[:_MOST_INVALID]
        await audited(request, action, subject, details)
    return Items(
        [
            Item(
                name,
                name in done,
                "" if name in done else reasons.get(name, "there is no such job"),
            )
            for name in names
        ]
    )


@post("/cron/jobs/validate", status_code=200, opt=needs("write"))
async def validate(request: Asked, data: JSONBody[MaybeChosen]) -> Validated:
    """Validate the stored definitions, and write the errors into each."""
    async with changing(request):
        found = await jobs.validate(services_of(request).store, data.names, reading_of(request))
    wrong = [one for one in found.values() if isinstance(one, Invalid)]
    problems = [JobProblems(one.name, job_view.problems(one.errors, masked=False)) for one in wrong]
    return Validated(
        valid=len(found) - len(wrong), invalid=len(wrong), items=problems[:_MOST_INVALID]
    )


@post("/cron/preview", status_code=200, opt=needs("read"))
async def preview(request: Asked, data: JSONBody[PreviewAsked]) -> Preview:
    """Preview a definition: when it would run, and its errors. Nothing is changed."""
    if (data.cron_args is None) == (data.definition is None):
        raise HttpProblem(422, "expected either definition or cron_args", field="definition")
    now, how = services_of(request).clock.now(), reading_of(request)
    since = now if data.since is None else data.since - 1
    if data.definition is None:
        whole = {"cron_args": data.cron_args, "job_args": _ANY_COMMAND}
    else:
        whole = data.definition
    judged = from_fields(data.name, whole, how)
    errors = judged.errors if isinstance(judged, Invalid) else ()
    job = judged if isinstance(judged, Job) else _when_alone(whole, how)
    return Preview(
        words=job.schedule.describes() if job else "",
        zone=job_view.zone_name(job) if job else "",
        fires=job_view.fires(job.schedule, since, data.count) if job else [],
        problems=job_view.problems(errors, masked=False),
    )


def _when_alone(definition: Definition, how: Reading) -> Job | None:
    """The schedule, even if other parts of the definition are not valid yet."""
    whole = {"cron_args": definition.get("cron_args"), "job_args": _ANY_COMMAND}
    judged = from_fields("preview", whole, how)
    return judged if isinstance(judged, Job) else None


ROUTES = Router(
    "/",
    tags=["Cron jobs"],
    route_handlers=[
        *(list_jobs, ahead, defaults, one_job, create_job, replace_job, remove_job),
        *(pause, resume, trigger, validate, preview),
    ],
)
