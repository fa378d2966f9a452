"""The commands that alerting adds to those of Redis, for what follows from its decisions.

Records of what they change are brought up to date in the same step; KEYS[1] is the switch of the
records.
"""

from watchbell.alerting.decide.maintenance import IS_OPEN
from watchbell.alerting.record_lua import LIBRARY
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
    LIBRARY
    + STOP_ALERTING
    + IS_OPEN
    + """
switch = KEYS[1]
function finish() mirror_marked(refused) end

-- MIRROR unit …: the records of a unit are brought up to date after all commands.
commands.MIRROR = mark

-- NOTIFY queue states payload id json: a notification is queued; while records are kept, by its id,
-- with its JSON under a key of its own. The last two states are those of now, since more events of
-- the check may follow.
function commands.NOTIFY(queue, states, payload, id, json)
  if not records() or redis.pcall('SET', payload, json).err then
    return redis.pcall('RPUSH', queue, json)
  end
  local last = redis.pcall('LRANGE', states, -2, -1)
  mark('queued', id, last[#last] or '', last[#last - 1] or '')
  return redis.pcall('RPUSH', queue, id)
end

-- QUEUE_ALERTS queue payloads id json …: the same for alerts; their keys begin with `payloads`.
function commands.QUEUE_ALERTS(queue, payloads, ...)
  local words, items = {...}, {}
  for i = 1, #words, 2 do
    local id, json = words[i], words[i + 1]
    local is_by_id = records() and not redis.pcall('SET', payloads .. id, json).err
    if is_by_id then mark('queued', id) end
    items[#items + 1] = is_by_id and id or json
  end
  return redis.pcall('RPUSH', queue, unpack(items))
end

-- CONSUME class id …: removes the records of what was taken from a queue.
function commands.CONSUME(class, ...) consume(class, {...}, refused) end

function commands.STOP_ALERTING(media, begin, id)
  mark('alerting', id)
  return stop_alerting(media, begin, id)
end

-- REPORTED begin now key …: checks, given by their keys, which begin so, reported nothing new.
function commands.REPORTED(begin, now, ...)
  commands.HSET_MANY('last_update', now, ...)
  if not records() then return end
  local ids = {}
  for i, key in ipairs({...}) do ids[i] = string.sub(key, #begin + 1) end
  for _, id in ipairs(mirror.reported(ids, now)) do mark('check', id) end
end

-- ENABLE_ENTITIES current_entities now entity …: entities that have reported.
function commands.ENABLE_ENTITIES(enabled, now, ...)
  local words = {}
  for _, name in ipairs({...}) do words[#words + 1], words[#words + 2] = now, name end
  local reply = redis.pcall('ZADD', enabled, unpack(words))
  if type(reply) == 'number' and reply > 0 then
    for _, name in ipairs({...}) do mark('reported_entity', name) end
  end
  return reply
end

-- ENABLE_CHECKS current_checks entity now check …: checks of an entity that have reported.
function commands.ENABLE_CHECKS(enabled, entity, now, ...)
  local words = {}
  for _, name in ipairs({...}) do words[#words + 1], words[#words + 2] = now, name end
  local reply = redis.pcall('ZADD', enabled, unpack(words))
  if type(reply) == 'number' and reply > 0 then
    for _, name in ipairs({...}) do mark('check', entity .. ':' .. name) end
  end
  return reply
end

-- NAME_ENTITY: a new entity gets an id, and the keys that go with it. An entity that another
-- program named without the two indexes keeps its id, since its contacts are linked to that.
function commands.NAME_ENTITY(ids, names, by_name, begin, entity, id)
  local known = redis.pcall('GET', by_name)
  if type(known) == 'string' and known ~= '' then id = known end
  local reply = redis.pcall('HSETNX', ids, entity, id)
  if reply ~= 1 then return reply end
  mark('entity', id)
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
  mark('alerting', id)
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
    mark('block', key)
    scored[#scored + 1], scored[#scored + 2] = words[i], key
    expire[#expire + 1], expire[#expire + 2] = key, redis.call('PEXPIRETIME', key)
  end
  local reply = redis.pcall('ZADD', ends, unpack(scored))
  return type(reply) == 'table' and reply or redis.pcall('HSET', expiries, unpack(expire))
end

-- UNSUPPRESS: deletes such keys and their records.
function commands.UNSUPPRESS(ends, expiries, ...)
  redis.pcall('DEL', ...)
  for _, key in ipairs(records() and {...} or {}) do mark('block', key) end
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
    mark('block', key)
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
