"""The checks that there are: those that are known, those of an entity, new ones, and their tags."""

import re
from collections.abc import Iterable, Sequence

from watchbell.alerting import change_feed
from watchbell.alerting.check_script import families
from watchbell.alerting.effects import STOP_ALERTING
from watchbell.alerting.keys import Alerting
from watchbell.alerting.mirrored_script import MirroredScript
from watchbell.alerting.model import split_id
from watchbell.alerting.validation import plain
from watchbell.errors import NotFound
from watchbell.store import replies
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script
from watchbell.store.search import memberships, scanned, turned

TAGS = "check_tag"
"""The kind of tag that checks have."""
_AT_ONCE = 1_000
_RECORD = re.compile("[0-9a-f]{32}:attrs")
"""What a record of Flapjack's other layout is called, whose keys begin like these."""

# KEYS[1] all checks, KEYS[2] those of the entity, KEYS[3] known tags; ARGV[1] ENTITY:CHECK, ARGV[2]
# check, ARGV[3] now, ARGV[4] what keys of tags begin with, ARGV[5…] tags.
_ADD = MirroredScript("""
redis.call('ZADD', KEYS[1], 'NX', ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[2], 'NX', ARGV[3], ARGV[2])
for i = 5, #ARGV do
  redis.call('SADD', ARGV[4] .. ARGV[i], ARGV[1])
  redis.call('SADD', KEYS[3], ARGV[i])
end
""")

# KEYS[1] all checks, KEYS[2] known tags, KEYS[3] the checks with the tag; ARGV[1] ENTITY:CHECK,
# ARGV[2] tag, ARGV[3] 1 to add it. Returns whether there is such a check.
_TAG = Script("""
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if ARGV[3] == '1' then
  redis.call('SADD', KEYS[3], ARGV[1])
  redis.call('SADD', KEYS[2], ARGV[2])
else
  redis.call('SREM', KEYS[3], ARGV[1])
  if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('SREM', KEYS[2], ARGV[2]) end
end
return 1
""")

# KEYS: the checks of entities. Returns those of each.
_OF = Script("""
local found = {}
for i, key in ipairs(KEYS) do
  local checks = redis.pcall('ZRANGE', key, 0, -1)
  found[i] = checks.err and {} or checks
end
return found
""")

# KEYS[1] any key of ours; ARGV[1] msgpack: what stands between the parts of the keys of each
# family, ARGV[2] entity, ARGV[3] check, ARGV[4…] its tags. Removes everything about a check.
_FORGET = MirroredScript(
    STOP_ALERTING
    + """
local families, entity, check = cmsgpack.unpack(ARGV[1]), ARGV[2], ARGV[3]
local id = entity .. ':' .. check
local function key(name, ...)
  local text = families[name][1]
  for i, part in ipairs({...}) do text = text .. part .. families[name][i + 1] end
  return text
end
local function drop(names, time)
  for _, name in ipairs(names) do redis.call('DEL', key(name, entity, check, time)) end
end
for _, time in ipairs(redis.call('ZRANGE', key('state_times', entity, check), 0, -1)) do
  drop({'state', 'summary', 'details', 'count', 'latency'}, time)
end
for _, kind in ipairs({'scheduled', 'unscheduled'}) do
  for _, time in ipairs(redis.call('ZRANGE', key(kind .. '_windows', entity, check), 0, -1)) do
    drop({kind .. '_summary'}, time)
  end
  drop({kind, kind .. '_windows', kind .. '_times'})
end
for _, kind in ipairs({'problem', 'unknown', 'warning', 'critical', 'recovery', 'acknowledgement',
    'test'}) do
  drop({'last_' .. kind, kind == 'recovery' and 'recoveries' or kind .. 's'})
end
stop_alerting(key('alerting_media', entity, check), families.alerting_checks[1], id)
drop({'current', 'states', 'state_times', 'actions', 'alerts_by_check', 'decisions'})
for _, name in ipairs({'failed_checks', 'all_checks', 'silence'}) do
  redis.call('ZREM', key(name), id)
end
for _, name in ipairs({'current_checks', 'entity_checks'}) do
  redis.call('ZREM', key(name, entity), check)
end
if redis.call('EXISTS', key('current_checks', entity)) == 0 then
  redis.call('ZREM', key('current_entities'), entity)
end
local short = redis.call('HGET', key('hashes_by_check'), id)
if short then redis.call('HDEL', key('checks_by_hash'), short) end
for _, name in ipairs({'hashes_by_check', 'check_settings', 'event_tags'}) do
  redis.call('HDEL', key(name), id)
end
redis.call('SREM', key('open_problems'), id)
for i = 4, #ARGV do redis.call('SREM', key('check_tag', ARGV[i]), id) end
local entity_id = redis.call('HGET', key('entity_ids'), entity)
if entity_id then redis.call('DEL', key('check_contacts', entity_id, check)) end
"""
)


