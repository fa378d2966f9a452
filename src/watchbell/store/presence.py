"""Which processes there are, and how their roles fare: each says so every few seconds."""

from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys
from watchbell.store.script import Script

ALIVE = 20.0
"""Seconds after which a process that said nothing is taken for gone."""
KEPT = 86_400.0
"""Seconds for which it is remembered then, so that people see that it is missing."""


RoleState = Literal["starting", "running", "waiting", "failed", "stopped"]


class RoleSeen(Struct, frozen=True, kw_only=True):
    name: str
    state: str
    words: str = ""
    since: float = 0
    """By the clock of its process."""
    failures: int = 0


class Process(Struct, frozen=True, kw_only=True):
    name: str
    host: str
    pid: int
    version: str
    roles: list[RoleSeen]
    seen: float = 0
    """By the store's clock."""
    is_alive: bool = True


# KEYS[1] processes; ARGV[1] name, ARGV[2] what it says of itself, ARGV[3] seconds for which one
# that says nothing is kept. A value is the time and what was said then.
_TELL = Script("""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local known = redis.call('HGETALL', KEYS[1])
for i = 1, #known, 2 do
  local seen = tonumber(string.match(known[i + 1], '^[%d.]+') or 0)
  if seen + ARGV[3] < now then redis.call('HDEL', KEYS[1], known[i]) end
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.3f ', now) .. ARGV[2])
""")

# KEYS[1] processes. Returns the time, and names and what was said in turn.
_PRESENT = Script("""
local time = redis.call('TIME')
return {time[1] .. '', redis.call('HGETALL', KEYS[1])}
""")


async def tell(store: Store, process: Process) -> None:
    key = StoreKeys(store.prefix).processes()
    await _TELL(store, [key], [process.name, msgspec.json.encode(process), KEPT])


async def leave(store: Store, name: str) -> None:
    """For who ends in order: nobody needs to miss it."""
    await store.call("HDEL", StoreKeys(store.prefix).processes(), name)


async def present(store: Store) -> list[Process]:
    """All that said something within a day, by host and name."""
    now, said = await _PRESENT(store, [StoreKeys(store.prefix).processes()])
    found = [_read(raw, float(now)) for raw in said[1::2]]
    return sorted((one for one in found if one), key=lambda one: (one.host, one.name))


def _read(raw: bytes, now: float) -> Process | None:
    seen, _, said = raw.partition(b" ")
    try:
        process = msgspec.json.decode(said, type=Process)
        return replace(process, seen=float(seen), is_alive=now - float(seen) < ALIVE)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):  # not of our writing
        return None
