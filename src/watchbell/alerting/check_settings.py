"""Settings of one check: its delays, how often it reports, whether it is enabled."""

import msgspec

from watchbell.alerting import change_feed
from watchbell.alerting.effects import STOP_ALERTING
from watchbell.alerting.facts import SETTINGS, check_settings
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import MirroredScript, Unit
from watchbell.alerting.model import split_id
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

# KEYS[1] current_checks of the entity, KEYS[2] current_entities, KEYS[3] silence,
# KEYS[4] alerting_media of the check; ARGV[1] entity, ARGV[2] check, ARGV[3] ENTITY:CHECK,
# ARGV[4] what keys of contact_alerting_checks begin with, ARGV[5…] a command that publishes it.
# Returns whether the check was enabled.
_DISABLE = MirroredScript(
    STOP_ALERTING
    + """
local was = redis.call('ZREM', KEYS[1], ARGV[2])
if redis.call('ZCARD', KEYS[1]) == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
redis.call('ZREM', KEYS[3], ARGV[3])
stop_alerting(KEYS[4], ARGV[4], ARGV[3])
if was == 1 then redis.call(unpack(ARGV, 5)) end
return was
"""
)

# KEYS[1] all_checks, KEYS[2] current_checks of the entity, KEYS[3] current_entities, KEYS[4] the
# check; ARGV[1] entity, ARGV[2] check, ARGV[3] ENTITY:CHECK, ARGV[4…] a command that publishes it.
# Returns whether there is such a check.
_ENABLE = MirroredScript("""
if not redis.call('ZSCORE', KEYS[1], ARGV[3]) then return 0 end
local reported = tonumber(redis.call('HGET', KEYS[4], 'last_update') or 0) or 0
if redis.call('ZADD', KEYS[2], 'NX', reported, ARGV[2]) == 1 then
  redis.call('ZADD', KEYS[3], 'GT', reported, ARGV[1])
  redis.call(unpack(ARGV, 4))
end
return 1
""")


# KEYS[1] check_settings, KEYS[2] silence, KEYS[3] the check, KEYS[4] current_checks of the entity;
# ARGV[1] ENTITY:CHECK, ARGV[2] check, ARGV[3] its settings or nothing, ARGV[4] and ARGV[5] the ttl
# before and now, 0 for none. The last report counts as if it had been made with the new ttl,
# unless it named one of its own.
_CONFIGURE = Script(
    READ
    + """
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
local before, ttl = tonumber(ARGV[4]), tonumber(ARGV[5])
local reported, due = read('HGET', KEYS[3], 'last_update'), read('ZSCORE', KEYS[2], ARGV[1])
reported = reported and tonumber(reported)
if before == ttl or not reported or not read('ZSCORE', KEYS[4], ARGV[2])
    or due and tonumber(due) ~= reported + before then
  return
end
if ttl > 0 then
  redis.call('ZADD', KEYS[2], reported + ttl, ARGV[1])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
end
"""
)


async def settings(store: Store, event_id: str) -> dict[str, int]:
    stored = await store.call("HGET", AlertingOwn(store.prefix).check_settings(), event_id)
    return check_settings(stored) if stored else {}


async def configure(store: Store, event_id: str, given: dict[str, int | None]) -> dict[str, int]:
    """Sets given values, removes those that are None, and returns the settings that result."""
    for name, value in given.items():
        if name not in SETTINGS or (value is not None and value < 0):
            reason = f"{value} is not allowed; expected seconds, 0 or more"
            raise Refused(reason, field=name)
    before = await settings(store, event_id)
    held: dict[str, int | None] = {**before, **given}
    now = {name: value for name, value in held.items() if value is not None}
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    entity, check = split_id(event_id)
    named = [own.check_settings(), own.silence()]
    named += [keys.current(entity, check), keys.current_checks(entity)]
    encoded = msgspec.json.encode(now) if now else b""
    ttls = [before.get("ttl", 0), now.get("ttl", 0)]
    await _CONFIGURE(store, named, [event_id, check, encoded, *ttls])
    return now


async def disable(store: Store, event_id: str) -> None:
    """Disables the check until it reports again."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    entity, check = split_id(event_id)
    named = [
        keys.current_checks(entity),
        keys.current_entities(),
        own.silence(),
        own.alerting_media(entity, check),
    ]
    change = change_feed.of_checks(own, [event_id])
    begin = keys.alerting_checks.literals[0]
    args = [entity, check, event_id, begin, *change]
    if not await _DISABLE(store, named, args, [*_units(event_id), ("alerting", event_id)]):
        raise NotFound(f"there is no enabled check {event_id!r}")


async def enable(store: Store, event_id: str) -> None:
    """Enables a disabled check, as it was when it last reported."""
    keys = Alerting(store.prefix)
    entity, check = split_id(event_id)
    named = [
        keys.all_checks(),
        keys.current_checks(entity),
        keys.current_entities(),
        keys.current(entity, check),
    ]
    change = change_feed.of_checks(AlertingOwn(store.prefix), [event_id])
    args = [entity, check, event_id, *change]
    if not await _ENABLE(store, named, args, _units(event_id)):
        raise NotFound(f"there is no check {event_id!r}")


def _units(event_id: str) -> list[Unit]:
    return [("check", event_id), ("reported_entity", split_id(event_id)[0])]
