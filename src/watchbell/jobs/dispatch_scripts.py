"""The Lua of places and slots: who has one, who waits for one, and who is next.

A *place* counts against the limit of concurrent jobs of an event (`occupied:EVENT`), a *slot*
against what a server runs at the same time (`server_jobs:SERVER`). One that becomes free is given
to the next job in the same script. So while somebody waits, none is free that a newer job could
take. The job that got it goes to the front of `ready`; a slot that is reserved for it is in its
field `_slot`.
"""

from watchbell.jobs.lua import LAYOUT

# Needs LAYOUT. `release(id)` is for a job that ends, before its hash is deleted: its place and its
# slot are given to others. It may be called again.
RELEASE = """
-- Jobs with a lower turn go first.
local function turn_of(id)
  return tonumber(redis.call('HGET', jobs.job .. id, '_turn')
    or redis.call('ZSCORE', jobs.live, id) or 0)
end

local function wake(id)
  redis.call('HSET', jobs.job .. id, 'state', '"ready"')
  redis.call('HDEL', jobs.job .. id, 'reason')
  redis.call('LPUSH', jobs.ready, id)
end

local function leave_queue(event, id)
  local left = redis.call('ZREM', jobs.queued .. event, id)
  if left == 1 and redis.call('EXISTS', jobs.queued .. event) == 0 then
    redis.call('SREM', jobs.queued_events, event)
  end
  return left == 1
end

local function stop_waiting(id, targets)
  for _, target in ipairs(targets) do
    if redis.call('ZREM', jobs.waiting .. target, id) == 1
        and redis.call('EXISTS', jobs.waiting .. target) == 0 then
      redis.call('SREM', jobs.waiting_targets, target)
    end
  end
end

-- The first job that waits at one of these keys, and its turn.
local function first_of(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[1], tonumber(first[2])
end

-- Gives a place of the event to the job that is next in its queue. Returns whether there is one.
local function give_place(event)
  while true do
    local id = first_of(jobs.queued .. event)
    if not id then return false end
    leave_queue(event, id)
    if redis.call('EXISTS', jobs.job .. id) == 1 then
      redis.call('SADD', jobs.occupied .. event, id)
      wake(id)
      return true
    end
  end
end

-- The job that is next for a slot of a server, of all that wait for it or one of its groups.
local function next_for(server, groups)
  local id, turn = first_of(jobs.waiting .. server)
  for _, group in ipairs(groups) do
    local other, its_turn = first_of(jobs.waiting .. group)
    if other and (not turn or its_turn < turn) then id, turn = other, its_turn end
  end
  return id, turn
end

-- Reserves a slot of the server for the job that is next. Returns whether there is one.
local function give_slot(server, groups)
  while true do
    local id = next_for(server, groups)
    if not id then return false end
    local targets = list_of(redis.call('HGET', jobs.job .. id, 'targets'))
    stop_waiting(id, targets)
    stop_waiting(id, {server, unpack(groups)})  -- where its targets were changed
    if redis.call('EXISTS', jobs.job .. id) == 1 then
      redis.call('SADD', jobs.server_jobs .. server, id)
      redis.call('HSET', jobs.job .. id, '_slot', cjson.encode(server))
      wake(id)
      return true
    end
  end
end

local function groups_of(server)
  local groups = list_of(redis.call('HGET', fleet.servers, server)).groups
  return type(groups) == 'table' and groups or {}
end

local function free_slot(server, id)
  if redis.call('SREM', jobs.server_jobs .. server, id) == 1
      and redis.call('EXISTS', jobs.waiting_targets) == 1 then
    give_slot(server, groups_of(server))
  end
end

local function release(id)
  local found = redis.call('HMGET', jobs.job .. id, 'event', 'server', '_slot', 'targets')
  local event, server, slot = text_of(found[1]), text_of(found[2]), text_of(found[3])
  if event then
    leave_queue(event, id)
    if redis.call('SREM', jobs.occupied .. event, id) == 1 then give_place(event) end
  end
  stop_waiting(id, list_of(found[4]))
  if server then free_slot(server, id) end
  if slot and slot ~= server then free_slot(slot, id) end
end
"""

SHARED = LAYOUT + RELEASE
