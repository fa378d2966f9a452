"""Units of the mirror for notifications and alerts that wait in a queue by their ids."""

from watchbell.store.keys import StoreKeys

QUEUES = """
-- For each class, by the name of its set of ids: its families, its fields, the fields that say what
-- a record belongs to, and where each of those lists it.
local QUEUED = {
  notifications = {attrs = record.notification, belongs = record.notification_belongs,
    fields = {'state_duration', 'severity', 'type', 'time', 'duration'},
    owners = {'check_id', 'state_id', 'previous_state_id'},
    lists = {record.check_notifications, record.state_current_notifications,
      record.state_previous_notifications}},
  alerts = {attrs = record.alert, belongs = record.alert_belongs,
    fields = {'state', 'summary', 'details', 'last_state', 'last_summary', 'event_count', 'time',
      'notification_type', 'acknowledgement_duration', 'state_duration', 'rollup'},
    owners = {'medium_id', 'check_id'}, lists = {record.medium_alerts, record.check_alerts}},
  rollup_alerts = {attrs = record.rollup_alert, belongs = record.rollup_alert_belongs,
    fields = {'state', 'duration'}, owners = {'check_id', 'alert_id'},
    lists = {record.check_rollup_alerts, record.alert_rollup_alerts}},
}

-- A record with those of the object's fields that it has. Returns what its fields were.
local function put_queued(class, id, object, owners)
  local kind, values = QUEUED[class], {}
  for _, name in ipairs(kind.fields) do
    local value = object[name]
    if type(value) == 'number' then value = in_digits(value) end
    values[name] = type(value) == 'string' and value or nil
  end
  put_member(key(record[class]), id, true)
  local before = put_fields(key(kind.belongs, id), kind.owners, owners)
  for i, name in ipairs(kind.owners) do
    local owner = owners[name]
    if before[i] and before[i] ~= owner then
      put_member(key(kind.lists[i], before[i]), id, false)
    end
    if owner then put_member(key(kind.lists[i], owner), id, true) end
  end
  return put_fields(key(kind.attrs, id), kind.fields, values)
end

local function drop_queued(class, id)
  local kind = QUEUED[class]
  local owners = redis.call('HMGET', key(kind.belongs, id), unpack(kind.owners))
  for i, owner in ipairs(owners) do
    if owner then put_member(key(kind.lists[i], owner), id, false) end
  end
  put_member(key(record[class]), id, false)
  drop(key(kind.attrs, id), key(kind.belongs, id))
end

local function state_id(event_id, stamp)
  return stamp and stamp ~= '' and id_of('state:' .. event_id .. ':' .. stamp) or nil
end

-- Without times of the last two states the record keeps those that it has.
local function put_notification(id, object, since, before)
  local event_id = object.event_id
  local owners = {check_id = check_id(event_id)}
  local known = not since and redis.call('HMGET', key(record.notification_belongs, id), 'check_id',
    'state_id', 'previous_state_id')
  if known and known[1] then
    owners.state_id, owners.previous_state_id = known[2], known[3]
  else
    if not since then
      local last = redis.call('LRANGE', of_check(working.states, event_id), -2, -1)
      since, before = last[#last], last[#last - 1]
    end
    owners.state_id, owners.previous_state_id =
      state_id(event_id, since), state_id(event_id, before)
  end
  put_queued('notifications', id, object, owners)
  put_set(key(record.notification_tags, id), type(object.tags) == 'table' and object.tags or {})
end

local function put_alert(id, object)
  object.acknowledgement_duration = object.duration
  put_queued('alerts', id, object, {medium_id = medium_id(object.contact_id, object.media),
    check_id = check_id(object.event_id)})
  local entries = type(object.rollup_alerts) == 'table' and object.rollup_alerts or {}
  for event_id, entry in pairs(entries) do
    local one = id_of('rollup:' .. id .. ':' .. event_id)
    local before = put_queued('rollup_alerts', one, entry,
      {check_id = check_id(event_id), alert_id = id})
    put_index(record.rollup_alerts_by_state, before[1], entry.state, one)
  end
end

local function payload_of(id)
  local text = redis.call('GET', key(own.payload, id))
  local is_read, object = pcall(cjson.decode, text or '')
  return is_read and type(object) == 'table' and object or nil
end

-- queued(id, since, before): a notification or an alert in a queue, by its JSON; `since` and
-- `before` are the times of the last two states of its check. One that another program queued has
-- no JSON, and its record is as that program made it.
function mirror.queued(id, since, before)
  local object = payload_of(id)
  if not object or type(object.event_id) ~= 'string' then return end
  if object.media then put_alert(id, object) else put_notification(id, object, since, before) end
end

local remove_queued = {}

function remove_queued.notifications(id)
  drop_queued('notifications', id)
  drop(key(record.notification_tags, id))
end

function remove_queued.rollup_alerts(id)
  local state = redis.call('HGET', key(record.rollup_alert, id), 'state')
  put_index(record.rollup_alerts_by_state, state, false, id)
  drop_queued('rollup_alerts', id)
end

function remove_queued.alerts(id)
  for _, one in ipairs(redis.call('SMEMBERS', key(record.alert_rollup_alerts, id))) do
    remove_queued.rollup_alerts(one)
  end
  drop_queued('alerts', id)
end

-- consumed(set of ids, id): a notification or an alert was taken from its queue.
function mirror.consumed(class, id)
  drop(key(own.payload, id))
  remove_queued[class](id)
end
"""
"""Comes after all other units that scripts of the working layout use."""

