"""What jobs in progress use: the latest figures in each record, and a timeline of each job."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.fleet.messages import JobUsage
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Usage
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import RAISE_NOT_NOW, Script

SECONDS = 300
MINUTES = 1_440
_AT_ONCE = 1_000
_LONGEST = 64 << 10
"""Bytes of a list of processes or connections as JSON."""

# KEYS[1] ready; ARGV[1] and ARGV[2] how many seconds and minutes are kept, ARGV[3] msgpack:
# {server, job, the second, fields, entry of the second, entry of the minute}. Jobs of other
# servers, and those that are over, are left out.
_RECORD = Script(
    LAYOUT
    + RAISE_NOT_NOW
    + """
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    raise_not_now(reply)
    return nil
  end
  return reply
end

for _, one in ipairs(cmsgpack.unpack(ARGV[3])) do
  local server, id, second, fields, entry, minute = unpack(one)
  local found = try('HMGET', jobs.job .. id, 'server', '_result', '_minute') or {}
  if text_of(found[1]) == server and not found[2] then
    redis.call('HSET', jobs.job .. id, unpack(fields))
    try('LPUSH', jobs.seconds .. id, entry)
    try('LTRIM', jobs.seconds .. id, 0, ARGV[1] - 1)
    local number = math.floor(second / 60)
    if (tonumber(found[3] or 0) or 0) < number then
      redis.call('HSET', jobs.job .. id, '_minute', number)
      try('LPUSH', jobs.minutes .. id, minute)
      try('LTRIM', jobs.minutes .. id, 0, ARGV[2] - 1)
    end
  end
end
"""
)


class Used(Struct, frozen=True):
    server: str
    usage: JobUsage
    at: float
    """By the clock of the server that received it."""


async def record(store: Store, used: Sequence[Used]) -> None:
    """Many in one call."""
    packed = [item for one in used if (item := _item(one)) is not None]
    for first in range(0, len(packed), _AT_ONCE):
        batch = msgspec.msgpack.encode(packed[first : first + _AT_ONCE])
        await _RECORD(store, [Jobs(store.prefix).ready()], [SECONDS, MINUTES, batch])


def _item(one: Used) -> list[Any] | None:
    usage, second = one.usage, int(one.at)
    try:
        cpu, mem = _encoded(usage.cpu), _encoded(usage.mem)
        procs, conns = msgspec.json.encode(usage.procs), msgspec.json.encode(usage.conns)
    except (TypeError, ValueError, OverflowError, RecursionError):  # no JSON, or no numbers
        return None
    if len(procs) > _LONGEST or len(conns) > _LONGEST:
        procs, conns = b"{}", b"[]"
    fields = [b"cpu", cpu, b"mem", mem, b"procs", procs, b"conns", conns]
    entry = b'{"epoch":%d,"procs":%s}' % (second, procs)
    minute = b'{"epoch":%d,"procs":%s,"conns":%s}' % (second, procs, conns)
    texts = [verbatim(text) for text in fields]
    return [one.server, usage.job, second, texts, verbatim(entry), verbatim(minute)]


def _encoded(figures: Mapping[str, float]) -> bytes:
    known = {name: figures.get(name, 0.0) for name in ("min", "max", "total", "current")}
    return msgspec.json.encode(Usage(**known, count=int(figures.get("count", 0))))