async def known(store: Store, ids: Sequence[str]) -> set[str]:
    """Those of the checks that exist."""
    found, key = set[str](), Alerting(store.prefix).all_checks()
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        scores = await store.call("ZMSCORE", key, *some)
        found.update(one for one, score in zip(some, scores, strict=True) if score is not None)
    return found


async def every(store: Store) -> list[str]:
    """All checks, sorted."""
    found = set[str]()
    async for page in replies.scored_members(store, Alerting(store.prefix).all_checks()):
        found.update(event_id for event_id, _ in page)
    return sorted(found)


async def reported(store: Store) -> set[str]:
    """The checks that have ever reported, by a search: a store of Flapjack before 1.2 has no list
    of them."""
    begin, found = Alerting(store.prefix).current("", "").removesuffix(":"), set[str]()
    async for _, page in scanned(store, begin, "hash"):
        for key in page:
            name = replies.text(key[len(begin.encode()) :])
            if not _RECORD.fullmatch(name):
                found.add(name)
    return found


async def of_entities(store: Store, names: Sequence[str]) -> dict[str, list[str]]:
    """The checks of each entity, as ENTITY:CHECK, sorted."""
    keys, found = Alerting(store.prefix), dict[str, list[str]]()
    for first in range(0, len(names), _AT_ONCE):
        some = names[first : first + _AT_ONCE]
        answers = await _OF(store, [keys.entity_checks(name) for name in some])
        for name, checks in zip(some, answers, strict=True):
            found[name] = sorted(f"{name}:{replies.text(check)}" for check in checks)
    return found


async def enabled_entities(store: Store) -> set[str]:
    """The names of entities that have a check that is enabled."""
    found = set[str]()
    async for page in replies.scored_members(store, Alerting(store.prefix).current_entities()):
        found.update(name for name, _ in page)
    return found


async def add(store: Store, event_id: str, tags: Iterable[str], now: int) -> None:
    """Makes a check known that has not reported yet. One that exists stays, and gets the tags."""
    keys, (entity, check) = Alerting(store.prefix), split_id(event_id)
    given = [plain("tags", tag) for tag in tags]
    places = [keys.all_checks(), keys.entity_checks(entity), keys.known_tags(TAGS)]
    words: list[Argument] = [event_id, plain("name", check), now, keys.check_tag(""), *given]
    await _ADD(store, places, words, [("check", event_id)])
    await change_feed.publish(store, [event_id])


async def tags(store: Store) -> dict[str, tuple[str, ...]]:
    """The tags that people have given to checks."""
    return turned(await memberships(store, Alerting(store.prefix).check_tag("")))


async def tag(store: Store, event_id: str, name: str, *, is_on: bool) -> None:
    """Gives a check a tag, or takes it back."""
    keys = Alerting(store.prefix)
    places = [keys.all_checks(), keys.known_tags(TAGS), keys.check_tag(plain("tags", name))]
    if not await _TAG(store, places, [event_id, name, int(is_on)]):
        raise NotFound(f"there is no check {event_id!r}")
    await change_feed.publish(store, [event_id])


async def forget(store: Store, event_id: str) -> None:
    """Removes a check with its history, its maintenance and its settings; alerts that were sent
    stay. One that reports again is a new check."""
    packed, route = families(store.prefix)
    entity, check = split_id(event_id)
    units = [("states", event_id), ("windows", event_id, "scheduled")]
    units += [("windows", event_id, "unscheduled"), ("alerting", event_id), ("check", event_id)]
    units.append(("reported_entity", entity))
    given = (await tags(store)).get(event_id, ())
    await _FORGET(store, [route], [packed, entity, check, *given], units)
    await change_feed.publish(store, [event_id])
