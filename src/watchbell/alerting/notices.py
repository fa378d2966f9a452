"""How the notifier reads and writes: who is interested, how media stand, alerts as commands."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from watchbell.alerting.checks import DECISIONS_KEPT, DECISIONS_SECONDS
from watchbell.alerting.decide.routing import ENDING, Settled, Standing
from watchbell.alerting.decide.routing import Alerting as AlertingFacts
from watchbell.alerting.effects import Command, verbatim
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import (
    FAILING,
    Alert,
    ContactDecision,
    Decision,
    Medium,
    Notification,
    RollupEntry,
)
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

PARKED_KEPT, PARKED_SHOWN = 1_000, 10_000
_FAILING_STATES = {state.encode() for state in FAILING}
_COUNTING = (
    "current",
    "current_checks",
    "scheduled",
    "scheduled_windows",
    "unscheduled",
    "unscheduled_windows",
)
ROLLUP_MOST = 5_000
"""Checks that a summary lists, at the most."""

# A key of a wrong type, left by somebody else, counts as absent.
_READ = """
local function read(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return false end
  return answer
end
"""

# KEYS[1] of this and the others below: any key of the namespace, by which a cluster finds the
# server. ARGV[1] msgpack: what stands around the parts of the families; ARGV[2] msgpack:
# notifications as {entity, check}. Returns the contacts of each.
_INTERESTED = Script(
    _READ
    + """
local families = cmsgpack.unpack(ARGV[1])
local ids, of_entity = families.entity_ids, families.entity_contacts
local of_check = families.check_contacts
local answers = {}
for i, pair in ipairs(cmsgpack.unpack(ARGV[2])) do
  local contacts = read('SMEMBERS', of_entity[1] .. 'ALL' .. of_entity[2]) or {}
  local id = read('HGET', ids[1], pair[1])
    or read('GET', families.entity_id[1] .. pair[1] .. families.entity_id[2])
  if id then
    for _, key in ipairs({of_entity[1] .. id .. of_entity[2],
                          of_check[1] .. id .. of_check[2] .. pair[2] .. of_check[3]}) do
      for _, contact in ipairs(read('SMEMBERS', key) or {}) do
        contacts[#contacts + 1] = contact
      end
    end
  end
  answers[i] = contacts
end
return answers
"""
)

# Whether a check is failing, enabled, and in no maintenance as of `now`; `families` has what stands
# between the parts of keys. Maintenance ends by its record, so that a replay sees it end.
_COUNTABLE = """
local function is_open(kind, entity, check)
  local key, windows = families[kind], families[kind .. '_windows']
  local start = read('GET', key[1] .. entity .. key[2] .. check .. key[3])
  if not start then return false end
  local length = read('ZSCORE', windows[1] .. entity .. windows[2] .. check .. windows[3], start)
  local last = length and tonumber(start) and tonumber(start) + tonumber(length)
  return not last or last > now
end
local function is_countable(id)
  local entity, check = string.match(id, '^([^:]*):(.*)$')
  if not entity then return false end
  local key, enabled = families.current, families.current_checks
  local state = read('HGET', key[1] .. entity .. key[2] .. check .. key[3], 'state')
  return state and state ~= 'ok' and read('ZSCORE', enabled[1] .. entity .. enabled[2], check)
    and not is_open('scheduled', entity, check) and not is_open('unscheduled', entity, check)
end
"""

# ARGV[1] drops, ARGV[2] rollups, ARGV[3] msgpack: for each question the five keys that
# hold alerts back, the zset of alerted checks, the check, the name of contact and medium;
# ARGV[4] now; ARGV[5] msgpack: what stands between the parts of keys. Returns for each: remaining
# ms and recorded end of each key that exists, how many checks are alerted, whether this one is,
# whether alerts are rolled up, whether this check can be counted; and, of all keys that hold alerts
# back, some whose end has come.
_STANDINGS = Script(
    "local families, now = cmsgpack.unpack(ARGV[5]), tonumber(ARGV[4])"
    + _READ
    + _COUNTABLE
    + """
local answers, countable = {}, {}
for i, asked in ipairs(cmsgpack.unpack(ARGV[3])) do
  local held = {{}, {}, {}, {}, {}}
  local holds = redis.call('EXISTS', unpack(asked[1])) > 0
  for n, key in ipairs(holds and asked[1] or {}) do
    local remaining = redis.call('PTTL', key)
    held[n] = remaining == -2 and {} or {remaining, read('ZSCORE', ARGV[1], key)}
  end
  local id = asked[3]
  if countable[id] == nil then countable[id] = is_countable(id) and 1 or 0 end
  answers[i] = {held, read('ZCARD', asked[2]) or 0, read('ZSCORE', asked[2], id),
    read('SISMEMBER', ARGV[2], asked[4]) or 0, countable[id]}
end
return {answers, read('ZRANGEBYSCORE', ARGV[1], '-inf', ARGV[4], 'LIMIT', 0, 1000) or {}}
"""
)

# ARGV[1] msgpack: what stands around the parts of `current`; ARGV[2] the zset of alerted checks;
# ARGV[3] how many at the most; ARGV[4] msgpack: further checks. Returns check, state, last_change
# and summary of each.
_FAILING = Script(
    _READ
    + """
local parts, ids = cmsgpack.unpack(ARGV[1]), read('ZREVRANGE', ARGV[2], 0, ARGV[3] - 1) or {}
for _, id in ipairs(cmsgpack.unpack(ARGV[4])) do ids[#ids + 1] = id end
local answers = {}
for i, id in ipairs(ids) do
  local entity, check = string.match(id, '^([^:]*):(.*)$')
  local key = parts[1] .. (entity or '') .. parts[2] .. (check or '') .. parts[3]
  local fields = read('HMGET', key, 'state', 'last_change', 'summary') or {false, false, false}
  answers[i] = {id, unpack(fields)}
end
return answers
"""
)


Subject = tuple[str, str, str]
"""A contact, a medium and a check."""


class Question(NamedTuple):
    """How does a contact's medium stand about a check?"""

    contact: str
    medium: str
    event_id: str
    state: str

    @property
    def subject(self) -> Subject:
        return self[:3]


class Notices:
    def __init__(self, prefix: str, alert_days: int) -> None:
        self.keys, self.own = Alerting(prefix), AlertingOwn(prefix)
        self._alert_seconds = alert_days * 86_400
        names = ("entity_ids", "entity_id", "entity_contacts", "check_contacts")
        families = {name: getattr(self.keys, name).literals for name in names}
        self._families = msgspec.msgpack.encode(families)
        counting = {name: getattr(self.keys, name).literals for name in _COUNTING}
        self._counting = msgspec.msgpack.encode(counting)

    async def interested(
        self, store: Store, notifications: Sequence[Notification]
    ) -> list[list[str]]:
        """The contacts of each, nobody twice."""
        pairs = [(n.entity, n.check) for n in notifications]
        found = await _INTERESTED(
            store, [self.keys.notifications()], [self._families, msgspec.msgpack.encode(pairs)]
        )
        return [
            list(dict.fromkeys(one.decode(errors="replace") for one in sorted(contacts)))
            for contacts in found
        ]

    async def standings(
        self, store: Store, questions: Sequence[Question], now: int
    ) -> tuple[dict[tuple[str, str], Standing], dict[Subject, AlertingFacts], list[bytes]]:
        """How media stand, what is known of checks there, and what no longer holds alerts back."""
        asked = [
            (
                self._holding(q),
                self.keys.alerting_checks(q.contact, q.medium),
                q.event_id,
                f"{q.contact}:media:{q.medium}",
            )
            for q in questions
        ]
        packed = msgspec.msgpack.encode(asked)
        args: list[Argument] = [self.own.drops(), self.own.rollups(), packed, now, self._counting]
        answers, ended = await _STANDINGS(store, [self.keys.notifications()], args)
        standings: dict[tuple[str, str], Standing] = {}
        alerting: dict[Subject, AlertingFacts] = {}
        for question, (held, failing, counted, rolled, countable) in zip(
            questions, answers, strict=True
        ):
            ends = [_end(one, now) for one in held]
            if held[2] and held[2][-1] is not None:
                # We write none of a whole check: it is of a state, `critical` of the check `a`
                # where this one is called `a:critical`.
                ends[2] = 0
            pair = (question.contact, question.medium)
            standings.setdefault(
                pair,
                Standing(failing=failing, in_rollup=bool(rolled), summary_until=ends[4]),
            )
            facts = alerting.setdefault(
                question.subject,
                AlertingFacts(
                    is_counted=counted is not None,
                    is_countable=bool(countable),
                    held_until=max(ends[:3]),
                ),
            )
            facts.dropped_until[question.state] = ends[3]
        return standings, alerting, ended

    async def failing(
        self, store: Store, contact: str, medium: str, more: Sequence[str], now: int
    ) -> dict[str, RollupEntry]:
        """The checks that a contact is being alerted about, and `more`, for a summary."""
        current = msgspec.msgpack.encode(self.keys.current.literals)
        args: list[Argument] = [current, self.keys.alerting_checks(contact, medium), ROLLUP_MOST]
        args.append(msgspec.msgpack.encode(more))
        return {
            name.decode(errors="replace"): RollupEntry(
                state=state.decode(errors="replace"),
                duration=max(now - (int(changed) if (changed or b"").isdigit() else now), 0),
                summary=summary.decode(errors="replace") if summary else None,
            )
            for name, state, changed, summary in await _FAILING(
                store, [self.keys.notifications()], args
            )
            if state in _FAILING_STATES
        }

    def _holding(self, q: Question) -> list[str]:
        entity, _, check = q.event_id.partition(":")
        return [
            self.keys.contact_drop(q.contact),
            self.keys.medium_drop(q.contact, q.medium),
            self.keys.check_drop(q.contact, q.medium, entity, check),
            self.keys.state_drop(q.contact, q.medium, entity, check, q.state),
            self.keys.rollup_drop(q.contact, q.medium),
        ]

    def settled(
        self,
        question: Question,
        settings: Medium,
        notification: Notification,
        settled: Settled,
        now: int,
    ) -> Iterable[Command]:
        """What a medium's fate leaves behind, besides the alert."""
        contact, medium, event_id, state = question
        entity, _, check = event_id.partition(":")
        member = f"{contact}:media:{medium}"
        if settled.counted:
            keys, name = self.keys, (entity, check)
            yield [
                *("COUNT", keys.alerting_checks(contact, medium), self.own.alerting_media(*name)),
                *(member, now, event_id, keys.failed_checks(), keys.current_checks(entity), check),
                *(keys.scheduled(*name), keys.scheduled_windows(*name)),
                *(keys.unscheduled(*name), keys.unscheduled_windows(*name)),
            ]
        elif settled.counted is False:
            yield ["ZREM", self.keys.alerting_checks(contact, medium), event_id]
            yield ["SREM", self.own.alerting_media(entity, check), member]
        rollup_drop = self.keys.rollup_drop(contact, medium)
        if settled.rollup == "problem":
            yield ["SADD", self.own.rollups(), member]
            yield from self._drop(rollup_drop, settings.interval, now)
        elif settled.rollup == "recovery":
            yield ["SREM", self.own.rollups(), member]
            yield from self._undrop(rollup_drop)
        if notification.type in ENDING:
            for failed in FAILING:
                yield from self._undrop(
                    self.keys.state_drop(contact, medium, entity, check, failed)
                )
        elif settled.tells:
            drop = self.keys.state_drop(contact, medium, entity, check, state)
            yield from self._drop(drop, settings.interval, now)

    def forgotten(self, notification: Notification) -> Command:
        """Nobody is alerted about the check any more, also by media that no rule names now."""
        media = self.own.alerting_media(notification.entity, notification.check)
        return ["FORGET", media, self.keys.alerting_checks.literals[0], notification.event_id]

    def _drop(self, key: str, seconds: int, now: int) -> Iterable[Command]:
        """Held back by the key's expiry, as others read it, and by its end as of our clock."""
        yield ["SET", key, "d", "PX", max(seconds, 1) * 1000]
        yield ["ZADD", self.own.drops(), now + seconds, key]

    def merged(self, commands: Iterable[Command]) -> list[Command]:
        """The same with the records of what holds alerts back written together."""
        found: list[Command] = []
        held: list[str | int | msgspec.Raw] = []
        drops = self.own.drops()
        for command in commands:
            if command[1] == drops and command[0] == "ZADD":
                held += command[2:]  # type: ignore[arg-type]
                continue
            if command[1] == drops:
                found += _pieces("ZADD", drops, held)
                held = []
            found.append(command)
        return [*found, *_pieces("ZADD", drops, held)]

    def _undrop(self, key: str) -> Iterable[Command]:
        yield ["DEL", key]
        yield ["ZREM", self.own.drops(), key]

    def tidied(self, ended: Sequence[bytes]) -> Iterable[Command]:
        """In a replay a key that held alerts back outlives its end, so it goes with its record."""
        if ended:
            keys = [verbatim(key) for key in ended]
            yield ["DEL", *keys]
            yield ["ZREM", self.own.drops(), *keys]

    def alerts(self, alerts: Sequence[Alert], now: int) -> Iterable[Command]:
        """The alerts on their queues, and in the records by which people find them."""
        keys = self.keys
        by_date = keys.alerts_by_date(f"{datetime.fromtimestamp(now, UTC):%Y%m%d}")
        queues: dict[str, list[msgspec.Raw]] = {}
        indexes: dict[str, list[str | int]] = {}
        for alert in alerts:
            entity, _, check = alert.event_id.partition(":")
            queue = queues.setdefault(keys.queue(alert.media), [])
            queue.append(verbatim(msgspec.json.encode(alert)))
            record = keys.alert(alert.id)
            yield [
                *("HSET", record, "timestamp", now, "contact", alert.contact_id),
                *("media", alert.media, "address", alert.address, "check", alert.event_id),
                *("type", alert.notification_type, "rollup", alert.rollup or ""),
                *("state", alert.state),
            ]
            yield ["EXPIRE", record, self._alert_seconds]
            for index in (
                keys.alerts(),
                keys.alerts_by_contact(alert.contact_id),
                keys.alerts_by_medium(alert.contact_id, alert.media),
                keys.alerts_by_check(entity, check),
                by_date,
            ):
                indexes.setdefault(index, []).extend((now, alert.id))
        for key, items in queues.items():
            yield from _pieces("RPUSH", key, items)
        for key, pairs in indexes.items():
            yield from _pieces("ZADD", key, pairs)
        if alerts:
            yield ["EXPIRE", by_date, self._alert_seconds]

    def parked(self, item: bytes, reason: str, now: int) -> Iterable[Command]:
        shown = item[:PARKED_SHOWN].decode(errors="replace")
        told = msgspec.json.encode({"time": now, "reason": reason, "notification": shown})
        yield ["LPUSH", self.own.parked(), verbatim(told)]
        yield ["LTRIM", self.own.parked(), 0, PARKED_KEPT - 1]
        yield ["EXPIRE", self.own.parked(), self._alert_seconds]

    def decision(
        self, notification: Notification, contacts: list[ContactDecision], now: int
    ) -> Iterable[Command]:
        verdict = "TOLD" if any(one.media for one in contacts) else "NOBODY"
        decision = Decision(
            verdict=verdict,
            state=notification.state,
            by="notifier",
            time=now,
            summary=(notification.summary or "")[:200],
            contacts=contacts,
        )
        key = self.own.decisions(notification.entity, notification.check)
        yield ["LPUSH", key, verbatim(msgspec.json.encode(decision))]
        yield ["LTRIM", key, 0, DECISIONS_KEPT - 1]
        yield ["EXPIRE", key, DECISIONS_SECONDS]


def _pieces(command: str, key: str, words: Sequence[str | int | msgspec.Raw]) -> Iterable[Command]:
    """A command with as many words as a script can pass on at once."""
    for first in range(0, len(words), 1000):
        yield [command, key, *words[first : first + 1000]]


def _end(held: Sequence[Any], now: int) -> int:
    """When a key stops holding alerts back: by our record, else by its expiry, else never."""
    if not held:
        return 0
    remaining, *recorded = held
    if recorded and recorded[0] is not None:
        return int(float(recorded[0]))
    return now + max(int(remaining) // 1000, 1) if remaining >= 0 else now + 86_400
