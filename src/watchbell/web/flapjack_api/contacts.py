"""Contacts: `/contacts`."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import contact_links, contacts, entities, rules
from watchbell.alerting.model import Contact, split_id
from watchbell.alerting.validation import checked_contact
from watchbell.errors import Changed, NotFound
from watchbell.web.flapjack_api import media, patches, people
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
)
from watchbell.web.flapjack_api.patches import Operation

_FIELDS = ("first_name", "last_name", "email", "timezone")


@endpoint("GET", "/contacts/IDS", "read")
async def read(call: Call) -> Answer:
    found = await people.existing(call)
    directory = await call.directory.current()
    linked: dict[str, list[str]] = {}
    for entity in directory.entities:
        for contact in entity.contacts:
            linked.setdefault(contact, []).append(entity.id)
    return Answer({"contacts": [_shown(one, linked.get(one.id, [])) for one in found]})


def _shown(contact: Contact, entity_ids: list[str]) -> dict[str, Any]:
    return {
        "id": contact.id,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "email": contact.email,
        "timezone": contact.timezone or None,
        "tags": sorted(contact.tags),
        "links": {
            "entities": entity_ids,
            "media": [f"{contact.id}_{name}" for name in contact.media],
            "notification_rules": [rule.id for rule in contact.rules],
        },
    }


@endpoint("POST", "/contacts", "write")
async def create(call: Call) -> Answer:
    new = [checked_contact(_given(item)) for item in call.items("contacts")]
    named = [one.id for one in new]
    twice = repeated(named)
    known = await contacts.load(call.store, named)
    taken = [one for one in named if one in known or one in twice]
    if taken:
        _raise_taken(taken)
    for contact in new:
        try:
            await contacts.save(call.store, contact, tags_before=(), replaces="")
        except Changed:
            _raise_taken([contact.id])
        finally:
            call.directory.forget()
        await call.audit("contact.add", contact.id)
    return created(named, "contacts")


def _raise_taken(taken: list[str]) -> None:
    names = ", ".join(dict.fromkeys(taken))
    raise Failed(409, f"Contacts already exist with the following IDs: {names}")


def _given(item: dict[str, Any]) -> Contact:
    return Contact(
        id=text("id", item.get("id"), "") or ids.token(),
        first_name=text("first_name", item.get("first_name"), ""),
        last_name=text("last_name", item.get("last_name"), ""),
        email=text("email", item.get("email"), ""),
        timezone=text("timezone", item.get("timezone"), ""),
        tags=texts("tags", item.get("tags")),
    )


@endpoint("PATCH", "/contacts/IDS", "write")
async def change(call: Call) -> Answer:
    operations = patches.parse("contacts", call)
    found = await people.find(call, call.ids)
    own = [one for one in operations if one.op == "replace" or one.field == "tags"]
    links = [await _link(call, one) for one in operations if one not in own]

    def changed(contact: Contact) -> Contact:
        for operation in own:
            contact = _with(contact, operation)
        return contact

    for contact in found:
        checked_contact(changed(contact))
    for contact in found:
        if own:
            await people.change(call, contact.id, changed, contact.tags)
        for link in links:
            await link(contact.id)
        call.directory.forget()
        await call.audit("contact.change", contact.id)
    return DONE


def _with(contact: Contact, operation: Operation) -> Contact:
    if operation.field == "tags":
        return replace(contact, tags=with_tag(contact.tags, operation))
    if operation.field not in _FIELDS:
        raise patches.unknown("contacts", operation)
    value = text(operation.field, operation.value, "")
    return replace(contact, **{operation.field: value})


def with_tag(tags: tuple[str, ...], operation: Operation) -> tuple[str, ...]:
    if operation.op == "replace":
        return texts("tags", operation.value)
    given = patches.tags(operation)
    others = tuple(one for one in tags if one not in given)
    return (*others, *given) if operation.op == "add" else others


async def _link(call: Call, operation: Operation) -> Callable[[str], Awaitable[None]]:
    """What an operation does to the links of a contact, which is given by its id. To end a link
    that is not there changes nothing."""
    target = text(operation.field, operation.value)
    if operation.field == "notification_rules" and operation.op == "add":
        await _must_be_rule(call, target)
        return partial(rules.move, call.store, target)
    if operation.field == "notification_rules":
        return partial(_remove_rule, call, target)
    if operation.field == "media" and operation.op == "remove":
        return partial(_remove_medium, call, target)
    if operation.field not in ("entities", "checks"):
        raise patches.unknown("contacts", operation)
    entity, check = (target, "") if operation.field == "entities" else split_id(target)
    if operation.field == "checks" and not check:
        raise Failed(422, f"checks: {target[:200]!r} is no check; expected ENTITY:CHECK")
    entity_id = await _entity(call, entity)

    async def link(contact_id: str) -> None:
        if operation.op == "add":
            await contact_links.link(call.store, contact_id, entity_id, check or None)
            return
        with suppress(NotFound):
            await contact_links.unlink(call.store, contact_id, entity_id, check or None)

    return link


async def _entity(call: Call, name_or_id: str) -> str:
    try:
        return await entities.id_of(call.store, name_or_id)
    except NotFound:
        raise Failed(404, f"could not find entity '{name_or_id[:200]}'") from None


async def _must_be_rule(call: Call, rule_id: str) -> None:
    try:
        await rules.find(call.store, rule_id)
    except NotFound:
        raise Failed(404, f"could not find notification rule '{rule_id[:200]}'") from None


async def _remove_rule(call: Call, rule_id: str, contact_id: str) -> None:
    """A rule belongs to its contact and ends with the link."""
    with suppress(NotFound):
        if (await rules.find(call.store, rule_id)).contact_id == contact_id:
            await rules.remove(call.store, rule_id)
            await call.audit("rule.remove", rule_id, contact_id)


async def _remove_medium(call: Call, medium_id: str, contact_id: str) -> None:
    name = medium_id.removeprefix(f"{contact_id}_")
    if name != medium_id:
        await people.change(call, contact_id, partial(media.without, name))


@endpoint("DELETE", "/contacts/IDS", "write")
async def remove(call: Call) -> Answer:
    found = await people.find(call, call.ids)
    async for contact_id in contacts.remove_each(call.store, [one.id for one in found]):
        call.directory.forget()
        await call.audit("contact.remove", contact_id)
    return DONE
