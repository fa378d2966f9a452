"""Reads, saves and removes contacts."""

import hashlib
from collections.abc import AsyncIterator, Collection, Container, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting import contact_links, contact_loading, rule_format, rules
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import MirroredScript, Unit
from watchbell.alerting.model import Contact, Rule
from watchbell.alerting.record_keys import Records
from watchbell.alerting.validation import checked_contact
from watchbell.errors import Changed, NotFound, Refused
from watchbell.store.client import Argument, Store
from watchbell.store.families import Named
from watchbell.store.script import READ, Script
from watchbell.store.search import memberships, scanned, turned

SECRET = ("password", "token")
_PIECE = 1_000  # contacts that one call reads, so that it holds up nobody else for long

# KEYS[1] any key of ours; ARGV[1] msgpack: what stands between the parts of each family of keys;
# ARGV[2] msgpack: the fields of a rule; ARGV[3…] the contacts' ids. Returns for each contact all of
# it in MessagePack, in one string, by which it is known again; or nothing where there is none.
_LOAD = Script(
    """
local families, rule_fields = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
"""
    + READ
    + contact_loading.LUA
    + """
local found = {}
for i = 3, #ARGV do found[i - 2] = (packed_contact(ARGV[i])) or false end
return found
"""
)


async def load(store: Store, ids: Iterable[str]) -> dict[str, Contact]:
    """The contacts that exist, with rules, without tags, in one round trip.

    They are shared with other callers: do not change their dictionaries.
    """
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Contact] = {}
    for first in range(0, len(wanted), _PIECE):
        piece = wanted[first : first + _PIECE]
        for contact_id, raw in zip(piece, await _packed(store, piece), strict=True):
            if raw is not None:
                found[contact_id] = _contact(contact_id, raw)
    return found


async def _packed(store: Store, ids: Sequence[str]) -> list[bytes | None]:
    names = [name.encode(errors="surrogateescape") for name in ids]
    args: list[Argument] = [*_layout(store), *names]
    packed: list[bytes | None] = await _LOAD(store, [Alerting(store.prefix).contact("")], args)
    return packed


def _layout(store: Store) -> list[bytes]:
    """The arguments of Lua that reads contacts."""
    keys = Alerting(store.prefix)
    families = {name: getattr(keys, name).literals for name in contact_loading.FAMILIES}
    return [msgspec.msgpack.encode(part) for part in (families, rule_format.FIELDS)]


_contact = lru_cache(maxsize=4096)(contact_loading.parsed)


async def known(store: Store, contact_id: str) -> Contact:
    """The contact with its rules, without its tags."""
    return (await stamped(store, contact_id))[0]


async def stamped(store: Store, contact_id: str) -> tuple[Contact, str]:
    """The same, with a stamp that changes with the contact."""
    raw = (await _packed(store, [contact_id]))[0]
    if raw is None:
        raise NotFound(f"there is no contact {contact_id}")
    return _contact(contact_id, raw), hashlib.sha1(raw, usedforsecurity=False).hexdigest()


async def rule_by_prefix(store: Store, prefix: str) -> Rule:
    """The rule whose id begins with this text."""
    with suppress(NotFound):
        return await rules.find(store, prefix)
    people = await everybody(store)
    found = [rule.id for one in people for rule in one.rules if rule.id.startswith(prefix)]
    if not found:
        raise NotFound(f"there is no rule {prefix!r}; `watchbell rules show CONTACT` lists them")
    if len(found) > 1:
        raise Refused(f"{len(found):,} rules have ids that begin with {prefix!r}; give more of it")
    return await rules.find(store, found[0])


async def everybody(store: Store, wanted: Sequence[str] = ()) -> list[Contact]:
    """Contacts with their rules and tags: those with the given ids, or all."""
    found = await load(store, wanted or await all_ids(store))
    for contact_id in wanted:
        if contact_id not in found:
            raise NotFound(f"there is no contact {contact_id}")
    labels = await tags(store)
    return [replace(one, tags=labels.get(one.id, ())) for one in found.values()]


# ARGV: keys of this server. Returns which of them are contacts.
_ARE_CONTACTS = Script("""
local found = {}
for i, key in ipairs(ARGV) do
  if redis.pcall('HEXISTS', key, 'first_name') == 1 then found[#found + 1] = key end
end
return found
""")


async def all_ids(store: Store) -> list[str]:
    begin = Alerting(store.prefix).contact("")
    found = set()
    async for primary, page in scanned(store, begin, "hash"):
        for key in await _ARE_CONTACTS.on(primary, page):
            with suppress(UnicodeDecodeError):  # what is no text is no id
                found.add(key.removeprefix(begin.encode()).decode())
    # Records of contacts are beside them.
    return sorted(one for one in found if not one.endswith(Records.contact.literals[-1]))


async def tags(store: Store) -> dict[str, tuple[str, ...]]:
    """The tags of each contact that has any."""
    return turned(await memberships(store, Alerting(store.prefix).contact_tag("")))


