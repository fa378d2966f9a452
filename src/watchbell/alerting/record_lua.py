"""The mirror: Lua that brings Flapjack's records to what the working layout says.

A unit is a part of the records that follows from one thing: a check, its states, a contact. Every
setter compares, then writes what differs; or reports it, where the mirror only looks.
"""

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.record_keys import Records
from watchbell.alerting.record_lua_blocks import BLOCKS
from watchbell.alerting.record_lua_contacts import CONTACTS
from watchbell.alerting.record_lua_history import HISTORY
from watchbell.alerting.record_lua_queues import QUEUES, UNQUEUED
from watchbell.alerting.record_lua_strays import STRAYS
from watchbell.store.families import Keyspace

ON = "on"
"""The value of the switch while records are kept."""

_WORKING = (
    *(
        "current",
        "all_checks",
        "current_checks",
        "current_entities",
        "last_problem",
        "problems",
        "recoveries",
    ),
    *("acknowledgements", "states", "state", "summary", "details", "count"),
    *("scheduled_windows", "scheduled_summary", "unscheduled_windows", "unscheduled_summary"),
    *("contact", "media", "timezone", "intervals", "rollup_thresholds", "pagerduty", "rules"),
    *("rule", "contact_tag", "entity_contacts", "check_contacts", "entity", "entity_id"),
    *("entity_ids", "entity_names", "entity_tag", "state_drop", "rollup_drop"),
    *("notifications", "queue"),
)
_OWN = ("record_ids", "alerting_media", "drops", "payload")


def _literals(space: type[Keyspace], names: tuple[str, ...]) -> str:
    """A table of Lua: what stands between the parts of the keys of each family."""
    families = {family.name: family for family in space.families() if family.name in names}
    return ", ".join(
        f"{name} = {{{', '.join(repr(part) for part in families[name].literals)}}}"
        for name in names
    )


_RECORDS = tuple(family.name for family in Records.families())

_TABLES = f"""
local working = {{{_literals(Alerting, _WORKING)}}}
local own = {{{_literals(AlertingOwn, _OWN)}}}
local record = {{{_literals(Records, _RECORDS)}}}
local mirror, differences = {{}}, {{}}
"""

