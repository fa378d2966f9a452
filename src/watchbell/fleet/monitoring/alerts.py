"""Alerts of servers in the store, active and past: found, counted, deleted."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from watchbell.errors import NotFound, Refused
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import AlertRecord
from watchbell.fleet.monitoring.minute_scripts import active_of
from watchbell.fleet.monitoring.transitions import Active
from watchbell.store.client import Store
from watchbell.store.replies import pairs, text
from watchbell.store.script import READ, Script

MOST = 20_000
"""Alerts that are kept, at most."""
KEPT = 365 * 86_400.0
"""Seconds for which one is kept after it became active."""
STALE_AFTER = 150.0
"""Seconds without a sample after which nobody knows whether an alert still holds."""
MOST_ROWS = 1_000
_PAGE = 200
_MOST_WALKED = 5_000
_FIELDS = AlertRecord.__struct_fields__

State = Literal["active", "stale", "cleared"]

# KEYS[1] alerts; ARGV[1] what the keys of alerts begin with, ARGV[2] the set to walk, ARGV[3] and
# ARGV[4] the latest and the earliest time, ARGV[5] how many to leave out, ARGV[6] how many to give.
# Returns ids and their fields, newest first.
_WALK = Script(
    READ
    + """
local ids = read('ZREVRANGEBYSCORE', ARGV[2], ARGV[3], ARGV[4], 'LIMIT', ARGV[5], ARGV[6]) or {}
local found = {}
for i, id in ipairs(ids) do found[i] = {id, read('HGETALL', ARGV[1] .. id) or {}} end
return found
"""
)

# KEYS[1] alerts, KEYS[2] active alerts; ARGV[1] msgpack: {id, key, field by which it is found while
# it is active, indexes}. One that is active stays. Returns how many were deleted.
_DELETE = Script("""
local count = 0
for _, one in ipairs(cmsgpack.unpack(ARGV[1])) do
  local id, key, field, indexes = unpack(one)
  local kept = redis.pcall('HGET', KEYS[2], field)
  local is_known, active = pcall(cjson.decode, type(kept) == 'string' and kept or '')
  if not (is_known and type(active) == 'table' and active.id == id) then
    count = count + redis.call('ZREM', KEYS[1], id)
    redis.call('DEL', key)
    for _, index in ipairs(indexes) do redis.pcall('ZREM', index, id) end
  end
end
return count
""")


# KEYS[1] active alerts. Returns what is kept of each.
_ACTIVE = Script(READ + "return read('HVALS', KEYS[1]) or {}")


# KEYS[1] alerts; ARGV[1] what the keys of alerts begin with, then ids. Returns the fields of each.
_SOME = Script(
    READ
    + """