# What is said of a contact's media in alerting sets, their other sides and the rollups is taken
# back: ARGV[1] contact, ARGV[2] what the keys of its alerting sets begin with, ARGV[3] what those
# of the other sides begin with, ARGV[4] the rollups.
_COMMON = """
local id, alerting, sides, rollups = unpack(ARGV, 1, 4)
local function forget(medium)
  local side = id .. ':media:' .. medium
  local checks = redis.pcall('ZRANGE', alerting .. medium, 0, -1)
  for _, check in ipairs(checks.err and {} or checks) do
    redis.pcall('SREM', sides .. check, side)
    mark('alerting', check)
  end
  redis.call('DEL', alerting .. medium)
  redis.pcall('SREM', rollups, side)
end
"""

# KEYS[1…7] contact, media, intervals, thresholds, pagerduty, time zone, rules; ARGV[5] what keys
# of rules begin with, ARGV[6] what keys of contacts' rules begin with, ARGV[7] all that is to be
# stored, as JSON: one list of fields and values for each of the first five keys, `zone`, `rules`
# (false to leave them, or a list of id and hash), `untag` and `tag` (lists of keys), `replaces`
# (false for whatever there is, the SHA-1 of the contact that there has to be, or '' for none) and
# `tagged` (keys of the sets that it then has to be in); ARGV[8] and ARGV[9] as of _LOAD. Returns
# '' once done, -1 where the contact is another, or the id of a rule that is another contact's.
_SAVE = MirroredScript(
    _COMMON
    + """
local rule_at, rules_of, new = ARGV[5], ARGV[6], cjson.decode(ARGV[7])
local families, rule_fields = cmsgpack.unpack(ARGV[8]), cmsgpack.unpack(ARGV[9])
"""
    + READ
    + contact_loading.LUA
    + """
if new.replaces then
  local there = (packed_contact(id))
  if (there and redis.sha1hex(there) or '') ~= new.replaces then return -1 end
  for _, tag in ipairs(new.tagged) do
    if redis.pcall('SISMEMBER', tag, id) ~= 1 then return -1 end
  end
end
for _, rule in ipairs(new.rules or {}) do
  local owner = redis.pcall('HGET', rule_at .. rule[1], 'contact_id')
  if type(owner) == 'string' and owner ~= id
      and redis.pcall('SISMEMBER', rules_of .. owner, rule[1]) == 1 then
    return rule[1]
  end
end
local kept = {}
for i = 1, #new.hashes[2], 2 do kept[new.hashes[2][i]] = true end
local before = redis.pcall('HKEYS', KEYS[2])
for _, medium in ipairs(before.err and {} or before) do
  if not kept[medium] then forget(medium) end
end
for i, hash in ipairs(new.hashes) do
  redis.call('DEL', KEYS[i])
  if #hash > 0 then redis.call('HSET', KEYS[i], unpack(hash)) end
end
redis.call('DEL', KEYS[6])
if new.zone ~= '' then redis.call('SET', KEYS[6], new.zone) end
if new.rules then
  local old = redis.pcall('SMEMBERS', KEYS[7])
  for _, rule in ipairs(old.err and {} or old) do redis.call('DEL', rule_at .. rule) end
  redis.call('DEL', KEYS[7])
  for _, rule in ipairs(new.rules) do
    redis.call('DEL', rule_at .. rule[1])
    redis.call('HSET', rule_at .. rule[1], unpack(rule[2]))
    redis.call('SADD', KEYS[7], rule[1])
  end
end
for _, tag in ipairs(new.untag) do redis.pcall('SREM', tag, id) end
for _, tag in ipairs(new.tag) do redis.pcall('SADD', tag, id) end
return ''
"""
)


async def save(
    store: Store,
    contact: Contact,
    *,
    with_rules: bool = False,
    tags_before: Collection[str] | None = None,
    replaces: str | None = None,
) -> None:
    """Stores a contact in place of the one with its id.

    Rules are kept unless `with_rules` is set; tags are kept unless the tags to replace are given.
    `replaces` is the stamp of the contact that has to be stored now, empty for none; Changed is
    raised where another one is.
    """
    contact, keys = checked_contact(contact), Alerting(store.prefix)
    media, retag = contact.media.items(), tags_before is not None
    hashes = [
        {name: getattr(contact, name) for name in ("first_name", "last_name", "email")},
        {name: medium.address for name, medium in media},
        {name: str(medium.interval) for name, medium in media},
        {name: str(m.rollup_threshold) for name, m in media if m.rollup_threshold},
        contact.pagerduty,
    ]
    new = {
        "hashes": [_flat(table) for table in hashes],
        "zone": contact.timezone,
        "rules": with_rules
        and [[rule.id, _flat(rule_format.fields(rule))] for rule in contact.rules],
        "untag": [keys.contact_tag(tag) for tag in tags_before or () if tag not in contact.tags],
        "tag": [keys.contact_tag(tag) for tag in contact.tags] if retag else [],
        "replaces": False if replaces is None else replaces,
        "tagged": [keys.contact_tag(tag) for tag in tags_before or ()],
    }
    args: list[Argument] = [*_about(store, contact.id), keys.rule(""), keys.rules("")]
    args += [msgspec.json.encode(new), *_layout(store)]
    tagged = {*(tags_before or ()), *(contact.tags if retag else ())}
    units = [("contact", contact.id), *(("contact_tag", contact.id, tag) for tag in tagged)]
    taken = await _SAVE(store, _own_keys(keys, contact.id), args, units)
    if taken == -1:
        raise Changed(f"contact {contact.id} was changed by somebody else meanwhile")
    if taken:
        rule = taken.decode(errors="replace")
        raise Refused(f"the rule {rule} belongs to another contact", field="notification_rules")


