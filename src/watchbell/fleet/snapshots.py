"""Snapshots: what a server, or all servers of a group, were doing at one time.

A snapshot keeps the last full sample of each server as its agent has packed it, so that taking one
unpacks nothing.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell import ids
from watchbell.errors import NotFound, Refused
from watchbell.fleet import presence, samples, servers
from watchbell.fleet.keys import Fleet
from watchbell.fleet.minutes import LATE_MINUTES
from watchbell.fleet.model import (
    Group,
    Server,
    ServerState,
    Snapshot,
    SnapshotHead,
    SnapshotSource,
    Watch,
)
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

LETTERS = "sn"
MOST_SERVERS = 1_000
"""In the snapshot of a group."""
_RECENT = 3_600
"""Seconds for which a server that is away still belongs to the snapshots of its group."""
MOST_STATES = 20_000
"""Servers in all snapshots together. Those of large groups would fill the store otherwise."""
_SLICE = 100

# KEYS snapshots, heads, the snapshot, watches, watched; ARGV[1] id, ARGV[2] date, ARGV[3] head,
# ARGV[4] the snapshot, ARGV[5] the field of the watch it is for, empty for none, ARGV[6] the watch
# as it was read, ARGV[7] the minute of the watch, ARGV[8] how late that may be. Returns 0
# where there is such a snapshot, or the watch is over or has one of this minute or of a later one.
# A key of a wrong type ends it before anything is written.
_KEEP = Script("""
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 0 end
if ARGV[5] ~= '' then
  if redis.call('HGET', KEYS[4], ARGV[5]) ~= ARGV[6] then return 0 end
  local last = tonumber(redis.call('HGET', KEYS[5], ARGV[5]) or '')
  local later = last and last - ARGV[7]
  if later and later >= 0 and later <= tonumber(ARGV[8]) then return 0 end
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[5], ARGV[5], ARGV[7]) end
redis.call('SET', KEYS[3], ARGV[4])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
return 1
""")

# KEYS snapshots, heads; ARGV[1] the beginning of the keys of snapshots, ARGV[2] msgpack: ids.
# Returns how many there were.
_DELETE = Script("""
local count = 0
for _, id in ipairs(cmsgpack.unpack(ARGV[2])) do
  count = count + redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('DEL', ARGV[1] .. id)
end
return count
""")

# KEYS snapshots, heads; ARGV[1] the most servers in all of them. Returns how many of the oldest are
# beyond that; the newest never is.
_BEYOND = Script(
    READ
    + """
