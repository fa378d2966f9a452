"""Endpoints for maintenance: the calendar of all checks, and scheduling, changing and ending it."""

from typing import Annotated
from zoneinfo import ZoneInfo

from litestar import Router, get, post, put
from litestar.params import JSONBody, QueryParameter

from watchbell.alerting import maintenance as windows
from watchbell.alerting import patterns, phrases
from watchbell.alerting.calendar import Alike
from watchbell.alerting.model import split_id
from watchbell.alerting.windows import Kind, Window
from watchbell.schedule import spoken
from watchbell.web.access import needs
from watchbell.web.alerting import maintenance_changes
from watchbell.web.alerting.maintenance_changes import Plan, Span
from watchbell.web.alerting.maintenance_shapes import (
    Done,
    MaintenanceEnd,
    MaintenancePreview,
    MaintenanceResize,
    MaintenanceView,
    NewMaintenance,
)
from watchbell.web.listing import Cursor, Limit, Page, paged
from watchbell.web.problems import HttpProblem
from watchbell.web.refused import RefusedField
from watchbell.web.services import Asked, audited, services_of

USUAL = 31 * 86_400
LONGEST = 400 * 86_400
_NAMED = 20
"""Checks of equal windows that a list names; the others are counted."""

From = Annotated[
    int | None,
    QueryParameter(
        name="from", ge=0, le=1 << 40, description="The start of the range; now by default."
    ),
]
To = Annotated[
    int | None,
    QueryParameter(
        name="to", ge=0, le=1 << 40, description="The end of the range; by default 31 days later."
    ),
]
OfKind = Annotated[Kind | None, QueryParameter(description="Only windows of this kind.")]
Pattern = Annotated[
    str, QueryParameter(max_length=2_001, description="Only checks that match this pattern.")
]
Id = Annotated[str, QueryParameter(max_length=60, description="The id of an item of the list.")]
Check = Annotated[str, QueryParameter(max_length=2_001, description="`next` of the previous page.")]


@get("/maintenance", opt=needs("read"))
async def calendar(
    request: Asked,
    start: From = None,
    end: To = None,
    kind: OfKind = None,
    pattern: Pattern = "",
    cursor: Cursor = "",
    limit: Limit = 500,
) -> Page[MaintenanceView]:
    """List maintenance of all checks within a range, by start.

    The range is at most 400 days. Windows with the same kind, start, length and summary are one
    item. Changes by other programs appear within seconds.
    """
    services = services_of(request)
    now = services.now()
    first = now if start is None else start
    last = first + USUAL if end is None else end
    if not first < last <= first + LONGEST:
        raise HttpProblem(422, "expected a time after `from`, and within 400 days", field="to")
    found = await services.calendar.within(first, last)
    matching = [one for one in found if kind in (None, one.kind)]
    if pattern:
        matching = _matching(matching, pattern)
    page = paged(matching, lambda one: one.order, cursor, limit)
    return Page([_view(one, now) for one in page.items], page.next)


def _matching(found: list[Alike], pattern: str) -> list[Alike]:
    with RefusedField("pattern"):
        matches = patterns.compiled(pattern).matches
    kept = []
    for one in found:
        checks = [check for check in one.checks if matches(*split_id(check))]
        kept += [Alike(one.kind, one.window, checks)] if checks else []
    return kept


@get("/maintenance/checks", opt=needs("read"))
async def checks(
    request: Asked,
    id: Id,  # noqa: A002
    cursor: Check = "",
    limit: Limit = 100,
) -> Page[str]:
    """List the checks of an item of maintenance."""
    one = await maintenance_changes.alike(services_of(request).calendar, id)
    return paged(one.checks, str, cursor, limit)


@post("/maintenance/preview", status_code=200, opt=needs("read"))
async def preview(request: Asked, data: JSONBody[NewMaintenance]) -> MaintenancePreview:
    """Preview maintenance.

    The answer says when it would be and of which checks. Nothing is changed.
    """
    plan = await _plan(request, data)
    return _preview(plan, data)


@post("/maintenance", opt=needs("operate"))
async def plan_maintenance(request: Asked, data: JSONBody[NewMaintenance]) -> MaintenancePreview:
    """Schedule maintenance of checks.

    No alerts are sent about failures during maintenance. If a check already has a window with
    the same start, that window gets the new length, and both summaries.
    """
    plan = await _plan(request, data)
    if not plan.checks:
        raise HttpProblem(422, f"no check matches {data.pattern[:80]!r}", field="pattern")
    services = services_of(request)
    try:
        await windows.create(services.store, plan.checks, plan.kind, plan.window, services.now())
    finally:
        services.calendar.forget()
    await audited(
        request, "maintenance.plan", _subject(plan.checks, data.pattern), _audit_details(plan)
    )
    return _preview(plan, data)


