"""Endpoints that import and export events with what belongs to them."""

from collections.abc import Sequence

from litestar import Router, get, post
from litestar.params import JSONBody
from litestar.response import Stream

from watchbell.actors import Kind, Privilege, may, privilege_to
from watchbell.jobs import exports, permissions
from watchbell.jobs.imports import cronicle, crontab, plan, portable
from watchbell.jobs.imports.found import Found
from watchbell.jobs.imports.plan import Planned
from watchbell.web.access import needs
from watchbell.web.jobs.event_shapes import ImportAsked, Imported, ImportedEvent, ImportNote
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, audited, services_of

_MOST_BYTES = 11_000_000


@post(
    "/events/import",
    status_code=200,
    opt=needs("create_events"),
    request_max_body_size=_MOST_BYTES,
)
async def import_events(request: Asked, data: JSONBody[ImportAsked]) -> Imported:
    """Import events and what belongs to them: from a crontab, from an export of Cronicle, or from
    JSON of xyOps or of the export. Either all of them are imported or, where one can't be, none.
    People who are limited to some categories or server groups can't import."""
    services = services_of(request)
    _check_unlimited(request, "create_events")
    now, found = services.clock.now(), _found(data)
    planned = await plan.planned(services.store, found, now)
    _check(request, planned)
    notes = [ImportNote(one.subject, one.reason) for one in found.omissions]
    if data.dry_run:
        notes += [ImportNote("obstacle", one) for one in plan.obstacles(planned, replace=False)]
    else:
        made = await plan.make(services.store, planned, actor_of(request), now)
        for one in planned:
            if one.item.kind != "group":
                await services.definitions.changed(one.item.kind, one.id)
        await audited(request, "events.import", data.format, f"{len(made.created)} created")
    return Imported(events=[*_events(planned)], notes=notes)


def _check_unlimited(request: Asked, privilege: Privilege) -> None:
    reason = "create events one by one" if privilege == "create_events" else "read them one by one"
    permissions.check_unlimited(actor_of(request), privilege, reason)


def _found(asked: ImportAsked) -> Found:
    if asked.format == "crontab":
        return crontab.read(asked.text)
    return cronicle.read(asked.text) if asked.format == "cronicle" else portable.read(asked.text)


def _events(planned: Sequence[Planned]) -> list[ImportedEvent]:
    new = [one for one in planned if one.item.kind == "event" and one.state == "new"]
    return [ImportedEvent(one.id, str(one.item.values.get("title") or one.id)) for one in new]


def _check(request: Asked, planned: Sequence[Planned]) -> None:
    """Whoever imports needs the privilege to create each of the items."""
    kinds: dict[str, Kind] = {
        "group": "group",
        "category": "category",
        "plugin": "plugin",
        "tag": "tag",
        "channel": "channel",
        "event": "event",
    }
    for one in planned:
        if one.state != "new":
            continue
        privilege = privilege_to("create", kinds[one.item.kind])
        permission = may(actor_of(request), privilege)
        if not permission:
            raise HttpProblem(403, f"{one.item.name}: {permission.reason}", code="forbidden")


@get("/events/export", opt=needs("bulk_export"), media_type="application/octet-stream")
async def export_events(request: Asked) -> Stream:
    """Export all events with categories, plugins, channels, tags and groups. Values of secret
    parameters and variables of plugins are left out. People who are limited to some categories or
    server groups can't export."""
    _check_unlimited(request, "bulk_export")
    content = await exports.export(services_of(request).store)
    await audited(request, "events.export")
    headers = {"Content-Disposition": 'attachment; filename="events.json"'}
    return Stream(iter([content]), headers=headers, media_type="application/json")


ROUTES = Router("/", tags=["Events"], route_handlers=[import_events, export_events])
