"""Removes history beyond its bounds, a little at a time."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import NOTIFICATIONS, Alerting
from watchbell.alerting.mirrored_script import MirroredScript, Unit
from watchbell.alerting.model import split_id
from watchbell.alerting.windows import Command, Kind, Window, commands_for_removal
from watchbell.settings import Alerting as Policy
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.replies import number, pairs
from watchbell.store.script import RAISE_NOT_NOW, Script

DAY = 86_400
KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")
_CHECKS = 20
"""Checks that one step reads."""
_STEP = 100
"""Records of one kind that one step removes from a check."""

# given[1] how many records of each sort at most, given[2] the time before which alerts are old.
# How many changes there are, and the oldest; the same of notifications, by kind; the same of
# windows with their lengths, by kind; how many actions and how many old alerts there are. Most
# checks have only changes, and all that is asked of the others is whether there is anything.
_OLDEST = CheckScript("""
local most = tonumber(given[1])
local kinds = {'problems', 'unknowns', 'warnings', 'criticals', 'recoveries', 'acknowledgements',
  'tests'}
local lists, others = {}, {'scheduled_times', 'unscheduled_times', 'actions', 'alerts_by_check'}
for i, kind in ipairs(kinds) do lists[i] = key(kind, entity, check) end
for i, name in ipairs(others) do others[i] = key(name, entity, check) end
local times = key('state_times', entity, check)
local changes = {redis.call('ZCARD', times), redis.call('ZRANGE', times, 0, most)}

local notifications = {}
local has_any = redis.call('EXISTS', unpack(lists)) > 0
for i, list in ipairs(lists) do
  notifications[i] = has_any and
    {redis.call('LLEN', list), redis.call('LRANGE', list, 0, most - 1)} or {0, {}}
end
if redis.call('EXISTS', unpack(others)) == 0 then
  return {changes, notifications, {{0, {}}, {0, {}}}, 0, 0}
end

local windows = {}
for i, kind in ipairs({'scheduled_windows', 'unscheduled_windows'}) do
  local found = {}
  for _, start in ipairs(redis.call('ZRANGE', others[i], 0, most - 1)) do
    found[#found + 1] = start
    found[#found + 1] = redis.call('ZSCORE', key(kind, entity, check), start) or '0'
  end
  windows[i] = {redis.call('ZCARD', others[i]), found}
end
return {changes, notifications, windows, redis.call('HLEN', others[3]),
  redis.call('ZCOUNT', others[4], '-inf', '(' .. given[2])}
""")

# KEYS[1] any key of ours; ARGV[1] msgpack: commands, all of which are done in one step.
_ALL = MirroredScript(
    RAISE_NOT_NOW
    + """
for _, command in ipairs(cmsgpack.unpack(ARGV[1])) do
  local answer = redis.pcall(unpack(command))
  if type(answer) == 'table' and answer.err then raise_not_now(answer) end
end
"""
)

# KEYS[1] sorted set; ARGV[1] score below which members go, ARGV[2] how many at most, ARGV[3] what
# the keys of their records begin with, or nothing. Returns how many went.
_CUT = Script("""
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2])
if #old == 0 then return 0 end
if ARGV[3] ~= '' then
  for _, member in ipairs(old) do redis.call('DEL', ARGV[3] .. member) end
end
return redis.call('ZREM', KEYS[1], unpack(old))
""")

# KEYS[1] set of archive keys; ARGV some of them. Returns how many were of hours that are gone.
_FORGET = Script("""
local gone = 0
for _, archive in ipairs(ARGV) do
  if redis.call('EXISTS', archive) == 0 then gone = gone + redis.call('SREM', KEYS[1], archive) end
