"""Reads states of checks, their history, notifications and alerts, many at a time."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.alerting import patterns
from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.decide.maintenance import (
    OPEN_WINDOW,
    Maintenance,
    is_acknowledged,
    maintenance,
)
from watchbell.alerting.keys import NOTIFICATIONS, Alerting
from watchbell.alerting.model import FAILING, split_id
from watchbell.alerting.reports import Change
from watchbell.alerting.windows import Kind, Window
from watchbell.errors import NotFound
from watchbell.store import replies
from watchbell.store.client import Argument, Store
from watchbell.store.replies import number, pairs, text, text_or_none
from watchbell.store.script import READ, Script

_SHORT_ID = re.compile("[0-9a-f]{8}", re.IGNORECASE)


class Notified(Struct, frozen=True):
    """A notification was made: `problem`, `recovery`, `acknowledgement` or `test`."""

    timestamp: int
    kind: str
    state: str | None = None


class Sent(Struct, frozen=True, kw_only=True):
    """An alert, as it is recorded."""

    id: str
    timestamp: int
    contact: str = ""
    media: str = ""
    address: str = ""
    check: str = ""
    type: str = ""
    rollup: str = ""
    state: str = ""
    subject: str = ""
    body: str = ""


class Status(Struct, frozen=True, kw_only=True):
    """A check as it is now; `state` is None where it never reported."""

    id: str
    state: str | None = None
    enabled: bool = False
    summary: str | None = None
    details: str | None = None
    perfdata: list[Any] = []
    last_update: int | None = None
    last_change: int | None = None
    scheduled: Window | None = None
    """The window that is open, as the next one."""
    unscheduled: Window | None = None
    initial_failure_delay: int | None = None
    repeat_failure_delay: int | None = None
    initial_recovery_delay: int | None = None
    last_notifications: dict[str, int] = {}
    """When the latest notification of each kind was created."""

    @property
    def maintenance(self) -> Maintenance | None:
        return maintenance(self.scheduled, self.unscheduled)

    @property
    def is_acknowledged(self) -> bool:
        return is_acknowledged(self.state, self.unscheduled)


# given[1] now. The fields, whether it is enabled, the open window of each kind as {start, duration,
# summary}, the times of the last notifications.
_STATUS = CheckScript(
    OPEN_WINDOW
    + """
local now = tonumber(given[1])
local function opened(kind)
  local windows = key(kind .. '_windows', entity, check)
  local start, last = open_window(key(kind, entity, check), windows, now, kind == 'scheduled')
  if not start then return {} end
  return {start, string.format('%.0f', last - tonumber(start)),
    redis.call('GET', key(kind .. '_summary', entity, check, start))}
end
local last = {}
for i, kind in ipairs({'problem', 'unknown', 'warning', 'critical', 'recovery', 'acknowledgement',
  'test'}) do last[i] = key('last_' .. kind, entity, check) end
