"""Endpoints for many checks: lists, live changes, and actions on many at once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from litestar import MediaType, Response, Router, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, QueryParameter
from msgspec import UnsetType

from watchbell.alerting import phrases
from watchbell.alerting.calendar import Alike
from watchbell.alerting.decide import acknowledgement
from watchbell.alerting.model import State
from watchbell.alerting.windows import Kind, Window
from watchbell.web.access import needs
from watchbell.web.alerting import check_actions
from watchbell.web.alerting.check_actions import Judge, Refusals
from watchbell.web.alerting.check_columns import Columns, packed
from watchbell.web.alerting.check_filter import CheckFilter, Enabled, Sort
from watchbell.web.alerting.check_list_shapes import (
    Acknowledgement,
    ActionResult,
    ActionResults,
    CheckSettings,
    ChecksPage,
    EndOfMaintenance,
    NotificationTest,
    PlannedMaintenance,
    Targets,
)
from watchbell.web.alerting.check_stream import changes
from watchbell.web.alerting.maintenance_changes import Span
from watchbell.web.listing import Limit
from watchbell.web.live.cursors import cursor_of, key_of
from watchbell.web.live.sse import EVENT_STREAM, EventStream, LastEvent, Resume, streamed
from watchbell.web.problems import HttpProblem
from watchbell.web.refused import RefusedField
from watchbell.web.services import Asked, actor_of, audited, services_of

T = TypeVar("T")
Cursor = Annotated[
    str, QueryParameter(max_length=12_000, description="`next` of the previous page.")
]
Order = Annotated[
    Sort,
    QueryParameter(
        description="`severity`: worst first, then latest change; `age`: latest change first; "
        "`name`; `update`: latest report first."
    ),
]
Reversed = Annotated[bool, QueryParameter(description="Reverse the order.")]
Yes = bool | None
KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")
DRY = 1_000
"""Checks that a dry run lists."""


async def wanted_of(
    text: Annotated[
        str,
        QueryParameter(
            max_length=200, description="Words that the name or the summary contains, all of them."
        ),
    ] = "",
    states: Annotated[
        list[State] | None,
        QueryParameter(name="state", max_items=10, description="Checks in any of these states."),
    ] = None,
    failing: Annotated[
        Yes, QueryParameter(description="Only checks that are not ok, or only those that are.")
    ] = None,
    tags: Annotated[
        list[str] | None,
        QueryParameter(name="tag", max_items=20, description="Checks with all of these tags."),
    ] = None,
    entities: Annotated[
        list[str] | None,
        QueryParameter(
            name="entity", max_items=100, description="Checks of any of these entities."
        ),
    ] = None,
    acknowledged: Annotated[
        Yes,
        QueryParameter(description="Only failing checks that are acknowledged, or all but those."),
    ] = None,
    maintenance: Annotated[
        Yes, QueryParameter(description="Only checks in scheduled maintenance, or all but those.")
    ] = None,
    enabled: Annotated[
        Enabled, QueryParameter(description="Enabled checks, disabled ones, or both.")
    ] = "yes",
) -> CheckFilter:
    return CheckFilter(
        text=text,
        state=tuple(states or ()),
        failing=failing,
        tag=tuple(tags or ()),
        entity=tuple(entities or ()),
        acknowledged=acknowledged,
        maintenance=maintenance,
        enabled=enabled,
    )


Wanted = NamedDependency[CheckFilter]


@get("/checks", opt=needs("read"))
async def checks(
    request: Asked,
    wanted: Wanted,
    sort: Order = "severity",
    reverse: Reversed = False,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> ChecksPage:
    """List checks, with counts by state."""
    table, after = services_of(request).check_table, key_of(cursor) if cursor else None
    _, others = await table.view(wanted.without_state())
    store, view = await table.view(wanted, sort)
    rows, last = view.page(after, limit, is_reversed=reverse)
    return ChecksPage(
        items=list(rows),
        next=cursor_of(last) if last else None,
        count=len(view.order),
        counts=others.counts,
        moment=store.moment,
    )


@get("/checks/board", opt=needs("read"))
async def columns(request: Asked, wanted: Wanted) -> Response[Columns]:
    """List all matching checks in columns.

    This is for pages that show very many checks, up to 50,000.
    """
    services = services_of(request)
    rows, view = await services.check_table.view(wanted, "severity")
    given = [*view.order], msgspec.structs.replace(view.counts), rows.moment, services.now()
    plain, small = await asyncio.to_thread(packed, *given)
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        plain, headers["Content-Encoding"] = small, "gzip"
    return Response(plain, media_type=MediaType.JSON, headers=headers)  # type: ignore[arg-type]


@get("/checks/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(
    request: Asked, wanted: Wanted, last: LastEvent = "", resume: Resume = ""
) -> EventStream:
    """Follow a list of checks as server-sent events.

    At most four times a second, `changed` has the rows that changed, the names that no longer
    match, the checks that only reported again (name, time, summary), and counts. After `reset`,
    read the list again.
    """
    return streamed(request, changes(services_of(request).check_table, wanted, last or resume))


@post("/checks/acknowledge", status_code=200, opt=needs("operate"))
async def acknowledge(request: Asked, data: JSONBody[Acknowledgement]) -> ActionResults:
    """Acknowledge failing checks.

    No more alerts are sent about them until the duration is over or they recover.
    """
    services = services_of(request)
    seconds = _read("duration", lambda: phrases.length(data.duration))
    comment = data.summary.strip()
    summary = acknowledgement.summary(actor_of(request), comment)

    async def act(names: Sequence[str]) -> Refusals:
        return await check_actions.acknowledge(
            services.store, names, summary, seconds, services.now()
        )

    return await _act_on(
        request, data, check_actions.can_be_acknowledged, act, "check.acknowledge", comment
    )


@post("/checks/maintenance", status_code=200, opt=needs("operate"))
async def plan(request: Asked, data: JSONBody[PlannedMaintenance]) -> ActionResults:
    """Schedule maintenance of checks.

    No alerts are sent about failures during maintenance.
    """
    services = services_of(request)
    zone = _read("zone", lambda: phrases.zone(data.zone or services.settings.alerting.timezone))
    span = Span(data.start, data.duration, data.end).seconds(services.now(), zone)
    window = Window(*span, data.summary.strip())

    async def act(names: Sequence[str]) -> Refusals:
        try:
            return await check_actions.plan(services.store, names, window, services.now())
        finally:
            services.calendar.forget()

    details = f"{window.in_words()}: {window.summary}".rstrip(": ")
    results = await _act_on(request, data, check_actions.always, act, "check.maintenance", details)
    return msgspec.structs.replace(results, window=Alike("scheduled", window, []).id)


@post("/checks/end-maintenance", status_code=200, opt=needs("operate"))
async def end(request: Asked, data: JSONBody[EndOfMaintenance]) -> ActionResults:
    """End maintenance in progress.

    Maintenance that is scheduled for later stays.
    """
    services, kinds = services_of(request), KINDS if data.kind is None else (data.kind,)

    async def act(names: Sequence[str]) -> Refusals:
        try:
            return await check_actions.end(services.store, names, kinds, services.now())
        finally:
            services.calendar.forget()

    judge = check_actions.has_open(kinds)
    return await _act_on(request, data, judge, act, "check.end_maintenance", data.kind or "")


@post("/checks/disable", status_code=200, opt=needs("write"))
async def disable(request: Asked, data: JSONBody[Targets]) -> ActionResults:
    """Disable checks.

    A disabled check is enabled again when it reports.
    """

    async def act(names: Sequence[str]) -> Refusals:
        return await check_actions.disable(services_of(request).store, names)

    return await _act_on(request, data, check_actions.can_be_disabled, act, "check.disable")


@post("/checks/enable", status_code=200, opt=needs("write"))
async def enable(request: Asked, data: JSONBody[Targets]) -> ActionResults:
    """Enable disabled checks."""

    async def act(names: Sequence[str]) -> Refusals:
        return await check_actions.enable(services_of(request).store, names)

    return await _act_on(request, data, check_actions.can_be_enabled, act, "check.enable")


@post("/checks/test-notifications", status_code=200, opt=needs("operate"))
async def try_notifications(request: Asked, data: JSONBody[NotificationTest]) -> ActionResults:
    """Send a test notification about checks.

    It goes to everybody who would be alerted about failures of these checks.
    """
    services, summary = services_of(request), data.summary.strip()

    async def act(names: Sequence[str]) -> Refusals:
        if len(names) > check_actions.MOST_TESTED:
            most = f"at most {check_actions.MOST_TESTED} checks can be tested at once"
            raise HttpProblem(422, f"{most}; these are {len(names):,}", field="checks")
        return await check_actions.try_notifications(services.store, names, summary, services.now())

    return await _act_on(request, data, check_actions.always, act, "check.test", summary)


@post("/checks/settings", status_code=200, opt=needs("write"))
async def configure(request: Asked, data: JSONBody[CheckSettings]) -> ActionResults:
    """Change the delays of checks.

    These are how long a check must fail or recover before anybody is notified, and after how
    many seconds without a report it becomes unknown.
    """
    named = {
        "initial_failure_delay": data.initial_failure_delay,
        "repeat_failure_delay": data.repeat_failure_delay,
        "initial_recovery_delay": data.initial_recovery_delay,
        "ttl": data.ttl,
    }
    given = {name: value for name, value in named.items() if not isinstance(value, UnsetType)}
    if not given:
        raise HttpProblem(422, "give a setting; null resets it", field="ttl")

    async def act(names: Sequence[str]) -> Refusals:
        return await check_actions.configure(services_of(request).store, names, given)

    details = ", ".join(f"{name} {value}" for name, value in given.items())
    return await _act_on(request, data, check_actions.always, act, "check.settings", details)


async def _act_on(
    request: Asked,
    data: Targets,
    judge: Judge,
    act: Callable[[Sequence[str]], Awaitable[Refusals]],
    action: str,
    details: str = "",
) -> ActionResults:
    """Acts on the checks for which the action makes sense, and returns the result for each."""
    found = await check_actions.select(services_of(request).check_table, data.checks, data.filter)
    names, refused = check_actions.partition(found, judge)
    if names and not data.dry_run:
        refused |= await act(names)
        done = [name for name in names if name not in refused]
        subject = done[0] if len(done) == 1 else f"{len(done):,} checks"
        await audited(request, action, subject, details)
    items = [ActionResult(name, name not in refused, refused.get(name, "")) for name in found]
    return ActionResults(
        count=len(items),
        done=sum(one.done for one in items),
        dry_run=data.dry_run,
        items=items[:DRY] if data.dry_run else items,
    )


def _read(field: str, read: Callable[[], T]) -> T:
    with RefusedField(field):
        return read()


ROUTES = Router(
    "/",
    tags=["Checks"],
    dependencies={"wanted": Provide(wanted_of)},
    route_handlers=[
        *(checks, columns, live, acknowledge, plan, end),
        *(disable, enable, try_notifications, configure),
    ],
)
