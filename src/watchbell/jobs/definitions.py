"""What people define, such as events and monitors, in the store: read and changed, one script each.

A change is made of what was read: the script compares that before it writes, so of two people who
save at once neither overwrites the other unseen. What was replaced is kept as a revision.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from watchbell import ids
from watchbell.actors import Actor
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet.model import Monitor
from watchbell.jobs import validation
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import KINDS, Category, Channel, Event, Plugin
from watchbell.jobs.validation import Record
from watchbell.store.client import Store
from watchbell.store.families import Named
from watchbell.store.script import Script

KEPT = 100
"""Earlier versions of a record that are kept."""
LETTERS = {
    "event": "e",
    "category": "c",
    "plugin": "p",
    "channel": "n",
    "tag": "t",
    "monitor": "m",
    "alert": "a",
    "dashboard": "d",
}
"""With which the ids of new records begin."""
FIXED = ("id", "username", "created", "modified", "revision", "stock")
"""Properties that nobody changes by hand."""

_SLICE = 500
ATTEMPTS = 20
"""How often a change is made again because somebody else was quicker."""

Values = Mapping[str, Any]
Names = Collection[str]

# KEYS[1] records, KEYS[2] revisions of this one, KEYS[3] channel of changes, KEYS[4] categories.
# ARGV[1] id, ARGV[2] the record as it was read, empty for none, ARGV[3] the new record,
# ARGV[4] what is kept of the old one, empty for nothing, ARGV[5] how many of those to keep,
# ARGV[6] message, ARGV[7] id of the event's category, empty for none, ARGV[8] that category, in
# case there is none, ARGV[9] message about it.
# Returns 1, also if it was done before; 0 if the record is another one.
_WRITE = Script("""
local now = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if now == ARGV[3] then return 1 end
if now ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PERSIST', KEYS[2])
if ARGV[4] ~= '' then
  redis.call('LPUSH', KEYS[2], ARGV[4])
  redis.call('LTRIM', KEYS[2], 0, ARGV[5] - 1)
end
if ARGV[7] ~= '' and redis.call('HSETNX', KEYS[4], ARGV[7], ARGV[8]) == 1 then
  redis.call('PUBLISH', KEYS[3], ARGV[9])
end
redis.call('PUBLISH', KEYS[3], ARGV[6])
return 1
""")


class Replaced(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a change: who made it, and the record before it."""

    revision: int
    """That of the new record."""
    at: float
    by: str
    action: str = "update"
    old: msgspec.Raw = msgspec.Raw(b"null")


class Facts(Struct, frozen=True):
    """The records that one record refers to."""

    events: Mapping[str, Event] = {}
    categories: Mapping[str, Category] = {}
    plugins: Mapping[str, Plugin] = {}
    channels: Mapping[str, Channel] = {}
    monitors: Mapping[str, Monitor] = {}


async def get(store: Store, kind: str, id: str) -> Record:  # noqa: A002
    """Raises NotFound, and Refused where another program has spoiled the record."""
    return validation.stored(kind, await raw_record(store, kind, id))


async def every(store: Store, kind: str) -> dict[str, Record]:
    """All records by their ids, without those that another program has spoiled."""
    found: dict[str, Record] = {}
    async for pairs in scan(store, kind):
        for key, raw in pairs:
            try:
                found[key.decode()] = validation.stored(kind, raw)
            except (Refused, UnicodeDecodeError):
                continue
    return found


async def scan(store: Store, kind: str) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """Ids and records in slices; one that changes meanwhile may come twice."""
    key, cursor = records(store, kind)(), 0
    while True:
        cursor, found = await store.call("HSCAN", key, cursor, "COUNT", _SLICE)
        pairs = (
            found.items() if isinstance(found, dict) else zip(found[::2], found[1::2], strict=True)
        )
        yield list(pairs)
        if not int(cursor):
            return


async def create(
    store: Store, kind: str, value: Values, who: Actor, now: float, *, together: Names = ()
) -> Record:
    """Creates a record, with a new id where it names none. `together` are events that are created
    at the same time, to which it may refer. Raises Refused."""
    given = {name: each for name, each in value.items() if name not in FIXED}
    given["id"] = value.get("id") or ids.record_id(LETTERS[kind], now)
    record = await _read(store, kind, _stamped(given, who, now), None, who, together)
    if not await _write(store, kind, None, record, None, who, now):
        raise Refused(f"the {kind} {record.id!r} exists already", field="id", code="exists")
    return record


async def update(
    store: Store,
    kind: str,
    id: str,  # noqa: A002
    changes: Values,
    who: Actor,
    now: float,
    revision: int | None = None,
) -> Record:
    """Replaces some properties. With `revision`, raises Changed if the record has another one."""
    if changes.get("id") not in (None, id):
        raise Refused("an id can't be changed", field="id")
    given = {name: each for name, each in changes.items() if name not in FIXED}
    return await replace(store, kind, id, lambda old: {**old, **given}, who, now, revision=revision)


async def replace(
    store: Store,
    kind: str,
    id: str,  # noqa: A002
    change: Callable[[dict[str, Any]], Values],
    who: Actor,
    now: float,
    *,
    revision: int | None = None,
    action: str = "update",
    together: Names = (),
) -> Record:
    """Replaces a record by what `change` makes of it; called again if somebody else was quicker."""
    for _ in range(ATTEMPTS):
        raw = await raw_record(store, kind, id)
        old, current = readable(kind, raw)
        if revision is not None and (current is None or current.revision != revision):
            reason = f"somebody else has changed the {kind} {id!r} meanwhile; load it again"
            raise Changed(reason)
        value = dict(change(old)) | {name: old[name] for name in FIXED if name in old}
        made = {"id": id} if current is not None else _stamped({"id": id}, who, now)
        record = await _read(store, kind, value | made, current, who, together)
        if current is not None and record == current:
            return current
        before = current.revision if current else 0
        record = msgspec.structs.replace(record, modified=int(now), revision=before + 1)
        if await _write(store, kind, raw, record, action, who, now):
            return record
    raise Changed(f"others change the {kind} {id!r} all the time; try again")


