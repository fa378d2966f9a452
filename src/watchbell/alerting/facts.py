"""Reads the facts of all checks of a batch in one round trip."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from watchbell.alerting.decide.check_facts import OPTIONAL, Facts, Window
from watchbell.alerting.indexes import COMPLETE, IS_UNRECOVERED, LAST_TIMES
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.store.client import Store
from watchbell.store.effects import Command
from watchbell.store.script import READ, Script

SETTINGS = ("initial_failure_delay", "repeat_failure_delay", "initial_recovery_delay", "ttl")

_LARGEST = 1 << 42
_tags = msgspec.json.Decoder(tuple[str, ...]).decode
_KINDS = ("problem", "unknown", "warning", "critical", "recovery", "acknowledgement")
_FAMILIES = (
    "current",
    "scheduled",
    "unscheduled",
    "last_problem",
    "last_unknown",
    "last_warning",
    "last_critical",
    "last_recovery",
    "last_acknowledgement",
    "scheduled_windows",
    "unscheduled_windows",
    "entity_ids",
    "counters",
    "states",
    "state",
    "summary",
)
_OWN_FAMILIES = ("check_settings", "decisions", "event_tags", "open_problems", "silence")

# KEYS[1] any key of the namespace, by which a cluster finds the server.
# ARGV[1] msgpack: what stands between the parts of each family of keys, the member of an index that
# is complete, and the families with times of notifications; ARGV[2] msgpack: checks, flat: entity,
# check, whether in depth. Returns for each check that is well its summary, or its fields where it
# has more of them than most. Where it is new, fails, was notified of, is maintained or is asked for
# in depth, returns its fields and also: the beginnings of the present maintenances and the times of
# notifications, recorded lengths and remaining ms of the former, planned windows, whether the
# entity is known, the recorded summary of the present state and the record before it, the last
# decision. At the end, what was set for each check, until when it promised to report, and the tags
# of its latest report.
_FACTS = Script(
    READ
    + IS_UNRECOVERED
    + """
local families, asked = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local names, answers, deep = {}, {}, {}

for i = 1, #asked / 3 do
  names[i] = asked[3 * i - 2] .. ':' .. asked[3 * i - 1]
  deep[i] = asked[3 * i]
end
local counted = read('HGET', families.counters[1], 'all')
if #names == 0 then return {answers, {}, {}, {}, counted} end

local function of_each(command, family)
  return redis.call('EXISTS', families[family][1]) == 1
    and read(command, families[family][1], unpack(names)) or {}
end
local is_indexed = read('SISMEMBER', families.open_problems[1], families.complete) == 1
local notified = is_indexed and of_each('SMISMEMBER', 'open_problems')
local function between(name, i)
  local parts = families[name]
  return parts[1] .. asked[3 * i - 2] .. parts[2] .. asked[3 * i - 1] .. parts[3]
end
local function is_notified(i)
  if notified then return notified[i] == 1 end
  local keys = {}
  for n, name in ipairs(families.last_times) do keys[n] = between(name, i) end
  return is_unrecovered(redis.call('MGET', unpack(keys)))
