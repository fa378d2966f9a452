"""Notifications and alerts that are queued by the ids of their records.

The JSON of ours is kept beside the record. What another program queued is read from its records.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.model import short_id
from watchbell.alerting.record_keys import Records
from watchbell.store.client import Store
from watchbell.store.replies import pairs, text
from watchbell.store.script import Script

_ID = re.compile(rb"[0-9A-Za-z_.-]{1,100}")

_STATES = {"acknowledgement": "acknowledgement", "test": "test_notifications"}
"""The states that notifications of these types have in JSON, where records have the check's."""

Fields = dict[str, str]

# KEYS[1] any key of ours; ARGV: keys. Returns the fields of a hash, the members of a set; nothing
# for another key.
_READ = Script("""
local commands, found = {hash = 'HGETALL', set = 'SMEMBERS'}, {}
for i, key in ipairs(ARGV) do
  local command = commands[redis.call('TYPE', key).ok]
  found[i] = command and redis.call(command, key) or {}
end
return found
""")


def ids(items: Iterable[bytes]) -> list[str]:
    """The items that are ids of records; others are JSON, or invalid."""
    return [item.decode() for item in items if _ID.fullmatch(item)]


async def notifications(store: Store, items: Sequence[bytes]) -> list[bytes]:
    """The JSON of each item; the item itself where it is an id of nothing."""
    return await _texts(store, items, _rebuilt_notifications)


async def alerts(store: Store, items: Sequence[bytes]) -> list[bytes]:
    return await _texts(store, items, _rebuilt_alerts)


async def _texts(store: Store, items: Sequence[bytes], rebuilt: Any) -> list[bytes]:
    found = dict[str, bytes]()
    named = ids(items)
    if named:
        keys = map(AlertingOwn(store.prefix).payload, named)
        stored = zip(named, await store.call("MGET", *keys), strict=True)
        found = {one: payload for one, payload in stored if payload is not None}
    if missing := [one for one in named if one not in found]:
        objects = await rebuilt(_Reader(store), missing)
        found |= {one: msgspec.json.encode(made) for one, made in objects.items()}
    return [found.get(text(item), item) for item in items]


class _Reader:
    """Reads records, many at once."""

    def __init__(self, store: Store) -> None:
        self._store, self.keys = store, Records(store.prefix)
        self._any_key = AlertingOwn(store.prefix).records()

    async def fields(self, keys: Iterable[str]) -> list[Fields]:
        return [
            {text(name): text(value) for name, value in pairs(one)}
            for one in await self._read(keys)
        ]

    async def members(self, keys: Iterable[str]) -> list[list[str]]:
        return [sorted(map(text, one)) for one in await self._read(keys)]

    async def check_names(self, ids: Iterable[str]) -> list[str]:
        """ENTITY:CHECK; empty where there is no such check."""
        found = await self.fields(map(self.keys.check, ids))
        names = [(one.get("entity_name"), one.get("name")) for one in found]
        return [f"{entity.lower()}:{name}" if entity and name else "" for entity, name in names]

    async def _read(self, keys: Iterable[str]) -> list[Any]:
        found: list[Any] = await _READ(self._store, [self._any_key], list(keys))
        return found


async def _rebuilt_notifications(reader: _Reader, ids: list[str]) -> dict[str, Any]:
    keys = reader.keys
    records = await reader.fields(map(keys.notification, ids))
    tags = await reader.members(map(keys.notification_tags, ids))
    owners = await reader.fields(map(keys.notification_belongs, ids))
    checks = await reader.check_names(_each(owners, "check_id"))
    states = await reader.fields(map(keys.state, _each(owners, "state_id")))
    before = await reader.fields(map(keys.state, _each(owners, "previous_state_id")))
    return {
        one: {
            **record,
            "event_id": check,
            "event_hash": short_id(check),
            "state": _STATES.get(record.get("type", ""), state.get("state")),
            **{name: state.get(name) for name in ("summary", "details", "count")},
            "last_state": last.get("state"),
            "last_summary": last.get("summary"),
            "tags": tagged,
        }
        for one, record, check, state, last, tagged in zip(
            ids, records, checks, states, before, tags, strict=True
        )
        if check
    }


async def _rebuilt_alerts(reader: _Reader, ids: list[str]) -> dict[str, Any]:
    keys = reader.keys
    records = await reader.fields(map(keys.alert, ids))
    owners = await reader.fields(map(keys.alert_belongs, ids))
    checks = await reader.check_names(_each(owners, "check_id"))
    addressees = await _addressees(reader, _each(owners, "medium_id"))
    rollups = await _rollups(reader, ids)
    return {
        one: {
            **record,
            **addressee,
            "id": one,
            "event_id": check,
            "event_hash": short_id(check),
            "duration": record.get("acknowledgement_duration"),
            "rollup_alerts": rollup,
        }
        for one, record, check, addressee, rollup in zip(
            ids, records, checks, addressees, rollups, strict=True
        )
        if check and addressee
    }


async def _addressees(reader: _Reader, ids: list[str]) -> list[dict[str, Any]]:
    keys = reader.keys
    media = await reader.fields(map(keys.medium, ids))
    owners = _each(await reader.fields(map(keys.medium_belongs, ids)), "contact_id")
    people = await reader.fields(map(keys.contact, owners))
    return [
        {
            "address": medium["address"],
            "rollup_threshold": medium.get("rollup_threshold"),
            "contact_id": contact,
            "contact_first_name": person.get("first_name", ""),
            "contact_last_name": person.get("last_name", ""),
        }
        if "address" in medium
        else {}
        for medium, contact, person in zip(media, owners, people, strict=True)
    ]


async def _rollups(reader: _Reader, ids: list[str]) -> list[dict[str, Fields]]:
    found = []
    for listed in await reader.members(map(reader.keys.alert_rollup_alerts, ids)):
        entries = await reader.fields(map(reader.keys.rollup_alert, listed))
        owners = await reader.fields(map(reader.keys.rollup_alert_belongs, listed))
        checks = await reader.check_names(_each(owners, "check_id"))
        found.append({name: one for name, one in zip(checks, entries, strict=True) if name})
    return found


def _each(records: Iterable[Fields], name: str) -> list[str]:
    return [one.get(name, "") for one in records]