def _own_keys(keys: Alerting, contact_id: str) -> list[str]:
    named = (keys.contact, keys.media, keys.intervals, keys.rollup_thresholds, keys.pagerduty)
    return [family(contact_id) for family in (*named, keys.timezone, keys.rules)]


def _about(store: Store, contact_id: str) -> list[str]:
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    sides = own.alerting_media.literals[0]
    return [contact_id, keys.alerting_checks(contact_id, ""), sides, own.rollups()]


def _flat(table: dict[str, str]) -> list[str]:
    return [text for pair in table.items() for text in pair]


# KEYS as for saving; ARGV[5] what keys of rules begin with, ARGV[6] the ends of drops and ARGV[7]
# their expiries; ARGV[8] how many of its media there may
# be alerting sets for, those, then how many sets it is a member of, those, then keys to delete.
# Returns whether there was such a contact.
_REMOVE = MirroredScript(
    _COMMON
    + """
local there, at = redis.pcall('HEXISTS', KEYS[1], 'first_name'), 8
local function each(act)
  for i = at + 1, at + tonumber(ARGV[at]) do act(ARGV[i]) end
  at = at + tonumber(ARGV[at]) + 1
end
each(forget)
each(function(set) redis.pcall('SREM', set, id) end)
for i = at, #ARGV do
  redis.call('DEL', ARGV[i])
  redis.pcall('ZREM', ARGV[6], ARGV[i])
  redis.pcall('HDEL', ARGV[7], ARGV[i])
  mark('block', ARGV[i])
end
local rules = redis.pcall('SMEMBERS', KEYS[7])
for _, rule in ipairs(rules.err and {} or rules) do redis.call('DEL', ARGV[5] .. rule) end
redis.call('DEL', unpack(KEYS))
return there
"""
)


async def remove(store: Store, contact_id: str) -> None:
    """Removes a contact and all references to it; records of sent alerts stay."""
    async for _ in remove_each(store, [contact_id]):
        pass


async def remove_each(store: Store, ids: Sequence[str]) -> AsyncIterator[str]:
    """The same for many, which are searched for once; yields each as soon as it is gone."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    for one, named in (await _references(store, ids)).items():
        named.gone += [keys.contact_drop(one), keys.alerts_by_contact(one)]
        args: list[Argument] = [*_about(store, one), keys.rule("")]
        args += [own.drops(), own.drop_expiries(), len(named.media), *named.media]
        args += [len(named.sets), *named.sets, *named.gone]
        if not await _REMOVE(store, _own_keys(keys, one), args, named.units):
            raise NotFound(f"there is no contact {one}")
        yield one


class _References(Struct):
    """Where a contact is named besides in its own keys."""

    units: list[Unit]
    media: list[bytes] = []
    """Those that it may be alerted by about checks."""
    sets: list[str] = []
    """The sets that it is a member of."""
    gone: list[str | bytes] = []
    """Keys that end with it."""


async def _references(store: Store, ids: Sequence[str]) -> dict[str, _References]:
    keys, found = Alerting(store.prefix), {one: _References([("contact", one)]) for one in ids}
    for family in (keys.entity_contacts, keys.contact_tag):
        for rest, members in (await memberships(store, family(""))).items():
            for one in members & found.keys():
                found[one].sets.append(family(rest))
                is_tag = family is keys.contact_tag
                unit = ("contact_tag", one, rest) if is_tag else contact_links.unit(*_split(rest))
                found[one].units.append(unit)
    async for one, _, medium in _keys_of(store, keys.alerting_checks, found):
        found[one].media.append(medium)
    for named in (keys.medium_drop, keys.rollup_drop, keys.alerts_by_medium):
        async for one, key, _ in _keys_of(store, named, found):
            found[one].gone.append(key)
    return found


def _split(rest: str) -> tuple[str, str | None]:
    """An entity's id, and the name of its check."""
    entity, colon, check = rest.partition(":")
    return entity, check if colon else None


async def _keys_of(
    store: Store, named: Named, ids: Container[str]
) -> AsyncIterator[tuple[str, bytes, bytes]]:
    """The keys of a family that belong to these contacts: contact, key, and what comes after the
    contact in it. Ids of other programs may have colons."""
    begin, joint, _ = named.literals
    async for _, page in scanned(store, begin, named.family.kind):
        for key in set(page):
            rest, at = key[len(begin.encode()) :], -1
            while (at := rest.find(joint.encode(), at + 1)) >= 0:
                one = rest[:at].decode(errors="replace")
                if one in ids:
                    yield one, key, rest[at + len(joint) :]
