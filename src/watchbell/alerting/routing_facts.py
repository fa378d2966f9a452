"""Reads the contacts of notifications and the state of their media, in one script."""

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from watchbell.alerting import contact_loading, members, rule_format, rules
from watchbell.alerting.decide.routing import Addressee, Alerting, Standing, addressee
from watchbell.alerting.indexes import COMPLETE, HAS_ROLLUP_BEGUN
from watchbell.alerting.keys import Alerting as Keys
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.model import Contact, Notification, split_id
from watchbell.store.client import Argument, Store
from watchbell.store.effects import verbatim
from watchbell.store.script import READ, Script

_FAMILIES = (
    *("contact_drop", "medium_drop", "check_drop", "state_drop", "rollup_drop", "alerting_checks"),
    *("alerts_by_medium", "alert"),
    *contact_loading.FAMILIES,
    *members.FAMILIES,
)
_LOOKED_AT = 250
"""Failing checks of a medium, beyond its threshold, that are verified; more than the
notifications in hand, each of which may remove one."""

# KEYS[1] the queue of notifications. ARGV[1] msgpack: what stands between the parts of each family
# of keys, and the member of an index that is complete; ARGV[2] now; ARGV[3] msgpack: notifications,
# flat: entity, check, state; ARGV[4] msgpack: contacts that are known already, by id: once more in
# msgpack, since few of them are looked at, each medium and whether it has a threshold; ARGV[5] how
# many notifications are in hand; ARGV[6] how many failing checks of a medium are looked at beyond
# its threshold; ARGV[7…] the fields of a rule. Returns the other contacts, and the facts of each
# notification. Of a contact: its id, all of it in MessagePack, and for each of its media: name,
# whether it has a threshold, the checks it is alerted about and should not be, how many others
# there are, whether alerts are rolled up, until when its alerts and its summaries are suppressed.
# Of a notification: whether its check can be counted, and a list for each contact: its id, and for
# each of its media whether the check is counted, until when all its alerts and those about this
# state are suppressed.
_LOAD = Script(
    """
local families, now, asked = cmsgpack.unpack(ARGV[1]), tonumber(ARGV[2]), cmsgpack.unpack(ARGV[3])
local known, rule_fields = cmsgpack.unpack(ARGV[4]), {unpack(ARGV, 7)}
"""
    + READ
    + HAS_ROLLUP_BEGUN
    + contact_loading.LUA
    + members.LUA
    + """
local drops, rollups = families.drops[1], families.rollups[1]
local expiries = families.drop_expiries[1]
local is_indexed = read('SISMEMBER', rollups, families.complete) == 1
local is_any_rolled_up = (read('SCARD', rollups) or 0) > (is_indexed and 1 or 0)

-- By our record, unless somebody changed the key's expiry since; else by that, else for a day. 0 if
-- there is no such key.
local function ends(key)
  local left = redis.call('PTTL', key)
  if left == -2 then return 0 end
  local recorded, expiry = read('ZSCORE', drops, key), read('HGET', expiries, key)
  local is_ours = not expiry or tonumber(expiry) == redis.call('PEXPIRETIME', key)
  if recorded and is_ours then
    return math.floor(math.max(math.min(tonumber(recorded), 2^52), 0))
  end
  return left < 0 and now + 86400 or now + math.max(math.ceil(left / 1000), 1)
end

-- The key of a contact's medium; or where it goes on, what such keys begin with.
local function for_medium(name, id, medium)
  local parts = families[name]
  return parts[1] .. id .. parts[2] .. medium .. parts[3]
end

local names, pending = {}, {}
for i = 1, #asked, 3 do
  names[#names + 1] = asked[i] .. ':' .. asked[i + 1]
  pending[names[#names]] = true
end
if #names == 0 then return {{}, {}} end
local are_all_in_hand = #names >= tonumber(ARGV[5]) and (read('LLEN', KEYS[1]) or 0) == 0

-- How many checks a medium is alerted about matters only where there is a threshold.
local function standing(id, medium, threshold)
  local alerted = for_medium('alerting_checks', id, medium)
  local failing, rolled, held, summary = 0, 0, 0, 0
  local lost = are_all_in_hand and strays(id, alerted, threshold + ARGV[6], pending) or {}
  if threshold > 0 then
    failing = read('ZCARD', alerted) or 0
    rolled = is_any_rolled_up and read('SISMEMBER', rollups, id .. ':media:' .. medium) or 0
    -- A store that another program worked on has no list of rollups.
    if failing >= threshold or not is_indexed and has_rollup_begun(
        for_medium('alerts_by_medium', id, medium), families.alert[1],
        for_medium('rollup_drop', id, medium)) then
      rolled = 1
    end
    failing = failing - #lost
  end
  local contact_drop = families.contact_drop[1] .. id
  local medium_drop = for_medium('medium_drop', id, medium)
  local rollup_drop = for_medium('rollup_drop', id, medium)
  if redis.call('EXISTS', contact_drop, medium_drop, rollup_drop) > 0 then
    held, summary = math.max(ends(contact_drop), ends(medium_drop)), ends(rollup_drop)
  end
  return lost, failing, rolled, held, summary
end

local people = {}
local function load_person(id)
  local packed, media, thresholds = packed_contact(id)
  if not packed then return false end
  local limits, answer, found = {}, {id, packed}, {}
  for i = 1, #thresholds, 2 do limits[thresholds[i]] = tonumber(thresholds[i + 1]) end
  for i = 1, #media, 2 do
    local medium, threshold = media[i], math.max(limits[media[i]] or 0, 0)
    found[i], found[i + 1] = medium, threshold > 0
    answer[#answer + 1] = {medium, threshold > 0 and 1 or 0, standing(id, medium, threshold)}
  end
  people[#people + 1] = answer
  return found
end

-- The keys about each medium of a contact, or what they begin with; false if there is no contact.
local function keys_of(id)
  local media, keys = known[id], {}
  if media then media = cmsgpack.unpack(media) else media = load_person(id) end
  for i = 1, media and #media or 0, 2 do
    keys[#keys + 1] = {
      medium = media[i],
      alerted = media[i + 1] and for_medium('alerting_checks', id, media[i]),
      check_drop = for_medium('check_drop', id, media[i]),
      state_drop = for_medium('state_drop', id, media[i])
    }
  end
  return media and keys
end

-- Whether a key about a whole check is really about a state of another: `critical` of the check `a`
-- where this one is called `a:critical`. We write none of a whole check. Flapjack neither, but
-- has no record of them; there, the other check is one that the contact is alerted about.
local function is_of_state(check_drop, id, medium, name)
  if read('ZSCORE', drops, check_drop) then return true end
  local other, state = string.match(name, '^(.+):(%l+)$')
  return (state == 'critical' or state == 'warning' or state == 'unknown')
    and read('ZSCORE', for_medium('alerting_checks', id, medium), other)
end

-- How they stand about a check: its name, and how keys about it and its state go on.
local function stands(id, media, name, about_check, about_state)
  local answer = {id}
  for i, keys in ipairs(media) do
    local counted, held, dropped = 0, 0, 0
    if keys.alerted and read('ZSCORE', keys.alerted, name) then counted = 1 end
    local check_drop, state_drop = keys.check_drop .. about_check, keys.state_drop .. about_state
    if redis.call('EXISTS', check_drop, state_drop) > 0 then
      held = is_of_state(check_drop, id, keys.medium, name) and 0 or ends(check_drop)
      dropped = ends(state_drop)
    end
    answer[3 * i - 1], answer[3 * i], answer[3 * i + 1] = counted, held, dropped
  end
  return answer
end

-- What is asked of all checks at once: the ids of their entities, whether they can be counted, and
-- whether any has contacts of its own.
local entities, checks, states, own = {}, {}, {}, {}
for n = 1, #names do
  entities[n], checks[n], states[n] = asked[3 * n - 2], asked[3 * n - 1], asked[3 * n]
end
local indexed = read('HMGET', families.entity_ids[1], unpack(entities)) or {}
for n, entity in ipairs(entities) do
  ids[entity] = indexed[n] or nil
  own[n] = of_check('check_contacts', id_of(entity) or '', checks[n])
end
look_at(names)
local has_any_own = redis.call('EXISTS', unpack(own)) > 0

local of_entity = families.entity_contacts[1]
local everybody = read('SMEMBERS', of_entity .. 'ALL') or {}
local function interested(n)
  local id = id_of(entities[n])
  if not id then return {everybody} end
  return {everybody, read('SMEMBERS', of_entity .. id) or {},
    has_any_own and read('SMEMBERS', own[n]) or {}}
end

local check_drop, state_drop, answers, media = families.check_drop, families.state_drop, {}, {}
for n, name in ipairs(names) do
  local entity, check, state, answer, seen = entities[n], checks[n], states[n], {0}, {}
  local about_check = entity .. check_drop[4] .. check .. check_drop[5]
  local about_state = entity .. state_drop[4] .. check .. state_drop[5] .. state .. state_drop[6]
  for _, contacts in ipairs(interested(n)) do
    for _, id in ipairs(contacts) do
      if media[id] == nil then media[id] = keys_of(id) end
      if media[id] and not seen[id] then
        answer[#answer + 1] = stands(id, media[id], name, about_check, about_state)
      end
      seen[id] = true
    end
  end
  if #answer > 1 and standings[name] == 'counts' then answer[1] = 1 end
  answers[n] = answer
end
return {people, answers}
"""
)