async def recreate(store: Store, kind: str, value: Values, who: Actor, now: float) -> Record:
    """Creates a record that was deleted, with the revision that the value names."""
    record = await _read(store, kind, value, None, who)
    record = msgspec.structs.replace(record, modified=int(now))
    if not await _write(store, kind, None, record, "restore", who, now):
        raise Refused(f"the {kind} {record.id!r} exists already", field="id", code="exists")
    return record


def records(store: Store, kind: str) -> Named:
    """The family of all records of a kind."""
    keys = Jobs(store.prefix)
    return {
        "event": keys.events,
        "category": keys.categories,
        "plugin": keys.plugins,
        "channel": keys.channels,
        "tag": keys.tags,
        "monitor": keys.monitors,
        "alert": keys.alert_defs,
        "dashboard": keys.dashboards,
    }[kind]


async def raw_record(store: Store, kind: str, id: str) -> bytes:  # noqa: A002
    if kind not in KINDS:
        raise NotFound(f"there is no kind {kind!r}")
    raw: bytes | None = await store.call("HGET", records(store, kind)(), id)
    if raw is None:
        raise NotFound(f"there is no {kind} {id!r}")
    return raw


def plain_values(record: Record) -> dict[str, Any]:
    """The properties of a record that people change, as JSON has them."""
    found: dict[str, Any] = msgspec.to_builtins(record)
    return {name: value for name, value in found.items() if name not in FIXED}


def readable(kind: str, raw: bytes) -> tuple[dict[str, Any], Record | None]:
    """The record as JSON and as it is read; nothing where another program has spoiled it."""
    try:
        current = validation.stored(kind, raw)
    except Refused:
        return {}, None
    return msgspec.json.decode(msgspec.json.encode(current)), current


def kept(raw: bytes) -> msgspec.Raw:
    try:
        msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return msgspec.Raw(b"null")
    return msgspec.Raw(raw)


def _stamped(value: Values, who: Actor, now: float) -> dict[str, Any]:
    made = {"username": who.name, "created": int(now), "modified": int(now), "revision": 1}
    return {**value, **made}


async def _read(
    store: Store,
    kind: str,
    value: Values,
    current: Record | None,
    who: Actor,
    together: Names = (),
) -> Record:
    """The validated record. It is read twice: first to find what it refers to."""
    if kind not in KINDS:
        raise NotFound(f"there is no kind {kind!r}")
    is_admin = "admin" in who.privileges
    draft = validation.read(kind, value, current=current, is_admin=is_admin)
    facts = await _facts(store, draft, together)
    return validation.read(kind, value, facts, current=current, is_admin=is_admin)


async def _facts(store: Store, record: Record, together: Names) -> Facts:
    wanted: dict[str, set[str]] = {
        kind: set() for kind in ("event", "plugin", "channel", "monitor")
    }
    for _, kind, name in validation.references(record):
        wanted[kind].add(name)
    wanted["category"] = {record.category} if isinstance(record, Event) else set()
    found = {kind: await some(store, kind, names) for kind, names in wanted.items()}
    await _add_nested(store, found["event"])
    events = {name: Event(id=name, title=name) for name in together} | found["event"]
    return Facts(events, found["category"], found["plugin"], found["channel"], found["monitor"])


async def _add_nested(store: Store, events: dict[str, Any]) -> None:
    """Adds the events that workflows among these run, and so on."""
    while missing := {
        name
        for event in events.values()
        for _, kind, name in validation.references(event)
        if kind == "event" and event.workflow is not None and name not in events
    }:
        found = await some(store, "event", missing)
        events |= {name: Event(id=name, title=name) for name in missing} | found


async def some(store: Store, kind: str, names: Iterable[str]) -> dict[str, Any]:
    """As `every`, of these."""
    asked = sorted(names)
    raws = await store.call("HMGET", records(store, kind)(), *asked) if asked else []
    found = {}
    for name, raw in zip(asked, raws, strict=True):
        _, record = readable(kind, raw) if raw is not None else ({}, None)
        if record is not None:
            found[name] = record
    return found


async def _write(
    store: Store,
    kind: str,
    old: bytes | None,
    record: Record,
    action: str | None,
    who: Actor,
    now: float,
) -> bool:
    keys = Jobs(store.prefix)
    entry = b""
    if action is not None:
        before = kept(old) if old is not None else msgspec.Raw(b"null")
        revision, by = record.revision, who.display_name
        entry = msgspec.json.encode(
            Replaced(revision=revision, at=now, by=by, action=action, old=before)
        )
    category, made = "", b""
    if isinstance(record, Event):
        category = record.category
        value = _stamped({"id": category, "title": category}, who, now)
        made = msgspec.json.encode(Category(**value))
    return bool(
        await _WRITE(
            store,
            [
                records(store, kind)(),
                keys.revisions(kind, record.id),
                keys.changes(),
                keys.categories(),
            ],
            [
                record.id,
                old or b"",
                msgspec.json.encode(record),
                entry,
                KEPT,
                change_message(kind, record.id),
                category,
                made,
                change_message("category", category),
            ],
        )
    )


def change_message(kind: str, id: str) -> bytes:  # noqa: A002
    return msgspec.json.encode({"kind": kind, "id": id})
