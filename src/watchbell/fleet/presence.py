"""Which servers are connected, by which session, and when each was last seen, by the store's clock.

A server has one session. A new connection takes its place; what the old one still writes is refused
because it names another session.
"""

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Link
from watchbell.store import presence
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

Loss = Literal["replaced", "revoked"]
"""Why a session is over: another connection has taken its place, or its token was revoked."""

IS_CURRENT = """
local function is_current(links, server, session)
  local known, link = pcall(cjson.decode, redis.call('HGET', links, server) or '')
  return known and type(link) == 'table' and link.session == session
end
"""
"""Lua for scripts that write for a server: whether the session is still the one of the server."""

# KEYS links, seen; ARGV[1] server, ARGV[2] link, ARGV[3] channel, ARGV[4] the boot of the agent,
# ARGV[5] seconds for which a server that was seen is alive. Returns 1, or 0 where an agent of
# another boot is alive and connected.
_CONNECT = Script("""
local time = redis.call('TIME')
local known, link = pcall(cjson.decode, redis.call('HGET', KEYS[1], ARGV[1]) or '')
if known and type(link) == 'table' and link.boot ~= ARGV[4] and not link.is_leaving then
  local seen = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
  if math.abs(time[1] - seen) < tonumber(ARGV[5]) then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], time[1] .. '.' .. string.format('%06d', time[2]), ARGV[1])
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 1
""")

# KEYS links; ARGV[1] server, ARGV[2] session, ARGV[3] channel. Returns 1, or 0 where another
# session has taken its place.
_DISCONNECT = Script(
    IS_CURRENT
    + """
if not is_current(KEYS[1], ARGV[1], ARGV[2]) then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 1
"""
)

# KEYS links; ARGV[1] server, ARGV[2] session, ARGV[3] link, ARGV[4] channel.
_REPLACE = Script(
    IS_CURRENT
    + """
if not is_current(KEYS[1], ARGV[1], ARGV[2]) then return end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PUBLISH', ARGV[4], ARGV[1])
"""
)

# KEYS links, seen, tokens; ARGV[1] msgpack: {server, session, token}. Returns for each 0, or 1
# where another session has taken its place, or 2 where its token was revoked.
BEAT = Script(
    IS_CURRENT
    + """
local time = redis.call('TIME')
local now = time[1] .. '.' .. string.format('%06d', time[2])
local replies, seen = {}, {}
for i, beat in ipairs(cmsgpack.unpack(ARGV[1])) do
  local server, session, token = unpack(beat)
  if redis.call('HEXISTS', KEYS[3], token) == 0 then
    replies[i] = 2
  elseif not is_current(KEYS[1], server, session) then
    replies[i] = 1
  else
    replies[i] = 0
    redis.call('ZADD', KEYS[2], now, server)
  end
end
return replies
"""
)

# KEYS links, seen. Returns the time, the links and when each server was seen.
_READ = Script(
    READ
    + """
local time = redis.call('TIME')
return {time[1] .. '.' .. string.format('%06d', time[2]), read('HGETALL', KEYS[1]) or {},
  read('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES') or {}}
"""
)


class Beat(Struct, frozen=True, array_like=True):
    server: str
    session: str
    token: str


class Presence(Struct, frozen=True):
    """What is known of all servers at one time, by the store's clock."""

    now: float
    links: dict[str, Link]
    seen: dict[str, float]

    def is_online(self, server: str, down_after: float) -> bool:
        """Whether its agent is connected, takes jobs, and was seen within so many seconds."""
        link = self.links.get(server)
        return link is not None and not link.is_leaving and not self.is_silent(server, down_after)

    def is_silent(self, server: str, after: float) -> bool:
        return presence.is_silent(self.seen.get(server, 0), self.now, after)


async def connect(store: Store, server: str, link: Link, alive_for: float = 0) -> bool:
    """The connection becomes the one of the server. False where an agent of another boot or folder
    was seen within so many seconds: a copy of the machine, or somebody with its token, must not
    take over jobs that run elsewhere."""
    keys = Fleet(store.prefix)
    names = [keys.links(), keys.seen()]
    packed = msgspec.json.encode(link)
    args: list[Argument] = [server, packed, keys.changes(), link.boot, alive_for]
    return bool(await _CONNECT(store, names, args))


async def disconnect(store: Store, server: str, session: str) -> bool:
    """Whether it was still the connection of the server."""
    keys = Fleet(store.prefix)
    return bool(await _DISCONNECT(store, [keys.links()], [server, session, keys.changes()]))


async def reconnect(store: Store, server: str) -> None:
    """Ends the connection of the server, if there is one, so that its agent connects again."""
    link = (await read(store)).links.get(server)
    if link is not None:
        await disconnect(store, server, link.session)


async def leave(store: Store, server: str, link: Link) -> None:
    """The agent takes no more jobs, and stays connected to report on those that it has."""
    keys, left = Fleet(store.prefix), msgspec.structs.replace(link, is_leaving=True)
    words = [server, link.session, msgspec.json.encode(left).decode(), keys.changes()]
    await _REPLACE(store, [keys.links()], words)


async def beat(store: Store, beats: Sequence[Beat]) -> list[Loss | None]:
    """Marks these servers as seen. Returns for each why its session is over, or None."""
    keys = Fleet(store.prefix)
    names = [keys.links(), keys.seen(), keys.tokens()]
    found = await BEAT(store, names, [msgspec.msgpack.encode(beats)])
    losses: tuple[Loss | None, ...] = (None, "replaced", "revoked")
    return [losses[reply] for reply in found]


async def read(store: Store) -> Presence:
    keys = Fleet(store.prefix)
    time, links, seen = await _READ(store, [keys.links(), keys.seen()], [])
    texts = dict(zip(_texts(links[::2]), links[1::2], strict=True))
    decoded = {server: _link(raw) for server, raw in texts.items()}
    return Presence(
        float(time),
        {server: link for server, link in decoded.items() if link is not None},
        dict(zip(_texts(seen[::2]), map(float, seen[1::2]), strict=True)),
    )


def _texts(values: Collection[bytes]) -> list[str]:
    return [value.decode(errors="replace") for value in values]


def _link(raw: bytes) -> Link | None:
    try:
        return msgspec.json.decode(raw, type=Link)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
