"""Orders to agents: what the session of a server is to send, in a list for each server.

An order stays in the list until it was sent. One that was sent twice does no harm, since an agent
accepts a job once; it is sent to the same boot of the machine only.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from watchbell.errors import WatchbellError
from watchbell.fleet.presence import IS_CURRENT
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.replies import pairs, text
from watchbell.store.script import RAISE_NOT_NOW, Script

Kind = Literal["launch", "abort"]

MOST = 200
"""Orders that are taken at once."""

# Needs LAYOUT. `order` adds an order, `launch` or `abort`, for the job to the list of the server.
ORDER = """
local function order(server, kind, id)
  redis.call('RPUSH', fleet.orders .. server, cjson.encode({[kind] = id}))
  redis.call('PUBLISH', fleet.orders_channel, server)
end
"""

# KEYS[1] ready; ARGV[1] server, ARGV[2] session, ARGV[3] boot, ARGV[4] how many are wanted, ARGV[5]
# msgpack: texts of orders that were sent. Returns false where another session has taken its place,
# else two lists: for each order its text, and after it, where it is still to be sent, its kind, the
# job, and the fields or the reason to abort; and the plugins of the jobs, each after its id. A job
# that is to be launched is marked as remote.
_TAKE = Script(
    LAYOUT
    + IS_CURRENT
    + RAISE_NOT_NOW
    + """
local server, session, boot = ARGV[1], ARGV[2], cjson.encode(ARGV[3])
if not is_current(fleet.links, server, session) then return false end
local list = fleet.orders .. server
for _, text in ipairs(cmsgpack.unpack(ARGV[5])) do redis.call('LREM', list, 1, text) end

local function fields_of(id)
  local found = redis.pcall('HMGET', jobs.job .. id, 'server', 'state', 'remote', '_boot',
    '_reported', '_result', '_abort', 'plugin')
  if found.err then
    raise_not_now(found)
    return {}
  end
  return found
end

local plugins, flat = {}, {}

-- Raises what the store refuses: without the plugin nobody knows which parameters are secret.
local function add_plugin(id)
  if plugins[id] then return end
  plugins[id] = redis.call('HGET', jobs.plugins, id) or ''
  flat[#flat + 1], flat[#flat + 2] = id, plugins[id]
end

local function launched(id)
  local at, state, remote, sent, reported, result, _, plugin = unpack(fields_of(id), 1, 8)
  if text_of(at) ~= server or state ~= '"active"' or result or reported then return {} end
  if sent and sent ~= boot then return {} end
  add_plugin(text_of(plugin) or '')
  if remote ~= 'true' or not sent then
    redis.call('HSET', jobs.job .. id, 'remote', 'true', '_boot', boot)
    redis.call('PUBLISH', jobs.news, id)
  end
  return {'launch', id, redis.call('HGETALL', jobs.job .. id)}
end

local function aborted(id)
  local at, _, _, sent, _, result, reason = unpack(fields_of(id), 1, 7)
  if text_of(at) ~= server or not sent or result or not reason then return {} end
  return {'abort', id, reason}
end

local taken = {}
for i, text in ipairs(redis.call('LRANGE', list, 0, ARGV[4] - 1)) do
  local is_json, given = pcall(cjson.decode, text)
  given = is_json and type(given) == 'table' and given or {}
  local found = {}
  if type(given.launch) == 'string' then found = launched(given.launch) end
  if type(given.abort) == 'string' then found = aborted(given.abort) end
  taken[i] = {text, unpack(found)}
end
return {taken, flat}
"""
)


class SessionLost(WatchbellError):
    """Another connection has taken the place of this one."""


class Order(Struct, frozen=True):
    kind: Kind
    job: str
    fields: dict[str, msgspec.Raw] = {}
    """Of a job to launch: its record."""
    reason: bytes = b""
    """Of one to abort: why, as JSON."""


class Taken(Struct, frozen=True):
    orders: tuple[Order, ...]
    texts: tuple[bytes, ...]
    """To be given to the next call of `take`, once the orders are sent."""
    plugins: dict[str, bytes]
    """Records of the plugins of the jobs; empty where there is none."""


async def take(
    store: Store, server: str, session: str, boot: str, sent: Sequence[bytes] = ()
) -> Taken:
    """The next orders for a server. Those that were `sent` are removed from the list first.

    Raises SessionLost.
    """
    found = await _TAKE(
        store,
        [Jobs(store.prefix).ready()],
        [server, session, boot, MOST, msgspec.msgpack.encode([verbatim(one) for one in sent])],
    )
    if found is None:
        raise SessionLost(f"another session has taken the place of {session}")
    listed, plugins = found
    orders = [_order(*rest) for _, *rest in listed if rest]
    known = {text(id_): record for id_, record in pairs(plugins)}
    return Taken(tuple(orders), tuple(one for one, *_ in listed), known)


def _order(kind: bytes, id_: bytes, rest: Any) -> Order:
    if kind == b"abort":
        return Order("abort", id_.decode(), reason=rest)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    fields = {name.decode(): msgspec.Raw(text) for name, text in pairs if name[:1] != b"_"}
    return Order("launch", id_.decode(), fields)
