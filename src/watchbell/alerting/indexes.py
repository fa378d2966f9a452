"""Our indexes beside Flapjack's keys, and how they are built from those keys.

A store that Flapjack worked on has none of them. Until they are built, the same is read from
Flapjack's keys, which takes longer. An index that is complete has an empty member.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from watchbell import logs
from watchbell.alerting import known_checks
from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import MirroredScript
from watchbell.errors import LockLost, Refused
from watchbell.probes import probe
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.lock import locked
from watchbell.store.script import READ, Script
from watchbell.store.search import scanned

COMPLETE = ""
"""The member of an index that is complete; no check and no medium is called so."""
_LEASE = 60.0
_LOOK_EVERY = 60.0
_AT_ONCE = 250

IS_UNRECOVERED = """
-- Whether the latest notification of a check is not of its recovery, by the times of each kind,
-- that of recoveries last. Of two in one second, the recovery is the latest.
local function is_unrecovered(times)
  local recovered = times[#times] and (tonumber(times[#times]) or 0) or -1
  for i = 1, #times - 1 do
    if times[i] and (tonumber(times[i]) or 0) > recovered then return true end
  end
  return false
end
"""
LAST_TIMES = (
    "last_unknown",
    "last_warning",
    "last_critical",
    "last_acknowledgement",
    "last_recovery",
)
"""The families of the times that `is_unrecovered` compares, in their order."""

HAS_ROLLUP_BEGUN = """
-- Whether the latest alert to a contact by a medium began or repeated a rollup. Where a rollup
-- began and ended in that second, the key that suppresses further summaries tells which came last.
local function has_rollup_begun(alerts, begin, drop)
  local newest = read('ZREVRANGE', alerts, 0, 0, 'WITHSCORES') or {}
  if not newest[2] then return false end
  local is_begun, is_ended = false, false
  for _, id in ipairs(read('ZRANGEBYSCORE', alerts, newest[2], newest[2], 'LIMIT', 0, 500)) do
    local rollup = read('HGET', begin .. id, 'rollup')
    is_begun, is_ended = is_begun or rollup == 'problem', is_ended or rollup == 'recovery'
  end
  return is_begun and (not is_ended or redis.call('EXISTS', drop) == 1)
end
"""

# Indexes whether a check's recovery is still to be sent, makes the check known, as Flapjack does
# since 1.2, and names its entity in the keys of all versions.
_CHECK = CheckScript(
    IS_UNRECOVERED
    + f"""
local names = {{{", ".join(f"'{name}'" for name in LAST_TIMES)}}}
for i, name in ipairs(names) do names[i] = key(name, entity, check) end
local command = is_unrecovered(redis.call('MGET', unpack(names))) and 'SADD' or 'SREM'
redis.call(command, key('open_problems'), entity .. ':' .. check)

local reported = redis.call('HGET', key('current', entity, check), 'last_update')
local known_at = tonumber(reported or '') or 0
redis.call('ZADD', key('all_checks'), 'NX', known_at, entity .. ':' .. check)
redis.call('ZADD', key('entity_checks', entity), 'NX', known_at, check)

local id = redis.call('HGET', key('entity_ids'), entity)
  or redis.call('GET', key('entity_id', entity))
if id and id ~= '' then
  redis.call('HSETNX', key('entity_ids'), entity, id)
  redis.call('HSETNX', key('entity_names'), id, entity)
  redis.call('SETNX', key('entity_id', entity), id)
  redis.call('HSETNX', key('entity', id), 'name', entity)
end
return 1
"""
)

# KEYS[1] the checks that a contact is alerted about by a medium; ARGV[1] how these two are named
# beside a check, ARGV[2] what the keys of those who are alerted about checks begin with, ARGV[3…]
# checks.
_ALERTING = MirroredScript("""
for i = 3, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[i])
      and redis.pcall('SADD', ARGV[2] .. ARGV[i], ARGV[1]) == 1 then
    mark('alerting', ARGV[i])
  end
