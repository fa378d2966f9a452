"""The outbox of a medium: alerts on their way, each in the lane of its address, until the server
has taken them or they are given up."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from watchbell.alerting import foreign
from watchbell.alerting.event import encode
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert, CheckEvent
from watchbell.gateways.keys import Gateways
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.effects import Effects
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.script import Script

LEASE = 15.0
"""Seconds for which a lane is ours without a word."""
_BODY_MOST = 4_000
_CRITICAL_AHEAD, _PROBLEM_AHEAD = 86_400, 600
_ORDER = ("address",)
"""Alerts for one address are admitted in their order, also by several processes side by side and
after one died with some in hand: its lane then holds a problem before its recovery."""

LANES = """
-- An alert joins those of its check, and its check moves as far ahead as the alert's score says.
local function enqueue(box, lane, check, id, score)
  redis.call('RPUSH', box.alerts .. check, id)
  redis.call('ZADD', box.checks .. lane, 'LT', score, check)
end

local function dequeue(box, lane, check, id)
  redis.call('LREM', box.alerts .. check, 1, id)
  if redis.call('EXISTS', box.alerts .. check) == 0 then
    redis.call('ZREM', box.checks .. lane, check)
  end
end

-- Ends a claim: the lane is due after so many milliseconds, or gone where nothing waits in it. One
-- with a critical alert goes before all others that are due: its score is that of a day ago.
local function free(box, lane, milliseconds)
  redis.call('HDEL', box.claims, lane)
  local first = redis.call('ZRANGE', box.checks .. lane, 0, 0, 'WITHSCORES')
  if not first[1] then
    redis.call('ZREM', box.lanes, lane)
    return
  end
  local time = redis.call('TIME')
  local due = time[1] * 1000 + math.floor(time[2] / 1000) + milliseconds
  local is_urgent = milliseconds == 0 and first[2] / 1000 < due - 43200000
  redis.call('ZADD', box.lanes, is_urgent and due - 86400000 or due, lane)
end
"""
"""Lua over `box`: the keys `lanes` and `claims`, and what `alerts` and `checks` begin with."""

# ARGV[1] msgpack: alerts, each its id, lane, check, seconds that it goes ahead, and item; ARGV[2]
# items that are no alerts, each its id and record; ARGV[3] seconds; ARGV[4…] outbox, failed,
# failures, lanes, claims, what lists of alerts, sets of checks and records of alerts begin with.
# An alert that is on its way already, or whose record says that a server took it, is dropped.
_ADMIT = Effects(
    LANES
    + """
local alerts, unfit = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local outbox, failed, failures, record = ARGV[4], ARGV[5], ARGV[6], ARGV[11]
local box = {lanes = ARGV[7], claims = ARGV[8], alerts = ARGV[9], checks = ARGV[10]}
local time = redis.call('TIME')
local now, admitted = time[1] * 1000 + math.floor(time[2] / 1000), 0

-- A lane that is neither claimed nor resting goes ahead with its alert.
local function advance(lane, seconds)
  local due = redis.call('ZSCORE', box.lanes, lane)
  local ahead = now - (seconds >= 43200 and seconds * 1000 or 0)
  if not due or tonumber(due) <= now and redis.call('HEXISTS', box.claims, lane) == 0 then
    redis.call('ZADD', box.lanes, 'LT', ahead, lane)
  end
end

for i = 1, #alerts, 5 do
  local id, lane, check, seconds, item = unpack(alerts, i, i + 4)
  if redis.pcall('HEXISTS', record .. id, 'delivered_at') ~= 1
      and redis.call('HEXISTS', outbox, id) == 0 then
    enqueue(box, lane, check, id, time[1] * 1000000 + time[2] + i - seconds * 1000000)
    advance(lane, seconds)
    redis.call('HSET', outbox, id, item)
    admitted = admitted + 1
  end
end
for i = 1, #unfit, 2 do
  redis.call('HSET', failures, unfit[i], unfit[i + 1])
  redis.call('ZADD', failed, ARGV[3], unfit[i])
end
return admitted
"""
)

# ARGV[1] msgpack: results; ARGV[2] seconds; ARGV[3] seconds before which failures are forgotten;
# ARGV[4] the event that reports that the medium works again; ARGV[5…] what lists of alerts, sets of
# checks and records of alerts begin with. KEYS: outbox, lanes, claims, failed, failures, status,
# events.
# An alert that is no longer in the outbox was settled before, so a repeated call does nothing more.
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

local function record(id, fields)
  if redis.call('EXISTS', alert_of .. id) == 1 then
    note('HSET', alert_of .. id, unpack(fields))
  end
end

local settle = {}

function settle.delivered(id, lane, check, answer, fields)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  remove(id, lane, check)
  record(id, fields)
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

function settle.given_up(id, lane, check, item, reason, event)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', failures, id, item)
  redis.call('ZADD', failed, now, id)
  remove(id, lane, check)
  record(id, {'failed_at', now, 'error', reason})
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

function settle.unreadable(id, lane, check, record)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', failures, id, record)
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


class Item(Struct, kw_only=True, omit_defaults=True):
    """An alert on its way."""

    alert: Alert
    since: float
    """When it came to us; from then on it counts until it is given up."""
    tries: int = 0
    due: float = 0
    error: str = ""

    @property
    def lane(self) -> str:
        return lane_of(self.alert.address)

    @property
    def check(self) -> str:
        return check_of(self.lane, self.alert.event_id)

    @property
    def ahead(self) -> int:
        """Seconds of waiting that it is given on its way in: nothing waits for ever, and what
        nobody knows yet overtakes the rest. A summary stays behind the one before it."""
        if self.alert.notification_type != "problem" or self.alert.rollup is not None:
            return 0
        return _CRITICAL_AHEAD if self.alert.state == "critical" else _PROBLEM_AHEAD


class Unfit(Struct, kw_only=True):
    """Something on the queue that is no alert, as it lies among the failed ones."""

    since: float
    error: str
    raw: str

    @classmethod
    def of(cls, raw: bytes, error: str, now: float) -> "Unfit":
        return cls(since=now, error=error, raw=raw[:_BODY_MOST].decode(errors="replace"))


class Unreadable(Struct, frozen=True):
    """Something in the outbox that can't be read as an alert."""

    id: str
    check: str
    raw: bytes
    error: str


