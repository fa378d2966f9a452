"""Notification rules: `/notification_rules`."""

import uuid
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from watchbell.alerting import json_items, rules
from watchbell.alerting.json_items import RuleItem
from watchbell.alerting.model import Rule
from watchbell.alerting.rule_format import FIELDS, without_unreadable
from watchbell.alerting.validation import checked_rule
from watchbell.errors import Changed, NotFound
from watchbell.web.flapjack_api import patches, people
from watchbell.web.flapjack_api.calls import (
    DONE,
    Answer,
    Call,
    Failed,
    created,
    endpoint,
    repeated,
)

_TRIES = 10


def _new_id() -> str:
    return str(uuid.uuid4())


def _shown(rule: Rule) -> dict[str, Any]:
    fields = {name: getattr(rule, name) for name in FIELDS if name != "entity_tags"}
    return {"id": rule.id, **fields, "links": {"contacts": [rule.contact_id]}}


@endpoint("GET", "/notification_rules/IDS", "read")
async def read(call: Call) -> Answer:
    if not call.ids:
        everybody = await people.find(call, ())
        found = [rule for contact in everybody for rule in contact.rules]
    else:
        found, absent = await _looked_up(call)
        if not found:
            people.must_exist(absent, "could not find notification rules")
    return Answer({"notification_rules": [_shown(rule) for rule in found]})


async def _found(call: Call) -> list[Rule]:
    found, absent = await _looked_up(call)
    people.must_exist(absent, "could not find notification rule")
    return found


async def _looked_up(call: Call) -> tuple[list[Rule], list[str]]:
    """The rules of the path, and the ids that no rule has."""
    found, absent = list[Rule](), list[str]()
    for rule_id in call.ids:
        try:
            found.append(await rules.find(call.store, rule_id))
        except NotFound:
            absent.append(rule_id)
    return found, absent


@endpoint("POST", "/contacts/IDS/notification_rules", "write")
async def create(call: Call) -> Answer:
    items = call.items("notification_rules")
    found = await people.find(call, call.ids, "could not find contact")
    given = [json_items.converted(_plain(item), RuleItem, "") for item in items]
    new = [checked_rule(one.rule(contact.id, _new_id)) for contact in found for one in given]
    await _must_be_free(call, new)
    for rule in new:
        await rules.save(call.store, rule)
        await call.audit("rule.add", rule.id, rule.contact_id)
    return created([rule.id for rule in new], "notification_rules")


async def _must_be_free(call: Call, new: list[Rule]) -> None:
    """A rule with an id that its contact has a rule of takes the place of that."""
    taken = repeated([rule.id for rule in new])
    for rule in new:
        with suppress(NotFound):
            if (await rules.find(call.store, rule.id)).contact_id != rule.contact_id:
                taken.add(rule.id)
    if taken:
        names = ", ".join(sorted(taken))
        raise Failed(409, f"Notification rules already exist with the following IDs: {names}")


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name in (*FIELDS, "id")}


@endpoint("PATCH", "/notification_rules/IDS", "write")
async def change(call: Call) -> Answer:
    operations = patches.parse("notification_rules", call)
    for operation in operations:
        if operation.op != "replace" or operation.field not in FIELDS:
            raise patches.unknown("notification_rules", operation)
    given = {operation.field: operation.value for operation in operations}
    found = await _found(call)
    for rule in found:
        checked_rule(_with(rule, given))
    for rule in found:
        await _changed(call, rule.id, given)
        await call.audit("rule.change", rule.id, ", ".join(given))
    return DONE


def _with(rule: Rule, given: dict[str, Any]) -> Rule:
    """The rule with these fields; those that were not given stay."""
    item = json_items.converted({**given, "id": rule.id}, RuleItem, "")
    new = item.rule(rule.contact_id, _new_id)
    names = {"tags" if name == "entity_tags" else name for name in given}
    changed = replace(rule, **{name: getattr(new, name) for name in names})
    return without_unreadable(changed, names)


async def _changed(call: Call, rule_id: str, given: dict[str, Any]) -> None:
    for _ in range(_TRIES):
        with suppress(Changed):
            rule, stamp = await rules.stamped(call.store, rule_id)
            await rules.save(call.store, _with(rule, given), stamp)
            return
    raise Failed(409, f"rule {rule_id} is being changed by others; try again")


@endpoint("DELETE", "/notification_rules/IDS", "write")
async def remove(call: Call) -> Answer:
    for rule in await _found(call):
        await rules.remove(call.store, rule.id)
        await call.audit("rule.remove", rule.id, rule.contact_id)
    return DONE
