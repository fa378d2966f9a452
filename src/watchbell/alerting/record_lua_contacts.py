"""Units of the mirror for contacts, their media and rules, and for entities."""

CONTACTS = """
-- The pairs of a hash, as a table.
local function table_of(at)
  local flat, found = redis.call('HGETALL', at), {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end

-- The texts of a list in JSON; none where it is unreadable.
local function texts_of(json)
  local is_read, list = pcall(cjson.decode, json or 'null')
  local texts = {}
  for _, text in ipairs(is_read and type(list) == 'table' and list or {}) do
    if type(text) == 'string' then texts[#texts + 1] = text end
  end
  return texts
end

local MEDIUM = {'type', 'address', 'interval', 'rollup_threshold'}

local function put_medium(contact, kind, address, interval, threshold)
  local id = medium_id(contact, kind)
  local values = {type = kind, address = address, interval = interval,
    rollup_threshold = threshold}
  local before = put_fields(key(record.medium, id), MEDIUM, values)
  put_index(record.media_by_type, before[1], kind, id)
  put_member(key(record.media), id, true)
  put_fields(key(record.medium_belongs, id), {'contact_id'}, {contact_id = contact})
end

local function drop_medium(id)
  local at = key(record.medium, id)
  put_member(key(record.media), id, false)
  put_index(record.media_by_type, redis.call('HGET', at, 'type'), false, id)
  drop(at, key(record.medium_belongs, id))
end

local RULE = {'time_restrictions_json', 'unknown_blackhole', 'warning_blackhole',
  'critical_blackhole'}
local RULE_SETS = {rule_entities = 'entities', rule_unknown_media = 'unknown_media',
  rule_warning_media = 'warning_media', rule_critical_media = 'critical_media'}

-- A rule that has no fields is none.
local function put_rule(contact, id)
  local fields = table_of(key(working.rule, id))
  if not next(fields) then return false end
  put_member(key(record.rules), id, true)
  put_fields(key(record.rule, id), RULE, {time_restrictions_json = fields.time_restrictions,
    unknown_blackhole = fields.unknown_blackhole or 'false',
    warning_blackhole = fields.warning_blackhole or 'false',
    critical_blackhole = fields.critical_blackhole or 'false'})
  for set, field in pairs(RULE_SETS) do put_set(key(record[set], id), texts_of(fields[field])) end
  local tags = fields.tags
  if not tags or tags == '' or tags == 'null' then tags = fields.entity_tags end
  put_set(key(record.rule_tags, id), texts_of(tags))
  put_fields(key(record.rule_belongs, id), {'contact_id'}, {contact_id = contact})
  return true
end

local function drop_rule(id)
  put_member(key(record.rules), id, false)
  drop(key(record.rule, id), key(record.rule_tags, id), key(record.rule_belongs, id))
  for set in pairs(RULE_SETS) do drop(key(record[set], id)) end
end

local function put_person(id, is_there)
  local values = {}
  if is_there then
    local found = redis.call('HMGET', key(working.contact, id), 'first_name', 'last_name', 'email')
    values = {first_name = found[1], last_name = found[2], email = found[3],
      timezone = redis.call('GET', key(working.timezone, id))}
  end
  put_member(key(record.contacts), id, is_there)
  put_fields(key(record.contact, id), {'first_name', 'last_name', 'email', 'timezone'}, values)
end

local function put_media(id, is_there, try)
  local media = {}
  if is_there then
    local every, most = table_of(key(working.intervals, id)),
      table_of(key(working.rollup_thresholds, id))
    for kind, address in pairs(table_of(key(working.media, id))) do
      media[#media + 1] = medium_id(id, kind)
      try(put_medium, id, kind, address, every[kind], most[kind])
    end
  end
  local _, gone = put_set(key(record.contact_media, id), media)
  for _, medium in ipairs(gone) do try(drop_medium, medium) end
end

-- Of a rule that can't be read the record stays as it is.
local function put_rules(id, is_there, try)
  local rules = {}
  for _, rule in ipairs(is_there and redis.call('SMEMBERS', key(working.rules, id)) or {}) do
    local is_done, is_rule = try(put_rule, id, rule)
    if is_rule or not is_done then rules[#rules + 1] = rule end
  end
  local _, gone = put_set(key(record.contact_rules, id), rules)
  for _, rule in ipairs(gone) do
    -- A rule that moved to another contact is that one's.
    if redis.call('HGET', key(record.rule_belongs, rule), 'contact_id') == id then
      try(drop_rule, rule)
    end
  end
end

local function put_pagerduty(id, is_there)
  put_hash(key(record.contact_pagerduty, id),
    is_there and table_of(key(working.pagerduty, id)) or {})
end

-- contact(CONTACT_ID): a contact, its media and its rules. A part that the store refuses stops none
-- of the others, and is reported when they are done.
function mirror.contact(id)
  local refused
  local function try(...)
    local is_done, found = pcall(...)
    if not is_done then refused = refused or found end
    return is_done, found
  end
  local is_there = redis.call('HEXISTS', key(working.contact, id), 'first_name') == 1
  for _, put in ipairs({put_person, put_media, put_rules, put_pagerduty}) do
    try(put, id, is_there, try)
  end
  if refused then error(refused, 0) end
end

-- rule(CONTACT_ID, RULE_ID): one rule of a contact, who may have thousands.
function mirror.rule(contact, id)
  local is_there = redis.call('HEXISTS', key(working.contact, contact), 'first_name') == 1
    and redis.call('SISMEMBER', key(working.rules, contact), id) == 1 and put_rule(contact, id)
  put_member(key(record.contact_rules, contact), id, is_there)
  if not is_there and redis.call('HGET', key(record.rule_belongs, id), 'contact_id') == contact then
    drop_rule(id)
  end
end

-- contact_tag(CONTACT_ID, tag) and entity_tag(ENTITY_ID, tag): whether it has the tag.
function mirror.contact_tag(id, tag)
  local has_it = redis.call('SISMEMBER', key(working.contact_tag, tag), id) == 1
  put_member(key(record.contact_tags, id), tag, has_it)
end

function mirror.entity_tag(id, tag)
  local has_it = redis.call('SISMEMBER', key(working.entity_tag, tag), id) == 1
  put_member(key(record.entity_tags, id), tag, has_it)
end

-- An entity called ALL stands for all of them while contacts are linked to it.
local function entity_name_of(id)
  if id == 'ALL' then
    return redis.call('EXISTS', key(working.entity_contacts, id)) == 1 and id
  end
  return redis.call('HGET', key(working.entity_names), id)
    or redis.call('HGET', key(working.entity, id), 'name')
end

local function put_enabled(id, name)
  local is_enabled = name and redis.call('ZSCORE', key(working.current_entities), name)
  if name == 'ALL' then is_enabled = true end
  local values = name and {name = name, enabled = is_enabled and 'true' or 'false'} or {}
  local before = put_fields(key(record.entity, id), {'name', 'enabled'}, values)
  put_index(record.entities_by_enabled, before[2], values.enabled, id)
  return before[1]
end

-- Returns the checks of the entity, and those that are no longer.
local function put_entity(id)
  local name = entity_name_of(id)
  local is_found = name and (id == 'ALL' or entity_id_of(name) == id)
  put_member(key(record.entities), id, name and true or false)
  local before, by_name = put_enabled(id, name), key(record.entities_by_name)
  if before and before ~= name then drop_unique(by_name, before, id) end
  if is_found then put_fields(by_name, {name}, {[name] = id}) end
  local checks = {}
  if is_found then
    checks = redis.call('SMEMBERS', key(record.checks_by_entity_name, escaped(name)))
  end
  local _, others = put_set(key(record.entity_checks, id), checks)
  local contacts = {}
  if name then contacts = redis.call('SMEMBERS', key(working.entity_contacts, id)) end
  local added, removed = put_set(key(record.entity_contacts, id), contacts)
  for _, contact in ipairs(full and contacts or added) do
    put_member(key(record.contact_entities, contact), id, true)
  end
  for _, contact in ipairs(removed) do
    put_member(key(record.contact_entities, contact), id, false)
  end
  return checks, others
end

-- entity(ENTITY_ID): an entity, its checks, its contacts and those of its checks. Of two entities
-- with one name, the checks belong to the one that is found by it.
function mirror.entity(id)
  local checks, others = put_entity(id)
  for _, check in ipairs(checks) do
    put_check_contacts(check, id, redis.call('HGET', key(record.check, check), 'name'))
  end
  for _, check in ipairs(others) do
    local found = redis.call('HMGET', key(record.check, check), 'entity_name', 'name')
    if found[1] then put_check_contacts(check, entity_id_of(found[1]), found[2]) end
  end
end

-- entity_alone(ENTITY_ID): the same without the contacts of its checks.
function mirror.entity_alone(id) put_entity(id) end

-- reported_entity(ENTITY): an entity is enabled again, or no longer.
function mirror.reported_entity(name)
  local id = entity_id_of(name)
  if not id then return end
  if redis.call('HGET', key(record.entity, id), 'name') ~= name then return mirror.entity(id) end
  put_enabled(id, name)
end
"""
