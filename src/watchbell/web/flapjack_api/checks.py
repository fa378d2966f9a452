"""Checks: `/checks`, by ids of the form ENTITY:CHECK."""

from typing import Any

from watchbell.alerting import check_settings, entities, history, known_checks
from watchbell.alerting.model import split_id
from watchbell.alerting.validation import plain
from watchbell.web.flapjack_api import patches, people
from watchbell.web.flapjack_api.calls import (
    DONE,
    Answer,
    Call,
    Failed,
    created,
    endpoint,
    text,
    texts,
    truth,
)
from watchbell.web.flapjack_api.patches import Operation


@endpoint("GET", "/checks/REST", "read")
async def read(call: Call) -> Answer:
    found = await _existing(call) if call.ids else await known_checks.every(call.store)
    return Answer({"checks": await shown(call, found)})


async def _existing(call: Call) -> list[str]:
    ids = [named(one) for one in call.ids]
    known = await known_checks.known(call.store, ids)
    people.some_must_exist(ids, known, "could not find entity checks:")
    return [one for one in ids if one in known]


async def shown(call: Call, ids: list[str]) -> list[dict[str, Any]]:
    states = await history.check_states(call.store, ids, call.now)
    tags, by_name = await known_checks.tags(call.store), await entity_ids(call)
    found = []
    for state in states:
        entity, check = split_id(state.id)
        found.append(
            {
                "id": state.id,
                "name": check,
                "entity_name": entity,
                "enabled": state.enabled,
                "tags": list(tags.get(state.id, ())),
                "links": {"entities": [by_name[entity]] if entity in by_name else []},
            }
        )
    return found


async def entity_ids(call: Call) -> dict[str, str]:
    return {name: one for one, name in (await entities.names(call.store)).items()}


async def find(call: Call) -> list[str]:
    """The checks of the path, or all."""
    if not call.ids:
        return await known_checks.every(call.store)
    ids = [named(one) for one in call.ids]
    known = await known_checks.known(call.store, ids)
    people.must_exist([one for one in ids if one not in known], "could not find check")
    return ids


async def to_change(call: Call) -> list[str]:
    """The checks of the path; where one is missing, its entity may be, which is said then."""
    ids = [named(one) for one in call.ids]
    known = await known_checks.known(call.store, ids)
    absent = [one for one in ids if one not in known]
    if absent:
        names = set((await entities.names(call.store)).values())
        without = [entity for entity, _ in map(split_id, absent) if entity not in names]
        people.must_exist(without[:1], "could not find entity")
        people.must_exist(absent, "could not find check")
    return ids


def named(given: str) -> str:
    entity, check = split_id(given)
    if not entity or not check:
        raise Failed(404, f"could not find check '{given[:200]}'; expected ENTITY:CHECK")
    return f"{entity.lower()}:{check}"


@endpoint("POST", "/checks", "write")
async def create(call: Call) -> Answer:
    names = await entities.names(call.store)
    new = [_given(item, names) for item in call.items("checks")]
    for event_id, tags in new:
        await known_checks.add(call.store, event_id, tags, call.now)
        await call.audit("check.add", event_id)
    return created([event_id for event_id, _ in new], "checks")


def _given(item: dict[str, Any], names: dict[str, str]) -> tuple[str, tuple[str, ...]]:
    """A check is named by its id, or by its name with the id or the name of its entity."""
    given = text("id", item.get("id"), "")
    name = plain("name", text("name", item.get("name"), split_id(given)[1]))
    entity_id = text("entity_id", item.get("entity_id"), "")
    entity = names.get(entity_id, "") if entity_id else ""
    entity = entity or text("entity_name", item.get("entity_name"), split_id(given)[0]).lower()
    if not entity or entity not in names.values():
        raise Failed(404, f"could not find entity '{(entity_id or entity)[:200]}'")
    return f"{entity}:{name}", tuple(plain("tags", t) for t in texts("tags", item.get("tags")))


@endpoint("PATCH", "/checks/REST", "write")
async def change(call: Call) -> Answer:
    operations = patches.parse("checks", call)
    for operation in operations:
        _check(operation)
    ids = await to_change(call)
    for event_id in ids:
        for operation in operations:
            await _apply(call, event_id, operation)
        await call.audit("check.change", event_id)
    return DONE


def _check(operation: Operation) -> None:
    if operation.field == "tags" and operation.op != "replace":
        for tag in patches.tags(operation):
            plain("tags", tag)
    elif operation.field == "enabled" and operation.op == "replace":
        truth("enabled", operation.value)
    else:
        raise patches.unknown("checks", operation)


async def _apply(call: Call, event_id: str, operation: Operation) -> None:
    if operation.field == "tags":
        for tag in patches.tags(operation):
            await known_checks.tag(call.store, event_id, tag, is_on=operation.op == "add")
    elif truth("enabled", operation.value):
        await check_settings.enable(call.store, event_id)
    else:
        [state] = await history.check_states(call.store, [event_id], call.now)
        if state.enabled:
            await check_settings.disable(call.store, event_id)