local ids, sum = read('ZREVRANGE', KEYS[1], 0, -1) or {}, 0
for first = 1, #ids, 500 do
  local last = math.min(first + 499, #ids)
  local heads = read('HMGET', KEYS[2], unpack(ids, first, last)) or {}
  for i = first, last do
    sum = sum + (tonumber(string.match(heads[i - first + 1] or '', '"servers":(%d+)')) or 1)
    if i > 1 and sum > tonumber(ARGV[1]) then return #ids - i + 1 end
  end
end
return 0
"""
)

# KEYS snapshots, heads, the key of one of them; ARGV[1] id. Returns its head and itself.
_FIND = Script(
    READ
    + """
return {read('HGET', KEYS[2], ARGV[1]), read('GET', KEYS[3])}
"""
)


# KEYS snapshots, heads; ARGV[1] how many. Returns the heads of the newest.
_HEADS = Script(
    READ
    + """
local ids, found = read('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1) or {}, {}
for first = 1, #ids, 500 do
  local last = math.min(first + 499, #ids)
  for _, head in ipairs(read('HMGET', KEYS[2], unpack(ids, first, last)) or {}) do
    if head then found[#found + 1] = head end
  end
end
return found
"""
)


class Taking(Struct, frozen=True, kw_only=True):
    """Why a snapshot is taken, and what else was going on."""

    source: SnapshotSource
    now: float
    id: str = ""
    """Empty for a new one. With the same id, the second call finds the snapshot of the first."""
    username: str = ""
    cause: str = ""
    jobs: Sequence[str] = ()
    alerts: Sequence[str] = ()


class Occasion(Struct, frozen=True):
    """The minute of a watch, in which one snapshot is taken."""

    watch: Watch
    text: bytes
    """The watch as it was read."""
    minute: int

    @property
    def field(self) -> str:
        return f"{self.watch.type}:{self.watch.target}"


class _State(Struct, frozen=True):
    server: Server
    machine: bytes | None
    quick: tuple[bytes, ...]


class _Kept(Struct, frozen=True):
    """A snapshot as it is stored."""

    head: SnapshotHead
    states: tuple[_State, ...]
    group: Group | None = None


async def take(
    store: Store,
    server: str,
    *,
    source: SnapshotSource,
    now: float,
    jobs: Sequence[str] = (),
    alerts: Sequence[str] = (),
    username: str = "",
    cause: str = "",
    id: str = "",  # noqa: A002
) -> SnapshotHead:
    """Of a server. Raises NotFound."""
    taking = Taking(
        source=source,
        now=now,
        id=id,
        username=username,
        cause=cause,
        jobs=jobs,
        alerts=alerts,
    )
    head, _ = await take_server(store, await servers.get(store, server), taking)
    return head


async def take_server(
    store: Store, server: Server, taking: Taking, occasion: Occasion | None = None
) -> tuple[SnapshotHead, bool]:
    """The snapshot, and whether it was taken now: it may have been before."""
    head = _head(taking, server.groups, server=server)
    (state,) = await _states(store, [server])
    return head, await _keep(store, _Kept(head, (state,)), occasion)


async def take_group(
    store: Store, group: Group, taking: Taking, occasion: Occasion | None = None
) -> tuple[SnapshotHead, bool]:
    """Of the servers that are connected, or were within an hour."""
    found = await members(store, group.id)
    if not found:
        raise Refused(f"no server of the group {group.title} was connected within the last hour")
    head = _head(taking, (group.id,), servers=len(found))
    return head, await _keep(store, _Kept(head, await _states(store, found), group), occasion)


async def members(store: Store, group: str) -> list[Server]:
    """The servers that a snapshot of the group shows."""
    seen = await presence.read(store)
    own = [one for one in await servers.every(store) if group in one.groups]
    return [one for one in own if not seen.is_silent(one.id, _RECENT)][:MOST_SERVERS]


def _head(
    taking: Taking, groups: tuple[str, ...], *, server: Server | None = None, servers: int = 1
) -> SnapshotHead:
    return SnapshotHead(
        id=taking.id or ids.record_id(LETTERS, taking.now),
        type="server" if server else "group",
        source=taking.source,
        date=round(taking.now, 3),
        username=taking.username,
        cause=taking.cause,
        server=server.id if server else "",
        hostname=server.hostname if server else "",
        ip=server.ip if server else "",
        groups=groups,
        jobs=tuple(taking.jobs),
        alerts=tuple(taking.alerts),
        servers=servers,
    )


async def _states(store: Store, known: Sequence[Server]) -> tuple[_State, ...]:
    packed = await samples.packed(store, [one.id for one in known])
    return tuple(_State(one, *packed[one.id]) for one in known)


async def _keep(store: Store, kept: _Kept, occasion: Occasion | None) -> bool:
    keys, head = Fleet(store.prefix), kept.head
    wish = (occasion.field, occasion.text, occasion.minute) if occasion else ("", b"", 0)
    written = await _KEEP(
        store,
        [
            *(keys.snapshots(), keys.snapshot_heads(), keys.snapshot(head.id)),
            *(keys.watches(), keys.watched()),
        ],
        [
            *(head.id, head.date, msgspec.json.encode(head)),
            *(msgspec.msgpack.encode(kept), *wish, LATE_MINUTES),
        ],
    )
    return bool(written)


async def get(store: Store, id_: str) -> Snapshot:
    """Raises NotFound, and Refused where another program has spoiled it."""
    _, raw = await _find(store, id_)
    if not raw:
        raise NotFound(f"there is no snapshot {id_[:100]!r}")
    try:
        kept = msgspec.msgpack.decode(raw, type=_Kept)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refused(f"the snapshot {id_[:100]!r} is damaged") from None
    states = tuple(
        ServerState(
            server=one.server,
            data=samples.unpacked(one.machine),
            quickmon=samples.quick_values(one.quick),
        )
        for one in kept.states
    )
    return Snapshot(head=kept.head, states=states, group=kept.group)


async def heads(store: Store, most: int) -> list[SnapshotHead]:
    """Newest first."""
    keys = Fleet(store.prefix)
    texts = await _HEADS(store, [keys.snapshots(), keys.snapshot_heads()], [most])
    parsed = (_parsed(text) for text in texts)
    return [head for head in parsed if head is not None]


async def head(store: Store, id_: str) -> SnapshotHead:
    found = _parsed((await _find(store, id_))[0] or b"")
    if found is None:
        raise NotFound(f"there is no snapshot {id_[:100]!r}")
    return found


async def _find(store: Store, id_: str) -> tuple[bytes | None, bytes | None]:
    keys = Fleet(store.prefix)
    names = [keys.snapshots(), keys.snapshot_heads(), keys.snapshot(id_)]
    head, raw = await _FIND(store, names, [id_])
    return head, raw


async def delete(store: Store, deleted: Sequence[str]) -> int:
    """How many of them there were."""
    keys = Fleet(store.prefix)
    names = [keys.snapshots(), keys.snapshot_heads()]
    arguments: list[Any] = [keys.snapshot.literals[0], msgspec.msgpack.encode(deleted)]
    return int(await _DELETE(store, names, arguments))


async def prune(store: Store, most: int, oldest: float, *, most_states: int = MOST_STATES) -> int:
    """Deletes some of those that are too many, show too many servers together, or are older than
    that. Returns how many; a full slice means that there may be more."""
    keys = Fleet(store.prefix)
    key = keys.snapshots()
    found = await store.call("ZRANGEBYSCORE", key, "-inf", f"({oldest:.3f}", "LIMIT", 0, _SLICE)
    beyond = int(await _BEYOND(store, [key, keys.snapshot_heads()], [most_states]))
    extra = min(max(await store.call("ZCARD", key) - most, beyond), _SLICE)
    if extra > len(found):
        found = await store.call("ZRANGE", key, 0, extra - 1)
    names = [one.decode(errors="replace") for one in found]
    return await delete(store, names) if names else 0


def _parsed(raw: bytes) -> SnapshotHead | None:
    try:
        return msgspec.json.decode(raw, type=SnapshotHead)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
