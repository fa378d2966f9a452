"""Links of contacts to what they are notified about: an entity, all entities, or one check."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import ALL, Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import MirroredScript, Unit
from watchbell.alerting.validation import plain
from watchbell.errors import NotFound, Refused
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.replies import text
from watchbell.store.search import MEMBERS

_AT_ONCE, _PIECE = 200, 1_000


# KEYS[1] contacts of the entity or check, KEYS[2] contact; ARGV[1] its id. Returns whether there is
# such a contact.
_LINK = MirroredScript("""
if redis.call('HEXISTS', KEYS[2], 'first_name') == 0 then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
return 1
""")


async def link(store: Store, contact_id: str, entity_id: str, check: str | None = None) -> None:
    """Links a contact to an entity, to ALL, or to one check."""
    keys = Alerting(store.prefix)
    places = [_contacts_key(keys, entity_id, check), keys.contact(contact_id)]
    if not await _LINK(store, places, [contact_id], [unit(entity_id, check)]):
        raise NotFound(f"there is no contact {contact_id}")


def unit(entity_id: str, check: str | None = None) -> Unit:
    """What changes in the records with the contacts of an entity, or of one check."""
    return ("entity", entity_id) if check is None else ("check_contacts", entity_id, check)


# KEYS[1] contacts of the entity or check; ARGV[1] a contact. Returns whether it was one of them.
_UNLINK = MirroredScript("return redis.call('SREM', KEYS[1], ARGV[1])")


async def unlink(store: Store, contact_id: str, entity_id: str, check: str | None = None) -> None:
    key = _contacts_key(Alerting(store.prefix), entity_id, check)
    if not await _UNLINK(store, [key], [contact_id], [unit(entity_id, check)]):
        raise NotFound(f"{contact_id} is not linked to this itself")
    await remove_unlinked(store, [contact_id])


# KEYS[1] own contacts of a check; ARGV: those that it is to have. Returns those that it had.
_REPLACE = MirroredScript("""
local before = redis.call('SMEMBERS', KEYS[1])
redis.call('DEL', KEYS[1])
for _, contact in ipairs(ARGV) do redis.call('SADD', KEYS[1], contact) end
return before
""")


async def replace(store: Store, entity_id: str, check: str, given: Iterable[str]) -> None:
    """Gives a check these contacts of its own, and no others."""
    contacts = [plain("contacts", one) for one in given]
    key = _contacts_key(Alerting(store.prefix), entity_id, check)
    before = await _REPLACE(store, [key], contacts, [unit(entity_id, check)]) or []
    lost = {one.decode(errors="replace") for one in before} - set(contacts)
    await remove_unlinked(store, sorted(lost))


def _contacts_key(keys: Alerting, entity_id: str, check: str | None) -> str:
    if check is None:
        return keys.entity_contacts(entity_id)
    if entity_id == ALL:
        reason = "a check belongs to one entity; leave it out, or name the entity"
        raise Refused(reason, field="check")
    return keys.check_contacts(entity_id, plain("check", check))


async def interested(store: Store, entity_id: str, check: str) -> list[str]:
    """Contacts that are linked to a check, to its entity or to ALL; each once."""
    keys = Alerting(store.prefix)
    sets = [*map(keys.entity_contacts, (entity_id, ALL)), keys.check_contacts(entity_id, check)]
    found: dict[str, None] = {}
    for raw in (member for members in await MEMBERS(store, sets) for member in sorted(members)):
        with suppress(UnicodeDecodeError):  # what is no text is no id
            found[raw.decode()] = None
    return list(found)


# Returns the contacts who are notified about a check; some may come twice.
_INTERESTED = CheckScript("""
local found = redis.call('SMEMBERS', key('entity_contacts', 'ALL'))
local id = redis.call('HGET', key('entity_ids'), entity)
  or redis.call('GET', key('entity_id', entity))
for _, set in ipairs(id and {key('entity_contacts', id), key('check_contacts', id, check)} or {}) do
  for _, contact in ipairs(redis.call('SMEMBERS', set)) do found[#found + 1] = contact end
end
return found
""")


async def interested_in(store: Store, event_ids: Sequence[str]) -> dict[str, set[str]]:
    """Contacts that are notified about each of the checks."""
    return {
        event_id: {one.decode(errors="replace") for one in contacts}
        async for event_id, contacts in _INTERESTED.over(store, event_ids, [], _PIECE)
    }


# given[1] a contact. Returns whether it is notified about a check.
_IS_LINKED = CheckScript("""
local function has(set) return redis.call('SISMEMBER', set, given[1]) == 1 end
if has(key('entity_contacts', 'ALL')) then return 1 end
local id = redis.call('HGET', key('entity_ids'), entity)
  or redis.call('GET', key('entity_id', entity))
if not id then return 0 end
return (has(key('entity_contacts', id)) or has(key('check_contacts', id, check))) and 1 or 0
""")

# KEYS[1] the checks that a contact is alerted about by a medium; ARGV[1] how these two are named
# beside a check, ARGV[2] what the keys of those who are alerted about checks begin with, ARGV[3…]
# the checks to remove.
_REMOVE = MirroredScript("""
for i = 3, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[i])
  redis.call('SREM', ARGV[2] .. ARGV[i], ARGV[1])
  mark('alerting', ARGV[i])
end
""")


async def remove_unlinked(store: Store, contacts: Iterable[str]) -> None:
    """Removes from the contacts' failing checks those about which they are no longer notified."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    for contact in contacts:
        for medium in map(text, await store.call("HKEYS", keys.media(contact))):
            alerted = keys.alerting_checks(contact, medium)
            async for page in replies.scored_members(store, alerted):
                ids = [event_id for event_id, _ in page]
                asked = _IS_LINKED.over(store, ids, [contact], _AT_ONCE)
                lost = [event_id async for event_id, is_linked in asked if not is_linked]
                args = [f"{contact}:media:{medium}", own.alerting_media.literals[0], *lost]
                await _REMOVE(store, [alerted], args)
