"""The commands that alerting adds to those of Redis, for what follows from its decisions."""

from watchbell.alerting.decide.maintenance import IS_OPEN
from watchbell.store.effects import CommandEffects

STOP_ALERTING = """
-- A check is removed from the failing checks of every contact who is alerted about it.
local function stop_alerting(media, begin, id)
  local members = redis.pcall('SMEMBERS', media)
  if members.err then return members end
  for _, member in ipairs(members) do redis.pcall('ZREM', begin .. member, id) end
  return redis.pcall('DEL', media)
end
"""

_COMMANDS = (
    STOP_ALERTING
    + IS_OPEN
    + """
commands.STOP_ALERTING = stop_alerting

-- NAME_ENTITY: a new entity gets an id, and the keys that go with it. An entity that another
-- program named without the two indexes keeps its id, since its contacts are linked to that.
function commands.NAME_ENTITY(ids, names, by_name, begin, entity, id)
  local known = redis.pcall('GET', by_name)
  if type(known) == 'string' and known ~= '' then id = known end
  local reply = redis.pcall('HSETNX', ids, entity, id)
  if reply ~= 1 then return reply end
  redis.pcall('HSET', names, id, entity)
  redis.pcall('SET', by_name, id)
  return redis.pcall('HSET', begin .. id, 'name', entity)
end

-- COUNT_FAILING: a check is added to the failing checks of contacts' media (for each medium its
-- name and its set), unless it has recovered, is disabled, or is in maintenance by now.
function commands.COUNT_FAILING(media, now, id, failed, enabled, check, planned, planned_windows,
    open, open_windows, ...)
  if type(redis.pcall('ZSCORE', failed, id)) ~= 'string'
      or type(redis.pcall('ZSCORE', enabled, check)) ~= 'string'
      or redis.call('EXISTS', planned, open) > 0
      and (is_open(planned, planned_windows, now) or is_open(open, open_windows, now)) then
    return false
  end
  local named, members = {...}, {}
  for i = 1, #named, 2 do
    local reply = redis.pcall('ZADD', named[i + 1], now, id)
    if type(reply) == 'table' then return reply end
    members[#members + 1] = named[i]
  end
  return redis.pcall('SADD', media, unpack(members))
end

-- SUPPRESS: keys that suppress alerts, each after its end and its milliseconds to live. The expiry
-- is recorded too: where an operator changes it, it counts instead of the recorded end.
function commands.SUPPRESS(ends, expiries, ...)
  local words, scored, expire = {...}, {}, {}
  for i = 1, #words, 3 do
    local key = words[i + 2]
    local reply = redis.pcall('SET', key, 'd', 'PX', words[i + 1])
    if reply.err then return reply end
    scored[#scored + 1], scored[#scored + 2] = words[i], key
    expire[#expire + 1], expire[#expire + 2] = key, redis.call('PEXPIRETIME', key)
  end
  local reply = redis.pcall('ZADD', ends, unpack(scored))
  return type(reply) == 'table' and reply or redis.pcall('HSET', expiries, unpack(expire))
end

-- UNSUPPRESS: deletes such keys and their records.
function commands.UNSUPPRESS(ends, expiries, ...)
  redis.pcall('DEL', ...)
  local reply = redis.pcall('ZREM', ends, ...)
  return type(reply) == 'table' and reply or redis.pcall('HDEL', expiries, ...)
end

-- END_SUPPRESSED: deletes keys whose recorded end has come and their records, so many at once. A
-- key whose expiry was changed stays until then.
function commands.END_SUPPRESSED(ends, expiries, now, most)
  local keys = redis.pcall('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, most)
  if keys.err or #keys == 0 then return keys end
  local recorded = redis.pcall('HMGET', expiries, unpack(keys))
  for i, key in ipairs(keys) do
    local expiry = not recorded.err and recorded[i]
    if not expiry or tonumber(expiry) == redis.call('PEXPIRETIME', key) then
      redis.call('DEL', key)
    end
  end
  redis.pcall('HDEL', expiries, unpack(keys))
  return redis.pcall('ZREM', ends, unpack(keys))
end

-- RECORD_ACTION: an action is recorded under its second, or the next one that has no action yet.
function commands.RECORD_ACTION(actions, now, action)
  local reply = redis.pcall('HSETNX', actions, now, action)
  while reply == 0 do
    now = now + 1
    reply = redis.pcall('HSETNX', actions, now, action)
  end
  return reply
end
"""
)

EFFECTS = CommandEffects(_COMMANDS)
