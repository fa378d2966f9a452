"""Servers, groups and tokens in the store: a change is written only while what it follows from is
as it was read."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import AgentToken, Group, Server
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

R = TypeVar("R", Server, Group, AgentToken)
Record = Server | Group | AgentToken
_TABLES: dict[type[Struct], int] = {Server: 1, Group: 2, AgentToken: 3}

# KEYS servers, groups, tokens; ARGV[1] and ARGV[2] SHA-1 of all servers and of all groups, or empty
# where they may have changed; ARGV[3] channel, ARGV[4] msgpack: {which of KEYS, id, text as it was
# read, new text}, each text empty for none; ARGV[5] msgpack: ids to publish. All is written, or
# nothing. Returns 1, or 0 where something had changed.
_WRITE = Script("""
for i = 1, 2 do
  local known = ARGV[i]
  if known ~= '' and redis.sha1hex(table.concat(redis.call('HVALS', KEYS[i]))) ~= known then
    return 0
  end
end
local changes = cmsgpack.unpack(ARGV[4])
for _, change in ipairs(changes) do
  local key, id, old = unpack(change)
  if (redis.call('HGET', KEYS[key], id) or '') ~= old then return 0 end
end
for _, change in ipairs(changes) do
  local key, id, _, new = unpack(change)
  if new == '' then
    redis.call('HDEL', KEYS[key], id)
  else
    redis.call('HSET', KEYS[key], id, new)
  end
end
for _, id in ipairs(cmsgpack.unpack(ARGV[5])) do redis.call('PUBLISH', ARGV[3], id) end
return 1
""")


class Change(Struct, frozen=True):
    kind: type[Record]
    id: str
    old: bytes
    """As it was read; empty where there was none."""
    new: Record | None
    """None to delete it."""


class Fleetwide(Struct, frozen=True):
    """All servers and groups at one time. A record that other programs spoiled is missing."""

    servers: dict[str, Server]
    groups: dict[str, Group]
    server_texts: dict[bytes, bytes]
    group_texts: dict[bytes, bytes]

    def server_text(self, id_: str) -> bytes:
        return self.server_texts.get(id_.encode(), b"")

    def group_text(self, id_: str) -> bytes:
        return self.group_texts.get(id_.encode(), b"")


def parsed(kind: type[R], raw: bytes) -> R | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _table(kind: type[R], texts: Mapping[bytes, bytes]) -> dict[str, R]:
    found = {key.decode(errors="replace"): parsed(kind, raw) for key, raw in texts.items()}
    return {id_: one for id_, one in found.items() if one is not None and one.id == id_}


async def every(store: Store, kind: type[R]) -> dict[str, R]:
    return _table(kind, await store.call("HGETALL", _key(store, kind)))


async def find(store: Store, kind: type[R], id_: str) -> tuple[R | None, bytes]:
    """The record, and the text that it was read from."""
    raw = await store.call("HGET", _key(store, kind), id_)
    return (None, b"") if raw is None else (parsed(kind, raw), raw)


async def some_servers(store: Store, ids: Sequence[str]) -> dict[str, Server]:
    """Those of them that there are."""
    texts = await store.call("HMGET", _key(store, Server), *ids)
    known = zip(ids, texts, strict=True)
    return _table(Server, {id_.encode(): text for id_, text in known if text is not None})


async def load(store: Store, only: str = "") -> Fleetwide:
    """With `only`, that server and all groups."""
    if only:
        _, text = await find(store, Server, only)
        servers = {only.encode(): text} if text else {}
    else:
        servers = await store.call("HGETALL", _key(store, Server))
    groups = await store.call("HGETALL", _key(store, Group))
    return Fleetwide(_table(Server, servers), _table(Group, groups), servers, groups)


async def write(
    store: Store,
    changes: Sequence[Change],
    *,
    servers: Mapping[bytes, bytes] | None = None,
    groups: Mapping[bytes, bytes] | None = None,
    published: Sequence[str] = (),
) -> bool:
    """Whether it was written. With `servers` or `groups`, only if none of them has changed."""
    packed = [
        [_TABLES[one.kind], one.id, verbatim(one.old), verbatim(_text(one.new))] for one in changes
    ]
    arguments: list[Any] = [
        _digest(servers),
        _digest(groups),
        Fleet(store.prefix).changes(),
        msgspec.msgpack.encode(packed),
        msgspec.msgpack.encode(published),
    ]
    keys = [_key(store, Server), _key(store, Group), _key(store, AgentToken)]
    return bool(await _WRITE(store, keys, arguments))


def _key(store: Store, kind: type[Record]) -> str:
    keys = Fleet(store.prefix)
    return {Server: keys.servers, Group: keys.groups, AgentToken: keys.tokens}[kind]()


def _text(record: Record | None) -> bytes:
    return b"" if record is None else msgspec.json.encode(record)


def _digest(texts: Mapping[bytes, bytes] | None) -> str:
    if texts is None:
        return ""
    return hashlib.sha1(b"".join(texts.values()), usedforsecurity=False).hexdigest()