local found = {}
for i = 2, #ARGV do found[i - 1] = read('HGETALL', ARGV[1] .. ARGV[i]) or {} end
return found
"""
)


class Query(Struct, frozen=True, kw_only=True):
    alerts: tuple[str, ...] = ()
    """Definitions; any of them."""
    servers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    active: bool | None = None
    since: float | None = None
    """Became active at that time, or later."""
    until: float | None = None
    """Before that time."""
    text: str = ""
    """Words in the title, message or hostname, all of them."""
    readable: frozenset[str] | None = None
    """Only of servers of these groups; None for all."""


def state_of(alert: AlertRecord, now: float) -> State:
    """`stale`: its server has sent no sample since; a sample will say whether it still holds."""
    if not alert.active:
        return "cleared"
    return "stale" if now - alert.modified > STALE_AFTER else "active"


async def active_texts(store: Store) -> list[tuple[bytes, Active]]:
    """All that are active, each with its text; those that other programs spoiled are left out."""
    raws = await _ACTIVE(store, [Fleet(store.prefix).active_alerts()])
    return [(raw, one) for raw in raws if (one := active_of(raw)) is not None]


async def active(store: Store) -> list[Active]:
    """All that are active, the oldest first."""
    known = [one for _, one in await active_texts(store)]
    return sorted(known, key=lambda one: (one.date, one.id))


async def get(store: Store, id_: str) -> AlertRecord:
    found = await some(store, [id_])
    if not found:
        raise NotFound(f"there is no server alert {id_[:100]!r}")
    return found[0]


async def some(store: Store, ids: Sequence[str]) -> list[AlertRecord]:
    """Those of them that there are."""
    keys, found = Fleet(store.prefix), list[AlertRecord]()
    for first in range(0, len(ids), _PAGE):
        args = [keys.alert.literals[0], *ids[first : first + _PAGE]]
        rows = await _SOME(store, [keys.alerts()], args)
        found += [one for fields in rows if (one := record(dict(pairs(fields)))) is not None]
    return found


def record(fields: dict[bytes, bytes]) -> AlertRecord | None:
    """None where there is none, or other programs have spoiled it."""
    known = {name: fields[name.encode()] for name in _FIELDS if name.encode() in fields}
    joined = b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in known.items())
    try:
        return msgspec.json.decode(b"{" + joined + b"}", type=AlertRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def matches(alert: AlertRecord, query: Query) -> bool:
    words = f"{alert.title} {alert.message} {alert.hostname}".casefold()
    return (
        (not query.alerts or alert.alert in query.alerts)
        and (not query.servers or alert.server in query.servers)
        and (not query.groups or not set(query.groups).isdisjoint(alert.groups))
        and (query.readable is None or not query.readable.isdisjoint(alert.groups))
        and query.active in (None, alert.active)
        and (query.since is None or alert.date >= query.since)
        and (query.until is None or alert.date < query.until)
        and all(word in words for word in query.text.casefold().split())
    )


class Page(Struct, frozen=True):
    alerts: list[AlertRecord]
    count: int
    """How many match, as far as they were looked at."""


async def search(store: Store, query: Query, offset: int = 0, most: int = 50) -> Page:
    """The newest first."""
    found = await matching(store, query)
    return Page(found[offset : offset + max(0, min(most, MOST_ROWS))], len(found))


async def matching(store: Store, query: Query) -> list[AlertRecord]:
    """The newest first, as far as they are looked at."""
    if query.active:
        known = await some(store, [one.id for one in reversed(await active(store))])
        return [one for one in known if matches(one, query)]
    keys, found, walked = Fleet(store.prefix), list[AlertRecord](), 0
    high = "+inf" if query.until is None else f"({query.until!r}"
    low = "-inf" if query.since is None else repr(query.since)
    where = [keys.alert.literals[0], _walked(keys, query), high, low]
    while walked < _MOST_WALKED:
        rows = await _WALK(store, [keys.alerts()], [*where, walked, _PAGE])
        for _, fields in rows:
            one = record(dict(pairs(fields)))
            if one is not None and matches(one, query):
                found.append(one)
        walked += len(rows)
        if len(rows) < _PAGE:
            break
    return found


def _walked(keys: Fleet, query: Query) -> str:
    """The smallest set that has all that match."""
    for name, values in (
        ("server", query.servers),
        ("alert", query.alerts),
        ("group", query.groups),
    ):
        if len(values) == 1:
            return keys.alerts_by(name, values[0])
    return keys.alerts()


async def delete(store: Store, id_: str) -> AlertRecord:
    """Raises Refused while it is active."""
    found = await get(store, id_)
    if not await delete_some(store, [found]):
        raise Refused(
            f"the alert {found.title!r} of {found.hostname} is active; snooze or disable its"
            " definition instead",
            code="active",
        )
    return found


async def delete_some(store: Store, found: Sequence[AlertRecord]) -> int:
    """How many it has deleted: those that are active stay."""
    keys = Fleet(store.prefix)
    items: list[list[Any]] = []
    for one in found:
        indexes = [keys.alerts_by("alert", one.alert), keys.alerts_by("server", one.server)]
        indexes += [keys.alerts_by("group", group) for group in one.groups]
        items.append([one.id, keys.alert(one.id), f"{one.server}:{one.alert}", indexes])
    names = [keys.alerts(), keys.active_alerts()]
    return int(await _DELETE(store, names, [msgspec.msgpack.encode(items)]))


async def limit(store: Store, now: float, most: int = MOST, kept: float = KEPT) -> int:
    """Deletes some of those that are too old, or more than `most`; active ones stay. Returns how
    many; there may be more until it is 0."""
    key = Fleet(store.prefix).alerts()
    staying = {one.id for one in await active(store)}
    page = _PAGE + len(staying)
    old = await store.call("ZRANGEBYSCORE", key, "-inf", now - kept, "LIMIT", 0, page)
    oldest = await store.call("ZRANGE", key, 0, page - 1)
    excess = max(int(await store.call("ZCARD", key)) - most, 0)
    aged, first = ([id_ for id_ in map(text, ids) if id_ not in staying] for ids in (old, oldest))
    ids = list(dict.fromkeys([*aged, *first[:excess]]))[:_PAGE]
    known, count = {one.id: one for one in await some(store, ids)}, 0
    for id_ in ids:  # there may be no record any more, or none that can be read
        one = known.get(id_) or AlertRecord(id=id_, alert="", server="")
        count += await delete_some(store, [one])
    return count
