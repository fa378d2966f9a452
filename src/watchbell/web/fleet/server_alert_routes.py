"""Endpoints for alerts of servers, active and past, and for snoozes."""

from typing import Annotated

import msgspec
from litestar import Router, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.errors import Refused
from watchbell.fleet import permissions
from watchbell.fleet.model import AlertRecord
from watchbell.fleet.monitoring import alerts, snoozes
from watchbell.fleet.monitoring.alerts import Query
from watchbell.jobs import definitions
from watchbell.jobs.decide import alert_actions
from watchbell.jobs.model import AlertDef
from watchbell.web.access import needs
from watchbell.web.fleet.server_alert_shapes import (
    ServerAlertRow,
    ServerAlertShown,
    ServerAlertsPage,
    Snooze,
    SnoozeEnd,
    SnoozeShown,
)
from watchbell.web.listing import Limit
from watchbell.web.services import Asked, actor_of, audited, services_of

Id = Annotated[str, PathParameter(max_length=64, description="An alert's id.")]
Ids = list[str] | None


@get("/server-alerts", opt=needs("read"))
async def list_alerts(
    request: Asked,
    wanted: Annotated[
        Ids, QueryParameter(name="definition", max_items=100, description="Of these definitions.")
    ] = None,
    servers: Annotated[
        Ids, QueryParameter(name="server", max_items=100, description="Of these servers.")
    ] = None,
    groups: Annotated[
        Ids, QueryParameter(name="group", max_items=100, description="Of servers of these groups.")
    ] = None,
    active: Annotated[
        bool | None, QueryParameter(description="Only those that are active, or that are not.")
    ] = None,
    since: Annotated[
        int | None, QueryParameter(ge=0, le=1 << 40, description="Became active then, or later.")
    ] = None,
    until: Annotated[
        int | None, QueryParameter(ge=0, le=1 << 40, description="Became active before then.")
    ] = None,
    text: Annotated[
        str, QueryParameter(max_length=200, description="Words of title, message or hostname.")
    ] = "",
    offset: Annotated[int, QueryParameter(ge=0, le=100_000, description="How many to skip.")] = 0,
    limit: Limit = 50,
) -> ServerAlertsPage:
    """List alerts of servers, the newest first."""
    services = services_of(request)
    query = Query(
        alerts=tuple(wanted or ()),
        servers=tuple(servers or ()),
        groups=tuple(groups or ()),
        active=active,
        since=since,
        until=until,
        text=text,
        readable=permissions.readable_groups(actor_of(request)),
    )
    found = await alerts.search(services.store, query, offset, limit)
    now = services.clock.now()
    return ServerAlertsPage(items=[_row(one, now) for one in found.alerts], count=found.count)


def _row(one: AlertRecord, now: float) -> ServerAlertRow:
    return ServerAlertRow(
        id=one.id,
        state=alerts.state_of(one, now),
        definition=one.alert,
        title=one.title,
        server=one.server,
        hostname=one.hostname,
        groups=one.groups,
        check=f"{one.hostname}:{one.alert}",
        date=one.date,
        modified=one.modified,
        cleared=one.cleared or None,
        message=one.message,
        value=one.value,
        notified=one.notified,
    )


async def _readable(request: Asked, id_: str) -> AlertRecord:
    found = await alerts.get(services_of(request).store, id_)
    groups = permissions.readable_groups(actor_of(request))
    if groups is not None and groups.isdisjoint(found.groups):
        raise Refused("you have no access to the groups of this server", code="forbidden")
    return found


@get("/server-alerts/{id:str}", opt=needs("read"))
async def one_alert(request: Asked, id: Id) -> ServerAlertShown:  # noqa: A002
    """Get an alert of a server, with the reasons and what was done."""
    found = await _readable(request, id)
    return ServerAlertShown(
        row=_row(found, services_of(request).clock.now()),
        expression=found.exp,
        count=found.count,
        reason=found.reason,
        clear_reason=found.clear_reason,
        jobs=found.jobs,
        actions=[msgspec.to_builtins(one) for one in alert_actions.done(found)],
    )


@delete("/server-alerts/{id:str}", opt=needs("delete_alerts"))
async def delete_alert(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete an alert from the history. One that is active is refused."""
    found = await _readable(request, id)
    permissions.check_alert(actor_of(request), "delete_alerts", found)
    await alerts.delete(services_of(request).store, id)
    await audited(request, "server_alert.delete", found.id, found.title)


@get("/server-alerts/snoozes", opt=needs("read"))
async def list_snoozes(request: Asked) -> list[SnoozeShown]:
    """List what is snoozed: alerts of which nobody is notified for a while."""
    services = services_of(request)
    found, now = (await snoozes.read(services.store)).found, services.clock.now()
    return [
        SnoozeShown(
            definition="" if name == snoozes.ALL else name, until=one.until, by=one.by, at=one.at
        )
        for name, one in sorted(found.items())
        if one.until > now
    ]


@post("/server-alerts/snooze", status_code=200, opt=needs("operate"))
async def snooze(request: Asked, data: JSONBody[Snooze]) -> SnoozeShown:
    """Notify nobody of alerts for a while: of one definition, or of all. Those that are still
    active at the end are reported then."""
    services, name = services_of(request), data.definition or snoozes.ALL
    await _check_snooze(request, data.definition)
    by = actor_of(request).display_name
    now = services.clock.now()
    made = await snoozes.begin(services.store, name, data.seconds, by, now)
    await audited(request, "server_alert.snooze", name, f"{data.seconds:g} seconds")
    return SnoozeShown(definition=data.definition, until=made.until, by=made.by, at=made.at)


async def _check_snooze(request: Asked, definition: str) -> None:
    """Raises NotFound and Refused."""
    groups: tuple[str, ...] = ()
    if definition:
        found = await definitions.get(services_of(request).store, "alert", definition)
        groups = found.groups if isinstance(found, AlertDef) else ()
    permissions.check_snooze(actor_of(request), groups)


@post("/server-alerts/snooze/end", status_code=204, opt=needs("operate"))
async def end_snooze(request: Asked, data: JSONBody[SnoozeEnd]) -> None:
    """End a snooze now."""
    await _check_snooze(request, data.definition)
    name = data.definition or snoozes.ALL
    if await snoozes.end(services_of(request).store, name):
        await audited(request, "server_alert.wake", name)


ROUTES = Router(
    "/",
    tags=["Server alerts"],
    route_handlers=[list_alerts, one_alert, delete_alert, list_snoozes, snooze, end_snooze],
)
