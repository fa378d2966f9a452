"""Units of the mirror for what suppresses alerts."""

BLOCKS = """
-- block(drop key): what suppresses alerts of a medium: all of them, those about a check or about
-- one in a state, or rollups. A key of a whole contact, or one that does not expire, has no record.
local BLOCK = {'expire_at', 'rollup', 'state'}
local IS_STATE = {ok = true, warning = true, critical = true, unknown = true}

-- Contact, medium, whether it is a rollup, ENTITY:CHECK and state.
local function parts_of_drop(drop)
  local begin = prefix .. working.rollup_drop[1]
  if string.sub(drop, 1, #begin) == begin then
    local contact, kind = string.match(string.sub(drop, #begin + 1), '^([^:]*):([^:]*)$')
    return contact, kind, true
  end
  begin = prefix .. working.state_drop[1]
  if string.sub(drop, 1, #begin) ~= begin then return end
  local contact, kind, rest = string.match(string.sub(drop, #begin + 1), '^([^:]+):([^:]+)(.*)$')
  if not contact or rest == '' then return contact, kind, false end
  local event_id, state = string.match(rest, '^:([^:]+:.+):([^:]*)$')
  if IS_STATE[state] then return contact, kind, false, event_id, state end
  return contact, kind, false, string.match(rest, '^:([^:]+:.+)$')
end

-- By our record of it; or where another program set the key, when that expires.
local function end_of_drop(drop)
  local ends = redis.call('ZSCORE', key(own.drops), drop)
  if ends then return ends end
  local expiry = redis.call('PEXPIRETIME', drop)
  return expiry > 0 and in_digits(math.ceil(expiry / 1000))
end

function mirror.block(drop_key)
  local contact, kind, is_rollup, event_id, state = parts_of_drop(drop_key)
  if not contact then return end
  local id, medium = id_of('block:' .. drop_key), medium_id(contact, kind)
  local check = event_id and check_id(event_id)
  local at, belongs = key(record.block, id), key(record.block_belongs, id)
  local ends = end_of_drop(drop_key)
  if not ends then
    if not full and redis.call('EXISTS', at) == 0 then return end
    local found = redis.call('HMGET', at, unpack(BLOCK))
    put_member(key(record.blocks), id, false)
    put_index(record.blocks_by_rollup, found[2], false, id)
    put_index(record.blocks_by_state, found[3], false, id)
    put_score(key(record.medium_blocks, medium), id, false)
    if check then put_member(key(record.check_blocks, check), id, false) end
    return drop(at, belongs)
  end
  local values = {expire_at = ends, rollup = is_rollup and 'true' or 'false', state = state}
  local before = put_fields(at, BLOCK, values)
  put_index(record.blocks_by_rollup, before[2], values.rollup, id)
  put_index(record.blocks_by_state, before[3], state, id)
  put_score(key(record.medium_blocks, medium), id, ends)
  if before[1] and not full then return end
  put_member(key(record.blocks), id, true)
  put_fields(belongs, {'medium_id', 'check_id'}, {medium_id = medium, check_id = check})
  if check then put_member(key(record.check_blocks, check), id, true) end
end
"""