end
""")

# KEYS[1] rollups, KEYS[2] the thresholds of a contact's media; ARGV[1] what keys of alerts begin
# with, then for each medium five: how it and the contact are named together, the checks that it is
# alerted about, its alerts, what suppresses its summaries, and the medium.
_ROLLUPS = Script(
    READ
    + HAS_ROLLUP_BEGUN
    + """
for i = 2, #ARGV, 5 do
  local name, alerted, alerts, drop, medium = unpack(ARGV, i, i + 4)
  local threshold = tonumber(read('HGET', KEYS[2], medium) or '') or 0
  if threshold > 0 and ((read('ZCARD', alerted) or 0) >= threshold
      or has_rollup_begun(alerts, ARGV[1], drop)) then
    redis.call('SADD', KEYS[1], name)
  end
end
"""
)


async def keep(store: Store, look_every: float = _LOOK_EVERY) -> None:
    """Builds the indexes, since another program may have worked on the store meanwhile, and again
    whenever they are missing."""
    await _build_alone(store)
    while True:
        await asyncio.sleep(look_every)
        if not await are_complete(store):
            await _build_alone(store)


async def are_complete(store: Store) -> bool:
    own = AlertingOwn(store.prefix)
    indexes = (own.open_problems(), own.rollups())
    return all([await store.call("SISMEMBER", index, COMPLETE) for index in indexes])


async def _build_alone(store: Store) -> None:
    """Only one process builds them; the others need not wait for it."""
    with suppress(Refused, LockLost):
        async with locked(store, AlertingOwn(store.prefix).rebuilding(), _LEASE):
            await build(store)


async def build(store: Store) -> None:
    """Builds all indexes while other processes use them. May be interrupted and repeated."""
    own = AlertingOwn(store.prefix)
    await store.call("SREM", own.open_problems(), COMPLETE)
    checks = sorted(await known_checks.reported(store))
    async for _ in _CHECK.over(store, checks, [], _AT_ONCE):
        probe("indexes.checks")
    await store.call("SADD", own.open_problems(), COMPLETE)
    await _build_alerting(store)
    if not await store.call("SISMEMBER", own.rollups(), COMPLETE):
        await _build_rollups(store)
        await store.call("SADD", own.rollups(), COMPLETE)
    logs.get().info("indexes built", checks=len(checks))


async def _build_alerting(store: Store) -> None:
    begin = Alerting(store.prefix).alerting_checks.literals[0]
    sides = AlertingOwn(store.prefix).alerting_media.literals[0]
    async for key, name in _named(store, begin, "zset"):
        async for page in replies.scored_members(store, key):
            for first in range(0, len(page), _AT_ONCE):
                checks = [check for check, _ in page[first : first + _AT_ONCE]]
                await _ALERTING(store, [key], [name, sides, *checks])


async def _build_rollups(store: Store) -> None:
    """Of all media with a threshold: one of them may be rolled up although nothing fails."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    async for key, contact in _named(store, keys.rollup_thresholds.literals[0], "hash"):
        args: list[str] = [keys.alert.literals[0]]
        for raw in await store.call("HKEYS", key):
            medium = replies.text(raw)
            args += (f"{contact}:media:{medium}", keys.alerting_checks(contact, medium))
            args += (keys.alerts_by_medium(contact, medium), keys.rollup_drop(contact, medium))
            args.append(medium)
        await _ROLLUPS(store, [own.rollups(), key], args)


async def _named(store: Store, begin: str, kind: str) -> AsyncIterator[tuple[str, str]]:
    """The keys with this prefix, and the rest of each. What is not text is skipped."""
    async for _, page in scanned(store, begin, kind):
        for raw in page:
            with suppress(UnicodeDecodeError):
                key = raw.decode()
                yield key, key.removeprefix(begin)
