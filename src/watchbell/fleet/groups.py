"""Groups of servers. Each change of a group also assigns the servers anew, in the same step."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import expressions
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import grouping, records, validation
from watchbell.fleet.model import Group, Server
from watchbell.fleet.records import Change, Fleetwide
from watchbell.store.client import Store


async def every(store: Store) -> list[Group]:
    """In the order in which people have put them."""
    found = (await records.every(store, Group)).values()
    return sorted(found, key=lambda one: (one.sort_order, one.title.lower(), one.id))


async def get(store: Store, id_: str) -> Group:
    group, _ = await records.find(store, Group, id_)
    if group is None:
        raise NotFound(f"there is no group {id_[:100]!r}")
    return group


async def matching(store: Store, expression: str) -> list[Server]:
    """The servers whose hostname it matches, by that. Raises Refused."""
    validation.check_hostname_match(expression)
    known = (await records.every(store, Server)).values()
    found = [one for one in known if expressions.matches(expression, one.hostname)]
    return sorted(found, key=lambda one: one.hostname)


async def create(
    store: Store, fields: Mapping[str, Any], username: str, now: int, id_: str = ""
) -> Group:
    id_ = id_ or ids.record_id("g", now)
    if not validation.ID.fullmatch(id_):
        raise Refused("expected at most 50 lower-case letters, digits and underscores", field="id")
    while True:
        known = await records.load(store)
        if known.group_text(id_):
            raise Refused(f"there is a group {id_!r} already", field="id")
        blank = Group(id=id_, title="", username=username, created=now, modified=now)
        group = validation.changed_group(blank, fields)
        if await _written(store, known, id_, group):
            return group


async def update(
    store: Store, id_: str, changes: Mapping[str, Any], now: int, revision: int | None = None
) -> Group:
    while True:
        known = await records.load(store)
        group = known.groups.get(id_)
        if group is None:
            raise NotFound(f"there is no group {id_[:100]!r}")
        if revision not in (None, group.revision):
            raise Changed(f"the group {group.title!r} was changed by somebody else meanwhile")
        changed = validation.changed_group(group, changes)
        changed = replace(changed, modified=now, revision=group.revision + 1)
        if await _written(store, known, id_, changed):
            return changed


async def remove(store: Store, id_: str) -> None:
    """Servers that were put into no other group by hand are assigned automatically again."""
    if id_ == grouping.MAIN:
        raise Refused("servers that match no other group are in main; it can't be deleted")
    while True:
        known = await records.load(store)
        if not known.group_text(id_):
            raise NotFound(f"there is no group {id_[:100]!r}")
        if await _written(store, known, id_, None):
            return


async def _written(store: Store, known: Fleetwide, id_: str, group: Group | None) -> bool:
    groups = {key: one for key, one in known.groups.items() if key != id_}
    if group is not None:
        groups[id_] = group
    changes = [Change(Group, id_, known.group_text(id_), group)]
    for server in known.servers.values():
        now = grouping.regrouped(server, groups)
        if now is not server:
            changes.append(Change(Server, server.id, known.server_text(server.id), now))
    published = [change.id for change in changes]
    return await records.write(
        store, changes, servers=known.server_texts, groups=known.group_texts, published=published
    )