Pair = tuple[str, str]
"""A contact and a medium."""
Subject = tuple[str, str, str]
"""The same and a check."""


class Medium(Struct, frozen=True, gc=False):
    name: str
    has_threshold: bool
    held_until: int
    """Until when its alerts are suppressed."""
    strays: frozenset[str]
    """Checks that the store counts as failing for it, and that should not count."""


class Person(Struct, frozen=True, gc=False):
    """A contact of a batch; read once a batch."""

    addressee: Addressee
    media: tuple[Medium, ...]
    packed_media: msgspec.Raw
    """Its media, as the script takes them."""


class Loaded(NamedTuple):
    """The facts of some notifications."""

    addressees: list[list[Addressee]]
    """The contacts of each notification, each once."""
    standings: dict[Pair, Standing]
    """The state of the media of contacts that were just read."""
    alerting: dict[Subject, Alerting]
    strays: dict[Pair, list[bytes]]
    """Checks that should no longer count for the media of contacts that were just read."""


class RoutingFacts:
    def __init__(
        self,
        prefix: str,
        default_zone: str,
        general: Callable[[Store, Contact], Awaitable[Contact]] = rules.ensure_general,
    ) -> None:
        """`general` gives a general rule to a contact that has none."""
        self._keys, own = Keys(prefix), AlertingOwn(prefix)
        self._default_zone, self._general = default_zone, general
        named = {name: getattr(self._keys, name).literals for name in _FAMILIES}
        ours = ("drops", "drop_expiries", "rollups")
        named |= {name: getattr(own, name).literals for name in ours}
        self._families = msgspec.msgpack.encode({**named, "complete": COMPLETE})

    async def load(
        self,
        store: Store,
        notifications: Sequence[Notification],
        known: dict[str, Person],
        in_hand: int,
        now: int,
    ) -> Loaded:
        """Adds new contacts to `known`. `in_hand` notifications are decided on with what is
        read now."""
        asked = [part for n in notifications for part in (*split_id(n.event_id), n.state)]
        media = {name: person.packed_media for name, person in known.items()}
        packed = (msgspec.msgpack.encode(asked), msgspec.msgpack.encode(media))
        args: list[Argument] = [
            self._families,
            now,
            *packed,
            in_hand,
            _LOOKED_AT,
            *rule_format.FIELDS,
        ]
        people, answers = await _LOAD(store, [self._keys.notifications()], args)
        loaded = Loaded([], {}, {}, {})
        for person in people:
            await self._add_person(store, person, known, loaded)
        for notification, answer in zip(notifications, answers, strict=True):
            loaded.addressees.append(_read(answer, known, notification, loaded.alerting))
        return loaded

    async def _add_person(
        self,
        store: Store,
        person: Sequence[Any],
        known: dict[str, Person],
        loaded: Loaded,
    ) -> None:
        raw, packed, *stored = person
        try:
            name = raw.decode()
        except UnicodeDecodeError:  # what is no text is no id
            return
        met = _understood(name, packed, self._default_zone)
        if not met.has_general:
            contact = await self._general(store, contact_loading.parsed(name, packed))
            met = addressee(contact, self._default_zone)
        media = []
        for one, has_threshold, strays, failing, rolled, held, summary in stored:
            medium = one.decode(errors="replace")
            lost = frozenset(stray.decode(errors="replace") for stray in strays)
            media.append(Medium(medium, bool(has_threshold), held, lost))
            loaded.standings[name, medium] = Standing(
                failing=failing, in_rollup=bool(rolled), summary_until=summary
            )
            if strays:
                loaded.strays[name, medium] = strays
        packed = [part for one in media for part in (one.name, one.has_threshold)]
        known[name] = Person(met, tuple(media), verbatim(msgspec.msgpack.encode(packed)))


def _read(
    answer: Sequence[Any],
    known: dict[str, Person],
    notification: Notification,
    alerting: dict[Subject, Alerting],
) -> list[Addressee]:
    """The addressees of one notification, in the order of their ids."""
    countable, *contacts = answer
    found = []
    for raw, *numbers in contacts:
        name = raw.decode(errors="replace")
        person = known.get(name)
        if person is None:
            continue
        found.append((name, person.addressee))
        for n, medium in enumerate(person.media):
            counted, held, dropped = numbers[3 * n : 3 * n + 3]
            subject = (name, medium.name, notification.event_id)
            facts = alerting.get(subject)
            if facts is None:
                facts = alerting[subject] = Alerting(
                    is_counted=bool(counted) and notification.event_id not in medium.strays,
                    is_countable=bool(countable),
                    held_until=max(medium.held_until, held),
                )
            facts.dropped_until[notification.state] = dropped
    return [addressee for _, addressee in sorted(found)]


@lru_cache(maxsize=4096)
def _understood(contact_id: str, packed: bytes, default_zone: str) -> Addressee:
    """Cached while the stored contact stays the same."""
    return addressee(contact_loading.parsed(contact_id, packed), default_zone)