end
return gone
""")


class Purged(Struct):
    """How much was removed, or would be."""

    checks: int = 0
    """Checks that were examined."""
    changes: int = 0
    notifications: int = 0
    windows: int = 0
    actions: int = 0
    alerts: int = 0
    archives: int = 0
    """Entries of archives that no longer exist."""

    def add(self, other: "Purged") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Oldest(Struct, frozen=True):
    """The oldest records of one kind, oldest first, and their total number."""

    total: int
    times: list[int]


class Records(Struct, frozen=True, kw_only=True):
    """The oldest records of a check."""

    changes: Oldest
    notifications: dict[str, Oldest]
    windows: dict[Kind, tuple[int, list[Window]]]
    actions: Oldest
    old_alerts: int


class Superfluous(Struct, frozen=True, kw_only=True):
    """The records that may be removed."""

    changes: list[int]
    notifications: dict[str, list[int]]
    windows: dict[Kind, list[int]]
    actions: list[int]

    def counted(self) -> Purged:
        return Purged(
            changes=len(self.changes),
            notifications=sum(map(len, self.notifications.values())),
            windows=sum(map(len, self.windows.values())),
            actions=len(self.actions),
        )


def superfluous(records: Records, policy: Policy, now: int) -> Superfluous:
    """A state is removed by its end, not its start: reports need the one in force."""
    cutoff, most = now - policy.history_days * DAY, policy.history_changes
    changes, surplus = records.changes.times, records.changes.total - most
    followed = pairwise(changes)
    return Superfluous(
        changes=[t for i, (t, after) in enumerate(followed) if after <= cutoff or i < surplus],
        notifications={
            family: _too_old(oldest, cutoff, most)
            for family, oldest in records.notifications.items()
        },
        windows={
            kind: [
                window.start
                for i, window in enumerate(found)
                if window.end < cutoff or (window.end <= now and i < total - most)
            ]
            for kind, (total, found) in records.windows.items()
        },
        actions=_too_old(records.actions, cutoff, most),
    )


def _too_old(oldest: Oldest, cutoff: int, most: int) -> list[int]:
    surplus = oldest.total - most
    return [time for i, time in enumerate(oldest.times) if time < cutoff or i < surplus]


def removal(keys: Alerting, event_id: str, gone: Superfluous) -> list[Command]:
    entity, check = split_id(event_id)
    commands: list[Command] = []
    if gone.changes:
        commands.append(["ZREM", keys.state_times(entity, check), *gone.changes])
        commands += [["LREM", keys.states(entity, check), 1, time] for time in gone.changes]
        for named in (keys.state, keys.summary, keys.details, keys.count, keys.latency):
            commands.append(["DEL", *(named(entity, check, time) for time in gone.changes)])
    for family, times in gone.notifications.items():
        key = getattr(keys, family)(entity, check)
        commands += [["LREM", key, 1, time] for time in times]
    for kind, starts in gone.windows.items():
        for start in starts:
            commands += commands_for_removal(keys, event_id, kind, start)
    if gone.actions:
        commands.append(["HDEL", keys.actions(entity, check), *gone.actions])
    return commands


def _units(event_id: str, gone: Superfluous) -> list[Unit]:
    """What changes in the records; whether a state was notified follows from notifications."""
    units: list[Unit] = [("states", event_id)] if gone.changes or gone.notifications else []
    return units + [("windows", event_id, kind) for kind in KINDS]


async def purge(
    store: Store,
    policy: Policy,
    now: int,
    progress: Callable[[Purged], None],
    *,
    ids: Sequence[str] | None = None,
    dry_run: bool = False,
) -> Purged:
    """Removes what exceeds `policy`: of all checks, alerts and archives, or of the checks `ids`
    alone. May be stopped at any time; the next call continues."""
    done = Purged()
    if ids is not None:
        done.add(await _checks(store, ids, policy, now, dry_run))
        return done
    async for page in replies.scored_members(store, Alerting(store.prefix).all_checks()):
        some = list(dict(page))
        for first in range(0, len(some), _CHECKS):
            done.add(await _checks(store, some[first : first + _CHECKS], policy, now, dry_run))
            progress(done)
    done.alerts = await _alerts(store, now - policy.alert_days * DAY, dry_run)
    done.archives = await _archives(store, dry_run)
    progress(done)
    return done


async def _checks(
    store: Store, ids: Sequence[str], policy: Policy, now: int, dry_run: bool
) -> Purged:
    done, keys = Purged(checks=len(ids)), Alerting(store.prefix)
    cutoff = now - policy.alert_days * DAY
    step = 1 << 30 if dry_run else _STEP
    while ids:
        more = []
        async for event_id, answer in _OLDEST.over(store, ids, [step, cutoff], _CHECKS):
            records = await _read(store, event_id, answer, step)
            gone = superfluous(records, policy, now)
            commands = removal(keys, event_id, gone)
            done.add(gone.counted())
            if dry_run:
                continue
            if commands:
                packed = msgspec.msgpack.encode(commands)
                await _ALL(store, [keys.all_checks()], [packed], _units(event_id, gone))
                more.append(event_id)
            if records.old_alerts:
                await _cut(store, keys.alerts_by_check(*split_id(event_id)), cutoff)
        ids = more
    return done


async def _read(store: Store, event_id: str, answer: list[Any], step: int) -> Records:
    changes, notifications, windows, actions, old_alerts = answer
    times: list[int] = []
    if actions:
        key = Alerting(store.prefix).actions(*split_id(event_id))
        times = sorted(replies.numbers(await replies.hash_fields(store, key)))
    return Records(
        changes=_oldest(*changes),
        notifications={
            family: _oldest(*found)
            for family, found in zip(NOTIFICATIONS.values(), notifications, strict=True)
        },
        windows={
            kind: (total, [Window(number(s) or 0, number(d) or 0) for s, d in pairs(flat)])
            for kind, (total, flat) in zip(KINDS, windows, strict=True)
        },
        actions=Oldest(len(times), times[:step]),
        old_alerts=old_alerts,
    )


def _oldest(total: int, times: Iterable[bytes]) -> Oldest:
    return Oldest(total, replies.numbers(times))


async def _alerts(store: Store, cutoff: int, dry_run: bool) -> int:
    """The common list is purged last: while it has old alerts, others may have some too."""
    keys = Alerting(store.prefix)
    count: int = await store.call("ZCOUNT", keys.alerts(), "-inf", f"({cutoff}")
    if not count or dry_run:
        return count
    async for index in _contact_indexes(store, keys.alerts_by_contact("")):
        await _cut(store, index, cutoff)
    return await _cut(store, keys.alerts(), cutoff, keys.alert(""))


async def _contact_indexes(store: Store, begin: str) -> AsyncIterator[bytes]:
    pattern = re.sub(r"([*?\[\]\\])", r"\\\1", begin) + "*"
    for primary in await store.primaries():
        cursor: int | bytes = 0
        while True:
            command = ("SCAN", cursor, "MATCH", pattern, "COUNT", replies.PAGE, "TYPE", "zset")
            cursor, names = await primary.call(*command)
            for name in names:
                yield name
            if int(cursor) == 0:
                break


async def _cut(store: Store, key: str | bytes, cutoff: int, records: str = "") -> int:
    """Members with lower scores; `records` is what the keys of their records begin with."""
    total = 0
    while count := int(await _CUT(store, [key], [cutoff, 500, records])):  # type: ignore[list-item]
        total += count
    return total


async def _archives(store: Store, dry_run: bool) -> int:
    key, gone, cursor = Alerting(store.prefix).archives(), 0, 0
    while True:
        cursor, page = await store.call("SSCAN", key, cursor, "COUNT", replies.PAGE)
        if page and dry_run:
            gone += len(page) - await store.call("EXISTS", *page)
        elif page:
            gone += await _FORGET(store, [key], page)
        if cursor == 0:
            return gone
