"""The outbox of a medium: what is on its way, each item in the lane of its address."""

import hashlib

import msgspec
from msgspec import Struct

from watchbell import logs
from watchbell.alerting import foreign, queued_records
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import Alert
from watchbell.alerting.record_lua import LIBRARY
from watchbell.gateways.keys import Gateways
from watchbell.gateways.message import Message
from watchbell.http.client import encoded
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.effects import Effects
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.script import Script

LEASE = 15.0
"""Seconds for which a claimed lane is ours without renewal."""
BODY_MOST = 4_000
"""Characters of a text that are recorded."""
_CRITICAL_AHEAD, _PROBLEM_AHEAD = 86_400, 600
_ORDER = ("address",)
"""Alerts for one address are admitted in order, also by several processes side by side and after
one died with some in hand: its lane then holds a problem before its recovery."""

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


class Item(Struct, kw_only=True, omit_defaults=True):
    """An alert, which is rendered when it is sent, or a ready-made message."""

    alert: Alert | None = None
    message: Message | None = None
    record: str = ""
    """The key of the hash in which the outcome of a message is recorded."""
    since: float
    """When it came in; it is given up a set time after that."""
    tries: int = 0
    due: float = 0
    error: str = ""

    def __post_init__(self) -> None:
        if (self.alert is None) == (self.message is None):
            raise ValueError("expected an alert or a message")

    @property
    def content(self) -> Alert | Message:
        found = self.message if self.alert is None else self.alert
        assert found is not None
        return found

    @property
    def id(self) -> str:
        return self.content.id

    @property
    def address(self) -> str:
        return self.content.address

    @property
    def topic(self) -> str:
        """What stays in order: the check of an alert, the topic of a message."""
        content = self.content
        return content.event_id if isinstance(content, Alert) else content.topic or content.id

    @property
    def lane(self) -> str:
        return lane_of(self.address)

    @property
    def check(self) -> str:
        return check_of(self.lane, self.topic)

    @property
    def ahead(self) -> int:
        """Seconds by which it goes before what came earlier: a new problem overtakes the rest, and
        nothing waits for ever. A rollup stays behind the one before it."""
        alert = self.alert
        if alert is None or alert.notification_type != "problem" or alert.rollup is not None:
            return 0
        return _CRITICAL_AHEAD if alert.state == "critical" else _PROBLEM_AHEAD

    def restarted(self, now: float) -> "Item":
        """As it was before the first attempt."""
        return Item(alert=self.alert, message=self.message, record=self.record, since=now)

    def encoded(self) -> str:
        return encoded(self).decode()


class Unfit(Struct, kw_only=True):
    """Something on the queue that is no alert, as it is kept among the failed ones."""

    since: float
    error: str
    raw: str

    @classmethod
    def of(cls, raw: bytes, error: str, now: float) -> "Unfit":
        return cls(since=now, error=error, raw=raw[:BODY_MOST].decode(errors="replace"))

    def encoded(self) -> str:
        return encoded(self).decode()


class Unreadable(Struct, frozen=True):
    """Something in the outbox that can't be read as an item."""

    id: str
    check: str
    raw: bytes
    error: str


def lane_of(address: str) -> str:
    return hashlib.sha256(address.encode(errors="surrogatepass")).hexdigest()[:16]


def check_of(lane: str, topic: str) -> str:
    """Names the items of one lane that stay in order; a script makes the same name."""
    digest = hashlib.sha1(topic.encode(errors="surrogatepass"), usedforsecurity=False)
    return f"{lane}-{digest.hexdigest()[:16]}"