return {
  redis.call('HGETALL', key('current', entity, check)),
  redis.call('ZSCORE', key('current_checks', entity), check),
  opened('scheduled'), opened('unscheduled'), redis.call('MGET', unpack(last)),
}
"""
)

# given[1], given[2] the range, as scores; given[3] the latest so many of it, or -1; given[4] 1 for
# the change before it, too. Records, newest first: time, state, summary, details, count, latency.
_HISTORY = CheckScript("""
local times = key('state_times', entity, check)
local found = redis.call('ZREVRANGEBYSCORE', times, given[2], given[1], 'LIMIT', 0, given[3])
if given[4] == '1' and given[1] ~= '-inf' then
  local before = redis.call('ZREVRANGEBYSCORE', times, '(' .. given[1], '-inf', 'LIMIT', 0, 1)
  found[#found + 1] = before[1]
end
local records = {}
for i, stamp in ipairs(found) do
  local function of(name) return key(name, entity, check, stamp) end
  records[i] = {stamp, unpack(redis.call('MGET', of('state'), of('summary'), of('details'),
    of('count'), of('latency')), 1, 5)}
end
return records
""")

# given[1] kind. The windows: start, duration, summary.
_WINDOWS = CheckScript("""
local found = redis.call('ZRANGE', key(given[1] .. '_windows', entity, check), 0, -1, 'WITHSCORES')
local windows = {}
for i = 1, #found, 2 do
  local summary = redis.call('GET', key(given[1] .. '_summary', entity, check, found[i]))
  windows[#windows + 1] = {found[i], found[i + 1], summary}
end
return windows
""")

# 1 where it is enabled, else 0.
_ENABLED = CheckScript("""
return redis.call('ZSCORE', key('current_checks', entity), check) and 1 or 0
""")

# KEYS[1] index of alerts; ARGV[1] what an alert's key begins with; ARGV[2], ARGV[3] the range;
# ARGV[4] the latest so many. Returns for each alert that is still kept: id, time, fields.
_ALERTS = Script(
    READ
    + """
local found = read('ZREVRANGEBYSCORE', KEYS[1], ARGV[3], ARGV[2], 'WITHSCORES',
  'LIMIT', 0, ARGV[4]) or {}
local answers = {}
for i = 1, #found, 2 do
  local fields = read('HGETALL', ARGV[1] .. found[i]) or {}
  if #fields > 0 then answers[#answers + 1] = {found[i], found[i + 1], fields} end
end
return answers
"""
)


async def check_states(store: Store, ids: Sequence[str], now: int) -> list[Status]:
    """The present states of the checks, in the order of `ids`."""
    return [_status(i, answer) async for i, answer in _STATUS.over(store, ids, [now], 200)]


async def state_changes(
    store: Store, event_id: str, start: int | None, end: int | None, limit: int | None = None
) -> list[Change]:
    """The changes in [start, end], oldest first; with `limit`, only the latest."""
    wanted: list[Argument] = [*_scores(start, end), limit or -1, 0]
    return [
        change
        async for _, answer in _HISTORY.over(store, [event_id], wanted, 1)
        for change in _changes(answer)
    ]


async def one_before(store: Store, event_id: str, time: int) -> Change | None:
    """The last change before `time`."""
    found = await state_changes(store, event_id, None, time - 1, 1)
    return found[0] if found else None


async def histories(
    store: Store, ids: Sequence[str], start: int | None, end: int | None
) -> AsyncIterator[tuple[str, list[Change]]]:
    """For each check the changes in [start, end] and the one before, as reports need them."""
    wanted: list[Argument] = [*_scores(start, end), -1, 1]
    async for event_id, answer in _HISTORY.over(store, ids, wanted, 10):
        yield event_id, _changes(answer)


async def windows_of(
    store: Store, ids: Sequence[str], kind: Kind
) -> AsyncIterator[tuple[str, list[Window]]]:
    """The maintenance windows of each check, sorted by start."""
    async for event_id, answer in _WINDOWS.over(store, ids, [kind], 100):
        found = [_window(one) for one in answer]
        yield event_id, sorted((w for w in found if w), key=lambda window: window.start)


async def failing(store: Store) -> list[tuple[str, int]]:
    """Failing checks with the time of their last change, latest first."""
    found: dict[str, int] = {}
    async for page in replies.scored_members(store, Alerting(store.prefix).failed_checks()):
        found.update(page)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


async def find(store: Store, pattern: str, *, disabled: bool = False) -> list[str]:
    """The checks that match a pattern, sorted; only the one of exactly this name if it exists."""
    keys = Alerting(store.prefix)
    entity, check = split_id(pattern)
    exact = f"{entity.lower()}:{check}"
    if ":" in pattern and await store.call("ZSCORE", keys.all_checks(), exact) is not None:
        found = [exact]
    else:
        found = await _matching(store, patterns.compiled(pattern))
    if disabled:
        return found
    asked = _ENABLED.over(store, found, [], replies.PAGE)
    return [event_id async for event_id, enabled in asked if enabled]


async def matching(store: Store, pattern: str, *, disabled: bool = False) -> list[str]:
    """As `find`, but raises NotFound where a pattern other than `*` matches nothing."""
    ids = await find(store, pattern, disabled=disabled)
    if ids or pattern == "*":
        return ids
    if not disabled and await find(store, pattern, disabled=True):
        raise NotFound(f"all checks that match {pattern!r} are disabled; --all shows them")
    raise NotFound(
        f"no check matches {pattern!r}; write ENTITY, ENTITY:CHECK, a pattern such as 'web-*', "
        "or a regular expression between slashes"
    )


async def by_short_id(store: Store, short_id: str) -> str | None:
    """The check with this short id; None if there is none."""
    if not _SHORT_ID.fullmatch(short_id):
        return None
    found = await store.call("HGET", Alerting(store.prefix).checks_by_hash(), short_id.lower())
    return text_or_none(found)


async def _matching(store: Store, wanted: patterns.Pattern) -> list[str]:
    keys, found = Alerting(store.prefix), set[str]()
    if wanted.entity is not None:
        async for page in replies.scored_members(store, keys.entity_checks(wanted.entity)):
            found |= {f"{wanted.entity}:{c}" for c, _ in page if wanted.matches(wanted.entity, c)}
    else:
        async for page in replies.scored_members(store, keys.all_checks()):
            found |= {event_id for event_id, _ in page if wanted.matches(*split_id(event_id))}
    return sorted(found)


async def notifications(
    store: Store, event_id: str, start: int | None, end: int | None
) -> list[Notified]:
    """The notifications created in [start, end], oldest first."""
    keys, (entity, check) = Alerting(store.prefix), split_id(event_id)
    times: dict[str, list[int]] = {}
    for kind, family in NOTIFICATIONS.items():
        found = await store.call("LRANGE", getattr(keys, family)(entity, check), 0, -1)
        times[kind] = [t for t in replies.numbers(found) if _is_within(t, start, end)]
    states = {time: state for state in FAILING for time in times[state]}
    notifications = [
        Notified(time, kind, states.get(time) if kind == "problem" else None)
        for kind in times.keys() - set(FAILING)
        for time in times[kind]
    ]
    return sorted(notifications, key=lambda one: (one.timestamp, one.kind))


async def actions(
    store: Store, event_id: str, start: int | None, end: int | None
) -> list[tuple[int, str]]:
    """The actions of people in [start, end], oldest first."""
    found = await replies.hash_fields(store, Alerting(store.prefix).actions(*split_id(event_id)))
    times = [(number(time), text(action)) for time, action in found.items()]
    return sorted((t, a) for t, a in times if t is not None and _is_within(t, start, end))


async def alerts(
    store: Store,
    *,
    event_id: str | None = None,
    contact: str | None = None,
    start: int | None = None,
    end: int | None = None,
    limit: int | None = None,
) -> list[Sent]:
    """The alerts of a check, of a contact, or all, created in [start, end]; latest first."""
    keys = Alerting(store.prefix)
    index = keys.alerts()
    if event_id is not None:
        index = keys.alerts_by_check(*split_id(event_id))
    elif contact is not None:
        index = keys.alerts_by_contact(contact)
    args: list[Argument] = [keys.alert(""), *_scores(start, end), limit or -1]
    sent = [_sent(*answer) for answer in await _ALERTS(store, [index], args)]
    return [one for one in sent if contact is None or one.contact == contact]


def _scores(start: int | None, end: int | None) -> list[Argument]:
    return ["-inf" if start is None else start, "+inf" if end is None else end]


def _is_within(time: int, start: int | None, end: int | None) -> bool:
    return (start is None or time >= start) and (end is None or time <= end)


def _status(event_id: str, answer: list[Any]) -> Status:
    flat, enabled, scheduled, unscheduled, last = answer
    fields = {text(name): value for name, value in pairs(flat)}
    times = zip(NOTIFICATIONS, map(number, last), strict=True)
    return Status(
        id=event_id,
        state=text_or_none(fields.get("state")),
        enabled=enabled is not None,
        summary=text_or_none(fields.get("summary")),
        details=text_or_none(fields.get("details")),
        perfdata=_perfdata(fields.get("perfdata")),
        last_update=number(fields.get("last_update")),
        last_change=number(fields.get("last_change")),
        scheduled=_window(scheduled),
        unscheduled=_window(unscheduled),
        initial_failure_delay=number(fields.get("initial_failure_delay")),
        repeat_failure_delay=number(fields.get("repeat_failure_delay")),
        initial_recovery_delay=number(fields.get("initial_recovery_delay")),
        last_notifications={kind: time for kind, time in times if time is not None},
    )


def _perfdata(value: bytes | None) -> list[Any]:
    try:
        return msgspec.json.decode(value or b"[]", type=list[Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _window(record: Sequence[bytes | None]) -> Window | None:
    if not record:
        return None
    start, duration = number(record[0]), number(record[1])
    if start is None or duration is None:
        return None
    return Window(start, duration, text_or_none(record[2]) or "")


def _changes(records: Sequence[Sequence[bytes | None]]) -> list[Change]:
    """In their order; records without a state are skipped."""
    found = []
    for stamp, state, summary, details, count, latency in reversed(records):
        time = number(stamp)
        if time is None or state is None:
            continue
        found.append(
            Change(
                time,
                text(state),
                text_or_none(summary),
                text_or_none(details),
                number(count),
                _seconds(latency),
            )
        )
    return found


def _seconds(value: bytes | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def _sent(identifier: bytes, time: bytes, flat: Sequence[bytes]) -> Sent:
    fields = {text(name): text(value) for name, value in pairs(flat)}
    known = {name: fields[name] for name in Sent.__struct_fields__[2:] if name in fields}
    return Sent(id=text(identifier), timestamp=number(time) or 0, **known)
