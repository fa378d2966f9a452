"""What other programs may change in records: contacts and entities. Each kind knows both of its
sides and takes over what the records say."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting import contacts, entities, record_adopt, record_reading
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.model import split_id
from watchbell.alerting.record_keys import Records
from watchbell.alerting.record_reading import made_id
from watchbell.alerting.record_units import units_of_check
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text, text_or_none
from watchbell.store.script import READ, Script

_AT_ONCE = 500

# KEYS[1] any key of ours; ARGV[1] and ARGV[2] what stands before and after the id in keys of
# checks, ARGV[3…] ids. Returns entity and check of each.
_NAMES = Script(
    READ
    + """
local found = {}
for i = 3, #ARGV do
  found[i - 2] = read('HMGET', ARGV[1] .. ARGV[i] .. ARGV[2], 'entity_name', 'name')
end
return found
"""
)


class Sides(Struct, frozen=True):
    """Digests of a thing in both layouts, empty where it is missing, and its tags."""

    record: str = ""
    working: str = ""
    tags: tuple[str, ...] = ()


class Kind(Protocol):
    name: str
    classes: tuple[str, ...]
    """The classes whose locks concern it."""

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]: ...

    def units(self, name: str, before: Sides, now: Sides, /) -> list[Unit]:
        """The units of the mirror that compare both sides; none where only presence counts."""

    async def adopt(self, name: str, before: Sides, now: int, /) -> None:
        """Takes over what the records say. Raises Refused where they are invalid, or gone."""

    async def remove(self, name: str, now: int, /) -> None:
        """Removes what has no record any more."""


def digest(value: object) -> str:
    packed = msgspec.json.encode(value, order="sorted")
    return hashlib.sha1(packed, usedforsecurity=False).hexdigest()[:16]


def _unreadable(read: object) -> str:
    return hashlib.sha1(repr(read).encode(), usedforsecurity=False).hexdigest()[:16]


class Contacts:
    name: str = "contact"
    classes: tuple[str, ...] = ("contact", "medium", "notification_rule")

    def __init__(self, store: Store) -> None:
        self._store = store

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]:
        working, found = await contacts.load(self._store, names), dict[str, Sides]()
        async for one, read in record_reading.CONTACTS.over(self._store, names):
            record, tags = "", tuple[str, ...]()
            if isinstance(read, bytes) or any(read):
                try:
                    contact = record_reading.contact(one, read, {}).contact
                    record, tags = digest(contact), contact.tags
                except Refused:
                    record = "" if isinstance(read, list) and not read[0] else _unreadable(read)
            found[one] = Sides(record, digest(working[one]) if one in working else "", tags)
        return found

    def units(self, name: str, before: Sides, now: Sides) -> list[Unit]:
        tags = sorted({*before.tags, *now.tags})
        return [("contact", name), *(("contact_tag", name, tag) for tag in tags)]

    async def adopt(self, name: str, before: Sides, _now: int) -> None:
        known = (await contacts.load(self._store, [name])).get(name)
        rules = {rule.id: rule for rule in known.rules} if known else {}
        media = known.media if known else ()
        async for _, read in record_reading.CONTACTS.over(self._store, [name]):
            record = record_reading.contact(name, read, rules)
            await record_adopt.adopt_contact(self._store, record, before.tags, media)

    async def remove(self, name: str, _now: int) -> None:
        await contacts.remove(self._store, name)


class Entities:
    """Without the own contacts of their checks, which are a kind of their own."""

    name: str = "entity"
    classes: tuple[str, ...] = ("entity",)

    def __init__(self, store: Store) -> None:
        self._store = store

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]:
        keys, found = Alerting(self._store.prefix), dict[str, Sides]()
        async for one, read in record_reading.ENTITIES.over(self._store, names):
            record, tags = "", tuple[str, ...]()
            if isinstance(read, bytes) or read[0]:
                try:
                    entity = record_reading.entity(one, read)
                    record, tags = digest(replace(entity, check_contacts={})), entity.tags
                except Refused:
                    record = _unreadable(read)
            name = text_or_none(await self._store.call("HGET", keys.entity_names(), one))
            linked = await self._store.call("SMEMBERS", keys.entity_contacts(one))
            known = [name, sorted(map(text, linked))]
            found[one] = Sides(record, digest(known) if any(known) else "", tags)
        return found

    def units(self, name: str, before: Sides, now: Sides) -> list[Unit]:
        tags = sorted({*before.tags, *now.tags})
        return [("entity_alone", name), *(("entity_tag", name, tag) for tag in tags)]

    async def adopt(self, name: str, _before: Sides, _now: int) -> None:
        async for _, read in record_reading.ENTITIES.over(self._store, [name]):
            entity = record_reading.entity(name, read)
            other = await entities.holder(self._store, entities.named(entity.name))
            if name != "ALL" and other not in ("", name) and await self._is_record(other):
                raise Refused(f"the record {other} has the name {entity.name!r}, too")
            # Own contacts of checks may still be to be adopted, if their entity keeps its name.
            names = Alerting(self._store.prefix).entity_names()
            before = text_or_none(await self._store.call("HGET", names, name))
            is_renamed = before not in (None, entities.named(entity.name))
            unit = "entity" if is_renamed else "entity_alone"
            await entities.save(self._store, entity, unit=unit)

    async def remove(self, name: str, _now: int) -> None:
        await entities.remove(self._store, name)

    async def _is_record(self, entity_id: str) -> bool:
        ids = Records(self._store.prefix).entities()
        return bool(await self._store.call("SISMEMBER", ids, entity_id))


async def check_record(store: Store, event_id: str) -> str:
    """The id of the record of a check."""
    made = made_id(f"check:{event_id}")
    given = await store.call("HGET", AlertingOwn(store.prefix).record_ids(), made)
    return text_or_none(given) or made


async def owners(store: Store, check_ids: Iterable[str]) -> dict[str, str]:
    """ENTITY:CHECK of records of checks, by their ids."""
    found, ids = dict[str, str](), list(check_ids)
    begin, end = Records(store.prefix).check.literals
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        args: list[Argument] = [begin, end, *some]
        for one, names in zip(some, await _NAMES(store, [begin], args), strict=True):
            if names and names[0] and names[1]:
                found[one] = f"{text(names[0]).lower()}:{text(names[1])}"
    return found


# KEYS[1] any key of ours; ARGV[1] and ARGV[2] what stands before and after the id in keys of what
# windows belong to, ARGV[3] and ARGV[4] the same of checks, ARGV[5…] ids of windows. Returns entity
# and check of each.
_WINDOW_NAMES = Script(
    READ
    + """
local found = {}
for i = 5, #ARGV do
  local check = read('HGET', ARGV[1] .. ARGV[i] .. ARGV[2], 'check_by_start_id')
  found[i - 4] = check and read('HMGET', ARGV[3] .. check .. ARGV[4], 'entity_name', 'name')
end
return found
"""
)


async def window_owners(store: Store, kind: str, windows: Iterable[str]) -> dict[str, str]:
    """ENTITY:CHECK of records of maintenance, by their ids; empty where it is not known."""
    found, ids, keys = dict[str, str](), list(windows), Records(store.prefix)
    belongs = keys.scheduled_belongs if kind == "scheduled" else keys.unscheduled_belongs
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        args: list[Argument] = [*belongs.literals, *keys.check.literals, *some]
        for one, names in zip(some, await _WINDOW_NAMES(store, [keys.checks()], args), strict=True):
            is_known = names and names[0] and names[1]
            found[one] = f"{text(names[0]).lower()}:{text(names[1])}" if is_known else ""
    return found


def after(kind: Kind, name: str) -> Iterable[Unit]:
    """The units that are brought up to date once both sides were settled."""
    if kind.name == "check":
        yield from units_of_check(name)
        yield ("reported_entity", split_id(name)[0])