# What all units use. `prefix` stands before all keys; `look` is true for a mirror that writes
# nothing; `full` for one that relies on nothing that it wrote before.
_SETTERS = """
local function key(parts, first, second)
  local text = prefix .. parts[1]
  if first then text = text .. first .. parts[2] end
  if second then text = text .. second .. parts[3] end
  return text
end

-- A key of a check, which is given as ENTITY:CHECK, or of one of its times.
local function of_check(parts, event_id, time)
  local text = prefix .. parts[1] .. event_id .. parts[3]
  if time then text = text .. time .. parts[4] end
  return text
end

-- The id of the record of something that is named by a text. A record that another program created
-- has an id of its own.
local record_ids = key(own.record_ids)
local has_ids = redis.call('EXISTS', record_ids) == 1
local function id_of(text)
  local id = string.sub(redis.sha1hex(text), 1, 32)
  return has_ids and redis.call('HGET', record_ids, id) or id
end

local function check_id(event_id) return id_of('check:' .. event_id) end
local function medium_id(contact, kind) return id_of('medium:' .. contact .. ':' .. kind) end

-- A value as it stands in the key of an index.
local function escaped(value)
  return (string.gsub(string.gsub(value, ' ', '%%20'), ':', '%%3A'))
end

-- A number as it is stored: without a fraction where it has none.
local function in_digits(number)
  return string.format(number == math.floor(number) and '%.0f' or '%.17g', number)
end

local function differs(at, field, expected, found)
  differences[#differences + 1] = {at, field, expected or false, found or false}
end

-- Gives a hash these fields; those without a value are removed, and others are left alone. Returns
-- what there was.
local function put_fields(at, names, values)
  local found, set, gone = redis.call('HMGET', at, unpack(names)), {}, {}
  for i, name in ipairs(names) do
    local value = values[name] or false
    if value ~= found[i] then
      if look then
        differs(at, name, value, found[i])
      elseif value then
        set[#set + 1], set[#set + 2] = name, value
      else
        gone[#gone + 1] = name
      end
    end
  end
  if #set > 0 then redis.call('HSET', at, unpack(set)) end
  if #gone > 0 then redis.call('HDEL', at, unpack(gone)) end
  return found
end

-- Gives a hash these fields and no others.
local function put_hash(at, values)
  local names, fields = {}, redis.call('HKEYS', at)
  for name in pairs(values) do names[#names + 1] = name end
  for _, name in ipairs(fields) do
    if not values[name] then names[#names + 1] = name end
  end
  if #names > 0 then put_fields(at, names, values) end
end

local function put_member(at, member, is_wanted)
  if not look then
    redis.call(is_wanted and 'SADD' or 'SREM', at, member)
  elseif (redis.call('SISMEMBER', at, member) == 1) ~= is_wanted then
    differs(at, member, is_wanted and 'present', not is_wanted and 'present')
  end
end

-- Gives a set these members and no others. Returns those that were added and removed.
local function put_set(at, members)
  local wanted, added, removed = {}, {}, {}
  for _, member in ipairs(members) do wanted[member] = true end
  for _, member in ipairs(redis.call('SMEMBERS', at)) do
    if wanted[member] then wanted[member] = nil else removed[#removed + 1] = member end
  end
  for member in pairs(wanted) do added[#added + 1] = member end
  for _, member in ipairs(added) do put_member(at, member, true) end
  for _, member in ipairs(removed) do put_member(at, member, false) end
  return added, removed
end

-- Gives a member of a sorted set this score; without one, the member is removed.
local function put_score(at, member, score)
  local found = redis.call('ZSCORE', at, member)
  if (found and tonumber(found)) == (score and tonumber(score)) then return end
  if look then
    differs(at, member, score, found)
  elseif score then
    redis.call('ZADD', at, score, member)
  else
    redis.call('ZREM', at, member)
  end
end

-- Gives a sorted set these members with their scores and no others, except those that are to stay.
-- Returns those that it removed.
local function put_scores(at, scores, stays)
  local found, removed = redis.call('ZRANGE', at, 0, -1, 'WITHSCORES'), {}
  local known = {}
  for i = 1, #found, 2 do
    known[found[i]] = tonumber(found[i + 1])
    if not scores[found[i]] and not (stays and stays(found[i])) then
      put_score(at, found[i], false)
      removed[#removed + 1] = found[i]
    end
  end
  for member, score in pairs(scores) do
    if known[member] ~= tonumber(score) then put_score(at, member, score) end
  end
  return removed
end

-- A value belongs to one record. Of several records with the same value, the one there stays.
local function put_unique(at, value, id)
  local found = redis.call('HGET', at, value)
  if found then return end
  if look then differs(at, value, id, found) else redis.call('HSET', at, value, id) end
end

local function drop_unique(at, value, id)
  if redis.call('HGET', at, value) ~= id then return end
  if look then differs(at, value, false, id) else redis.call('HDEL', at, value) end
end

-- Moves a record from the index of one value to that of another.
local function put_index(parts, before, value, id)
  before, value = before or false, value or false
  if before == value and not full then return end
  if before and before ~= value then put_member(key(parts, escaped(before)), id, false) end
  if value then put_member(key(parts, escaped(value)), id, true) end
end

local function drop(...)
  if not look then return redis.call('DEL', ...) end
  for _, at in ipairs({...}) do
    if redis.call('EXISTS', at) == 1 then differs(at, '', false, 'present') end
  end
end

-- The id of an entity; nothing if it has none.
local function entity_id_of(name)
  local id = redis.call('HGET', key(working.entity_ids), name)
  if not id or id == '' then id = redis.call('GET', key(working.entity_id, name)) end
  return id ~= '' and id or nil
end
"""

