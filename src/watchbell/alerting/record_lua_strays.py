"""Units of the mirror that start from the records and find what nothing accounts for."""

STRAYS = """
-- For each class, by the name of its set of ids: whether something accounts for a record. What a
-- check, a contact or an entity lists is compared from there.
local is_of = {}

function is_of.entities(id) return entity_name_of(id) end

function is_of.contacts(id)
  return redis.call('HEXISTS', key(working.contact, id), 'first_name') == 1
end

function is_of.checks(id)
  local found = redis.call('HMGET', key(record.check, id), 'entity_name', 'name')
  if not found[1] or not found[2] then return false end
  local name = found[1] .. ':' .. found[2]
  return check_id(name) == id and is_check(name)
end

function is_of.states(id)
  local check = redis.call('HGET', key(record.state_belongs, id), 'check_id')
  return check and is_of.checks(check) and redis.call('ZSCORE', key(record.check_states, check), id)
end

local function is_window(kind, id)
  local check = redis.call('HGET', key(record[kind .. '_belongs'], id), 'check_by_start_id')
  return check and is_of.checks(check)
    and redis.call('ZSCORE', key(record['check_' .. kind .. '_by_start'], check), id)
end

function is_of.scheduled(id) return is_window('scheduled', id) end

function is_of.unscheduled(id) return is_window('unscheduled', id) end

function is_of.media(id)
  local contact = redis.call('HGET', key(record.medium_belongs, id), 'contact_id')
  return contact and is_of.contacts(contact)
    and redis.call('SISMEMBER', key(record.contact_media, contact), id) == 1
end

function is_of.rules(id)
  local contact = redis.call('HGET', key(record.rule_belongs, id), 'contact_id')
  return contact and is_of.contacts(contact)
    and redis.call('SISMEMBER', key(record.contact_rules, contact), id) == 1
end

-- For each class: how a record is removed that nothing accounts for.
local remove = {}

function remove.entities(id) mirror.entity(id) end

function remove.contacts(id) mirror.contact(id) end

function remove.checks(id)
  drop_check(id, redis.call('HGET', key(record.check, id), 'entity_name') or '')
end

function remove.states(id)
  local check = redis.call('HGET', key(record.state_belongs, id), 'check_id')
  if check then put_score(key(record.check_states, check), id, false) end
  drop_state(id)
end

local function remove_window(kind, id)
  local check = redis.call('HGET', key(record[kind .. '_belongs'], id), 'check_by_start_id')
  if check then
    put_score(key(record['check_' .. kind .. '_by_start'], check), id, false)
    put_score(key(record['check_' .. kind .. '_by_end'], check), id, false)
  end
  drop_window(kind, id)
end

function remove.scheduled(id) remove_window('scheduled', id) end

function remove.unscheduled(id) remove_window('unscheduled', id) end

function remove.media(id)
  local contact = redis.call('HGET', key(record.medium_belongs, id), 'contact_id')
  if contact then put_member(key(record.contact_media, contact), id, false) end
  drop_medium(id)
end

function remove.rules(id)
  local contact = redis.call('HGET', key(record.rule_belongs, id), 'contact_id')
  if contact then put_member(key(record.contact_rules, contact), id, false) end
  drop_rule(id)
end

function remove.blocks(id)
  local at, belongs = key(record.block, id), key(record.block_belongs, id)
  local found, owners = redis.call('HMGET', at, unpack(BLOCK)),
    redis.call('HMGET', belongs, 'medium_id', 'check_id')
  put_member(key(record.blocks), id, false)
  put_index(record.blocks_by_rollup, found[2], false, id)
  put_index(record.blocks_by_state, found[3], false, id)
  if owners[1] then put_score(key(record.medium_blocks, owners[1]), id, false) end
  if owners[2] then put_member(key(record.check_blocks, owners[2]), id, false) end
  drop(at, belongs)
end

-- For each class: what a record lists that is decided on another side.
local sides = {}

function sides.contacts(id)
  for _, tag in ipairs(redis.call('SMEMBERS', key(record.contact_tags, id))) do
    mirror.contact_tag(id, tag)
  end
  local entities = key(record.contact_entities, id)
  for _, entity in ipairs(redis.call('SMEMBERS', entities)) do
    local is_linked = redis.call('SISMEMBER', key(record.entity_contacts, entity), id) == 1
    if not is_linked then put_member(entities, entity, false) end
  end
end

function sides.entities(id)
  for _, tag in ipairs(redis.call('SMEMBERS', key(record.entity_tags, id))) do
    mirror.entity_tag(id, tag)
  end
end

function sides.checks(id)
  local blocks = key(record.check_blocks, id)
  for _, block in ipairs(redis.call('SMEMBERS', blocks)) do
    if redis.call('HGET', key(record.block_belongs, block), 'check_id') ~= id then
      put_member(blocks, block, false)
    end
  end
end

function sides.media(id)
  local checks, blocks = key(record.medium_alerting_checks, id), key(record.medium_blocks, id)
  for _, check in ipairs(redis.call('SMEMBERS', checks)) do
    if redis.call('SISMEMBER', key(record.check_alerting_media, check), id) == 0 then
      put_member(checks, check, false)
    end
  end
  for _, block in ipairs(redis.call('ZRANGE', blocks, 0, -1)) do
    if redis.call('HGET', key(record.block_belongs, block), 'medium_id') ~= id then
      put_score(blocks, block, false)
    end
  end
end

-- stray(set of ids, id): a record that nothing accounts for is removed, and what it lists wrongly.
function mirror.stray(class, id)
  if not is_of[class] or not is_of[class](id) then remove[class](id) end
  if sides[class] then sides[class](id) end
end

-- indexed(index, family of the record, field, value, id): a record with another value is removed
-- from the index.
function mirror.indexed(index, family, field, value, id)
  local found = redis.call('HGET', key(record[family], id), field)
  if not found or escaped(found) ~= value then put_member(key(record[index], value), id, false) end
end

-- unique(index, family of the record, field, value): the same where a value has one record.
function mirror.unique(index, family, field, value)
  local id = redis.call('HGET', key(record[index]), value)
  if id and redis.call('HGET', key(record[family], id), field) ~= value then
    drop_unique(key(record[index]), value, id)
  end
end
"""
