"""What an import would do, and doing it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from watchbell import ids
from watchbell.actors import Actor
from watchbell.errors import NotFound, Refused
from watchbell.fleet import groups
from watchbell.fleet import validation as fleet_validation
from watchbell.fleet.model import Group
from watchbell.jobs import definitions, validation, value_readers
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.definitions import FIXED, LETTERS, Facts
from watchbell.jobs.imports.found import ORDER, Found, Item
from watchbell.jobs.validation import Record
from watchbell.store.client import Store

State = Literal["new", "same", "other", "invalid"]
_GROUP = ("title", "icon", "notes", "hostname_match", "max_jobs_per_server")


class Planned(Struct, frozen=True, kw_only=True):
    item: Item
    id: str
    state: State
    """Whether there is none of this id yet, or the same, or another one; or it is not valid."""
    problem: str = ""


class Made(Struct, frozen=True, kw_only=True):
    """What an import has done: the names of the items."""

    created: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


async def planned(store: Store, found: Found, now: float) -> list[Planned]:
    """In the order in which they would be created."""
    items = sorted(found.items, key=lambda one: ORDER.index(one.kind))
    named = [(one, str(one.values.get("id") or _new_id(one.kind, now))) for one in items]
    catalogue = Catalogue(store)
    await catalogue.load()
    drafts = _drafts(catalogue, named)
    return [
        await _group(store, item, name)
        if item.kind == "group"
        else _definition(item, name, catalogue, drafts)
        for item, name in named
    ]


def _new_id(kind: str, now: float) -> str:
    return ids.record_id(LETTERS.get(kind, "g"), now)


def _drafts(catalogue: Catalogue, named: Sequence[tuple[Item, str]]) -> Facts:
    """All records that there would be."""
    made: dict[str, dict[str, Any]] = {kind: {} for kind in ORDER}
    for item, name in named:
        try:
            if item.kind != "group":
                made[item.kind][name] = validation.read(item.kind, {**item.values, "id": name})
        except Refused:
            continue
    return Facts(
        {**catalogue.events, **made["event"]},
        {**catalogue.categories, **made["category"]},
        {**catalogue.plugins, **made["plugin"]},
        {**catalogue.channels, **made["channel"]},
    )


def _definition(item: Item, name: str, catalogue: Catalogue, drafts: Facts) -> Planned:
    current: Record | None = catalogue.of(item.kind).get(name)
    try:
        record = validation.read(item.kind, _values(item, name, current), drafts)
    except Refused as error:
        return Planned(item=item, id=name, state="invalid", problem=str(error))
    if current is None and (item.kind, name) not in catalogue.invalid:
        return Planned(item=item, id=name, state="new")
    return Planned(item=item, id=name, state="same" if record == current else "other")


def _values(item: Item, name: str, current: Record | None) -> dict[str, Any]:
    fixed = {field: getattr(current, field) for field in FIXED if hasattr(current, field)}
    given = {field: each for field, each in item.values.items() if field not in FIXED}
    return {**given, **fixed, "id": name}


async def _group(store: Store, item: Item, name: str) -> Planned:
    given = {field: item.values[field] for field in _GROUP if field in item.values}
    try:
        value_readers.identifier("id", name)
        fleet_validation.changed_group(Group(id=name, title=""), given)
        current = await groups.get(store, name)
    except Refused as error:
        return Planned(item=item, id=name, state="invalid", problem=str(error))
    except NotFound:
        return Planned(item=item, id=name, state="new")
    is_same = all(item.values.get(f, getattr(current, f)) == getattr(current, f) for f in _GROUP)
    return Planned(item=item, id=name, state="same" if is_same else "other")


def obstacles(plan: Sequence[Planned], *, replace: bool) -> Iterator[str]:
    """Why items can't be imported."""
    seen: set[tuple[str, str]] = set()
    for one in plan:
        if one.problem:
            yield f"{one.item.name}: {one.problem}"
        elif one.state == "other" and not replace:
            yield f"the {one.item.kind} {one.id!r} exists already"
        elif (one.item.kind, one.id) in seen:
            yield f"the file has two of the {one.item.kind} {one.id!r}"
        seen.add((one.item.kind, one.id))


async def make(
    store: Store,
    plan: Sequence[Planned],
    who: Actor,
    now: float,
    *,
    replace: bool = False,
    skip: bool = False,
) -> Made:
    """Imports all items or, if one of them can't be, none: that raises Refused. With `skip`, those
    are left out. An import that was interrupted can be repeated."""
    if not plan:
        raise Refused("there is nothing to import")
    if not skip and (reason := next(obstacles(plan, replace=replace), "")):
        raise Refused(f"{reason}; nothing was imported")
    done: dict[str, list[str]] = {"new": [], "other": [], "same": [], "invalid": []}
    together = {one.id for one in plan if one.item.kind == "event" and not one.problem}
    for one in plan:
        state = one.state
        if state == "other" and not replace:
            state = "invalid"
        elif state in ("new", "other"):
            try:
                await _import(store, one, who, now, together)
            except Refused:
                if not skip:
                    raise
                state = "invalid"
        done[state].append(one.item.name)
    return Made(
        created=tuple(done["new"]),
        replaced=tuple(done["other"]),
        unchanged=tuple(done["same"]),
        left_out=tuple(done["invalid"]),
    )


async def _import(store: Store, one: Planned, who: Actor, now: float, together: set[str]) -> None:
    kind, values = one.item.kind, one.item.values
    if kind == "group":
        await _import_group(store, one, who, now)
    elif one.state == "new":
        given = {**values, "id": one.id}
        await definitions.create(store, kind, given, who, now, together=together)
    else:
        await definitions.replace(
            store, kind, one.id, lambda _: values, who, now, action="import", together=together
        )


async def _import_group(store: Store, one: Planned, who: Actor, now: float) -> None:
    fields: Mapping[str, Any] = {k: v for k, v in one.item.values.items() if k in _GROUP}
    if one.state == "new":
        await groups.create(store, fields, who.name, int(now), one.id)
    else:
        await groups.update(store, one.id, fields, int(now))
