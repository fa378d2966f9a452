"""Endpoints that import and export events with what belongs to them."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter
from litestar.response import Stream

from watchbell.actors import KINDS, Kind, Privilege, Verb, may, privilege_to
from watchbell.jobs import exports, permissions, timetable
from watchbell.jobs.imports import cronicle, crontab, plan, portable
from watchbell.jobs.imports.found import Found
from watchbell.jobs.model import Event
from watchbell.web.access import needs
from watchbell.web.jobs.event_shapes import ImportAsked, Imported, ImportedItem, ImportNote
from watchbell.web.jobs.request_checks import timezone_of
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, audited, services_of

Ids = Annotated[
    list[str] | None,
    QueryParameter(name="id", max_items=1_000, description="Export these events alone."),
]
_MOST_BYTES = 11_000_000


@post(
    "/events/import",
    status_code=200,
    opt=needs("create_events"),
    request_max_body_size=_MOST_BYTES,
)
async def import_events(request: Asked, data: JSONBody[ImportAsked]) -> Imported:
    """Import events and what belongs to them: from a crontab, from an export of Cronicle, or from
    JSON of xyOps or of the export. Either all of them are imported or, where one can't be, none;
    with `skip`, those are left out. People who are limited to some categories or server groups
    can't import."""
    services, who = services_of(request), actor_of(request)
    _check_unlimited(request, "create_events")
    now, found = services.clock.now(), _found(data)
    planned = await plan.planned(services.store, found, now)
    items = plan.foreseen(planned, replace=data.replace)
    _check(request, items)
    if not data.dry_run:
        items = await plan.make(
            services.store, planned, who, now, replace=data.replace, skip=data.skip
        )
        for one in planned:
            if one.item.kind != "group":
                await services.definitions.changed(one.item.kind, one.id)
        number = Counter(one.outcome for one in items)
        words = f"{number['created']} created, {number['replaced']} replaced"
        await audited(request, "events.import", data.format, words)
    zone = timezone_of(request)
    notes = [ImportNote(one.subject, one.reason) for one in found.omissions]
    return Imported(items=[_shown(one, zone) for one in items], notes=notes)


def _check_unlimited(request: Asked, privilege: Privilege) -> None:
    reason = "create events one by one" if privilege == "create_events" else "read them one by one"
    permissions.check_unlimited(actor_of(request), privilege, reason)


def _found(asked: ImportAsked) -> Found:
    if asked.format == "crontab":
        return crontab.read(asked.text, has_users=asked.users, targets=asked.targets)
    return cronicle.read(asked.text) if asked.format == "cronicle" else portable.read(asked.text)


def _shown(one: plan.ImportedItem, timezone: str) -> ImportedItem:
    item, record = one.planned.item, one.planned.record
    timings = record.timings if isinstance(record, Event) else None
    return ImportedItem(
        kind=item.kind,
        id=one.planned.id,
        title=str(item.values.get("title") or one.planned.id),
        outcome=one.outcome,
        reason=one.reason,
        words="" if timings is None else timetable.of(timings, timezone).describes(),
    )


def _check(request: Asked, items: Sequence[plan.ImportedItem]) -> None:
    """Whoever imports needs the privilege to create or edit each of the items."""
    kinds: dict[str, Kind] = {kind: kind for kind in KINDS}
    verbs: dict[str, Verb] = {"created": "create", "replaced": "edit"}
    for one in items:
        if one.outcome not in verbs:
            continue
        item = one.planned.item
        permission = may(actor_of(request), privilege_to(verbs[one.outcome], kinds[item.kind]))
        if not permission:
            raise HttpProblem(403, f"{item.name}: {permission.reason}", code="forbidden")


@get("/events/export", opt=needs("bulk_export"), media_type="application/octet-stream")
async def export_events(request: Asked, ids: Ids = None) -> Stream:
    """Export all events with categories, plugins, channels, tags and groups, or some events alone.
    Values of secret
    parameters and variables of plugins are left out. People who are limited to some categories or
    server groups can't export."""
    _check_unlimited(request, "bulk_export")
    content = await exports.export(services_of(request).store, events=ids)
    await audited(request, "events.export", "", f"{len(ids)} events" if ids else "")
    headers = {"Content-Disposition": 'attachment; filename="events.json"'}
    return Stream(iter([content]), headers=headers, media_type="application/json")


ROUTES = Router("/", tags=["Events"], route_handlers=[import_events, export_events])
