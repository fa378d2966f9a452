"""What an import would do, and doing it."""

from collections.abc import Mapping, Sequence
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
Outcome = Literal["created", "replaced", "unchanged", "left_out"]
_OUTCOMES: dict[State, Outcome] = {
    "new": "created",
    "other": "replaced",
    "same": "unchanged",
    "invalid": "left_out",
}
_GROUP = ("title", "icon", "notes", "hostname_match", "max_jobs_per_server")


class Planned(Struct, frozen=True, kw_only=True):
    item: Item
    id: str
    state: State
    """Whether there is none of this id yet, or the same, or another one; or it is not valid."""
    problems: tuple[str, ...] = ()
    record: Record | None = None
    """A valid definition as it would be stored."""

    @property
    def problem(self) -> str:
        """All that is wrong in one line; empty if nothing is."""
        return "; ".join(self.problems)


class ImportedItem(Struct, frozen=True, kw_only=True):
    """What becomes of an item."""

    planned: Planned
    outcome: Outcome
    reason: str = ""
    """Why it is left out."""


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
        {**catalogue.monitors, **made["monitor"]},
    )


def _definition(item: Item, name: str, catalogue: Catalogue, drafts: Facts) -> Planned:
    current: Record | None = catalogue.of(item.kind).get(name)
    try:
        record = validation.read(item.kind, _values(item, name, current), drafts)
    except Refused as error:
        return _invalid(item, name, error)
    if current is None and (item.kind, name) not in catalogue.invalid:
        return Planned(item=item, id=name, state="new", record=record)
    state: State = "same" if record == current else "other"
    return Planned(item=item, id=name, state=state, record=record)


def _invalid(item: Item, name: str, error: Refused) -> Planned:
    return Planned(item=item, id=name, state="invalid", problems=tuple(map(str, error.every)))


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
        return _invalid(item, name, error)
    except NotFound:
        return Planned(item=item, id=name, state="new")
    is_same = all(item.values.get(f, getattr(current, f)) == getattr(current, f) for f in _GROUP)
    return Planned(item=item, id=name, state="same" if is_same else "other")


def foreseen(plan: Sequence[Planned], *, replace: bool) -> list[ImportedItem]:
    """What would become of each item if those that can't be imported were left out."""
    seen: set[tuple[str, str]] = set()
    items = []
    for one in plan:
        place = (one.item.kind, one.id)
        reason = one.problem or ("is in the file twice" if place in seen else "")
        if not reason and one.state == "other" and not replace:
            reason = "exists already and differs"
        outcome: Outcome = "left_out" if reason else _OUTCOMES[one.state]
        items.append(ImportedItem(planned=one, outcome=outcome, reason=reason))
        seen.add(place)
    return items


async def make(
    store: Store,
    plan: Sequence[Planned],
    who: Actor,
    now: float,
    *,
    replace: bool = False,
    skip: bool = False,
) -> list[ImportedItem]:
    """Imports all items or, if one of them can't be, none: that raises Refused. With `skip`, those
    are left out. An import that was interrupted can be repeated."""
    if not plan:
        raise Refused("there is nothing to import")
    items = foreseen(plan, replace=replace)
    obstacle = next((one for one in items if one.outcome == "left_out"), None)
    if obstacle and not skip:
        name = obstacle.planned.item.name
        raise Refused(f"{name}: {obstacle.reason}; nothing was imported")
    together = {one.id for one in plan if one.item.kind == "event" and not one.problem}
    return [await _make(store, one, who, now, together, skip=skip) for one in items]


async def _make(
    store: Store, one: ImportedItem, who: Actor, now: float, together: set[str], *, skip: bool
) -> ImportedItem:
    if one.outcome not in ("created", "replaced"):
        return one
    try:
        await _import(store, one.planned, who, now, together)
    except Refused as error:
        if not skip:
            raise
        return ImportedItem(planned=one.planned, outcome="left_out", reason=str(error))
    return one


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
