"""Fires that wait in the store: makes them pending when their lock is free or their retry is due,
and gives up retries that nobody can make."""

import msgspec
from msgspec import Struct

from watchbell.cron.fire_scripts import COMMON, Caller
from watchbell.cron.keys import CronOwn
from watchbell.cron.model import Fire, parsed
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

# Fires whose lock was released unnoticed become pending, and so do retries that are due. Returns
# the time, how many fires are pending, and the placements for which fires wait, with how many.
_LOOK = Script(
    COMMON
    + """
-- Whether the next fire of a lock is on its way, which the one after it must not overtake.
local heads = {}
local function is_pending(lock, list)
  heads[list] = heads[list] or redis.call('LRANGE', list, 0, 999)
  for _, text in ipairs(heads[list]) do
    if string.find(text, '"lock":"' .. lock .. '"', 1, true) then return true end
  end
  return false
end

for _, lock in ipairs(redis.call('SMEMBERS', awaited)) do
  local key = own.waiting .. lock
  local list = list_of(redis.call('LINDEX', key, 0) or '')
  local is_free = redis.call('EXISTS', own.locks .. lock) == 0 and not has_lapsed(lock)
  if is_free and not is_pending(lock, list) then hand_over(lock) end
end

local function is_paused(job)
  local mark = redis.call('HGET', fired, job) or ''
  return redis.call('SISMEMBER', paused, job) == 1 or string.match(mark, ':(.*)$') == own.paused
end

local function send(key)
  redis.call('ZREM', retries_due, key)
  local text = decoded(redis.call('HGET', retries, key)).fire
  local item = decoded(text)
  if not item.job or item.is_kept and redis.call('HEXISTS', jobs, item.job) == 0 then
    redis.call('HDEL', retries, key)
  elseif is_paused(item.job) then
    give_up_retry(key)
    leave_out(item.job, item.fire, 'retry not made: the job is paused')
  elseif item.only_on then
    redis.call('RPUSH', own.own_pendings .. item.only_on, stamped(text))
  else
    redis.call('RPUSH', list_of(text), stamped(text))
  end
end

for _, key in ipairs(redis.call('ZRANGEBYSCORE', retries_due, '-inf', now, 'LIMIT', 0, 500)) do
  send(key)
end

local found = {}
for _, pool in ipairs(redis.call('SMEMBERS', pools)) do
  local count = redis.call('LLEN', own.pool_pending .. redis.sha1hex(pool))
  if count == 0 then redis.call('SREM', pools, pool) else found[#found + 1] = {pool, count} end
end
return {now, waiting(), found}
"""
)


# ARGV[2] msgpack: keys of retries, ARGV[3] reason. The failures that they followed are reported.
_GIVE_UP = Script(
    COMMON
    + """
for _, key in ipairs(cmsgpack.unpack(ARGV[2])) do
  if redis.call('HEXISTS', retries, key) == 1 then
    local item = give_up_retry(key)
    if item.job then leave_out(item.job, item.fire, ARGV[3]) end
  end
end
"""
)


class _Kept(Struct, frozen=True):
    fire: str


async def look(call: Caller) -> tuple[float, int]:
    """The store's time, and how many fires wait for this instance."""
    time, pending, pools = await call(_LOOK)
    return float(time), pending + call.permit(dict(pools))


async def give_up_retries(call: Caller, instance: str, reason: str) -> None:
    """Gives up the retries that only this instance could have made."""
    retries = CronOwn(call.store.prefix).retries()
    found = await call.store.call("HGETALL", retries)
    keys = [key for key, raw in found.items() if _instance_of(raw) == instance]
    if keys:
        await call(_GIVE_UP, msgspec.msgpack.encode([verbatim(key) for key in keys]), reason)


def _instance_of(raw: bytes) -> str:
    """The instance that has to make a retry; empty if any instance may."""
    kept = parsed(raw, _Kept)
    fire = parsed(kept.fire.encode(), Fire) if kept else None
    return fire.only_on or "" if fire else ""
