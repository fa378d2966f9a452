"""Handlers for categories, channels, monitors and other definitions. They are alike, so they are
made alike."""

from collections.abc import Mapping
from typing import Any

from watchbell.actors import Kind, Privilege, Subject, may, privilege_to
from watchbell.errors import Refused
from watchbell.fleet.model import Monitor
from watchbell.jobs import definition_removal, definitions, permissions
from watchbell.jobs.model import Category
from watchbell.jobs.validation import Record
from watchbell.web.app_api import records
from watchbell.web.app_api.calls import Answer, Call, Group

PLURALS: dict[Kind, str] = {
    "category": "categories",
    "channel": "channels",
    "plugin": "plugins",
    "tag": "tags",
    "monitor": "monitors",
    "alert": "alerts",
}
_AUDITED: dict[Kind, str] = {**PLURALS, "alert": "alert-definitions"}


def _subject(kind: Kind, id: str) -> Subject:  # noqa: A002
    """Whoever is limited to categories may change those alone."""
    return Subject(category=id) if kind == "category" else Subject()


async def _check(
    call: Call,
    kind: Kind,
    privilege: Privilege,
    id: str,  # noqa: A002
    given: Mapping[str, Any],
) -> None:
    permissions.check(call.actor, privilege, _subject(kind, id))
    await permissions.check_runs(call.store, call.actor, given)
    if kind == "plugin":
        await permissions.check_monitor(call.store, call.actor, privilege, id, given)
    if kind == "alert":
        await permissions.check_alert(call.store, call.actor, privilege, id, given)


def _shown(call: Call, kind: Kind, record: Record) -> dict[str, Any]:
    is_masked = not may(call.actor, privilege_to("edit", kind))
    return records.definition(kind, record, is_masked=is_masked)


def _order(record: Any) -> tuple[int, str]:
    return getattr(record, "sort_order", 0), record.title.casefold()


async def _saved(call: Call, kind: Kind, id: str, verb: str) -> None:  # noqa: A002
    await call.services.definitions.changed(kind, id)
    await call.audit(f"{_AUDITED[kind]}.{verb}", id)


def _group(kind: Kind) -> Group:
    group, plural = Group(kind), PLURALS[kind]
    create, edit, remove = (privilege_to(verb, kind) for verb in ("create", "edit", "delete"))

    @group.reads(name=f"get_{plural}", takes="offset limit", gives="rows list")
    async def every(call: Call) -> Answer:
        found = sorted((await call.catalogue()).of(kind).values(), key=_order)
        return call.listed([_shown(call, kind, one) for one in found])

    @group.reads(name=f"get_{kind}", takes="id", gives=kind)
    async def one(call: Call) -> Answer:
        record = await definitions.get(call.store, kind, call.text("id"))
        return {kind: _shown(call, kind, record)}

    @group.changes(create, name=f"create_{kind}", takes="*", gives=kind)
    async def add(call: Call) -> Answer:
        given = call.record()
        await _check(call, kind, create, str(given.get("id", "")), given)
        if kind == "category" and "sort_order" not in given:
            known = (await call.catalogue()).categories.values()
            given["sort_order"] = max((one.sort_order for one in known), default=-1) + 1
        record = await definitions.create(call.store, kind, given, call.actor, call.now)
        await _saved(call, kind, record.id, "create")
        return {kind: _shown(call, kind, record)}

    @group.changes(edit, name=f"update_{kind}", takes="id *")
    async def change(call: Call) -> Answer:
        id = call.text("id")  # noqa: A001
        given = call.record()
        await _check(call, kind, edit, id, given)
        await definitions.update(call.store, kind, id, given, call.actor, call.now)
        await _saved(call, kind, id, "update")
        return {}

    @group.changes(remove, name=f"delete_{kind}", takes="id")
    async def drop(call: Call) -> Answer:
        id = call.text("id")  # noqa: A001
        await _check(call, kind, remove, id, {})
        await definition_removal.remove(call.store, kind, id, call.actor, call.now)
        await _saved(call, kind, id, "delete")
        return {}

    return group


CATEGORIES, CHANNELS, PLUGINS, TAGS, MONITORS, ALERTS = (_group(kind) for kind in PLURALS)


@CATEGORIES.changes("edit_categories", takes="items")
async def multi_update_category(call: Call) -> Answer:
    """Orders categories."""
    return await _ordered(call, "category")


@MONITORS.changes("edit_monitors", takes="items")
async def multi_update_monitor(call: Call) -> Answer:
    """Orders monitors."""
    return await _ordered(call, "monitor")


async def _ordered(call: Call, kind: Kind) -> Answer:
    for id, order in sort_orders(call):  # noqa: A001
        permissions.check(call.actor, privilege_to("edit", kind), _subject(kind, id))
        record = await definitions.get(call.store, kind, id)
        assert isinstance(record, Category | Monitor)
        if record.sort_order != order:
            changes = {"sort_order": order}
            await definitions.update(call.store, kind, id, changes, call.actor, call.now)
            await _saved(call, kind, id, "update")
    return {}


def sort_orders(call: Call) -> list[tuple[str, int]]:
    """The ids and places of a call that orders records."""
    found: list[tuple[str, int]] = []
    for place, item in enumerate(call.objects("items")):
        id, order = item.get("id"), item.get("sort_order")  # noqa: A001
        if not isinstance(id, str) or not isinstance(order, int) or isinstance(order, bool):
            raise Refused("expected an id and a sort_order", field=f"items[{place}]")
        found.append((id, order))
    return found
