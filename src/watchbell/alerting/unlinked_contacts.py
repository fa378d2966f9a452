"""Who is told about a check no longer: it counts among what fails for that contact no more."""

from collections.abc import Iterable

from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.replies import text
from watchbell.store.script import Script

_AT_ONCE = 200

# given[1] a contact. Returns whether it is told about a check.
_IS_TOLD = CheckScript("""
local function tells(set) return redis.call('SISMEMBER', set, given[1]) == 1 end
if tells(key('entity_contacts', 'ALL')) then return 1 end
local id = redis.call('HGET', key('entity_ids'), entity)
  or redis.call('GET', key('entity_id', entity))
if not id then return 0 end
return (tells(key('entity_contacts', id)) or tells(key('check_contacts', id, check))) and 1 or 0
""")

# KEYS[1] the checks that a contact is alerted about by a medium; ARGV[1] how these two are named
# beside a check, ARGV[2] what the keys of those who are alerted about checks begin with, ARGV[3…]
# the checks that are forgotten.
_FORGET = Script("""
for i = 3, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[i])
  redis.call('SREM', ARGV[2] .. ARGV[i], ARGV[1])
end
""")


async def forget_lost(store: Store, contacts: Iterable[str]) -> None:
    """Takes out of the contacts' failing checks those of which they are told no longer."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    for contact in contacts:
        for medium in map(text, await store.call("HKEYS", keys.media(contact))):
            alerted = keys.alerting_checks(contact, medium)
            async for page in replies.scored_members(store, alerted):
                ids = [event_id for event_id, _ in page]
                asked = _IS_TOLD.over(store, ids, [contact], _AT_ONCE)
                lost = [event_id async for event_id, is_told in asked if not is_told]
                args = [f"{contact}:media:{medium}", own.alerting_media.literals[0], *lost]
                await _FORGET(store, [alerted], args)
