"""Endpoints for events: lists, definitions, and actions on them."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.actors import Privilege, Subject, may
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import groups as fleet_groups
from watchbell.fleet import presence, servers
from watchbell.fleet.model import Server
from watchbell.jobs import (
    definitions,
    event_overview,
    left_out_runs,
    parameters,
    permissions,
    revisions,
    run_event,
    timetable,
    validation,
)
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.decide.launch import obstacle
from watchbell.jobs.event_overview import EventFilter, Sort
from watchbell.jobs.model import Action, Algorithm, Event
from watchbell.jobs.permissions import ReadAccess
from watchbell.jobs.revisions import Revision
from watchbell.web.access import needs
from watchbell.web.jobs import event_view, revision_view
from watchbell.web.jobs.definition_routes import revision_of
from watchbell.web.jobs.event_shapes import (
    AlgorithmShown,
    BulkAsked,
    BulkDone,
    BulkItem,
    EventPage,
    EventShown,
    Launched,
    Options,
    RevisionShown,
    RunAsked,
    SavedEvent,
    TargetShown,
    TimingsAsked,
    TimingsPreview,
)
from watchbell.web.problems import FieldError, HttpProblem, wrong_cursor
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, IfMatch

ALGORITHM_WORDS: dict[Algorithm, str] = {
    "random": "A random server",
    "round_robin": "Each server in turn",
    "least_cpu": "The server with the least CPU usage",
    "least_mem": "The server with the least memory in use",
    "prefer_first": "The first server by name, if it has a free slot",
    "prefer_last": "The last server by name, if it has a free slot",
    "fewest_jobs": "The server with the fewest jobs",
}

Id = Annotated[str, PathParameter(min_length=1, max_length=100, description="An event's id.")]
Text = Annotated[
    str,
    QueryParameter(
        max_length=500, description="Words that must all be in the title, the id or the notes."
    ),
]
Only = Annotated[str, QueryParameter(max_length=100, description="Only events with this id here.")]
Yes = Annotated[
    bool | None, QueryParameter(description="Only events for which this is true, or false.")
]
By = Annotated[Sort, QueryParameter(description="Sort by title, last run or last change.")]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]
Cursor = Annotated[str, QueryParameter(max_length=2_000, description="`next` of the page before.")]
Number = Annotated[int, PathParameter(ge=1, le=1 << 40, description="The number of a revision.")]


def timezone_of(request: Asked) -> str:
    return services_of(request).settings.jobs.timezone


async def catalogue_of(request: Asked) -> Catalogue:
    return await services_of(request).definitions.catalogue()


async def check_access(
    request: Asked, privilege: Privilege, category: str, targets: Sequence[str]
) -> None:
    """Refuses what the actor's categories and groups do not allow."""
    about = await permissions.subject_of(services_of(request).store, category, targets)
    permission = may(actor_of(request), privilege, about)
    if not permission:
        raise HttpProblem(403, permission.reason, code="forbidden")


async def read_access_of(request: Asked) -> ReadAccess:
    return ReadAccess(actor_of(request), await _servers(request))


async def _servers(request: Asked) -> dict[str, Server]:
    return {one.id: one for one in await servers.every(services_of(request).store)}


@get("/events", opt=needs("read"))
async def list_events(
    request: Asked,
    text: Text = "",
    category: Only = "",
    plugin: Only = "",
    target: Only = "",
    tag: Only = "",
    enabled: Yes = None,
    failing: Yes = None,
    running: Yes = None,
    invalid: Yes = None,
    sort: By = "title",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> EventPage:
    """List events with their next and last runs."""
    services = services_of(request)
    catalogue, seen = await services.definitions.catalogue(), await services.definitions.overview()
    access = await read_access_of(request)
    events = [event for event in catalogue.events.values() if access.allows(event)]
    counts = event_view.counts(events, catalogue, seen)
    if invalid:
        spoiled = [
            event_view.spoiled(name, reason)
            for (kind, name), reason in sorted(catalogue.invalid.items())
            if kind == "event"
        ]
        return EventPage(items=spoiled[:limit], total=len(spoiled), counts=counts)
    wanted = EventFilter(
        text=text,
        category=category,
        plugin=plugin,
        target=target,
        tag=tag,
        enabled=enabled,
        failing=failing,
        running=running,
    )
    found = event_overview.ordered(event_overview.filtered(events, wanted, seen), sort, seen)
    first = _after(found, cursor) if cursor else 0
    chosen = found[first : first + limit]
    following = _cursor(chosen[-1], first + limit) if first + limit < len(found) else None
    return EventPage(
        items=event_view.rows(chosen, seen, timezone_of(request), services.clock.now()),
        next=following,
        total=len(found),
        counts=counts,
    )


def _cursor(last: Event, place: int) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((last.id, place))).decode()