_CHECKS = """
-- check(ENTITY:CHECK): a check as it is now, its indexes, its own contacts, its place in an entity.
local CHECK = {'entity_name', 'name', 'state', 'summary', 'details', 'last_update',
  'last_problem_alert', 'enabled'}

-- Whether there is a check: one that reported, that has maintenance, or that is only announced.
local function is_check(event_id)
  return redis.call('EXISTS', of_check(working.current, event_id),
    of_check(working.scheduled_windows, event_id),
    of_check(working.unscheduled_windows, event_id)) > 0
    or redis.call('ZSCORE', key(working.all_checks), event_id)
end

local function drop_check(id, entity)
  local at = key(record.check, id)
  local found = redis.call('HMGET', at, unpack(CHECK))
  put_member(key(record.checks), id, false)
  put_index(record.checks_by_entity_name, found[1], false, id)
  put_index(record.checks_by_name, found[2], false, id)
  put_index(record.checks_by_state, found[3], false, id)
  put_index(record.checks_by_enabled, found[8], false, id)
  local entity_id = entity_id_of(entity)
  if entity_id then put_member(key(record.entity_checks, entity_id), id, false) end
  drop(at, key(record.check_contacts, id))
end

local function put_check_contacts(id, entity_id, name)
  local contacts = {}
  if entity_id then
    contacts = redis.call('SMEMBERS', key(working.check_contacts, entity_id, name))
  end
  put_set(key(record.check_contacts, id), contacts)
end

function mirror.check(event_id)
  local id, at = check_id(event_id), string.find(event_id, ':', 1, true)
  local entity, name = string.sub(event_id, 1, at - 1), string.sub(event_id, at + 1)
  local current = of_check(working.current, event_id)
  local now = redis.call('HMGET', current, 'state', 'summary', 'details', 'last_update')
  if not now[1] and not now[4] and not is_check(event_id) then return drop_check(id, entity) end
  local is_enabled = redis.call('ZSCORE', key(working.current_checks, entity), name)
  local values = {entity_name = entity, name = name, state = now[1], summary = now[2],
    details = now[3], last_update = now[4], enabled = is_enabled and 'true' or 'false',
    last_problem_alert = redis.call('GET', of_check(working.last_problem, event_id))}
  local before = put_fields(key(record.check, id), CHECK, values)
  put_index(record.checks_by_state, before[3], values.state, id)
  put_index(record.checks_by_enabled, before[8], values.enabled, id)
  if before[1] and not full then return end
  put_member(key(record.checks), id, true)
  put_index(record.checks_by_entity_name, before[1], entity, id)
  put_index(record.checks_by_name, before[2], name, id)
  local entity_id = entity_id_of(entity)
  if entity_id then put_member(key(record.entity_checks, entity_id), id, true) end
  put_check_contacts(id, entity_id, name)
end

-- Checks that report what they reported before. Returns those that have no record yet.
function mirror.reported(event_ids, time)
  local unknown, parts = {}, record.check
  local first, last = prefix .. parts[1], parts[2]
  for _, event_id in ipairs(event_ids) do
    if redis.call('HSET', first .. check_id(event_id) .. last, 'last_update', time) == 1 then
      unknown[#unknown + 1] = event_id
    end
  end
  return unknown
end

-- check_contacts(ENTITY_ID, CHECK): the own contacts of a check.
function mirror.check_contacts(entity_id, name)
  local entity = redis.call('HGET', key(working.entity_names), entity_id)
    or redis.call('HGET', key(working.entity, entity_id), 'name')
  if not entity then return end
  local id = check_id(entity .. ':' .. name)
  if redis.call('EXISTS', key(record.check, id)) == 1 then
    put_check_contacts(id, entity_id_of(entity), name)
  end
end

-- own_contacts(ENTITY:CHECK): the same, by the name of the check.
function mirror.own_contacts(event_id)
  local id, at = check_id(event_id), string.find(event_id, ':', 1, true)
  if redis.call('EXISTS', key(record.check, id)) == 1 then
    local entity_id = entity_id_of(string.sub(event_id, 1, at - 1))
    put_check_contacts(id, entity_id, string.sub(event_id, at + 1))
  end
end

-- enabled(ENTITY:CHECK): whether a check that has a record is enabled.
function mirror.enabled(event_id)
  local id, at = check_id(event_id), string.find(event_id, ':', 1, true)
  if redis.call('EXISTS', key(record.check, id)) == 0 then return end
  local enabled = key(working.current_checks, string.sub(event_id, 1, at - 1))
  local score = redis.call('ZSCORE', enabled, string.sub(event_id, at + 1))
  local values = {enabled = score and 'true' or 'false'}
  local before = put_fields(key(record.check, id), {'enabled'}, values)
  put_index(record.checks_by_enabled, before[1], values.enabled, id)
end

-- alerting(ENTITY:CHECK): the media that are being alerted about a check, and the other side.
function mirror.alerting(event_id)
  local id, media = check_id(event_id), {}
  for _, one in ipairs(redis.call('SMEMBERS', of_check(own.alerting_media, event_id))) do
    local contact, kind = string.match(one, '^(.*):media:(.*)$')
    if contact then media[#media + 1] = medium_id(contact, kind) end
  end
  local added, removed = put_set(key(record.check_alerting_media, id), media)
  for _, medium in ipairs(full and media or added) do
    put_member(key(record.medium_alerting_checks, medium), id, true)
  end
  for _, medium in ipairs(removed) do
    put_member(key(record.medium_alerting_checks, medium), id, false)
  end
end
"""

