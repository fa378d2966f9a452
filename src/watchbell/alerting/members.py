"""The Lua that finds which checks count as failing for a contact and a medium.

A check counts while it fails, is enabled, is not in maintenance, and the contact is linked to it.
Other programs change all of that without changing the set, so its members are checked whenever the
contact is considered.

A check that recovered or was acknowledged leaves the set with its notification, so that many
recoveries are summarised as the failures were. Members are therefore checked only when no more
notifications are queued than those in hand; a burst pays nothing for it.
"""

from watchbell.alerting.decide.maintenance import IS_OPEN

FAMILIES = (
    *("failed_checks", "current_checks"),
    *("scheduled", "scheduled_windows", "unscheduled", "unscheduled_windows"),
    *("entity_ids", "entity_id", "entity_contacts", "check_contacts"),
)

# Uses `read`, `now` and `families`, what stands between the parts of the keys of each family. What
# was read of a check or a link is remembered while the script runs.
LUA = (
    IS_OPEN
    + """
local function of_check(name, entity, check)
  local parts = families[name]
  return parts[1] .. entity .. parts[2] .. check .. parts[3]
end

local function is_maintained(kind, entity, check)
  local windows = of_check(kind .. '_windows', entity, check)
  return is_open(of_check(kind, entity, check), windows, now)
end

-- Of each check: 'counts', 'over' where it recovered or was acknowledged, or 'gone' where it is
-- disabled or in scheduled maintenance. Asked for up to a few hundred at once.
local standings = {}
local function look_at(names)
  local new, entities, checks, windows = {}, {}, {}, {}
  for _, name in ipairs(names) do
    local entity, check
    if not standings[name] then
      standings[name], entity, check = 'gone', string.match(name, '^([^:]*):(.*)$')
    end
    if entity then
      new[#new + 1], entities[#new + 1], checks[#new + 1] = name, entity, check
      windows[#windows + 1] = of_check('scheduled', entity, check)
      windows[#windows + 1] = of_check('unscheduled', entity, check)
    end
  end
  if #new == 0 then return end
  local failing = read('ZMSCORE', families.failed_checks[1], unpack(new)) or {}
  local is_any_maintained = redis.call('EXISTS', unpack(windows)) > 0
  local enabled = families.current_checks
  for i, name in ipairs(new) do
    local entity, check = entities[i], checks[i]
    if read('ZSCORE', enabled[1] .. entity .. enabled[2], check)
        and not (is_any_maintained and is_maintained('scheduled', entity, check)) then
      local is_over = not failing[i]
        or is_any_maintained and is_maintained('unscheduled', entity, check)
      standings[name] = is_over and 'over' or 'counts'
    end
  end
end

local ids = {}
local function id_of(entity)
  if ids[entity] == nil then
    ids[entity] = read('HGET', families.entity_ids[1], entity)
      or read('GET', families.entity_id[1] .. entity)
  end
  return ids[entity]
end

local links = {}
local function is_linked(contact, name)
  local of_entity, known = families.entity_contacts[1], links[contact]
  if not known then
    known = {to_all = read('SISMEMBER', of_entity .. 'ALL', contact) == 1, to = {}}
    links[contact] = known
  end
  if known.to_all then return true end
  local entity, check = string.match(name, '^([^:]*):(.*)$')
  local id = entity and id_of(entity)
  if not id then return false end
  if known.to[id] == nil then
    known.to[id] = read('SISMEMBER', of_entity .. id, contact) == 1
  end
  return known.to[id] or read('SISMEMBER', of_check('check_contacts', id, check), contact) == 1
end

local function is_gone(contact, name)
  return standings[name] == 'gone' or not is_linked(contact, name)
end

-- The members of a contact's set that do not belong there. Those that were alerted about longest
-- ago come first; it ends once `enough` were found that belong there. `pending` has the checks of
-- which a notification is in hand.
local function strays(contact, key, enough, pending)
  local found, good, first = {}, 0, 0
  while good < enough and #found < 5000 do
    local names = read('ZRANGE', key, first, first + 99) or {}
    if #names == 0 then break end
    look_at(names)
    for _, name in ipairs(names) do
      if is_gone(contact, name) or standings[name] == 'over' and not pending[name] then
        found[#found + 1] = name
      else
        good = good + 1
      end
    end
    first = first + 100
  end
  return found
end
"""
)