async def _plan(request: Asked, data: NewMaintenance) -> Plan:
    services = services_of(request)
    now = services.now()
    span = Span(data.start, data.duration, data.end)
    start, duration = span.seconds(now, _zone(request, data.zone))
    if data.kind == "unscheduled" and start > now:
        raise HttpProblem(422, "unscheduled maintenance can't start in the future", field="start")
    found = await maintenance_changes.select_checks(services.store, data.pattern, data.checks)
    return Plan(data.kind, Window(start, duration, data.summary.strip()), found)


def _zone(request: Asked, name: str) -> ZoneInfo:
    with RefusedField("zone"):
        return phrases.zone(name or services_of(request).settings.alerting.timezone)


@post("/maintenance/end", status_code=200, opt=needs("operate"))
async def end_maintenance(request: Asked, data: JSONBody[MaintenanceEnd]) -> Done:
    """End or cancel maintenance.

    Windows in progress end now, later ones are cancelled, and past ones stay.
    """
    services = services_of(request)
    one = await maintenance_changes.alike(services.calendar, data.id)
    checks = _selected(one, data.checks)
    try:
        ended = await maintenance_changes.end(services.store, one, checks, services.now())
    finally:
        services.calendar.forget()
    left = sorted(set(checks) - set(ended))
    await audited(
        request, "maintenance.end", _subject(ended), _audit_details(Plan(one.kind, one.window, []))
    )
    return Done(count=len(ended), left=left[:_NAMED])


@put("/maintenance", opt=needs("operate"))
async def resize_maintenance(request: Asked, data: JSONBody[MaintenanceResize]) -> Done:
    """Change the end of maintenance that is not over."""
    services = services_of(request)
    now = services.now()
    one = await maintenance_changes.alike(services.calendar, data.id)
    checks = _selected(one, data.checks)
    span = Span(one.window.start, None, data.end)
    start, duration = span.seconds(now, _zone(request, data.zone))
    try:
        await maintenance_changes.resize(services.store, one, checks, start + duration, now)
    finally:
        services.calendar.forget()
    resized = Plan(one.kind, Window(start, duration, one.window.summary), checks)
    await audited(request, "maintenance.resize", _subject(checks), _audit_details(resized))
    return Done(count=len(checks))


def _selected(one: Alike, checks: list[str]) -> list[str]:
    """The checks that were named, which have to have such a window; else all that have one."""
    strange = set(checks) - set(one.checks)
    if strange:
        raise HttpProblem(422, f"{min(strange)[:200]!r} has no such maintenance", field="checks")
    return sorted(set(checks)) or one.checks


def _preview(plan: Plan, data: NewMaintenance) -> MaintenancePreview:
    window = plan.window
    texts = [text for text in (data.start, data.end) if isinstance(text, str)]
    return MaintenancePreview(
        kind=plan.kind,
        start=window.start,
        end=window.end,
        duration=window.duration,
        count=len(plan.checks),
        checks=plan.checks[:_NAMED],
        id=Alike(plan.kind, window, plan.checks).id,
        remark="; ".join(filter(None, map(spoken.remark, texts))),
    )


def _view(one: Alike, now: int) -> MaintenanceView:
    window = one.window
    return MaintenanceView(
        id=one.id,
        kind=one.kind,
        start=window.start,
        end=window.end,
        duration=window.duration,
        summary=window.summary,
        when="future" if window.start > now else "current" if window.is_open(now) else "past",
        count=len(one.checks),
        checks=one.checks[:_NAMED],
    )


def _subject(checks: list[str], pattern: str = "") -> str:
    return pattern or (checks[0] if len(checks) == 1 else f"{len(checks):,} checks")


def _audit_details(plan: Plan) -> str:
    window = plan.window
    noun = "check" if len(plan.checks) == 1 else "checks"
    many = f"{len(plan.checks):,} {noun}, " if plan.checks else ""
    return f"{plan.kind}, {many}{window.in_words()}: {window.summary}".rstrip(": ")


ROUTES = Router(
    "/",
    tags=["Maintenance"],
    route_handlers=[
        *(calendar, checks, preview, plan_maintenance),
        *(end_maintenance, resize_maintenance),
    ],
)
