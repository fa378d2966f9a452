"""Endpoints for people who edit an event: what it can be made of, and when it would run."""

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody

from watchbell.errors import Refused
from watchbell.fleet import groups as fleet_groups
from watchbell.fleet import permissions, presence, servers
from watchbell.jobs import parameters, timetable, validation, workflow_drafts
from watchbell.jobs.model import Algorithm, Event
from watchbell.web.access import needs
from watchbell.web.jobs import event_view
from watchbell.web.jobs.event_shapes import (
    AlgorithmShown,
    DraftAsked,
    DraftChecked,
    DraftProblem,
    Options,
    TargetShown,
    TimingsAsked,
    TimingsPreview,
)
from watchbell.web.jobs.request_checks import catalogue_of, timezone_of
from watchbell.web.problems import FieldError
from watchbell.web.services import Asked, actor_of, services_of

ALGORITHM_WORDS: dict[Algorithm, str] = {
    "random": "A random server",
    "round_robin": "Each server in turn",
    "least_cpu": "The server with the least CPU usage",
    "least_mem": "The server with the least memory in use",
    "prefer_first": "The first server by name, if it has a free slot",
    "prefer_last": "The last server by name, if it has a free slot",
    "fewest_jobs": "The server with the fewest jobs",
}


@get("/events/options", opt=needs("read"))
async def options(request: Asked) -> Options:
    """List what an event can be made of: categories, plugins, targets and so on."""
    services, catalogue = services_of(request), await catalogue_of(request)
    categories = sorted(catalogue.categories.values(), key=lambda one: one.sort_order)
    return Options(
        categories=[parameters.masked_category(one) for one in categories],
        plugins=[
            parameters.without_secrets(one)
            for one in catalogue.plugins_of("event")
            if one.type == "event"
        ],
        channels=list(catalogue.channels.values()),
        tags=list(catalogue.tags.values()),
        targets=await _targets(request),
        algorithms=[AlgorithmShown(*pair) for pair in ALGORITHM_WORDS.items()],
        timezone=services.settings.jobs.timezone,
    )


async def _targets(request: Asked) -> list[TargetShown]:
    services = services_of(request)
    known, present = await servers.every(services.store), await presence.read(services.store)
    down_after = services.settings.jobs.down_after
    online = {one.id for one in known if present.is_online(one.id, down_after)}
    groups = [
        TargetShown(
            id=group.id,
            title=group.title,
            kind="group",
            online=any(group.id in one.groups and one.id in online for one in known),
            servers=sum(group.id in one.groups for one in known),
        )
        for group in await fleet_groups.every(services.store)
    ]
    return groups + [
        TargetShown(id=one.id, title=servers.label(one), kind="server", online=one.id in online)
        for one in permissions.readable(actor_of(request), known)
    ]


@post("/events/preview", status_code=200, opt=needs("read"))
async def preview(request: Asked, data: JSONBody[TimingsAsked]) -> TimingsPreview:
    """Describe timings, and list the next ten runs. Errors name the timing and its field."""
    now, zone = services_of(request).clock.now(), timezone_of(request)
    draft = {"id": "preview", "title": "preview", "timings": data.timings}
    try:
        event = validation.read("event", draft)
    except Refused as error:
        return TimingsPreview(words="", next=[], errors=[FieldError(error.field, error.reason)])
    assert isinstance(event, Event)
    times = timetable.of(event.timings, zone)
    return TimingsPreview(words=times.describes(), next=event_view.upcoming(times, zone, now))


@post("/events/check", status_code=200, opt=needs("read"))
async def check(request: Asked, data: JSONBody[DraftAsked]) -> DraftChecked:
    """List all that is wrong with a workflow that is being edited. Nothing is saved."""
    found = workflow_drafts.problems(
        data.id, data.workflow, data.timings, await catalogue_of(request)
    )
    return DraftChecked([DraftProblem(**msgspec.structs.asdict(one)) for one in found])


ROUTES = Router("/", tags=["Events"], route_handlers=[options, preview, check])
