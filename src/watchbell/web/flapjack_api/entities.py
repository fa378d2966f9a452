"""Entities: `/entities`."""

from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from watchbell.alerting import contact_links, contacts, entities, known_checks
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import ALL
from watchbell.errors import NotFound
from watchbell.web.flapjack_api import patches, people
from watchbell.web.flapjack_api.calls import (
    DONE,
    Answer,
    Call,
    Failed,
    created,
    endpoint,
    repeated,
    text,
    texts,
    truth,
)
from watchbell.web.flapjack_api.contacts import with_tag
from watchbell.web.flapjack_api.patches import Operation

_MISSING = "could not find entities"


@endpoint("GET", "/entities/IDS", "read")
async def read(call: Call) -> Answer:
    found, absent = await _named(call)
    if not found:
        people.must_exist(absent, _MISSING)
    if "enabled" in call.query:
        wanted = truth("enabled", call.query["enabled"])
        enabled = await known_checks.enabled_entities(call.store)
        found = [one for one in found if (one.name in enabled) == wanted]
    checks = await known_checks.of_entities(call.store, [one.name for one in found])
    return Answer({"entities": [shown(one, checks[one.name]) for one in found]})


def shown(entity: Entity, checks: list[str]) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "tags": sorted(entity.tags),
        "links": {"contacts": list(entity.contacts), "checks": checks},
    }


async def find(call: Call) -> list[Entity]:
    """The entities of the path, by id or name, or all."""
    found, absent = await _named(call)
    people.must_exist(absent, _MISSING)
    return found


async def _named(call: Call) -> tuple[list[Entity], list[str]]:
    """The entities of the path, and the ids that none has."""
    directory = await call.directory.current()
    if not call.ids:
        return [one for one in directory.entities if one.id != ALL], []
    by_id = {one.id: one for one in directory.entities}
    by_name = {one.name: one for one in directory.entities}
    found = {one: by_id.get(one) or by_name.get(one.lower()) for one in call.ids}
    absent = [one for one, entity in found.items() if entity is None]
    return [one for one in found.values() if one is not None], absent


@endpoint("POST", "/entities", "write")
async def create(call: Call) -> Answer:
    new = [_given(item) for item in call.items("entities")]
    for entity in new:
        entities.checked(entity)
    named = [one.id for one in new]
    _must_differ(new)
    twice = repeated(named)
    call.directory.forget()
    known = {one.id for one in (await call.directory.current()).entities}
    taken = [one for one in named if one in known or one in twice]
    if taken:
        names = ", ".join(dict.fromkeys(taken))
        raise Failed(409, f"Entities already exist with the following IDs: {names}")
    seen = await entities.survey(call.store)
    for entity in new:
        await entities.save(call.store, entity, seen=seen)
        call.directory.forget()
        await call.audit("entity.add", entity.name)
    return created(named, "entities")


def _must_differ(several: list[Entity]) -> None:
    """An entity that takes another one's name takes its place, which one request may not do with
    its own."""
    for name in repeated([entities.named(one.name) for one in several]):
        raise Failed(422, f"name: {name[:200]!r} is not allowed for several entities at once")


def _given(item: dict[str, Any]) -> Entity:
    entity_id = text("id", item.get("id"), "")
    if not entity_id:
        raise Failed(403, "Entity id is required")
    name = text("name", item.get("name"), "") or entity_id
    return Entity(id=entity_id, name=name.lower(), tags=texts("tags", item.get("tags")))


@endpoint("PATCH", "/entities/IDS", "write")
async def change(call: Call) -> Answer:
    operations = patches.parse("entities", call)
    call.directory.forget()
    found = await find(call)
    changed = [_changed(entity, operations) for entity in found]
    await _check_contacts(call, operations)
    seen = await entities.survey(call.store)
    for entity in changed:
        entities.checked(entity)
    _must_differ(changed)
    for before, entity in zip(found, changed, strict=True):
        if entity != before:
            await entities.save(call.store, entity, seen=seen)
        await _link(call, entity.id, operations)
        call.directory.forget()
        await call.audit("entity.change", entity.name)
    return DONE


def _changed(entity: Entity, operations: list[Operation]) -> Entity:
    for one in operations:
        if one.field == "name" and one.op == "replace":
            entity = replace(entity, name=text("name", one.value).lower())
        elif one.field == "tags":
            entity = replace(entity, tags=with_tag(entity.tags, one))
        elif one.field != "contacts" or one.op == "replace":
            raise patches.unknown("entities", one)
    return entity


async def _link(call: Call, entity_id: str, operations: list[Operation]) -> None:
    """Each contact by itself, since others may link theirs meanwhile. To end a link that is not
    there changes nothing."""
    for one in operations:
        if one.field == "contacts" and one.op == "add":
            await contact_links.link(call.store, text("contacts", one.value), entity_id)
        elif one.field == "contacts":
            with suppress(NotFound):
                await contact_links.unlink(call.store, text("contacts", one.value), entity_id)


async def _check_contacts(call: Call, operations: list[Operation]) -> None:
    """People who are linked have to exist."""
    wanted = [
        text("contacts", o.value) for o in operations if o.op == "add" and o.field == "contacts"
    ]
    known = await contacts.load(call.store, wanted)
    people.must_exist([one for one in wanted if one not in known], "could not find contacts")
