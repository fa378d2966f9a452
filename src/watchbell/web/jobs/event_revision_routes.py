"""Endpoints for the revisions of events."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from litestar import Router, get, post
from litestar.params import PathParameter

from watchbell.actors import Subject, may
from watchbell.jobs import permissions, revisions, validation
from watchbell.jobs.revisions import Revision
from watchbell.web.access import needs
from watchbell.web.jobs import revision_view
from watchbell.web.jobs.event_routes import Id, event_record, saved
from watchbell.web.jobs.event_shapes import RevisionShown, SavedEvent
from watchbell.web.jobs.request_checks import check_runs, servers_of
from watchbell.web.services import Asked, actor_of, services_of

Number = Annotated[int, PathParameter(ge=1, le=1 << 40, description="The number of a revision.")]


@get("/events/{id:str}/revisions", opt=needs("read"))
async def list_revisions(request: Asked, id: Id) -> list[RevisionShown]:  # noqa: A002
    """List the revisions of an event, newest first, each with what it changed."""
    actor, found = actor_of(request), await revisions.of(services_of(request).store, "event", id)
    subjects = await _subjects(request, found)
    for about in subjects:
        permissions.check(actor, "read", about)
    masked = not all(may(actor, "edit_events", about) for about in subjects)
    return revision_view.shown(
        found, hidden=("params", "timings", "actions", "workflow") if masked else ()
    )


async def _subjects(request: Asked, found: Sequence[Revision]) -> set[Subject]:
    """What an event was about in its revisions: it may have moved from another category."""
    known = await servers_of(request)
    records = [one.record for one in found if one.record]
    return {
        permissions.subject(str(one.get("category", "")), one.get("targets", ()), known)
        for one in records
    }


@post("/events/{id:str}/revisions/{number:int}/restore", status_code=200, opt=needs("edit_events"))
async def restore(request: Asked, id: Id, number: Number) -> SavedEvent:  # noqa: A002
    """Make a new revision like an earlier one. A deleted event is created again."""
    services = services_of(request)
    found = await revisions.of(services.store, "event", id)
    affected = [one for one in found if one is found[0] or one.revision == number]
    for about in await _subjects(request, affected):
        permissions.check(actor_of(request), "edit_events", about)
    for one in affected:
        if one.revision == number and one.record:
            event = event_record(validation.stored("event", msgspec.json.encode(one.record)))
            await check_runs(request, event)
    made = await revisions.restore(
        services.store, "event", id, number, actor_of(request), services.clock.now()
    )
    return await saved(request, event_record(made), "events.restore")


ROUTES = Router("/", tags=["Events"], route_handlers=[list_revisions, restore])
