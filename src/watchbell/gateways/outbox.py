"""The outbox of a medium: alerts on their way, each in the lane of its address, until the server
has taken them or they are given up."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from watchbell import ids
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
  if redis.call('HEXISTS', alert .. id, 'delivered_at') == 0
      and redis.call('HSETNX', outbox, id, alerts[i + 2]) == 1 then
    redis.call('RPUSH', lane .. alerts[i + 1], id)
    redis.call('ZADD', lanes, 'NX', time[1] * 1000 + math.floor(time[2] / 1000), alerts[i + 1])
    admitted = admitted + 1
  end
end
for i = 1, #unfit, 2 do
  redis.call('HSET', failures, unfit[i], unfit[i + 1])
  redis.call('ZADD', failed, ARGV[3], unfit[i])
end
return admitted
""")

# KEYS[1] lanes, KEYS[2] outbox, KEYS[3] claims; ARGV[1] token, ARGV[2] ms of the lease,
# ARGV[3] most lanes, ARGV[4] most alerts of each, ARGV[5] what lanes begin with.
# Returns ms until the next lane is due (-1 for none), then each lane and its items.
_CLAIM = Script("""
local lanes, outbox, claims = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = {}
for _, lane in ipairs(redis.call('ZRANGEBYSCORE', lanes, '-inf', now, 'LIMIT', 0, ARGV[3])) do
  local waiting = redis.call('LRANGE', ARGV[5] .. lane, 0, ARGV[4] - 1)
  local items = {}
  for i, item in ipairs(#waiting > 0 and redis.call('HMGET', outbox, unpack(waiting)) or {}) do
    if item then
      items[#items + 1] = item
    else
      redis.call('LREM', ARGV[5] .. lane, 1, waiting[i])
    end
  end
  if #waiting == 0 then
    redis.call('ZREM', lanes, lane)
    redis.call('HDEL', claims, lane)
  else
    redis.call('ZADD', lanes, now + ARGV[2], lane)
    redis.call('HSET', claims, lane, ARGV[1])
    found[#found + 1] = lane
    found[#found + 1] = items
  end
end
local first = redis.call('ZRANGE', lanes, 0, 0, 'WITHSCORES')
return {first[2] and math.max(0, first[2] - now) or -1, unpack(found)}
""")

# KEYS[1] lanes, KEYS[2] claims; ARGV[1] token, ARGV[2] ms of the lease, ARGV[3…] lanes.
_EXTEND = Script("""
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
for i = 3, #ARGV do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[1] then
    redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[i])
  end
end
""")

# ARGV[1] msgpack: results; ARGV[2] token; ARGV[3] seconds; ARGV[4] seconds before which failures
# are forgotten; ARGV[5] the event that tells that the medium works again; ARGV[6…] what lanes and
# alerts begin with. KEYS: outbox, lanes, claims, failed, failures, status, events.
# An alert that is no longer in the outbox was settled before, so a repeated call does nothing more.
_SETTLE = Script("""
local outbox, lanes, claims, failed, failures, status, events = unpack(KEYS)
local token, now, lane_of, alert_of = ARGV[2], ARGV[3], ARGV[6], ARGV[7]

local function removed(id, lane)
  if redis.call('HDEL', outbox, id) == 0 then return false end
  redis.call('LREM', lane_of .. lane, 1, id)
  return true
end

local function record(id, fields)
  if redis.call('EXISTS', alert_of .. id) == 1 then
    redis.call('HSET', alert_of .. id, unpack(fields))
  end
end

local settle = {}

function settle.delivered(id, lane, answer, fields)
  if not removed(id, lane) then return end
  record(id, fields)
  redis.call('HSET', status, 'last_success', now, 'last_answer', answer)
  redis.call('HINCRBY', status, 'delivered', 1)
  if redis.call('HDEL', status, 'failing') == 1 then redis.call('LPUSH', events, ARGV[5]) end
end

function settle.again(id, lane, item, reason)
  if redis.call('HEXISTS', outbox, id) == 0 then return end
  redis.call('HSET', outbox, id, item)
  redis.call('HSET', status, 'last_failure', now, 'last_error', reason)
  redis.call('HINCRBY', status, 'retried', 1)
end

function settle.given_up(id, lane, item, reason, event)
  if not removed(id, lane) then return end
  redis.call('HSET', failures, id, item)
  redis.call('ZADD', failed, now, id)
  record(id, {'failed_at', now, 'error', reason})
  redis.call('HSET', status, 'last_failure', now, 'last_error', reason)
  redis.call('HINCRBY', status, 'given_up', 1)
  if event ~= '' then
    redis.call('HSET', status, 'failing', 1)
    redis.call('LPUSH', events, event)
  end
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', failed, '-inf', ARGV[4], 'LIMIT', 0, 100)) do
    redis.call('ZREM', failed, old)
    redis.call('HDEL', failures, old)
  end
end

function settle.released(lane, milliseconds)
  if redis.call('HGET', claims, lane) ~= token then return end
  redis.call('HDEL', claims, lane)
  if redis.call('LLEN', lane_of .. lane) == 0 then
    redis.call('ZREM', lanes, lane)
  else
    local time = redis.call('TIME')
    local due = time[1] * 1000 + math.floor(time[2] / 1000) + milliseconds
    redis.call('ZADD', lanes, due, lane)
  end
end

for _, result in ipairs(cmsgpack.unpack(ARGV[1])) do
  settle[result[1]](unpack(result, 2))
end
""")

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


class Claim(Struct, frozen=True):
    lane: str
    items: list[Item]

    @property
    def failed_before(self) -> bool:
        return any(item.tries for item in self.items)


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


def released(lane: str, seconds: float) -> Result:
    return ["released", lane, round(seconds * 1000)]


class Outbox:
    def __init__(self, store: Store, medium: str, lease: float = LEASE) -> None:
        self._store, self.medium, self.lease = store, medium, lease
        self._token = ids.token()
        self._keys, self._alerting = Gateways(store.prefix), Alerting(store.prefix)
        queue = Queue(key=self._alerting.queue(medium), side="LEFT")
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

    async def claim(self, lanes: int, depth: int) -> tuple[list[Claim], float | None]:
        """Lanes that are due, and the seconds until the next one is."""
        keys, medium = self._keys, self.medium
        names = [keys.lanes(medium), keys.outbox(medium), keys.claims(medium)]
        args: list[Argument] = [self._token, round(self.lease * 1000), lanes, depth, self._lane]
        wait, *found = await _CLAIM(self._store, names, args)
        claims = [
            Claim(lane.decode(), [msgspec.json.decode(item, type=Item) for item in items])
            for lane, items in zip(found[::2], found[1::2], strict=True)
        ]
        return claims, None if wait < 0 else wait / 1000

    async def extend(self, lanes: Sequence[str]) -> None:
        names = [self._keys.lanes(self.medium), self._keys.claims(self.medium)]
        await _EXTEND(self._store, names, [self._token, round(self.lease * 1000), *lanes])

    async def settle(self, results: Sequence[Result], now: int, forget: int) -> None:
        """Writes what became of alerts and lanes, all together."""
        keys, medium = self._keys, self.medium
        names = [
            *(keys.outbox(medium), keys.lanes(medium), keys.claims(medium)),
            *(keys.failed(medium), keys.failures(medium), keys.status(medium)),
            self._alerting.events(),
        ]
        well = encode(told(medium, "ok", "messages are delivered again", now))
        args: list[Argument] = [_packed(results), self._token, now, forget, well]
        args += [self._lane, self._alert]
        await patiently(lambda: _SETTLE(self._store, names, args))

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
