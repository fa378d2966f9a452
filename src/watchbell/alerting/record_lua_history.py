"""Units of the mirror for what a check went through: its states and its maintenance windows."""

# A state or an acknowledgement counts as notified if a notification of its kind was made in its
# time: before the next state, or the next window, began.
HISTORY = """
local PAGE = 50

-- Other programs may write nan or inf where a time should be.
local function is_finite(number)
  return number and number > -math.huge and number < math.huge
end

-- The times of notifications of a kind, which are read from the latest one as far as is needed: a
-- check that fails for long has many.
local function times_of(parts, event_id)
  return {at = of_check(parts, event_id), read = 0, oldest = math.huge}
end

local function read_more(times)
  local page = redis.call('LRANGE', times.at, -times.read - PAGE, -times.read - 1)
  for i = #page, 1, -1 do
    local time = tonumber(page[i])
    times[#times + 1] = time
    times.oldest = math.min(times.oldest, time or times.oldest)
  end
  times.read = times.read + PAGE
  times.is_complete = #page < PAGE
end

local function is_any_between(times, from, to)
  local i = 1
  while true do
    while times[i] do
      if times[i] >= from and (not to or times[i] < to) then return true end
      i = i + 1
    end
    if times.is_complete or times.oldest < from then return false end
    read_more(times)
  end
end

-- The number of the event that was notified last: as given, or as recorded, or of the state itself.
local function notified_count(at, is_notified, given, count)
  if not is_notified then return false end
  local found = redis.call('HGET', at, 'last_notification_count')
  return given or (found and tonumber(found) and found) or count
end

local STATE = {'state', 'summary', 'details', 'count', 'timestamp', 'notified',
  'last_notification_count'}

local function drop_state(id)
  local at = key(record.state, id)
  local found = redis.call('HMGET', at, unpack(STATE))
  put_member(key(record.states), id, false)
  put_index(record.states_by_state, found[1], false, id)
  put_index(record.states_by_notified, found[6], false, id)
  if found[4] then drop_unique(key(record.states_by_count), found[4], id) end
  for field, parts in pairs({state_id = record.state_current_notifications,
      previous_state_id = record.state_previous_notifications}) do
    for _, one in ipairs(redis.call('SMEMBERS', key(parts, id))) do
      put_fields(key(record.notification_belongs, one), {field}, {})
    end
    drop(key(parts, id))
  end
  drop(at, key(record.state_belongs, id))
end

-- One state; `after` is when the next one began, `time` and `count` are of a new notification.
local function put_state(event_id, check, stamp, after, lists, time, count)
  local id, from = id_of('state:' .. event_id .. ':' .. stamp), tonumber(stamp)
  local at = key(record.state, id)
  local stored = redis.call('MGET', of_check(working.state, event_id, stamp),
    of_check(working.summary, event_id, stamp), of_check(working.details, event_id, stamp),
    of_check(working.count, event_id, stamp))
  local kind = stored[1] == 'ok' and 'recoveries' or 'problems'
  lists[kind] = lists[kind] or times_of(working[kind], event_id)
  local is_notified = is_any_between(lists[kind], from, after)
  local given = time and time >= from and (not after or time < after) and count
  local values = {state = stored[1], summary = stored[2], details = stored[3], count = stored[4],
    timestamp = stamp, notified = is_notified and 'true' or 'false',
    last_notification_count = notified_count(at, is_notified, given, stored[4])}
  local before = put_fields(at, STATE, values)
  put_index(record.states_by_state, before[1], values.state, id)
  put_index(record.states_by_notified, before[6], values.notified, id)
  if before[4] and before[4] ~= values.count then
    drop_unique(key(record.states_by_count), before[4], id)
  end
  if values.count and (full or before[4] ~= values.count) then
    put_unique(key(record.states_by_count), values.count, id)
  end
  if full or not before[5] then
    put_member(key(record.states), id, true)
    put_fields(key(record.state_belongs, id), {'check_id'}, {check_id = check})
  end
  return id
end

-- states(ENTITY:CHECK): all states of a check.
function mirror.states(event_id)
  local id, stamps, scores = check_id(event_id), {}, {}
  for _, stamp in ipairs(redis.call('LRANGE', of_check(working.states, event_id), 0, -1)) do
    if is_finite(tonumber(stamp)) then stamps[#stamps + 1] = stamp end
  end
  local lists = {}
  for i, stamp in ipairs(stamps) do
    local after = stamps[i + 1] and tonumber(stamps[i + 1])
    scores[put_state(event_id, id, stamp, after, lists)] = stamp
  end
  for _, gone in ipairs(put_scores(key(record.check_states, id), scores)) do drop_state(gone) end
end

-- latest(ENTITY:CHECK, time, number): what a change of state changes, or a notification at this
-- time about this event: the last two states, and others that were in force since then.
function mirror.latest(event_id, time, count)
  local id, list = check_id(event_id), of_check(working.states, event_id)
  local lists, at, after, since = {}, -1, nil, tonumber(time)
  while true do
    local stamp = redis.call('LINDEX', list, at)
    if not stamp then return end
    if is_finite(tonumber(stamp)) then
      local state = put_state(event_id, id, stamp, after, lists, count and since, count)
      put_score(key(record.check_states, id), state, stamp)
      after = tonumber(stamp)
      if at < -1 and after <= since then return end
    end
    at = at - 1
  end
end

local WINDOW = {'start_time', 'end_time', 'summary', 'notified', 'last_notification_count'}

local function drop_window(kind, id)
  local at = key(record[kind .. '_window'], id)
  put_member(key(record[kind]), id, false)
  if kind == 'unscheduled' then
    put_index(record.unscheduled_by_notified, redis.call('HGET', at, 'notified'), false, id)
  end
  drop(at, key(record[kind .. '_belongs'], id))
end

local function put_window(event_id, check, kind, window, after, times, time, count)
  local id = window.id
  local at = key(record[kind .. '_window'], id)
  local summary = redis.call('GET', of_check(working[kind .. '_summary'], event_id, window.start))
  local values = {start_time = window.start, end_time = window.stop, summary = summary}
  if times then
    local from = tonumber(window.start)
    local is_notified = is_any_between(times, from, after)
    local given = time and time >= from and (not after or time < after) and count
    values.notified = is_notified and 'true' or 'false'
    values.last_notification_count = notified_count(at, is_notified, given, false)
  end
  local before = put_fields(at, WINDOW, values)
  if times then put_index(record.unscheduled_by_notified, before[4], values.notified, id) end
  if full or not before[1] then
    put_member(key(record[kind]), id, true)
    put_fields(key(record[kind .. '_belongs'], id), {'check_by_start_id', 'check_by_end_id'},
      {check_by_start_id = check, check_by_end_id = check})
  end
end

local function windows_of(event_id, kind)
  local found, windows = redis.call('ZRANGE', of_check(working[kind .. '_windows'], event_id),
    0, -1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    local start, length = tonumber(found[i]), tonumber(found[i + 1])
    if is_finite(start) then
      windows[#windows + 1] = {start = found[i], from = start, stop = in_digits(start + length),
        id = id_of(kind .. ':' .. event_id .. ':' .. found[i])}
    end
  end
  table.sort(windows, function(a, b) return a.from < b.from end)
  return windows
end

-- windows(ENTITY:CHECK, kind): all windows of `scheduled` or `unscheduled` maintenance of a check.
-- With a start, those that have other ends than recorded, the one before this start, and all since;
-- with a time and a number, those are of a new notification of an acknowledgement.
function mirror.windows(event_id, kind, start, time, count)
  local check, starts, stops, windows = check_id(event_id), {}, {}, windows_of(event_id, kind)
  local by_end = key(record['check_' .. kind .. '_by_end'], check)
  local times = kind == 'unscheduled' and times_of(working.acknowledgements, event_id)
  local first = tonumber(start or '')
  for i, window in ipairs(windows) do
    local after = windows[i + 1] and windows[i + 1].from
    starts[window.id], stops[window.id] = window.start, window.stop
    local is_near = not first or not after or after >= first
    local stop = is_near or redis.call('ZSCORE', by_end, window.id)
    if is_near or tonumber(stop or '') ~= tonumber(window.stop) then
      put_window(event_id, check, kind, window, after, times, tonumber(time or ''), count)
    end
  end
  -- A window that another program has just recorded is still to be adopted.
  local function is_foreign(id)
    local from = redis.call('HGET', key(record[kind .. '_window'], id), 'start_time')
    return from and id_of(kind .. ':' .. event_id .. ':' .. from) ~= id
  end
  local stays = not full and is_foreign
  local by_start = key(record['check_' .. kind .. '_by_start'], check)
  local gone = put_scores(by_start, starts, stays)
  put_scores(by_end, stops, stays)
  for _, id in ipairs(gone) do drop_window(kind, id) end
end
"""
