"""The Lua of places and slots: who has one, who waits for one, and who is next.

A *place* counts against the limit of concurrent jobs of an event (`occupied:EVENT`), a *slot*
against what a server runs at the same time (`server_jobs:SERVER`). One that becomes free is given
to the next job in the same script. So while somebody waits, none is free that a newer job could
take. The job that got it goes to `ready`, near the front; a slot that is reserved for it is in its
field `_slot`. Jobs of a node of a workflow may share places of their own in place of the event's:
those that their field `_queue` names.
"""

from watchbell.jobs.lua import LAYOUT

# Needs LAYOUT. `release(id)` is for a job that ends, before its hash is deleted: its place and its
# slot are given to others. It may be called again.
RELEASE = """
-- Jobs with a lower turn go first.
local function turn_of(id)
  local turn = redis.pcall('HGET', jobs.job .. id, '_turn')
  return tonumber(type(turn) == 'string' and turn or redis.call('ZSCORE', jobs.live, id)) or 0
end

local function launch_order(id) return '{"launch":"' .. id .. '"}' end

-- By its turn among the first jobs of `ready`: jobs that are woken one by one stay in order.
local function wake(id)
  redis.call('HSET', jobs.job .. id, 'state', '"ready"')
  redis.call('HDEL', jobs.job .. id, 'reason')
  local turn, last = turn_of(id), nil
  for _, other in ipairs(redis.call('LRANGE', jobs.ready, 0, 63)) do
    if turn_of(other) > turn then
      redis.call('LINSERT', jobs.ready, 'BEFORE', other, id)
      return
    end
    last = other
  end
  if not last or redis.call('LINSERT', jobs.ready, 'AFTER', last, id) < 1 then
    redis.call('RPUSH', jobs.ready, id)
  end
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
    if not id then
      redis.call('SREM', jobs.queued_events, event)
      return false
    end
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
  local found = redis.call('HMGET', jobs.job .. id, 'event', 'server', '_slot', 'targets', '_queue')
  local queue = text_of(found[5]) or text_of(found[1])
  local server, slot = text_of(found[2]), text_of(found[3])
  if queue then
    leave_queue(queue, id)
    if redis.call('SREM', jobs.occupied .. queue, id) == 1 then give_place(queue) end
  end
  stop_waiting(id, list_of(found[4]))
  if server then free_slot(server, id) end
  if slot and slot ~= server then free_slot(slot, id) end
end
"""

SHARED = LAYOUT + RELEASE

# Needs SHARED.
GIVE_PLACES = """
-- Gives places to jobs of a queue as long as fewer than `limit` are occupied; below 0: no limit.
local function give_places(event, limit)
  local occupied = jobs.occupied .. event
  while limit < 0 or redis.call('SCARD', occupied) < limit do
    if not give_place(event) then return end
  end
end
"""

# Needs SHARED.
END = """
-- Its place and its slot are released when its end is recorded.
local function end_job(id, result)
  redis.call('HSET', jobs.job .. id, 'state', '"finishing"', '_result', result)
  redis.call('HDEL', jobs.job .. id, 'reason')
  redis.call('RPUSH', jobs.finishing, id)
  redis.call('PUBLISH', jobs.news, id)
end

-- Whether an agent has the job, or may have it.
local function is_sent(remote, boot) return remote == 'true' or boot and true or false end

-- Ends a job that no agent has.
local function end_unsent(id, result)
  local found = redis.call('HMGET', jobs.job .. id, 'event', 'targets', 'server', '_queue')
  local queue, server = text_of(found[4]) or text_of(found[1]), text_of(found[3])
  redis.call('ZREM', jobs.delayed, id)
  redis.call('SREM', jobs.suspended, id)
  if queue then leave_queue(queue, id) end
  stop_waiting(id, list_of(found[2]))
  if server then redis.call('LREM', fleet.orders .. server, 0, launch_order(id)) end
  end_job(id, result)
end
"""

