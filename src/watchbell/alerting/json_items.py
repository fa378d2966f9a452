"""Reads and writes contacts, entities and rules as items of JSON files."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting import contacts, validation
from watchbell.alerting.entities import Entity
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.errors import Refused
from watchbell.settings import Secret

T = TypeVar("T")
Item = dict[str, Any]
Texts = tuple[str, ...] | None
Ids = tuple[str | int, ...]

HIDDEN = Secret("x").shown()
"""What is written in place of a secret."""

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


class MediumItem(Struct, kw_only=True):
    address: str | None = None
    interval: int | None = None
    rollup_threshold: int | None = None
    service_key: str | None = None
    subdomain: str | None = None
    username: str | None = None
    password: str | None = None
    token: str | None = None


class ContactItem(Struct, kw_only=True):
    """A contact as files have it; what is absent or null is empty."""

    id: str | int
    first_name: str
    last_name: str | None = None
    email: str | None = None
    timezone: str | None = None
    tags: tuple[str, ...] | None = None
    media: Item | None = None
    notification_rules: tuple[Any, ...] | None = None


class RuleItem(Struct, kw_only=True):
    """A rule as files have it; what is absent or null is empty."""

    id: str | int | None = None
    contact_id: str | int | None = None
    entities: Texts = None
    regex_entities: Texts = None
    tags: Texts = None
    entity_tags: Texts = None
    regex_tags: Texts = None
    time_restrictions: tuple[dict[str, Any], ...] | None = None
    unknown_media: Texts = None
    warning_media: Texts = None
    critical_media: Texts = None
    unknown_blackhole: bool | None = None
    warning_blackhole: bool | None = None
    critical_blackhole: bool | None = None

    def rule(self, contact_id: str, new_id: Callable[[], str]) -> Rule:
        """The rule of a contact, with its own id or else a new one."""
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value}
        tags = given.pop("entity_tags", ())
        rule_id = str(given.pop("id", "") or new_id())
        given.pop("contact_id", None)
        return Rule(id=rule_id, contact_id=contact_id, **{"tags": tags, **given})


class EntityItem(Struct, kw_only=True):
    """An entity as files have it; what is absent or null is empty."""

    id: str | int
    name: str
    contacts: Ids | None = None
    tags: tuple[str, ...] | None = None
    check_contacts: dict[str, Ids] | None = None


def contact(item: Item, new_id: Callable[[], str]) -> Contact:
    """The contact that an item describes, with its rules."""
    found = converted(item, ContactItem)
    contact_id = str(found.id)
    given = {
        name: converted(
            raw if isinstance(raw, dict) else {"address": raw}, MediumItem, f"media.{name}"
        )
        for name, raw in (found.media or {}).items()
        if raw is not None
    }
    media = {name: _medium(name, medium) for name, medium in given.items()}
    account = msgspec.structs.asdict(given.get("pagerduty", MediumItem()))
    own = [
        converted(rule, RuleItem, f"notification_rules[{n}]").rule(contact_id, new_id)
        for n, rule in enumerate(found.notification_rules or ())
    ]
    return Contact(
        id=contact_id,
        first_name=found.first_name,
        last_name=found.last_name or "",
        email=found.email or "",
        timezone=found.timezone or "",
        tags=tuple(dict.fromkeys(found.tags or ())),
        media={name: medium for name, medium in media.items() if medium is not None},
        pagerduty={name: account[name] for name in validation.PAGERDUTY if account[name]},
        rules=tuple(own),
    )


def _medium(name: str, item: MediumItem) -> Medium | None:
    """None for PagerDuty's account alone, from which acknowledgements are read."""
    address = item.service_key or item.address
    if not address:
        if name == "pagerduty":
            return None
        raise Refused("it is missing", field=f"media.{name}.address")
    usual = Medium(address=address)
    interval, threshold = item.interval or usual.interval, item.rollup_threshold or 0
    return replace(usual, interval=interval, rollup_threshold=threshold)


def of_contact(contact: Contact) -> Item:
    """The contact as a file has it, secrets included."""
    media: Item = {name: msgspec.to_builtins(medium) for name, medium in contact.media.items()}
    if "pagerduty" in media:
        media["pagerduty"]["service_key"] = media["pagerduty"].pop("address")
    if contact.pagerduty:
        media["pagerduty"] = {**media.get("pagerduty", {}), **contact.pagerduty}
    return {
        "id": contact.id,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "email": contact.email,
        "timezone": contact.timezone,
        "tags": list(contact.tags),
        "media": media,
        "notification_rules": [of_rule(rule) for rule in contact.rules],
    }


def of_rule(rule: Rule) -> Item:
    item: Item = msgspec.to_builtins(rule)
    del item["contact_id"]
    return item


def entity(item: Item) -> Entity:
    found = converted(item, EntityItem)
    return Entity(
        id=str(found.id),
        name=found.name,
        contacts=tuple(dict.fromkeys(map(str, found.contacts or ()))),
        tags=tuple(dict.fromkeys(found.tags or ())),
        check_contacts={
            check: tuple(map(str, ids)) for check, ids in (found.check_contacts or {}).items()
        },
    )


def without_secrets(contact: Contact) -> Contact:
    """The contact with its secrets hidden."""
    hidden = {name: Secret(contact.pagerduty.get(name, "")).shown() for name in contacts.SECRET}
    seen = {name: hidden.get(name, value) for name, value in contact.pagerduty.items()}
    return replace(contact, pagerduty=seen)


def with_secrets(contact: Contact, before: Contact | None) -> Contact:
    """The contact with its former secrets where they were given hidden."""
    had = before.pagerduty if before is not None else {}
    kept = {
        name: had.get(name, value) if value == HIDDEN else value
        for name, value in contact.pagerduty.items()
    }
    return replace(contact, pagerduty=kept)


def converted(value: object, kind: type[T], field: str = "") -> T:
    """The value as that type; raises Refused with the invalid field."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        missing = re.fullmatch(r"Object missing required field `(\w+)`", said)
        where = field + path.rstrip("`") + (f".{missing[1]}" if missing else "")
        words = re.sub(r"`([^`]+)`", _in_words, said)
        reason = "it is missing" if missing else words[:1].lower() + words[1:]
        raise Refused(reason, field=where.strip(".") or "the item") from None


def _in_words(types: re.Match[str]) -> str:
    names = [name for name in types[1].split(" | ") if name != "null"] or ["null"]
    return " or ".join(_WORDS.get(name, name) for name in names)


class Taken(Struct, frozen=True, kw_only=True):
    """The result of one item of many."""

    number: int
    """Its position, from 1 on."""
    id: str = ""
    status: Literal["imported", "skipped", "refused"]
    reason: str = ""
    ignored: list[str] = []
    """Its unknown fields."""


async def each_taken(
    items: Sequence[Any], kind: type[Struct], one: Callable[[Item], Awaitable[None]]
) -> AsyncIterator[Taken]:
    """Calls `one` with each item and yields its result; items without an id are skipped."""
    fields = {field.name for field in msgspec.structs.fields(kind)}
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            yield Taken(number=number, status="refused", reason="expected an object")
            continue
        if item.get("id") in (None, ""):
            yield Taken(number=number, status="skipped", reason="it has no id")
            continue
        name = str(item["id"])[:60]
        try:
            await one(item)
        except Refused as error:
            yield Taken(number=number, id=name, status="refused", reason=str(error))
            continue
        ignored = [field[:60] for field in item.keys() - fields]
        yield Taken(number=number, id=name, status="imported", ignored=sorted(ignored))
