"""Endpoints for events: lists, definitions, and actions on them."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.actors import Privilege, Subject, may
from watchbell.errors import Changed, NotFound, Refused
from watchbell.jobs import (
    definition_removal,
    definitions,
    event_overview,
    left_out_runs,
    run_event,
    timetable,
    validation,
)
from watchbell.jobs.decide.launch import obstacle
from watchbell.jobs.event_overview import EventFilter, Overview, Sort
from watchbell.jobs.model import Event
from watchbell.web.access import needs
from watchbell.web.jobs import event_view
from watchbell.web.jobs.event_shapes import (
    BulkAsked,
    BulkDone,
    BulkItem,
    EventPage,
    EventShown,
    Launched,
    RunAsked,
    SavedEvent,
)
from watchbell.web.jobs.request_checks import (
    catalogue_of,
    check_access,
    check_runs,
    read_access_of,
    timezone_of,
)
from watchbell.web.problems import HttpProblem, wrong_cursor
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, IfMatch, revision_of

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
By = Annotated[
    Sort, QueryParameter(description="Sort by title, next run, last run or last change.")
]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]
Cursor = Annotated[str, QueryParameter(max_length=2_000, description="`next` of the page before.")]


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
    filtered = event_overview.filtered(events, wanted, seen)
    next_runs = await _next_runs(request, seen) if sort.endswith("next") else {}
    found = event_overview.ordered(filtered, sort, seen, next_runs)
    first = _after(found, cursor) if cursor else 0
    chosen = found[first : first + limit]
    following = _cursor(chosen[-1], first + limit) if first + limit < len(found) else None
    return EventPage(
        items=event_view.rows(chosen, seen, timezone_of(request), services.clock.now()),
        next=following,
        total=len(found),
        counts=counts,
    )


async def _next_runs(request: Asked, seen: Overview) -> dict[str, int]:
    services, catalogue = services_of(request), await catalogue_of(request)
    events, now = [*catalogue.events.values()], services.clock.now()
    return await services.definitions.next_runs.of(events, seen.matches, now)


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


@post("/events", opt=needs("create_events"))
async def create_event(request: Asked, data: JSONBody[dict[str, Any]]) -> SavedEvent:
    """Add an event. It takes the document's properties; the id is made if there is none."""
    services = services_of(request)
    draft = event_record(validation.read("event", {"id": "new", **data}))
    await check_access(request, "create_events", draft.category, draft.targets)
    await check_runs(request, draft)
    made = await definitions.create(
        services.store, "event", data, actor_of(request), services.clock.now()
    )
    return await saved(request, event_record(made), "events.create")


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
    times, counted = timetable.of(event.timings, zone), seen.matches.get(id, 0)
    following = event_view.upcoming(times, zone, now, counted=counted)
    return EventShown(
        event=event_view.whole(event, catalogue, masked=masked),
        is_masked=masked,
        row=event_view.row(event, seen, zone, now),
        next=following if event.enabled else [],
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
    old = event_record(await definitions.get(services.store, "event", id))
    await check_access(request, "edit_events", old.category, old.targets)
    draft = event_record(
        validation.read("event", {**msgspec.to_builtins(old), **data}, current=old)
    )
    await check_access(request, "edit_events", draft.category, draft.targets)
    await check_runs(request, draft, old)
    revision = revision_of(if_match)
    try:
        made = await _update(request, id, data, old.revision if revision is None else revision)
    except Changed as error:
        raise HttpProblem(409 if revision is None else 412, str(error)) from None
    return await saved(request, made, "events.update")


async def _update(request: Asked, id: str, changes: Mapping[str, Any], revision: int) -> Event:  # noqa: A002
    """Changes the revision for which access was checked, and no other: it may have moved to another
    category meanwhile. Raises Changed."""
    services = services_of(request)
    now = services.clock.now()
    return event_record(
        await definitions.update(
            services.store, "event", id, changes, actor_of(request), now, revision
        )
    )


def event_record(record: object) -> Event:
    assert isinstance(record, Event)
    return record


async def saved(request: Asked, event: Event, action: str) -> SavedEvent:
    services, zone = services_of(request), timezone_of(request)
    await services.definitions.changed("event", event.id)
    await audited(request, action, event.id, event.title)
    row = event_view.row(event, await services.definitions.overview(), zone, services.clock.now())
    return SavedEvent(
        id=event.id,
        revision=event.revision,
        words=row.words,
        next=row.next[0] if row.next else None,
    )


@delete("/events/{id:str}", opt=needs("delete_events"))
async def delete_event(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete an event. Its finished jobs are kept."""
    await _delete(request, id)


async def _delete(request: Asked, id: str) -> None:  # noqa: A002
    services = services_of(request)
    await _check_event(request, "delete_events", id)
    await definition_removal.remove(
        services.store, "event", id, actor_of(request), services.clock.now()
    )
    await services.definitions.changed("event", id)
    await audited(request, "events.delete", id)


async def _check_event(request: Asked, privilege: Privilege, id: str) -> None:  # noqa: A002
    """A spoiled event belongs to no category."""
    try:
        event = event_record(await definitions.get(services_of(request).store, "event", id))
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
    event = event_record(await definitions.get(services_of(request).store, "event", id))
    await check_access(request, "edit_events", event.category, event.targets)
    made = await _update(request, id, {"enabled": enabled}, event.revision)
    return await saved(request, made, "events.enable" if enabled else "events.disable")


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


ROUTES = Router(
    "/",
    tags=["Events"],
    route_handlers=[
        *(list_events, create_event, one_event, replace_event, delete_event),
        *(enable, disable, run, bulk),
    ],
)
