"""Finds, saves and removes notification rules, and adds a contact's general rule."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting.keys import Alerting
from watchbell.alerting.mirrored_script import MirroredScript
from watchbell.alerting.model import KNOWN_MEDIA, Contact, Rule
from watchbell.alerting.rule_format import flat, owned, parse
from watchbell.alerting.validation import checked_rule
from watchbell.errors import Changed, NotFound, Refused
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ


def general(contact_id: str, media: Iterable[str], rule_id: str) -> Rule:
    """The rule where no specific one matches: all media for critical and warning."""
    every = tuple(dict.fromkeys([*KNOWN_MEDIA, *media]))
    return Rule(id=rule_id, contact_id=contact_id, warning_media=every, critical_media=every)


# KEYS[1] rule, KEYS[2] the contact's rules, KEYS[3] contact; ARGV[1] the rule's id, ARGV[2] the
# contact's, ARGV[3] how many words of fields and values follow that the rule has to have, -1 for
# whatever there is, then those, then fields and values as they are to be. Returns '' once stored,
# -1 where the rule is another, else the contact it belongs to, or 'no contact'.
_SAVE = MirroredScript("""
if redis.call('HEXISTS', KEYS[3], 'first_name') == 0 then return 'no contact' end
local owner = redis.call('HGET', KEYS[1], 'contact_id')
if owner and owner ~= '' and owner ~= ARGV[2] then return owner end
local count = tonumber(ARGV[3])
if count >= 0 and redis.call('HLEN', KEYS[1]) * 2 ~= count then return -1 end
for i = 4, 3 + count, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return -1 end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 4 + math.max(count, 0)))
redis.call('SADD', KEYS[2], ARGV[1])
return ''
""")

# KEYS[1] rule; ARGV[1] its id, ARGV[2] what the keys of contacts' rules begin with.
# Returns whether there was one.
_REMOVE = MirroredScript("""
local owner = redis.call('HGET', KEYS[1], 'contact_id')
if owner then
  redis.call('SREM', ARGV[2] .. owner, ARGV[1])
  mark('rule', owner, ARGV[1])
end
return redis.call('DEL', KEYS[1])
""")

# KEYS[1] rule, KEYS[2] rules of its new contact, KEYS[3] this contact; ARGV[1] the rule's id,
# ARGV[2] the contact's, ARGV[3] what the keys of contacts' rules begin with. Returns '' once it has
# moved, or what is missing.
_MOVE = MirroredScript("""
local owner = redis.call('HGET', KEYS[1], 'contact_id')
if not owner then return 'rule' end
if redis.call('HEXISTS', KEYS[3], 'first_name') == 0 then return 'contact' end
redis.call('SREM', ARGV[3] .. owner, ARGV[1])
redis.call('HSET', KEYS[1], 'contact_id', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
mark('rule', ARGV[2], ARGV[1])
mark('rule', owner, ARGV[1])
return ''
""")

# KEYS[1] the contact's rules, KEYS[2] contact, KEYS[3] the new rule; ARGV[1] what keys of rules
# begin with, ARGV[2] the new rule's id, ARGV[3] how many rules were seen, ARGV[4…] their ids, then
# fields and values. Stores the new rule if the rules are still those that were seen, or else
# returns them, each an id and its hash. Where somebody left a key of a wrong type the new rule is
# not kept, and holds for once: nobody else is to wait for that.
_ENSURE = MirroredScript(
    READ
    + """
local rules, contact, new = unpack(KEYS)
local begin, count, seen = ARGV[1], tonumber(ARGV[3]), {}
for i = 1, count do seen[ARGV[3 + i]] = true end
local found, as_seen = {}, true
for _, id in ipairs(read('SMEMBERS', rules) or {}) do
  local hash = read('HGETALL', begin .. id) or {}
  if #hash > 0 then
    found[#found + 1] = {id, hash}
    as_seen = as_seen and seen[id]
  end
end
if not as_seen or #found ~= count then return found end
if read('HEXISTS', contact, 'first_name') == 1 and read('SADD', rules, ARGV[2]) then
  redis.call('HSET', new, unpack(ARGV, 4 + count))
end
return false
"""
)


async def find(store: Store, rule_id: str) -> Rule:
    return (await stamped(store, rule_id))[0]


Stamp = Mapping[bytes, bytes]


async def stamped(store: Store, rule_id: str) -> tuple[Rule, Stamp]:
    """A rule, with a stamp that changes with it."""
    raw = await store.call("HGETALL", Alerting(store.prefix).rule(rule_id))
    if not raw:
        raise NotFound(f"there is no rule {rule_id}")
    return replace(parse(raw), id=rule_id), raw


async def save(store: Store, rule: Rule, replaces: Stamp | None = None) -> None:
    """Stores a new rule, or a changed one; raises Changed where the stored one is not the one
    that it `replaces`."""
    rule, keys = checked_rule(rule), Alerting(store.prefix)
    before = [word for pair in (replaces or {}).items() for word in pair]
    words: list[Argument] = [rule.id, rule.contact_id, -1 if replaces is None else len(before)]
    words += (*before, *flat(rule))
    owner = await _SAVE(
        store,
        [keys.rule(rule.id), keys.rules(rule.contact_id), keys.contact(rule.contact_id)],
        words,
        [("rule", rule.contact_id, rule.id)],
    )
    if owner == -1:
        raise Changed(f"rule {rule.id} was changed by somebody else meanwhile")
    if owner == b"no contact":
        raise NotFound(f"there is no contact {rule.contact_id}")
    if owner:
        belongs = f"the rule {rule.id} belongs to {owner.decode(errors='replace')}"
        raise Refused(belongs, field="contact_id")


async def remove(store: Store, rule_id: str) -> None:
    keys = Alerting(store.prefix)
    if not await _REMOVE(store, [keys.rule(rule_id)], [rule_id, keys.rules("")]):
        raise NotFound(f"there is no rule {rule_id}")


async def move(store: Store, rule_id: str, contact_id: str) -> None:
    """Gives a rule to another contact."""
    keys = Alerting(store.prefix)
    places = [keys.rule(rule_id), keys.rules(contact_id), keys.contact(contact_id)]
    missing = await _MOVE(store, places, [rule_id, contact_id, keys.rules("")])
    if missing:
        kind = missing.decode()
        raise NotFound(f"there is no {kind} {rule_id if kind == 'rule' else contact_id}")


async def ensure_general(store: Store, contact: Contact) -> Contact:
    """The contact with a general rule, which is stored if all its rules are specific. Concurrent
    calls store one."""
    keys = Alerting(store.prefix)
    seen = [rule.id.encode() for rule in contact.rules]
    while all(rule.is_specific for rule in contact.rules):
        new = general(contact.id, contact.media, ids.token())
        others = await _ENSURE(
            store,
            [keys.rules(contact.id), keys.contact(contact.id), keys.rule(new.id)],
            [keys.rule(""), new.id, len(seen), *seen, *flat(new)],
            [("rule", contact.id, new.id)],
        )
        if others is None:
            return replace(contact, rules=(*contact.rules, new))
        others.sort()
        seen = [rule_id for rule_id, _ in others]
        hashes = ((one, dict(zip(words[::2], words[1::2], strict=True))) for one, words in others)
        contact = replace(contact, rules=owned(contact.id, hashes))
    return contact