# Needs SHARED, GIVE_PLACES, END and RAISE_NOT_NOW. ARGV[1] msgpack: now, the reason of suspended
# jobs, and
# - servers: by id {slots, groups, groups as JSON}; all that `orders` names
# - orders: {servers, where to start: first, turn, chance or fewest, reason to wait}
# - jobs, each {id, result of a refusal or '', order, a random number, limit of concurrent jobs or
#   -1, most that wait for that or -1, reason to wait for that, result where too many wait, result
#   where this script fails, the action that suspends it or '', other actions at its start, whether
#   it is a run of a workflow}
# Each job gets a place of its event and then a slot, or waits for them, or ends. A run of a
# workflow needs no slot. Returns those that failed: id and reason.
PLACE = """
local batch = cmsgpack.unpack(ARGV[1])
local servers, used, full, called, failed = batch.servers, {}, {}, {}, {}

local function used_on(server)
  used[server] = used[server] or redis.call('SCARD', jobs.server_jobs .. server)
  return used[server]
end

local function is_free(server) return used_on(server) < servers[server][1] end

local function give_and_count(server)
  if not give_slot(server, servers[server][2]) then return false end
  used[server] = used_on(server) + 1
  return true
end

-- A job that is before this one may wait for the server, when that has just become available.
local function serve_others(server, turn)
  while is_free(server) do
    local _, first = next_for(server, servers[server][2])
    if not first or first >= turn then return end
    give_and_count(server)
  end
end

local function take_slot(id, server, actions)
  local key, before = jobs.job .. id, used_on(server)
  used[server] = before + redis.call('SADD', jobs.server_jobs .. server, id)
  redis.call('HSET', key, 'state', '"active"', 'server', cjson.encode(server),
    'groups', servers[server][3], 'started', batch.now, 'updated', batch.now, 'progress', '0',
    'remote', 'false')
  redis.call('HDEL', key, 'reason', '_slot')
  redis.call('RPUSH', fleet.orders .. server, launch_order(id))
  for _, action in ipairs(actions) do redis.call('RPUSH', jobs.actions, action) end
  redis.call('PUBLISH', jobs.news, id)
  called[server] = true
end

local function drop_slot(id, server)
  redis.call('HDEL', jobs.job .. id, '_slot')
  if redis.call('SREM', jobs.server_jobs .. server, id) == 0 then return end
  used[server], full = nil, {}
  if servers[server] and is_free(server) then give_and_count(server) end
end

-- The number in the list at which the search for a free slot starts.
local function first_choice(list, start, event, chance)
  if start == 'turn' then
    return (tonumber(redis.call('HGET', jobs.turns, event)) or 0) % #list + 1
  elseif start == 'first' then
    return 1
  end
  return chance % #list + 1
end

local function free_server(number, event, chance, turn)
  local list, start = unpack(batch.orders[number])
  if full[number] or #list == 0 then return nil end
  local best, at
  local first = first_choice(list, start, event, chance)
  for i = 0, #list - 1 do
    local server = list[(first - 1 + i) % #list + 1]
    if is_free(server) and redis.call('EXISTS', jobs.waiting_targets) == 1 then
      serve_others(server, turn)
    end
    if is_free(server) and (not best or used_on(server) < used_on(best)) then
      best, at = server, (first - 1 + i) % #list + 1
      if start ~= 'fewest' then break end
    end
  end
  if not best then full[number] = true end
  if best and start == 'turn' then redis.call('HSET', jobs.turns, event, at % #list) end
  return best
end

local function is_listed(server, number)
  for _, other in ipairs(batch.orders[number][1]) do
    if other == server then return true end
  end
  return false
end

local function hold_back(id, reason)
  redis.call('HSET', jobs.job .. id, 'state', '"queued"', 'reason', reason)
  redis.call('PUBLISH', jobs.news, id)
end

local function join_queue(id, event, reason)
  redis.call('ZADD', jobs.queued .. event, turn_of(id), id)
  redis.call('SADD', jobs.queued_events, event)
  hold_back(id, reason)
end

-- Whether the job has a place of its event. If not, it waits for one, or has ended.
local function has_place(id, event, limit, most, reason, too_many)
  local occupied, queued = jobs.occupied .. event, jobs.queued .. event
  if redis.call('SISMEMBER', occupied, id) == 1 then
    if limit < 0 or redis.call('SCARD', occupied) <= limit then return true end
    redis.call('SREM', occupied, id)  -- the limit was lowered
    join_queue(id, event, reason)
    return false
  end
  if redis.call('EXISTS', queued) == 1 then give_places(event, limit) end
  local waiting = redis.call('ZCARD', queued)
  if waiting == 0 and (limit < 0 or redis.call('SCARD', occupied) < limit) then
    redis.call('SADD', occupied, id)
    return true
  end
  if most < 0 or waiting < most then
    join_queue(id, event, reason)
  else
    end_unsent(id, too_many)
  end
  return false
end

local function wait_for_slot(id, targets, reason)
  local turn = turn_of(id)
  for _, target in ipairs(targets) do
    redis.call('ZADD', jobs.waiting .. target, turn, id)
    redis.call('SADD', jobs.waiting_targets, target)
  end
  hold_back(id, reason)
end

-- The loop that runs workflows does the rest.
local function start_workflow(id, actions)
  redis.call('RPUSH', jobs.workflow_steps, '{"run":"' .. id .. '","what":"start"}')
  redis.call('HSET', jobs.job .. id, 'state', '"active"', 'started', batch.now, 'updated',
    batch.now, 'progress', '0')
  redis.call('HDEL', jobs.job .. id, 'reason')
  for _, action in ipairs(actions) do redis.call('RPUSH', jobs.actions, action) end
  redis.call('PUBLISH', jobs.news, id)
end

local function place(job)
  local id, refusal, number, chance, limit, most, reason, too_many = unpack(job, 1, 8)
  local suspension, actions, is_workflow = job[10], job[11], job[12]
  local found = redis.call('HMGET', jobs.job .. id, 'state', 'event', '_slot', 'targets', '_queue')
  local event, slot, queue = text_of(found[2]), text_of(found[3]), text_of(found[5])
  if text_of(found[1]) ~= 'ready' then return end
  if refusal ~= '' then return end_unsent(id, refusal) end
  if suspension ~= '' then
    redis.call('SADD', jobs.suspended, id)
    redis.call('RPUSH', jobs.actions, suspension)
    return hold_back(id, batch.suspended)
  end
  if not has_place(id, queue or event, limit, most, reason, too_many) then
    if slot then drop_slot(id, slot) end
    return
  end
  if is_workflow then return start_workflow(id, actions) end
  if slot then
    if servers[slot] and is_listed(slot, number) and used_on(slot) <= servers[slot][1] then
      return take_slot(id, slot, actions)
    end
    drop_slot(id, slot)
  end
  local server = free_server(number, event, chance, turn_of(id))
  if server then
    take_slot(id, server, actions)
  else
    wait_for_slot(id, list_of(found[4]), batch.orders[number][3])
  end
end

for _, job in ipairs(batch.jobs) do
  local is_done, problem = pcall(place, job)
  if not is_done then
    local answer = type(problem) == 'table' and problem or {err = tostring(problem)}
    raise_not_now(answer)
    failed[#failed + 1] = {job[1], answer.err}
    pcall(end_unsent, job[1], job[9])
  end
end
for server in pairs(called) do redis.call('PUBLISH', fleet.orders_channel, server) end
return failed
"""