_KEYS = StoreKeys()

_TAKEN = f"local TAKERS, TAKEN = '{_KEYS.takers.literals[1]}', '{_KEYS.taken.literals[1]}'"

UNQUEUED = (
    _TAKEN
    + """
-- Whether a queue has an item, or whoever takes from it.
local function is_in(queue, item)
  if redis.call('LPOS', queue, item) then return true end
  local base = string.find(queue, '{[^}]+}') and queue or '{' .. queue .. '}'
  for _, taker in ipairs(redis.call('ZRANGE', base .. TAKERS, 0, -1)) do
    if redis.call('LPOS', base .. TAKEN .. taker, item) then return true end
  end
  return false
end

local function is_queued(id)
  if is_in(key(working.notifications), id) then return true end
  local object = payload_of(id)
  local medium = redis.call('HGET', key(record.alert_belongs, id), 'medium_id')
  local media = object and object.media
    or medium and redis.call('HGET', key(record.medium, medium), 'type')
  return type(media) == 'string' and is_in(key(working.queue, media), id)
end

-- unqueued(id): what is in no queue has no record, and no JSON.
function mirror.unqueued(id)
  if is_queued(id) then return end
  mirror.consumed('notifications', id)
  remove_queued.alerts(id)
end

function is_of.rollup_alerts(id)
  local alert = redis.call('HGET', key(record.rollup_alert_belongs, id), 'alert_id')
  return alert and redis.call('SISMEMBER', key(record.alerts), alert) == 1
    and redis.call('SISMEMBER', key(record.alert_rollup_alerts, alert), id) == 1
end

remove.rollup_alerts = remove_queued.rollup_alerts

-- What a record lists as its own, but belongs to another one or is gone.
local function unlist(owner, id)
  for _, kind in pairs(QUEUED) do
    for i, field in ipairs(kind.owners) do
      local list = kind.lists[i]
      if string.sub(list[1], 1, #owner) == owner then
        for _, one in ipairs(redis.call('SMEMBERS', key(list, id))) do
          if redis.call('HGET', key(kind.belongs, one), field) ~= id then
            put_member(key(list, id), one, false)
          end
        end
      end
    end
  end
end

for class, owner in pairs({checks = 'check:', states = 'check_state:', media = 'medium:'}) do
  local others = sides[class]
  sides[class] = function(id)
    if others then others(id) end
    unlist(owner, id)
  end
end
"""
)
"""Comes after `STRAYS`, to which it adds."""