def _after(found: Sequence[Event], cursor: str) -> int:
    """The place after the event that the cursor names; its old place if that is gone."""
    try:
        id, place = msgspec.json.decode(  # noqa: A001
            base64.urlsafe_b64decode(cursor.encode()), type=tuple[str, int]
        )
    except (binascii.Error, UnicodeError, msgspec.MsgspecError):
        raise wrong_cursor() from None
    for at, event in enumerate(found):
        if event.id == id:
            return at + 1
    return min(max(place, 0), len(found))


@get("/events/options", opt=needs("read"))
async def options(request: Asked) -> Options:
    """List what an event can be made of: categories, plugins, targets and so on."""
    services, catalogue = services_of(request), await catalogue_of(request)
    categories = sorted(catalogue.categories.values(), key=lambda one: one.sort_order)
    return Options(
        categories=[parameters.masked_category(one) for one in categories],
        plugins=[
            parameters.without_secrets(one)
            for one in catalogue.plugins.values()
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
        for one in known
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
    words = timetable.of(event.timings, zone).describes()
    return TimingsPreview(words=words, next=event_view.fires(event.timings, zone, now))


@post("/events", opt=needs("create_events"))
async def create_event(request: Asked, data: JSONBody[dict[str, Any]]) -> SavedEvent:
    """Add an event. It takes the document's properties; the id is made if there is none."""
    services = services_of(request)
    draft = _event(validation.read("event", {"id": "new", **data}))
    await check_access(request, "create_events", draft.category, draft.targets)
    await _check_actions(request, draft.actions)
    made = await definitions.create(
        services.store, "event", data, actor_of(request), services.clock.now()
    )
    return await _saved(request, _event(made), "events.create")


@get("/events/{id:str}", opt=needs("read"))
async def one_event(request: Asked, id: Id) -> EventShown:  # noqa: A002
    """Get an event: all its properties, how it is doing, and the next runs."""
    services, zone = services_of(request), timezone_of(request)
    catalogue, seen = await services.definitions.catalogue(), await services.definitions.overview()
    await services.definitions.changed("event", id)
    event = catalogue.events.get(id)
    if event is None:
        if problem := catalogue.invalid.get(("event", id)):
            raise HttpProblem(409, f"another program has spoiled this event: {problem}")
        raise NotFound(f"there is no event {id!r}")
    await check_access(request, "read", event.category, event.targets)
    now = services.clock.now()
    masked = not may(actor_of(request), "edit_events", Subject(event.category))
    return EventShown(
        event=event_view.whole(event, catalogue.plugins.get(event.plugin), masked=masked),
        is_masked=masked,
        row=event_view.row(event, seen, zone, now),
        next=event_view.fires(event.timings, zone, now) if event.enabled else [],
        statistics=event_view.statistics(seen.state(id)),
        obstacle=obstacle(catalogue, event),
        left_out=event_view.left_out(await left_out_runs.latest(services.store, id)),
    )


@put("/events/{id:str}", opt=needs("edit_events"), responses=STALE)
async def replace_event(
    request: Asked,
    id: Id,  # noqa: A002
    data: JSONBody[dict[str, Any]],
    if_match: IfMatch = "",
) -> SavedEvent:
    """Change properties of an event. Those that are not given stay as they are. Jobs in progress
    are not affected."""
    services = services_of(request)
    old = _event(await definitions.get(services.store, "event", id))
    await check_access(request, "edit_events", old.category, old.targets)
    draft = _event(validation.read("event", {**msgspec.to_builtins(old), **data}, current=old))
    await check_access(request, "edit_events", draft.category, draft.targets)
    await _check_actions(request, [one for one in draft.actions if one not in old.actions])
    revision = revision_of(if_match)
    try:
        made = await definitions.update(
            services.store, "event", id, data, actor_of(request), services.clock.now(), revision
        )
    except Changed as error:
        raise HttpProblem(412, str(error)) from None
    return await _saved(request, _event(made), "events.update")


async def _check_actions(request: Asked, added: Sequence[Action]) -> None:
    catalogue, known = await catalogue_of(request), await _servers(request)
    permissions.check_actions(actor_of(request), added, catalogue.events, known)


def _event(record: object) -> Event:
    assert isinstance(record, Event)
    return record


async def _saved(request: Asked, event: Event, action: str) -> SavedEvent:
    services, zone = services_of(request), timezone_of(request)
    await services.definitions.changed("event", event.id)
    await audited(request, action, event.id, event.title)
    times = timetable.of(event.timings, zone)
    return SavedEvent(
        id=event.id,
        revision=event.revision,
        words=times.describes(),
        next=times.next_after(services.clock.now()) if event.enabled else None,
    )


@delete("/events/{id:str}", opt=needs("delete_events"))
async def delete_event(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete an event. Its finished jobs are kept."""
    await _delete(request, id)


async def _delete(request: Asked, id: str) -> None:  # noqa: A002
    services = services_of(request)
    await _check_event(request, "delete_events", id)
    await definitions.remove(services.store, "event", id, actor_of(request), services.clock.now())
    await services.definitions.changed("event", id)
    await audited(request, "events.delete", id)


async def _check_event(request: Asked, privilege: Privilege, id: str) -> None:  # noqa: A002
    """A spoiled event belongs to no category."""
    try:
        event = _event(await definitions.get(services_of(request).store, "event", id))
    except Refused:
        return
    await check_access(request, privilege, event.category, event.targets)


@post("/events/{id:str}/enable", status_code=200, opt=needs("edit_events"))
async def enable(request: Asked, id: Id) -> SavedEvent:  # noqa: A002
    """Enable an event."""
    return await _enable(request, id, enabled=True)


@post("/events/{id:str}/disable", status_code=200, opt=needs("edit_events"))
async def disable(request: Asked, id: Id) -> SavedEvent:  # noqa: A002
    """Disable an event: it launches no jobs until it is enabled again."""
    return await _enable(request, id, enabled=False)


async def _enable(request: Asked, id: str, *, enabled: bool) -> SavedEvent:  # noqa: A002
    services = services_of(request)
    await _check_event(request, "edit_events", id)
    made = await definitions.update(
        services.store,
        "event",
        id,
        {"enabled": enabled},
        actor_of(request),
        services.clock.now(),
    )
    return await _saved(request, _event(made), "events.enable" if enabled else "events.disable")


@post("/events/{id:str}/run", opt=needs("run_jobs"))
async def run(request: Asked, id: Id, data: JSONBody[RunAsked]) -> Launched:  # noqa: A002
    """Launch a job of an event now. What is not given is taken from the event."""
    return Launched(await _run(request, id, data))


async def _run(request: Asked, id: str, asked: RunAsked) -> str:  # noqa: A002
    services, catalogue = services_of(request), await catalogue_of(request)
    await services.definitions.changed("event", id)
    given = msgspec.to_builtins(asked)
    job = await run_event.run(
        services.store,
        catalogue,
        actor_of(request),
        {"id": id, **given},
        services.clock.now(),
        timezone=timezone_of(request),
        defaults=services.job_defaults,
    )
    await audited(request, "jobs.run", id, job.id)
    return job.id


@post("/events/bulk", status_code=200, opt=needs("run_jobs"))
async def bulk(request: Asked, data: JSONBody[BulkAsked]) -> BulkDone:
    """Enable, disable, delete or run several events. Says for each whether it was done."""
    privilege: dict[str, Privilege] = {
        "enable": "edit_events",
        "disable": "edit_events",
        "delete": "delete_events",
        "run": "run_jobs",
    }
    permission = may(actor_of(request), privilege[data.action])
    if not permission:
        raise HttpProblem(403, permission.reason, code="forbidden")
    return BulkDone([await _one_of_many(request, one, data.action) for one in data.ids])


async def _one_of_many(request: Asked, id: str, action: str) -> BulkItem:  # noqa: A002
    try:
        if action == "run":
            return BulkItem(id=id, job=await _run(request, id, RunAsked()))
        if action == "delete":
            await _delete(request, id)
        else:
            await _enable(request, id, enabled=action == "enable")
    except (Refused, NotFound, Changed) as error:
        return BulkItem(id=id, problem=str(error))
    except HttpProblem as error:
        return BulkItem(id=id, problem=error.detail)
    return BulkItem(id=id)


@get("/events/{id:str}/revisions", opt=needs("read"))
async def list_revisions(request: Asked, id: Id) -> list[RevisionShown]:  # noqa: A002
    """List the revisions of an event, newest first, each with what it changed."""
    actor, found = actor_of(request), await revisions.of(services_of(request).store, "event", id)
    subjects = await _subjects(request, found)
    for about in subjects:
        permissions.check(actor, "read", about)
    masked = not all(may(actor, "edit_events", about) for about in subjects)
    return revision_view.shown(found, hidden=("params", "timings", "actions") if masked else ())


async def _subjects(request: Asked, found: Sequence[Revision]) -> set[Subject]:
    """What an event was about in its revisions: it may have moved from another category."""
    known = await _servers(request)
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
    made = await revisions.restore(
        services.store, "event", id, number, actor_of(request), services.clock.now()
    )
    return await _saved(request, _event(made), "events.restore")


ROUTES = Router(
    "/",
    tags=["Events"],
    route_handlers=[
        *(list_events, options, preview, create_event, one_event, replace_event, delete_event),
        *(enable, disable, run, bulk, list_revisions, restore),
    ],
)
