"""Searches for what other programs have changed: states that they recorded, and checks that they
enabled or disabled."""

from collections.abc import Sequence

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.record_keys import Records, escaped
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

_AT_ONCE = 200

# KEYS[1] ids of records of other programs; ARGV[1…3] what keys of states, of what they belong to,
# and of checks begin with, ARGV[4…] ids of records of states. Returns those that are not ours, each
# with entity, check, state, summary, details, time.
_FOREIGN = Script(
    READ
    + """
local found = {}
for i = 4, #ARGV do
  local id = ARGV[i]
  local fields = read('HMGET', ARGV[1] .. id .. ':attrs', 'state', 'summary', 'details',
    'timestamp')
  local check = read('HGET', ARGV[2] .. id .. ':belongs_to', 'check_id')
  local names = check and read('HMGET', ARGV[3] .. check .. ':attrs', 'entity_name', 'name')
  if fields and fields[1] and fields[4] and names and names[1] and names[2] then
    local name = 'state:' .. names[1] .. ':' .. names[2] .. ':' .. fields[4]
    local made = string.sub(redis.sha1hex(name), 1, 32)
    if (read('HGET', KEYS[1], made) or made) ~= id then
      found[#found + 1] = {id, names[1], names[2], unpack(fields, 1, 4)}
    end
  end
end
return found
"""
)

# KEYS[1] records of checks that are enabled; ARGV[1] and ARGV[2] what the keys of enabled checks
# and of the index of checks by entity begin with, ARGV[3…] entities, each with its name in the
# index. Returns those of which both layouts have different numbers of enabled checks, each with
# its checks and with its records.
_MISCOUNTED = Script(
    READ
    + """
local found = {}
for i = 3, #ARGV, 2 do
  local enabled, index = ARGV[1] .. ARGV[i], ARGV[2] .. ARGV[i + 1]
  if read('ZCARD', enabled) ~= read('SINTERCARD', 2, index, KEYS[1]) then
    found[#found + 1] = {ARGV[i], read('ZRANGE', enabled, 0, -1) or {},
      read('SMEMBERS', index) or {}}
  end
end
return found
"""
)

# KEYS[1] any key of ours; ARGV[1] and ARGV[2] what stands before and after the id in keys of
# states of checks, ARGV[3…] ids of records of checks. Returns the latest state of each.
_LATEST = Script(
    READ
    + """
local found = {}
for i = 3, #ARGV do
  local states = read('ZREVRANGE', ARGV[1] .. ARGV[i] .. ARGV[2], 0, 0)
  found[#found + 1] = states and states[1]
end
return found
"""
)


async def foreign_states(store: Store, ids: Sequence[str]) -> list[list[bytes]]:
    """Of records of states those that are not ours: id, entity, check, state, summary, details,
    time."""
    keys, found = Records(store.prefix), list[list[bytes]]()
    begin = [family.literals[0] for family in (keys.state, keys.state_belongs, keys.check)]
    for first in range(0, len(ids), _AT_ONCE):
        args: list[Argument] = [*begin, *ids[first : first + _AT_ONCE]]
        found += await _FOREIGN(store, [AlertingOwn(store.prefix).record_ids()], args)
    return found


async def latest_states(store: Store, checks: Sequence[str]) -> set[str]:
    """The latest record of a state of each check, which is given by its record."""
    keys, found = Records(store.prefix), set[str]()
    for first in range(0, len(checks), _AT_ONCE):
        args: list[Argument] = [*keys.check_states.literals, *checks[first : first + _AT_ONCE]]
        found.update(text(one) for one in await _LATEST(store, [keys.checks()], args) if one)
    return found


async def miscounted(
    store: Store, entities: Sequence[str]
) -> list[tuple[str, list[str], list[str]]]:
    """Entities that have other numbers of enabled checks in both layouts, each with its checks and
    with their records."""
    keys, found = Records(store.prefix), list[tuple[str, list[str], list[str]]]()
    begins = (
        Alerting(store.prefix).current_checks.literals[0],
        keys.checks_by_entity_name.literals[0],
    )
    for first in range(0, len(entities), _AT_ONCE):
        some = [(one, escaped(one)) for one in entities[first : first + _AT_ONCE]]
        args: list[Argument] = [*begins, *(word for pair in some for word in pair)]
        for entity, checks, ids in await _MISCOUNTED(store, [keys.checks_by_enabled("true")], args):
            found.append((text(entity), list(map(text, checks)), list(map(text, ids))))
    return found
