"""Writes the outcomes of items: delivered, to be retried, given up; many in one script."""

from collections.abc import Iterable, Sequence

import msgspec

from watchbell.alerting.event import encode
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent
from watchbell.gateways.keys import Gateways
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import BODY_MOST, LANES, Item, Unfit, Unreadable
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.script import Script

Outcome = list[str | int | list[str | int]]

# ARGV[1] msgpack: results; ARGV[2] seconds; ARGV[3] seconds before which failures are forgotten;
# ARGV[4] the event that reports that the medium works again; ARGV[5…] what lists of alerts, sets of
# checks and records of alerts begin with. KEYS: outbox, lanes, claims, failed, failures, status,
# events.
# An item that is no longer in the outbox was settled before, so a repeated call does nothing more.
# What must not be lost is written first and may fail; of the rest the store's refusals are
# returned, and stop none of the other results.
_SETTLE = Script(
    LANES
    + """
local outbox, lanes, claims, failed, failures, status, events = unpack(KEYS)
local box = {lanes = lanes, claims = claims, alerts = ARGV[5], checks = ARGV[6]}
local now, alert_of = ARGV[2], ARGV[7]
local refused = {}

local function note(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    refused[#refused + 1] = select(1, ...) .. ' ' .. select(2, ...) .. ': ' .. answer.err
  end
  return answer
end

local function remove(id, lane, check)
  redis.call('HDEL', outbox, id)
  dequeue(box, lane, check, id)
end

-- A message names its record; that of an alert follows from its id.
local function record(id, named, fields)
  local key = named == '' and alert_of .. id or named
  if redis.call('EXISTS', key) == 1 then note('HSET', key, unpack(fields)) end
end

local settle = {}

function settle.delivered(id, lane, check, named, answer, fields)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  remove(id, lane, check)
  record(id, named, fields)
  note('HSET', status, 'last_success', now, 'last_answer', answer)
  note('HINCRBY', status, 'delivered', 1)
  if note('HDEL', status, 'failing') == 1 then note('LPUSH', events, ARGV[4]) end
end

function settle.again(id, item, reason)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', outbox, id, item)
  note('HSET', status, 'last_failure', now, 'last_error', reason)
  note('HINCRBY', status, 'retried', 1)
end

function settle.given_up(id, lane, check, named, item, reason, event)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', failures, id, item)
  redis.call('ZADD', failed, now, id)
  remove(id, lane, check)
  record(id, named, {'failed_at', now, 'error', reason})
  note('HSET', status, 'last_failure', now, 'last_error', reason)
  note('HINCRBY', status, 'given_up', 1)
  if event ~= '' then
    note('HSET', status, 'failing', 1)
    note('LPUSH', events, event)
  end
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', failed, '-inf', ARGV[3], 'LIMIT', 0, 100)) do
    redis.call('ZREM', failed, old)
    redis.call('HDEL', failures, old)
  end
end

function settle.unreadable(id, lane, check, kept)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', failures, id, kept)
  redis.call('ZADD', failed, now, id)
  remove(id, lane, check)
end

function settle.released(lane, claim, milliseconds)
  if redis.call('HGET', claims, lane) == claim then
    free(box, lane, milliseconds)
  end
end

for _, result in ipairs(cmsgpack.unpack(ARGV[1])) do
  settle[result[1]](unpack(result, 2))
end
return refused
"""
)

# KEYS: outbox, lanes, claims, failed, failures; ARGV[1] what lists of alerts and ARGV[2] what sets
# of checks begin with, then of each alert its id, lane, check, and item as it begins anew. Returns
# how many were among the failed ones.
_RETRY = Script(
    LANES
    + """
local outbox, lanes, claims, failed, failures = unpack(KEYS)
local box = {lanes = lanes, claims = claims, alerts = ARGV[1], checks = ARGV[2]}
local time, again = redis.call('TIME'), 0
for i = 3, #ARGV, 4 do
  local id, lane, check, item = unpack(ARGV, i, i + 3)
  if redis.call('HDEL', failures, id) == 1 then
    redis.call('ZREM', failed, id)
    redis.call('HSET', outbox, id, item)
    enqueue(box, lane, check, id, time[1] * 1000000 + time[2] + i)
    if redis.call('HEXISTS', claims, lane) == 0 then redis.call('ZADD', lanes, 0, lane) end
    again = again + 1
  end
end
return again
"""
)


def delivered(item: Item, message: Message, answer: str, now: int) -> Outcome:
    fields: list[str | int] = ["delivered_at", now, "answer", answer, "tries", item.tries + 1]
    fields += ["subject", message.subject, "body", message.body[:BODY_MOST]]
    return ["delivered", item.id, item.lane, item.check, item.record, answer, fields]


def again(item: Item) -> Outcome:
    return ["again", item.id, item.encoded(), item.error]


def given_up(item: Item, event: CheckEvent | None) -> Outcome:
    raised = encode(event).decode() if event else ""
    names = [item.id, item.lane, item.check, item.record]
    return ["given_up", *names, item.encoded(), item.error, raised]


def unreadable(lane: str, one: Unreadable, now: int) -> Outcome:
    kept = Unfit.of(one.raw, f"this is no alert: {one.error}", now)
    return ["unreadable", one.id, lane, one.check, kept.encoded()]


def released(lane: str, claim: str, seconds: float) -> Outcome:
    """The end of a claim; the lane may be claimed again after `seconds`."""
    return ["released", lane, claim, round(seconds * 1000)]


def gateway_event(medium: str, state: str, summary: str, now: int) -> CheckEvent:
    """The check event about a medium itself, notified at once: there may be no second one."""
    return CheckEvent(
        type="service",
        state="ok" if state == "ok" else "critical",
        entity="watchbell",
        check=f"gateway {medium}",
        summary=summary,
        time=now,
        initial_failure_delay=0,
    )


async def settle(
    store: Store, medium: str, outcomes: Sequence[Outcome], now: int, forget: int
) -> list[str]:
    """Writes outcomes, and drops failures from before `forget`; what the store refused of it."""
    keys, alerting = Gateways(store.prefix), Alerting(store.prefix)
    names = [
        *(keys.outbox(medium), keys.lanes(medium), keys.claims(medium)),
        *(keys.failed(medium), keys.failures(medium), keys.status(medium)),
        alerting.events(),
    ]
    well = encode(gateway_event(medium, "ok", "messages are delivered again", now))
    args: list[Argument] = [msgspec.msgpack.encode(outcomes), now, forget, well]
    args += [keys.alerts(medium, ""), keys.checks(medium, ""), alerting.alert("")]
    refused = await patiently(lambda: _SETTLE(store, names, args))
    return [one.decode(errors="replace") for one in refused]


async def retry(store: Store, medium: str, items: Iterable[Item], now: float) -> int:
    """Sends again what was given up; returns how many items there were to send."""
    keys = Gateways(store.prefix)
    args: list[Argument] = [keys.alerts(medium, ""), keys.checks(medium, "")]
    for item in items:
        args += [item.id, item.lane, item.check, item.restarted(now).encoded()]
    names = [keys.outbox(medium), keys.lanes(medium), keys.claims(medium)]
    names += [keys.failed(medium), keys.failures(medium)]
    return int(await _RETRY(store, names, args))
