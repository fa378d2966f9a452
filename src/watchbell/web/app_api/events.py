"""Handlers for events."""

from typing import Any

import msgspec

from watchbell.errors import NotFound, Refused
from watchbell.jobs import (
    aborts,
    cursors,
    definition_removal,
    definitions,
    history,
    job_records,
    permissions,
    revisions,
    validation,
)
from watchbell.jobs.history import Query
from watchbell.jobs.model import Event, Job
from watchbell.web.app_api import records, revision_rows
from watchbell.web.app_api.calls import Answer, Call, CallerAccess, Group
from watchbell.web.app_api.job_reading import shown_jobs

EVENTS = Group("event")
_OWN = ("delete_jobs", "update_state")
_PLAIN = ("", "event")
"""Types of events that are no workflows; ours have no type."""
_DELETED_AT_ONCE = 500


def _event(record: object) -> Event:
    assert isinstance(record, Event)
    return record


def _given(call: Call) -> dict[str, Any]:
    given = call.record(*_OWN)
    if given.get("type") in _PLAIN:
        del given["type"]
    return given


async def _shown(call: Call, event: Event, access: CallerAccess) -> dict[str, Any]:
    catalogue = await call.catalogue()
    may_edit = access.allows("edit_events", event.category, event.targets)
    return records.event(event, catalogue, is_masked=not may_edit)


async def visible_event(call: Call, id: str, access: CallerAccess) -> Event:  # noqa: A002
    event = _event(await definitions.get(call.store, "event", id))
    access.check("read", event.category, event.targets)
    return event


@EVENTS.reads(takes="offset limit", gives="rows list")
async def get_events(call: Call) -> Answer:
    catalogue, access = await call.catalogue(), await call.access()
    found = [
        one for one in catalogue.events.values() if access.allows("read", one.category, one.targets)
    ]
    page = call.listed(sorted(found, key=lambda one: (one.title.casefold(), one.id)))
    return {**page, "rows": [await _shown(call, one, access) for one in page["rows"]]}


@EVENTS.reads(takes="id", gives="event jobs queued")
async def get_event(call: Call) -> Answer:
    access = await call.access()
    event = await visible_event(call, call.text("id"), access)
    live = [one for one in await job_records.live(call.store) if one.event == event.id]
    queued = [one for one in live if one.state in ("queued", "ready")]
    running = [one for one in live if one not in queued]
    return {
        "event": await _shown(call, event, access),
        "jobs": await shown_jobs(call, running),
        "queued": len(queued),
    }


@EVENTS.reads(takes="id offset limit sort_by sort_dir", gives="rows list")
async def get_event_history(call: Call) -> Answer:
    access, id = await call.access(), call.text("id")  # noqa: A001
    found = await revisions.of(call.store, "event", id)
    abouts = [  # it may have moved from another category
        (one.record.get("category", "general"), one.record.get("targets", ()))
        for one in found
        if one.record
    ]
    for about in abouts:
        access.check("read", *about)
    may_edit = all(access.allows("edit_events", *about) for about in abouts)
    rows = revision_rows.rows("event", id, found, is_masked=not may_edit)
    if call.number("sort_dir", -1) > 0:
        rows.reverse()
    return call.listed(rows, 1)


@EVENTS.changes("create_events", takes="*", gives="event")
async def create_event(call: Call) -> Answer:
    given, access = _given(call), await call.access()
    draft = _event(validation.read("event", {"id": "new", **given}))
    access.check("create_events", draft.category, draft.targets)
    await _check_runs(call, draft, access)
    made = _event(await definitions.create(call.store, "event", given, call.actor, call.now))
    await _saved(call, made, "events.create")
    return {"event": await _shown(call, made, access)}


@EVENTS.changes("edit_events", takes="id update_state *")
async def update_event(call: Call) -> Answer:
    id, given, access = call.text("id"), _given(call), await call.access()  # noqa: A001
    old = _event(await definitions.get(call.store, "event", id))
    access.check("edit_events", old.category, old.targets)
    draft = _event(validation.read("event", {**msgspec.to_builtins(old), **given}, current=old))
    access.check("edit_events", draft.category, draft.targets)
    await _check_runs(call, draft, access, old)
    made = await definitions.update(
        call.store, "event", id, given, call.actor, call.now, old.revision
    )
    await _move_cursor(call, id)
    await _saved(call, _event(made), "events.update")
    return {}


async def _check_runs(
    call: Call, event: Event, access: CallerAccess, before: Event | None = None
) -> None:
    events = (await call.catalogue()).events
    actions = [one for one in event.actions if before is None or one not in before.actions]
    permissions.check_actions(call.actor, actions, events, access.servers)
    permissions.check_graph(call.actor, event, before, events, access.servers)


async def _move_cursor(call: Call, event: str) -> None:
    """From where an event with `catchup` goes on: the only state that can be set."""
    state = call.value("update_state")
    if state is None:
        return
    if not isinstance(state, dict) or set(state) - {"cursor"}:
        raise Refused("only `cursor` can be set", field="update_state")
    cursor = state.get("cursor")
    if not isinstance(cursor, int) or isinstance(cursor, bool) or not 0 <= cursor <= call.now:
        raise Refused("expected a time in the past", field="update_state.cursor")
    await cursors.move(call.store, event, cursor)


async def _saved(call: Call, event: Event, action: str) -> None:
    await call.services.definitions.changed("event", event.id)
    await call.audit(action, event.id, event.title)


@EVENTS.changes("delete_events", takes="id delete_jobs")
async def delete_event(call: Call) -> Answer:
    id, access = call.text("id"), await call.access()  # noqa: A001
    event = _event(await definitions.get(call.store, "event", id))
    access.check("delete_events", event.category, event.targets)
    with_jobs = call.yes("delete_jobs")
    if with_jobs:
        access.check("delete_jobs", event.category, event.targets)
    if any(one.event == id for one in await job_records.live(call.store)):
        raise Refused(f"jobs of {event.title} are in progress; abort them first")
    await definition_removal.check_unused(call.store, "event", id)
    if with_jobs:
        await _delete_jobs(call, id)
    await definition_removal.remove(call.store, "event", id, call.actor, call.now)
    await call.services.definitions.changed("event", id)
    await call.audit("events.delete", id, "with its jobs" if with_jobs else "")
    return {}


async def _delete_jobs(call: Call, event: str) -> None:
    while found := await _some_jobs(call, event):
        ids = [one.id for one in found]
        if not await history.delete(call.store, call.services.files(), ids):
            return


async def _some_jobs(call: Call, event: str) -> list[Job]:
    return (await history.search(call.store, Query(events=(event,)), _DELETED_AT_ONCE)).jobs


@EVENTS.changes("abort_jobs", takes="id", gives="count")
async def flush_event_queue(call: Call) -> Answer:
    id, access = call.text("id"), await call.access()  # noqa: A001
    event = (await call.catalogue()).events.get(id)
    if event is None:
        raise NotFound(f"there is no event {id!r}")
    access.check("abort_jobs", event.category, event.targets)
    count = await aborts.flush_queue(call.store, id, call.actor, now=call.now)
    await call.audit("jobs.flush", id, str(count))
    return {"count": count}
