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
from watchbell.store.queue import Batch, Effects, Queue, Taker
from watchbell.store.script import Script

LEASE = 15.0
"""Seconds for which a lane is ours without a word."""
_BODY_MOST = 4_000
_ORDER = ("address",)
"""Alerts for one address are admitted in their order, also by several processes side by side and
after one died with some in hand: its lane then holds a problem before its recovery."""

# ARGV[1] msgpack: alerts, each its id, lane and item; ARGV[2] items that are no alerts, each its id
# and record; ARGV[3] seconds; ARGV[4…] outbox, lanes, failed, failures, what lanes and alerts begin
# with. An alert that is on its way already, or whose record says that a server took it, is dropped.
_ADMIT = Effects("""
local alerts, unfit = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local outbox, lanes, failed, failures, lane, alert = unpack(ARGV, 4, 9)
local time = redis.call('TIME')
local admitted = 0
for i = 1, #alerts, 3 do
  local id = alerts[i]
  if redis.pcall('HEXISTS', alert .. id, 'delivered_at') ~= 1
      and redis.call('HEXISTS', outbox, id) == 0 then
    redis.call('RPUSH', lane .. alerts[i + 1], id)
    redis.call('ZADD', lanes, 'NX', time[1] * 1000 + math.floor(time[2] / 1000), alerts[i + 1])
    redis.call('HSET', outbox, id, alerts[i + 2])
    admitted = admitted + 1
  end
end
for i = 1, #unfit, 2 do
  redis.call('HSET', failures, unfit[i], unfit[i + 1])
  redis.call('ZADD', failed, ARGV[3], unfit[i])
end
return admitted
""")

FREE = """
-- Ends a claim: the lane is due after so many milliseconds, or gone where nothing waits in it.
local function free(lanes, claims, lane_of, lane, milliseconds)
  redis.call('HDEL', claims, lane)
  if redis.call('LLEN', lane_of .. lane) == 0 then
    redis.call('ZREM', lanes, lane)
  else
    local time = redis.call('TIME')
    local due = time[1] * 1000 + math.floor(time[2] / 1000) + milliseconds
    redis.call('ZADD', lanes, due, lane)
  end
end
"""

# ARGV[1] msgpack: results; ARGV[2] seconds; ARGV[3] seconds before which failures are forgotten;
# ARGV[4] the event that reports that the medium works again; ARGV[5…] what lanes and alerts begin
# with. KEYS: outbox, lanes, claims, failed, failures, status, events.
# An alert that is no longer in the outbox was settled before, so a repeated call does nothing more.
# What must not be lost is written first and may fail; of the rest the store's refusals are
# returned, and stop none of the other results.
_SETTLE = Script(
    FREE
    + """
local outbox, lanes, claims, failed, failures, status, events = unpack(KEYS)
local now, lane_of, alert_of = ARGV[2], ARGV[5], ARGV[6]
local refused = {}

local function note(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    refused[#refused + 1] = select(1, ...) .. ' ' .. select(2, ...) .. ': ' .. answer.err
  end
  return answer
end

local function remove(id, lane)
  redis.call('HDEL', outbox, id)
  redis.call('LREM', lane_of .. lane, 1, id)
end

local function record(id, fields)
  if redis.call('EXISTS', alert_of .. id) == 1 then
    note('HSET', alert_of .. id, unpack(fields))
  end
end

local settle = {}

function settle.delivered(id, lane, answer, fields)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  remove(id, lane)
  record(id, fields)
  note('HSET', status, 'last_success', now, 'last_answer', answer)
  note('HINCRBY', status, 'delivered', 1)
  if note('HDEL', status, 'failing') == 1 then note('LPUSH', events, ARGV[4]) end
end

function settle.again(id, lane, item, reason)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', outbox, id, item)
  note('HSET', status, 'last_failure', now, 'last_error', reason)
  note('HINCRBY', status, 'retried', 1)
end

function settle.given_up(id, lane, item, reason, event)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', failures, id, item)
  redis.call('ZADD', failed, now, id)
  remove(id, lane)
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

function settle.released(lane, claim, milliseconds)
  if redis.call('HGET', claims, lane) == claim then
    free(lanes, claims, lane_of, lane, milliseconds)
  end
end

for _, result in ipairs(cmsgpack.unpack(ARGV[1])) do
  settle[result[1]](unpack(result, 2))
end
return refused
"""
)