end
-- Which of the checks are maintained is asked for many at once, since most of them are not.
local planned, present, open = families.scheduled_windows, families.scheduled, families.unscheduled
for first = 1, #names, 32 do
  local last, keys = math.min(first + 31, #names), {}
  for i = first, last do
    local entity, check = asked[3 * i - 2], asked[3 * i - 1]
    keys[#keys + 1] = planned[1] .. entity .. planned[2] .. check .. planned[3]
    keys[#keys + 1] = present[1] .. entity .. present[2] .. check .. present[3]
    keys[#keys + 1] = open[1] .. entity .. open[2] .. check .. open[3]
  end
  if redis.call('EXISTS', unpack(keys)) > 0 then
    for i = first, last do
      local at = 3 * (i - first)
      deep[i] = deep[i] or redis.call('EXISTS', keys[at + 1], keys[at + 2], keys[at + 3]) > 0
    end
  end
end

local function in_depth(i, fields)
  local times = redis.call('MGET', between('scheduled', i), between('unscheduled', i),
    between('last_problem', i), between('last_unknown', i), between('last_warning', i),
    between('last_critical', i), between('last_recovery', i), between('last_acknowledgement', i))
  local windows = read('ZRANGE', between('scheduled_windows', i), 0, -1, 'WITHSCORES') or {}
  local length = times[2] and read('ZSCORE', between('unscheduled_windows', i), times[2])
  local left = {times[1] and redis.call('PTTL', between('scheduled', i)) or 0,
    times[2] and redis.call('PTTL', between('unscheduled', i)) or 0}
  local known = read('HEXISTS', families.entity_ids[1], asked[3 * i - 2])
  local stamps, before = read('LRANGE', between('states', i), -2, -1) or {}, {}
  local at = between('summary', i)
  if #stamps == 2 then
    before = redis.call('MGET', at .. stamps[2] .. families.summary[4],
      between('state', i) .. stamps[1] .. families.state[4], at .. stamps[1] .. families.summary[4])
  elseif #stamps == 1 then
    before = {redis.call('GET', at .. stamps[1] .. families.summary[4]), false, false}
  end
  return {fields, times, length, left, windows, known, before,
    read('LINDEX', between('decisions', i), 0)}
end

local current = families.current
for i = 1, #names do
  local key = current[1] .. asked[3 * i - 2] .. current[2] .. asked[3 * i - 1] .. current[3]
  local fields = read('HMGET', key, 'state', 'last_change', 'summary', 'details',
    'perfdata', 'initial_failure_delay', 'repeat_failure_delay', 'initial_recovery_delay')
    or {false, false, false, false, false, false, false, false}
  if fields[1] == 'ok' and not deep[i] and not is_notified(i) then
    local has_more = fields[4] or fields[5] or fields[6] or fields[7] or fields[8]
    answers[i] = has_more and fields or fields[3]
  else
    answers[i] = in_depth(i, fields)
  end
end
return {answers, of_each('HMGET', 'check_settings'), of_each('ZMSCORE', 'silence'),
  of_each('HMGET', 'event_tags'), counted}
"""
)


class CheckFacts:
    """The checks of one namespace."""

    def __init__(self, prefix: str = "") -> None:
        self._keys, own = Alerting(prefix), AlertingOwn(prefix)
        pairs = [
            *((name, getattr(self._keys, name)) for name in _FAMILIES),
            *((name, getattr(own, name)) for name in _OWN_FAMILIES),
        ]
        named: dict[str, Any] = {name: family.literals for name, family in pairs}
        named |= {"complete": COMPLETE, "last_times": LAST_TIMES}
        self._families = msgspec.msgpack.encode(named)

    async def load(
        self, store: Store, wanted: Sequence[tuple[str, str, bool]], now: int
    ) -> tuple[list[Facts], list[Command], int]:
        """The facts of checks (entity, check, whether in depth), the commands that tidy up, and
        the number of events so far."""
        flat = [part for one in wanted for part in one]
        args = [self._families, msgspec.msgpack.encode(flat)]
        answers = await _FACTS(store, [self._keys.events()], args)
        found, settings, promised, tagged, counted = answers
        cleanup: list[Command] = []
        facts = [
            self._read(entity, check, answer, now, cleanup)
            for (entity, check, _), answer in zip(wanted, found, strict=True)
        ]
        for one, given in zip(facts, settings, strict=False):  # none where nothing was set
            if given is not None:
                one.delays = check_settings(given)
                one.ttl = one.delays.pop("ttl", None)
        for one, due in zip(facts, promised, strict=False):  # none where nobody promised
            one.is_awaited = due is not None
        for one, stored in zip(facts, tagged, strict=False):  # none where no report has tags
            if stored is not None:
                one.tags = event_tags(stored)
        return facts, cleanup, _number(counted) or 0

    def _read(
        self,
        entity: str,
        check: str,
        answer: bytes | list[Any] | None,
        now: int,
        cleanup: list[Command],
    ) -> Facts:
        if not isinstance(answer, list):
            summary = _text(answer)
            return Facts(
                entity=entity, check=check, is_quiet=True, state="ok", latest_summary=summary
            )
        is_quiet = not isinstance(answer[0], list)
        fields = answer if is_quiet else answer[0]
        facts = Facts(
            entity=entity,
            check=check,
            is_quiet=is_quiet,
            state=_text(fields[0]),
            last_change=_number(fields[1]) or 0,
            latest_summary=_text(fields[2]),
        )
        if any(field is not None for field in fields[3:]):
            facts.has_fields = _present(fields)
        if not is_quiet:
            self._read_in_depth(facts, answer, now, cleanup)
        return facts

    def _read_in_depth(
        self, facts: Facts, answer: list[Any], now: int, cleanup: list[Command]
    ) -> None:
        _, times, length, left, planned, known, before, decided = answer
        facts.entity_known = bool(known)
        facts.windows = [
            Window(_whole(start), _whole(start) + _whole(lasting))
            for start, lasting in zip(planned[::2], planned[1::2], strict=True)
        ]
        self._read_maintenance(facts, times, (length, *left), now, cleanup)
        facts.notified = {
            name: _whole(time)
            for name, time in zip(_KINDS, times[2:], strict=True)
            if time is not None
        }
        if before:
            facts.summary = _text(before[0])
            facts.last_state, facts.last_summary = _text(before[1]), _text(before[2])
        facts.last_decision = decided or b""

    def _read_maintenance(
        self,
        facts: Facts,
        times: Sequence[bytes | None],
        spans: Sequence[Any],
        now: int,
        cleanup: list[Command],
    ) -> None:
        """Maintenance by its recorded length, so that a replay sees it end; else by its expiry."""
        length, left, left_unscheduled = spans
        entity, check = facts.entity, facts.check
        if times[0] is not None:
            start = _whole(times[0])
            ends = [window.end for window in facts.windows if window.start == start]
            end = max(ends) if ends else now + max(_whole(left), 1000) // 1000
            if end > now:
                facts.scheduled = Window(start, end)
            else:
                cleanup.append(["DEL", self._keys.scheduled(entity, check)])
        if times[1] is not None:
            start, known = _whole(times[1]), _number(length)
            end = now + max(_whole(left_unscheduled), 1000) // 1000
            end = end if known is None else start + known
            if end > now:
                facts.unscheduled = Window(start, end)
            else:
                cleanup.append(["DEL", self._keys.unscheduled(entity, check)])


@lru_cache(4096)
def event_tags(stored: bytes) -> tuple[str, ...]:
    """The tags of a check's latest report; none where the value is unreadable."""
    try:
        return _tags(stored)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()


def check_settings(stored: bytes) -> dict[str, int]:
    """The settings of a check; unreadable values count as not set."""
    try:
        given = msgspec.json.decode(stored, type=dict[str, int])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return {
        name: value for name, value in given.items() if name in SETTINGS and 0 <= value <= _LARGEST
    }


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _number(value: bytes | None) -> int | None:
    """The whole number that the bytes are; None where they are not one that we can use."""
    try:
        number = None if value is None else int(float(value))
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) <= _LARGEST else None


def _whole(value: bytes | int) -> int:
    return value if isinstance(value, int) else _number(value) or 0


def _present(fields: Sequence[bytes | None]) -> frozenset[str]:
    return frozenset(
        name for name, value in zip(OPTIONAL, fields[3:], strict=True) if value is not None
    )