# KEYS[1] the switch of records; ARGV[1] msgpack: alerts, each its id, lane, check, seconds that it
# goes ahead, and item; ARGV[2] items that are no alerts, each its id and record; ARGV[3] seconds;
# ARGV[4…] outbox, failed, failures, lanes, claims, what lists of alerts, sets of checks and records
# of alerts begin with; ARGV[12] msgpack: ids by which alerts were queued, whose records are
# removed. An alert that is on its way already, or whose record says that a server took it, is
# dropped. Returns how many were admitted, and what the store refused.
_ADMIT = Effects(
    LANES
    + LIBRARY
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
switch = KEYS[1]
return {admitted, consume('alerts', cmsgpack.unpack(ARGV[12]), {})}
"""
)

# KEYS: outbox, lanes, claims, record; ARGV[1] what lists of alerts and ARGV[2] what sets of checks
# begin with, ARGV[3…6] id, lane, check and item of a message, ARGV[7…] the fields of its record.
# Returns 0 where the record exists: the message was added before.
_ADD = Script(
    LANES
    + """
local outbox, lanes, claims, record = unpack(KEYS)
local box = {lanes = lanes, claims = claims, alerts = ARGV[1], checks = ARGV[2]}
local id, lane, check, item = unpack(ARGV, 3, 6)
if redis.call('EXISTS', record) == 1 or redis.call('HEXISTS', outbox, id) == 1 then return 0 end
local time = redis.call('TIME')
redis.call('HSET', record, unpack(ARGV, 7))
redis.call('HSET', outbox, id, item)
enqueue(box, lane, check, id, time[1] * 1000000 + time[2])
redis.call('ZADD', lanes, 'NX', time[1] * 1000 + math.floor(time[2] / 1000), lane)
return 1
"""
)


class Outbox:
    def __init__(self, store: Store, medium: str, lease: float = LEASE) -> None:
        self._store, self.medium, self.lease = store, medium, lease
        self._keys, alerting = Gateways(store.prefix), Alerting(store.prefix)
        own = AlertingOwn(store.prefix)
        queue = Queue(
            key=alerting.queue(medium), side="LEFT", order_by=_ORDER, payloads=own.payload("")
        )
        self._switch = own.records()
        self.taker = Taker(store, queue, lease=lease)
        self._prefixes = [self._keys.alerts(medium, ""), self._keys.checks(medium, "")]
        self._alert_prefix = alerting.alert("")

    async def admit(self, batch: Batch, now: float) -> int:
        """Moves a batch from the queue into the lanes; LeaseLost where it went back."""
        alerts: list[str | int] = []
        unfit: list[str] = []
        for raw in await patiently(lambda: queued_records.alerts(self._store, batch.items)):
            try:
                alert = foreign.alert(raw, self.medium, _digest(raw))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                unfit += [_digest(raw), Unfit.of(raw, f"this is no alert: {error}", now).encoded()]
            else:
                item = Item(alert=alert, since=now)
                alerts += [item.id, item.lane, item.check, item.ahead, item.encoded()]
        keys, medium = self._keys, self.medium
        names = [keys.outbox(medium), keys.failed(medium), keys.failures(medium)]
        names += [keys.lanes(medium), keys.claims(medium), *self._prefixes, self._alert_prefix]
        args: list[Argument] = [_packed(alerts), _packed(unfit), int(now), *names]
        args.append(_packed(queued_records.ids(batch.items)))
        answer = await self.taker.acknowledge(batch, _ADMIT, [self._switch], args)
        admitted, refused = answer or (0, ())
        for words in refused:
            logs.get(role="gateway").error("the store refused", command=words)
        return int(admitted)

    async def add(self, item: Item, fields: dict[str, str | int]) -> bool:
        """Puts a message into its lane and makes its record; False where that was done before."""
        keys, medium = self._keys, self.medium
        names = [keys.outbox(medium), keys.lanes(medium), keys.claims(medium), item.record]
        args: list[Argument] = [*self._prefixes, item.id, item.lane, item.check, item.encoded()]
        args += [word for pair in fields.items() for word in pair]
        return bool(await _ADD(self._store, names, args))

    async def report(self, words: str, now: int) -> None:
        """Records that this process serves the medium, and its state in words."""
        status = self._keys.status(self.medium)
        await self._store.call("HSET", status, "seen", now, "state", words)


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:32]


_packed = msgspec.msgpack.encode
