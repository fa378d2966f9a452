"""Properties of an event that a caller replaces for one job, and who may replace them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from watchbell.actors import Actor
from watchbell.errors import NotFound, Refused
from watchbell.fleet import servers as fleet_servers
from watchbell.jobs import definitions, permissions, validation
from watchbell.jobs.model import Event
from watchbell.store.client import Store

REPLACED = ("actions", "limits", "notes", "icon")


async def read(
    store: Store, actor: Actor, event: Event, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Those of REPLACED that are given, validated as properties of the event. Raises Refused."""
    plain = {name: given[name] for name in REPLACED if name in given}
    if not plain:
        return {}
    draft = validation.read("event", {**msgspec.to_builtins(event), **plain}, current=event)
    assert isinstance(draft, Event)
    await _check_actions(store, actor, event, draft)
    return {name: getattr(draft, name) for name in plain}


async def _check_actions(store: Store, actor: Actor, event: Event, draft: Event) -> None:
    """Whoever adds an action must be allowed to do what it does to events."""
    added = [one for one in draft.actions if one not in event.actions]
    if not added:
        return
    servers = {one.id: one for one in await fleet_servers.every(store)}
    about = permissions.subject(event.category, event.targets, servers)
    for action in added:
        if action.type in permissions.CHANGES_EVENT:
            permissions.check(actor, permissions.CHANGES_EVENT[action.type], about)
    permissions.check_actions(actor, added, await _named_events(store, event, draft), servers)


async def _named_events(store: Store, event: Event, draft: Event) -> dict[str, Event]:
    """The events that actions run. An event or channel that does not exist is refused, unless the
    event itself names it."""
    found = {event.id: event}
    accepted = {reference[1:] for reference in validation.references(event)}
    for field, kind, name in validation.references(draft):
        if name in found and kind == "event":
            continue
        try:
            record = await definitions.get(store, kind, name)
        except (NotFound, Refused):
            if (kind, name) in accepted:
                continue
            raise Refused(f"there is no {kind} {name!r}", field=field) from None
        if isinstance(record, Event):
            found[name] = record
    return found