# KEYS: outbox, lanes, claims, failed, failures; ARGV[1] what lanes begin with, then of each alert
# its id, its lane and its item as it begins anew. Returns how many were among the failed ones.
_RETRY = Script("""
local outbox, lanes, claims, failed, failures = unpack(KEYS)
local again = 0
for i = 2, #ARGV, 3 do
  if redis.call('HDEL', failures, ARGV[i]) == 1 then
    redis.call('ZREM', failed, ARGV[i])
    redis.call('HSET', outbox, ARGV[i], ARGV[i + 2])
    redis.call('RPUSH', ARGV[1] .. ARGV[i + 1], ARGV[i])
    if redis.call('HEXISTS', claims, ARGV[i + 1]) == 0 then
      redis.call('ZADD', lanes, 0, ARGV[i + 1])
    end
    again = again + 1
  end
end
return again
""")


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


class Unfit(Struct, kw_only=True):
    """Something on the queue that is no alert, as it lies among the failed ones."""

    since: float
    error: str
    raw: str

    @classmethod
    def of(cls, raw: bytes, error: str, now: float) -> "Unfit":
        return cls(since=now, error=error, raw=raw[:_BODY_MOST].decode(errors="replace"))


Result = list[str | int | list[str | int]]


def lane_of(address: str) -> str:
    return hashlib.sha256(address.encode(errors="surrogatepass")).hexdigest()[:16]


def delivered(item: Item, answer: str, subject: str, body: str, now: int) -> Result:
    fields: list[str | int] = ["delivered_at", now, "answer", answer, "tries", item.tries + 1]
    fields += ["subject", subject, "body", body[:_BODY_MOST]]
    return ["delivered", item.alert.id, item.lane, answer, fields]


def again(item: Item) -> Result:
    return ["again", item.alert.id, item.lane, _text(item), item.error]


def given_up(item: Item, event: CheckEvent | None) -> Result:
    raised = encode(event).decode() if event else ""
    return ["given_up", item.alert.id, item.lane, _text(item), item.error, raised]


def released(lane: str, claim: str, seconds: float) -> Result:
    """A claim that ends; the lane may be claimed again after `seconds`."""
    return ["released", lane, claim, round(seconds * 1000)]


class Outbox:
    def __init__(self, store: Store, medium: str, lease: float = LEASE) -> None:
        self._store, self.medium, self.lease = store, medium, lease
        self._keys, self._alerting = Gateways(store.prefix), Alerting(store.prefix)
        queue = Queue(key=self._alerting.queue(medium), side="LEFT", order_by=_ORDER)
        self.taker = Taker(store, queue, lease=lease)
        self._lane = self._keys.lane(medium, "")
        self._alert = self._alerting.alert("")

    async def admit(self, batch: Batch, now: float) -> int:
        """Moves a batch from the queue into the lanes; LeaseLost where it went back."""
        alerts: list[str] = []
        unfit: list[str] = []
        for raw in batch.items:
            try:
                alert = foreign.alert(raw, self.medium, _digest(raw))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                unfit += [_digest(raw), _text(Unfit.of(raw, f"this is no alert: {error}", now))]
            else:
                item = Item(alert=alert, since=now)
                alerts += [item.alert.id, item.lane, _text(item)]
        keys, medium = self._keys, self.medium
        names = [keys.outbox(medium), keys.lanes(medium), keys.failed(medium)]
        names += [keys.failures(medium), self._lane, self._alert]
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
        args: list[Argument] = [_packed(results), now, forget, well]
        args += [self._lane, self._alert]
        refused = await patiently(lambda: _SETTLE(self._store, names, args))
        return [one.decode(errors="replace") for one in refused]

    async def retry(self, items: Iterable[Item], now: float) -> int:
        """Sends again what was given up; how many there were to send."""
        args: list[Argument] = [self._lane]
        for item in items:
            fresh = Item(alert=item.alert, since=now)
            args += [item.alert.id, item.lane, _text(fresh)]
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
