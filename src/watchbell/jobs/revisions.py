"""Earlier versions of definitions: who changed what, and how to get a version back."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.actors import Actor
from watchbell.errors import NotFound
from watchbell.jobs import definitions
from watchbell.jobs.definitions import FIXED, Replaced
from watchbell.jobs.keys import Jobs
from watchbell.jobs.validation import Record
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# KEYS[1] records, KEYS[2] revisions; ARGV[1] id. Returns the record, and what is kept of the
# changes.
_READ = Script(
    READ
    + """
return {read('HGET', KEYS[1], ARGV[1]) or '', read('LRANGE', KEYS[2], 0, -1) or {}}
"""
)


class Revision(Struct, frozen=True, kw_only=True):
    revision: int
    at: float
    by: str
    """Empty where that is no longer known."""
    action: str
    """`create`, `update`, `delete` or `restore`."""
    record: dict[str, Any] | None
    """The version that the change made; None for a deletion, and where it was unreadable. Secret
    parameters are in it."""


class Change(Struct, frozen=True):
    field: str
    old: Any
    """None where the property was not there."""
    new: Any


async def of(store: Store, kind: str, id: str) -> list[Revision]:  # noqa: A002
    """All versions that are known, the newest first. Raises NotFound if there are none."""
    key = Jobs(store.prefix).revisions(kind, id)
    raw, entries = await _READ(store, [definitions.records(store, kind)(), key], [id])
    found = list(_versions(_json(raw), [one for one in map(_entry, entries) if one]))
    if not found:
        raise NotFound(f"there is no {kind} {id!r}")
    return found


async def restore(
    store: Store,
    kind: str,
    id: str,  # noqa: A002
    revision: int,
    who: Actor,
    now: float,
) -> Record:
    """Makes a new version like an earlier one; a record that was deleted is created again."""
    versions = await of(store, kind, id)
    for one in versions:
        if one.revision == revision and one.record is not None:
            record = one.record
            break
    else:
        raise NotFound(f"there is no revision {revision} of the {kind} {id!r}")
    if versions[0].action == "delete":
        value = record | {"revision": versions[0].revision + 1}
        return await definitions.recreate(store, kind, value, who, now)
    value = {name: each for name, each in record.items() if name not in FIXED}
    return await definitions.replace(store, kind, id, lambda _: value, who, now, action="restore")


def diff(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[Change]:
    """The properties in which two versions differ, without those that every change changes."""
    ignored = ("modified", "revision")
    before, after = (
        {name: each for name, each in (one or {}).items() if name not in ignored}
        for one in (old, new)
    )
    return list(_differences("", before, after))


def _differences(path: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            inner = f"{path}.{name}" if path else name
            yield from _differences(inner, old.get(name), new.get(name))
    elif _has_objects(old) and _has_objects(new):
        for place in range(max(len(old), len(new))):
            each = (one[place] if place < len(one) else None for one in (old, new))
            yield from _differences(f"{path}[{place}]", *each)
    else:
        yield Change(path, old, new)


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _versions(current: Any, entries: list[Replaced]) -> Iterator[Revision]:
    """Each change keeps the version before it, so a version is found in the change after it."""
    made = current
    for one in entries:
        if one.action == "delete":
            if made is not None:
                yield _first(made)
            yield _made(one, None)
        else:
            yield _made(one, made)
        made = _json(bytes(one.old))
    if made is not None:
        yield _first(made)


def _made(change: Replaced, record: Any) -> Revision:
    return Revision(
        revision=change.revision,
        at=change.at,
        by=change.by,
        action=change.action,
        record=record,
    )


def _first(record: dict[str, Any]) -> Revision:
    """The oldest version that is known; who made it is known only if it was the first."""
    revision = record.get("revision", 1)
    is_new = revision == 1
    return Revision(
        revision=revision,
        at=record.get("created" if is_new else "modified", 0),
        by=record.get("username", "") if is_new else "",
        action="create" if is_new else "update",
        record=record,
    )


def _json(raw: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except _UNREADABLE:
        return None


def _entry(raw: bytes) -> Replaced | None:
    try:
        return msgspec.json.decode(raw, type=Replaced)
    except _UNREADABLE:
        return None
