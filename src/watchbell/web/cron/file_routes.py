"""Endpoints that import and export cron jobs."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter
from litestar.response import Stream

from watchbell.cron import imports
from watchbell.cron.crontab_file import Entry
from watchbell.cron.imports import Form, Planned
from watchbell.cron.job_status import JobStatus
from watchbell.cron.model import Invalid, parsed
from watchbell.cron.reading import Reading
from watchbell.errors import Refused
from watchbell.schedule.crontab_lines import Skipped
from watchbell.web.access import needs
from watchbell.web.cron import job_view
from watchbell.web.cron.job_routes import changing, reading_of
from watchbell.web.cron.job_shapes import Import, ImportedJob, ImportPlan, LeftOut
from watchbell.web.problems import HttpProblem
from watchbell.web.refused import RefusedField
from watchbell.web.services import Asked, audited, services_of

_SLICE = 200
_SHOWN = 300
_TOLD = 20

As = Annotated[
    Form, QueryParameter(description="JSON, or a crontab, which can't express all options.")
]


@post("/cron/import/preview", status_code=200, opt=needs("write"))
async def preview_import(request: Asked, data: JSONBody[Import]) -> ImportPlan:
    """Preview an import: the jobs that it would create, and errors. Nothing is changed."""
    return (await _plan(request, data))[1]


@post("/cron/import", status_code=200, opt=needs("write"))
async def import_jobs(request: Asked, data: JSONBody[Import]) -> ImportPlan:
    """Import jobs from a crontab or an export: all of them, or none."""
    planned, plan = await _plan(request, data)
    with RefusedField("text"):
        async with changing(request):
            await imports.make(
                services_of(request).store, planned, reading_of(request), replace=data.replace
            )
    names = ", ".join(one.name for one in plan.jobs[:_TOLD])
    await audited(request, "cron.import", f"{len(planned):,} jobs", names)
    return msgspec.structs.replace(plan, done=len(planned))


async def _plan(request: Asked, data: Import) -> tuple[list[Planned], ImportPlan]:
    try:
        found = list(imports.entries(data.form, data.text, has_users=data.users))
    except Refused as error:
        raise HttpProblem(422, str(error), field="text") from None
    entries = [one for one in found if isinstance(one, Entry)]
    planned = await imports.planned(services_of(request).store, entries, reading_of(request))
    plan = ImportPlan(
        jobs=[_job(one) for one in planned],
        left_out=[
            LeftOut(one.line, one.text[:_SHOWN], one.reason)
            for one in found
            if isinstance(one, Skipped)
        ],
        obstacles=list(imports.obstacles(planned, replace=data.replace))[:_TOLD],
    )
    return planned, plan


def _job(one: Planned) -> ImportedJob:
    judged = one.judgement
    errors = judged.errors if isinstance(judged, Invalid) else ()
    return ImportedJob(
        line=one.entry.line,
        name=one.entry.name,
        words="" if isinstance(judged, Invalid) else judged.schedule.describes(),
        command="" if isinstance(judged, Invalid) else judged.cmd[:_SHOWN],
        is_known=one.is_known,
        problems=job_view.problems(errors, masked=False),
    )


@get("/cron/export", opt=needs("write"), media_type="application/octet-stream")
async def export(request: Asked, form: As = "json") -> Stream:
    """Export all jobs, with the values of their environments."""
    known = (await services_of(request).cron_jobs.jobs()).by_name()
    name, kind, content = (
        ("jobs.json", "application/json", _as_json(known))
        if form == "json"
        else ("crontab", "text/plain", _as_crontab(known, reading_of(request)))
    )
    await audited(request, "cron.export", form)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Stream(content, headers=headers, media_type=kind)


async def _as_json(known: Sequence[JobStatus]) -> AsyncIterator[bytes]:
    """In pieces, because there may be many."""
    comma = b"{"
    for first in range(0, len(known), _SLICE):
        pairs = [(one.name, parsed(one.raw, object)) for one in known[first : first + _SLICE]]
        entries = [
            b"\n  " + msgspec.json.encode(name) + b": " + msgspec.json.encode(definition)
            for name, definition in pairs
            if isinstance(definition, dict)
        ]
        if entries:
            yield comma + b",".join(entries)
            comma = b","
    yield b"{}\n" if comma == b"{" else b"\n}\n"


async def _as_crontab(known: Sequence[JobStatus], reading: Reading) -> AsyncIterator[bytes]:
    crontab = imports.Crontab(reading)
    for first in range(0, len(known), _SLICE):
        lines = [
            crontab.lines(
                one.name,
                job_view.definition(one.raw, masked=False),
                one.job,
                paused=one.is_paused,
            )
            for one in known[first : first + _SLICE]
        ]
        yield "".join(f"{line}\n" for line in lines).encode()


ROUTES = Router("/", tags=["Cron jobs"], route_handlers=[preview_import, import_jobs, export])
