"""Handlers for jobs."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from watchbell.errors import Refused
from watchbell.jobs import (
    aborts,
    delays,
    history,
    job_edits,
    job_records,
    job_tags,
    parameters,
    suspensions,
)
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.model import Job
from watchbell.web.app_api import records
from watchbell.web.app_api.calls import Answer, Call, CallerAccess, Group
from watchbell.web.app_api.job_reading import shown_jobs, visible_record, with_output

JOBS = Group("job")
_FILTERS = ("state", "event", "category", "plugin", "server", "source", "username")
_EDITABLE = {"label": str, "notes": str, "icon": str, "description": str}
_LONGEST = 20_000


async def _live(call: Call, access: CallerAccess) -> list[Job]:
    """Jobs in progress that the caller may see and asks for."""
    wanted = {name: call.text(name, "") for name in _FILTERS}
    return [
        job
        for job in await job_records.live(call.store)
        if all(value in ("", getattr(job, name)) for name, value in wanted.items())
        and access.allows("read", job.category, job.targets)
    ]


@JOBS.reads(
    takes=f"offset limit sort_by sort_dir {' '.join(_FILTERS)}",
    gives="rows list",
)
async def get_active_jobs(call: Call) -> Answer:
    access = await call.access()
    found = ordered(await _live(call, access), call.text("sort_by", "started"), call)
    page = call.listed(found)
    return {**page, "rows": await shown_jobs(call, page["rows"], access)}


def ordered(jobs: Iterable[Job], field: str, call: Call) -> list[Job]:
    """By a number of a job; `sort_dir` is 1 for the smallest first."""
    if not isinstance(getattr(replace(_NONE, id=""), field, None), int | float):
        raise Refused(f"jobs can't be sorted by {field[:40]!r}", field="sort_by")
    is_reversed = call.number("sort_dir", -1) < 0
    return sorted(
        jobs, key=lambda job: (getattr(job, field) or 0, job.launched, job.id), reverse=is_reversed
    )


_NONE = Job(id="", event="", state="ready")


@JOBS.reads(takes=" ".join(_FILTERS), gives="events")
async def get_active_job_summary(call: Call) -> Answer:
    found: dict[str, dict[str, Any]] = {}
    for job in await _live(call, await call.access()):
        if job.type == "adhoc":
            continue
        counts = found.setdefault(
            job.event,
            {"id": job.event, "states": Counter(), "sources": Counter(), "targets": Counter()},
        )
        counts["states"][job.state] += 1
        counts["sources"][job.source] += 1
        counts["targets"].update(job.targets)
    return {"events": found}


@JOBS.reads(takes=f"workflow.job {' '.join(_FILTERS)}", gives="nodes")
async def get_workflow_job_summary(call: Call) -> Answer:
    """How many jobs in progress each node has, of one run or of all."""
    run, nodes = call.text("workflow.job", ""), Counter[str]()
    for job in await _live(call, await call.access()):
        place = job.workflow
        if place is not None and place.node and run in ("", place.job):
            nodes[place.node] += 1
    return {"nodes": nodes}


@JOBS.reads(takes="id remove", gives="job token")
async def get_job(call: Call) -> Answer:
    access = await call.access()
    record = await visible_record(call, access)
    shown = (await shown_jobs(call, [record.job], access))[0]
    if record.is_live:
        used = await job_records.processes(call.store, record.job.id)
        shown |= {"procs": used.procs, "conns": used.conns} if used else {}
    removed = call.texts("remove") if call.value("remove") is not None else []
    if "output" not in removed:
        shown = await with_output(call, record.job, shown)
    # Logs need credentials like everything else, so there is no token for them.
    return {"job": records.without(shown, removed), "token": ""}


@JOBS.reads(takes="ids verbose", gives="jobs")
async def get_jobs(call: Call) -> Answer:
    access, ids = await call.access(), call.texts("ids")
    found = await job_records.find(call.store, ids)
    visible = [
        one.job for one in found if one and access.allows("read", one.job.category, one.job.targets)
    ]
    shown = await shown_jobs(call, visible, access, is_short=not call.yes("verbose"))
    by_id = {one["id"]: one for one in shown}
    return {"jobs": [by_id.get(id_, {"id": id_, "err": "Not Found"}) for id_ in ids]}


async def _allowed(call: Call, privilege: Any) -> JobRecord:
    """The job, if the caller may do this with it."""
    access = await call.access()
    record = await visible_record(call, access)
    access.check(privilege, record.job.category, record.job.targets)
    return record


@JOBS.changes("admin", takes="id tags *")
async def update_job(call: Call) -> Answer:
    """Corrects a record: its label, notes, icon and description, and the tags of a finished one."""
    job = (await _allowed(call, "admin")).job
    changes = {
        name: value for name, value in call.record("id", "tags").items() if name in _EDITABLE
    }
    for name in call.record("id", "tags"):
        if name not in _EDITABLE:
            raise Refused("it can't be changed", field=name[:100])
        if not isinstance(changes[name], str) or len(changes[name]) > _LONGEST:
            raise Refused(f"expected text of at most {_LONGEST:,} characters", field=name)
    if call.value("tags") is not None:
        await job_tags.change(call.store, job.id, call.texts("tags"))
    if changes:
        await job_edits.edit(
            call.store, job.id, list(changes), lambda found: replace(found, **changes)
        )
    await call.audit("jobs.update", job.id, ", ".join(sorted(changes)))
    return {}


@JOBS.changes("run_jobs", takes="id params node")
async def resume_job(call: Call) -> Answer:
    job = (await _allowed(call, "run_jobs")).job
    given = call.value("params")
    if given:
        await _add_params(call, job, given)
    node = call.text("node", "")
    await suspensions.resume(call.store, job.id, call.actor, call.now, node)
    await call.audit("jobs.resume", job.id)
    return {}


async def _add_params(call: Call, job: Job, given: Any) -> None:
    if not isinstance(given, dict):
        raise Refused("expected an object", field="params")
    if job.id not in await suspensions.suspended(call.store):
        raise Refused(f"job {job.id} is not suspended")
    plugin = (await call.catalogue()).plugins.get(job.plugin)
    if plugin is None:
        raise Refused(f"there is no plugin {job.plugin!r}")
    is_admin = "admin" in call.actor.privileges

    def merged(found: Job) -> Job:
        params = {**found.params, **given}
        checked = parameters.complete(plugin, params, is_admin=is_admin, stored=found.params)
        return replace(found, params=checked)

    await job_edits.edit(call.store, job.id, ["params"], merged)


@JOBS.changes("run_jobs", takes="id")
async def job_skip_delay(call: Call) -> Answer:
    job = (await _allowed(call, "run_jobs")).job
    if not await delays.skip(call.store, job.id):
        raise Refused(f"job {job.id} is not delayed")
    await call.audit("jobs.skip_delay", job.id)
    return {}


@JOBS.changes("tag_jobs", takes="id tags")
async def manage_job_tags(call: Call) -> Answer:
    job = (await _allowed(call, "tag_jobs")).job
    # Clients send back all tags that they have read, among them those that are ours.
    tags = [one for one in call.texts("tags") if one not in job.tags or not one.startswith("_")]
    await job_tags.change(call.store, job.id, tags)
    await call.audit("jobs.tag", job.id, ", ".join(tags))
    return {}


@JOBS.changes("abort_jobs", takes="id")
async def abort_job(call: Call) -> Answer:
    job = (await _allowed(call, "abort_jobs")).job
    reason = f"Aborted by {call.actor.display_name}"
    await aborts.abort(call.store, job.id, reason, call.actor, now=call.now)
    await call.audit("jobs.abort", job.id, reason)
    return {}


@JOBS.changes("delete_jobs", takes="id")
async def delete_job(call: Call) -> Answer:
    record = await _allowed(call, "delete_jobs")
    if record.is_live:
        raise Refused("the job is in progress; abort it first")
    await history.delete(call.store, call.services.files(), [record.job.id])
    await call.audit("jobs.delete", record.job.id, record.job.event)
    return {}
