"""Brings notification blocks, which suppress alerts, from records into the working layout."""

from collections.abc import Sequence
from typing import Any

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import SEVERITY
from watchbell.alerting.record_reading import RecordScript, answered, made_id, table, whole
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import Script

_WORDS = 5 * 200
"""Arguments of one script, five for each block."""

# A block's fields; contact and type of the medium that it belongs to, entity and name of the check.
_BLOCKS = RecordScript("""
local owners = redis.call('HMGET', key('block_belongs', id), 'medium_id', 'check_id')
local medium, check = owners[1] or '', {}
if owners[2] then
  check = redis.call('HMGET', key('check', owners[2]), 'entity_name', 'name')
end
return {hash('block', id), redis.call('HGET', key('medium_belongs', medium), 'contact_id') or '',
  redis.call('HGET', key('medium', medium), 'type') or '', check[1] or '', check[2] or ''}
""")

# KEYS[1] the ends of what suppresses alerts, KEYS[2] its expiries, KEYS[3] ids of records of other
# programs; ARGV[1…] the key, its end, its milliseconds to live, the id that we would give the
# block, and the one that it has. A key that is there already stays as it is.
_SUPPRESS = Script("""
for i = 1, #ARGV, 5 do
  local key, ends, ms, made, id = unpack(ARGV, i, i + 4)
  redis.call('HSET', KEYS[3], made, id)
  if redis.call('SET', key, 'd', 'NX', 'PX', ms) then
    redis.call('ZADD', KEYS[1], ends, key)
    redis.call('HSET', KEYS[2], key, redis.call('PEXPIRETIME', key))
  end
end
""")


async def adopt(store: Store, ids: Sequence[str], now: int) -> dict[str, str]:
    """Suppresses alerts as the records say. What is over is left out. Returns those that are
    invalid, with the reason."""
    own, args, invalid = AlertingOwn(store.prefix), list[Argument](), dict[str, str]()
    async for one, read in _BLOCKS.over(store, ids):
        try:
            key, end = suppressing(Alerting(store.prefix), read)
        except Refused as error:
            invalid[one] = str(error)
            continue
        if end > now:
            args += (key, end, (end - now) * 1000, made_id(f"block:{key}"), one)
    places = [own.drops(), own.drop_expiries(), own.record_ids()]
    for first in range(0, len(args), _WORDS):
        await _SUPPRESS(store, places, args[first : first + _WORDS])
    return invalid


def suppressing(keys: Alerting, read: Any) -> tuple[str, int]:
    """The key that suppresses the same alerts as a block, and when it ends. Raises Refused where
    there is no such key."""
    raw, *owners = answered(read)
    fields, (contact, medium, entity, check) = table(raw), map(text, owners)
    end, state = whole(fields, "expire_at"), fields.get("state")
    if end is None:
        raise Refused("it has no expire_at")
    if not contact or not medium:
        raise Refused("it belongs to no medium of a contact")
    if state not in (None, *SEVERITY):
        raise Refused(f"{state!r} is no state", field="state")
    if fields.get("rollup") == "true":
        return keys.rollup_drop(contact, medium), end
    if state is not None and not check:
        raise Refused("it has a state, but belongs to no check")
    if not check:
        return keys.medium_drop(contact, medium), end
    if state is None:
        return keys.check_drop(contact, medium, entity.lower(), check), end
    return keys.state_drop(contact, medium, entity.lower(), check, state), end