Result = list[str | int | list[str | int]]


def lane_of(address: str) -> str:
    return hashlib.sha256(address.encode(errors="surrogatepass")).hexdigest()[:16]


def check_of(lane: str, event_id: str) -> str:
    """What names the alerts of one check to one address; scripts know how it is made."""
    digest = hashlib.sha1(event_id.encode(errors="surrogatepass"), usedforsecurity=False)
    return f"{lane}-{digest.hexdigest()[:16]}"


def delivered(item: Item, answer: str, subject: str, body: str, now: int) -> Result:
    fields: list[str | int] = ["delivered_at", now, "answer", answer, "tries", item.tries + 1]
    fields += ["subject", subject, "body", body[:_BODY_MOST]]
    return ["delivered", item.alert.id, item.lane, item.check, answer, fields]


def again(item: Item) -> Result:
    return ["again", item.alert.id, _text(item), item.error]


def given_up(item: Item, event: CheckEvent | None) -> Result:
    raised = encode(event).decode() if event else ""
    return ["given_up", item.alert.id, item.lane, item.check, _text(item), item.error, raised]


def unreadable(lane: str, one: Unreadable, now: int) -> Result:
    record = _text(Unfit.of(one.raw, f"this is no alert: {one.error}", now))
    return ["unreadable", one.id, lane, one.check, record]


def released(lane: str, claim: str, seconds: float) -> Result:
    """A claim that ends; the lane may be claimed again after `seconds`."""
    return ["released", lane, claim, round(seconds * 1000)]


class Outbox:
    def __init__(self, store: Store, medium: str, lease: float = LEASE) -> None:
        self._store, self.medium, self.lease = store, medium, lease
        self._keys, self._alerting = Gateways(store.prefix), Alerting(store.prefix)
        queue = Queue(key=self._alerting.queue(medium), side="LEFT", order_by=_ORDER)
        self.taker = Taker(store, queue, lease=lease)
        self._begin = [self._keys.alerts(medium, ""), self._keys.checks(medium, "")]
        self._begin.append(self._alerting.alert(""))

    async def admit(self, batch: Batch, now: float) -> int:
        """Moves a batch from the queue into the lanes; LeaseLost where it went back."""
        alerts: list[str | int] = []
        unfit: list[str] = []
        for raw in batch.items:
            try:
                alert = foreign.alert(raw, self.medium, _digest(raw))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                unfit += [_digest(raw), _text(Unfit.of(raw, f"this is no alert: {error}", now))]
            else:
                item = Item(alert=alert, since=now)
                alerts += [alert.id, item.lane, item.check, item.ahead, _text(item)]
        keys, medium = self._keys, self.medium
        names = [keys.outbox(medium), keys.failed(medium), keys.failures(medium)]
        names += [keys.lanes(medium), keys.claims(medium), *self._begin]
        args: list[Argument] = [_packed(alerts), _packed(unfit), int(now), *names]
        return int(await self.taker.acknowledge(batch, _ADMIT, [], args) or 0)

    async def settle(self, results: Sequence[Result], now: int, forget: int) -> list[str]:
        """Writes what became of alerts and lanes, all together; what of it the store refused."""
        keys, medium = self._keys, self.medium
        names = [
            *(keys.outbox(medium), keys.lanes(medium), keys.claims(medium)),
            *(keys.failed(medium), keys.failures(medium), keys.status(medium)),
            self._alerting.events(),
        ]
        well = encode(told(medium, "ok", "messages are delivered again", now))
        args: list[Argument] = [_packed(results), now, forget, well, *self._begin]
        refused = await patiently(lambda: _SETTLE(self._store, names, args))
        return [one.decode(errors="replace") for one in refused]

    async def retry(self, items: Iterable[Item], now: float) -> int:
        """Sends again what was given up; how many there were to send."""
        args: list[Argument] = [*self._begin[:2]]
        for item in items:
            fresh = Item(alert=item.alert, since=now)
            args += [item.alert.id, item.lane, item.check, _text(fresh)]
        keys, medium = self._keys, self.medium
        names = [keys.outbox(medium), keys.lanes(medium), keys.claims(medium)]
        names += [keys.failed(medium), keys.failures(medium)]
        return int(await _RETRY(self._store, names, args))

    async def beat(self, words: str, now: int) -> None:
        """Says how this process fares with the medium."""
        status = self._keys.status(self.medium)
        await self._store.call("HSET", status, "seen", now, "state", words)


def told(medium: str, state: str, summary: str, now: int) -> CheckEvent:
    """The check event about a medium itself. It is told at once: there may be no second one."""
    return CheckEvent(
        type="service",
        state="ok" if state == "ok" else "critical",
        entity="watchbell",
        check=f"gateway {medium}",
        summary=summary,
        time=now,
        initial_failure_delay=0,
    )


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:32]


def _text(value: Item | Unfit) -> str:
    return msgspec.json.encode(value).decode()


_packed = msgspec.msgpack.encode