_UNITS = _TABLES + _SETTERS + _CHECKS + HISTORY + BLOCKS + CONTACTS + QUEUES


def _mirror(units: str) -> str:
    return f"""
local function mirror_of(prefix, look, full) {units}
return mirror, differences
end
"""


MIRROR = _mirror(_UNITS + STRAYS + UNQUEUED)
"""Defines `mirror_of(prefix, look, full)`, which returns the units and a list of differences, each
a key, a field or member, what is expected and what was found. A unit is a function of texts."""
LIBRARY = (
    _mirror(_UNITS)
    + f"""
local switch, mirror, marks, is_marked = nil, nil, {{}}, {{}}

local function new_mirror()
  return (mirror_of(string.sub(switch, 1, -1 - #'{AlertingOwn.records.pattern}'), false, false))
end

-- The mirror; false while no records are kept.
local function records()
  if mirror == nil then
    mirror = switch and redis.pcall('GET', switch) == '{ON}' and new_mirror()
  end
  return mirror
end
"""
    + """
-- Marks a unit as changed.
local function mark(unit, ...)
  if not records() then return end
  local name = table.concat({unit, ...}, ' ')
  if is_marked[name] then return end
  is_marked[name] = true
  marks[#marks + 1] = {unit, ...}
end

-- Mirrors a unit. One that the store refuses is reported and stops none of the others.
local function mirror_unit(with, words, refused)
  local is_done, problem = pcall(with[words[1]], unpack(words, 2))
  if not is_done then
    local reason = type(problem) == 'table' and problem.err or tostring(problem)
    refused[#refused + 1] = 'MIRROR ' .. table.concat(words, ' ') .. ': ' .. reason
  end
end

local function mirror_marked(refused)
  for _, words in ipairs(marks) do mirror_unit(mirror, words, refused) end
  return refused
end

-- Removes the records of what was queued by its id, also where no records are kept any more.
local function consume(class, ids, refused)
  local with = #ids > 0 and (records() or new_mirror())
  for _, id in ipairs(ids) do mirror_unit(with, {'consumed', class, id}, refused) end
  return refused
end
"""
)
"""For scripts that change the working layout: they set `switch` to the key that says whether
records are kept, `mark` units that they change, and end with `mirror_marked`."""
