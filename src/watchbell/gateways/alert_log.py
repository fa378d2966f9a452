"""The log of alerts and their outcomes: searched newest first, and sent again."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert, NotificationType, split_id
from watchbell.errors import NotFound
from watchbell.gateways import outcomes
from watchbell.gateways.keys import Gateways
from watchbell.gateways.outbox import Item
from watchbell.store.client import Argument, Store
from watchbell.store.replies import number, pairs, text
from watchbell.store.script import READ, Script

Outcome = Literal["queued", "underway", "delivered", "failed"]

_FIELDS = (
    *("contact", "media", "address", "check", "type", "rollup", "state"),
    *("delivered_at", "failed_at", "tries", "answer", "error", "subject"),
)
_LOOKED_AT, _CALLS = 1_000, 10
"""Alerts that one call looks at, at the most, so that it holds up nobody else for long; and how
many calls are made to find what is wanted."""

# Uses `read`, and `outboxes` and `failures`, what stands around a medium's name in their keys.
# Returns what became of an alert, by its record, and whether it can be sent again.
_FATE = """
local function fate(id, medium, delivered, failed)
  if delivered then return 'delivered', 0 end
  local again = read('HEXISTS', failures[1] .. medium .. failures[2], id) or 0
  if read('HEXISTS', outboxes[1] .. medium .. outboxes[2], id) == 1 then return 'underway', 0 end
  return failed and 'failed' or 'queued', again
end
"""

# KEYS[1] index of alerts, by time; ARGV[1] msgpack: what alerts' keys begin with, what stands
# around a medium's name in the keys of outboxes and failures, the fields that are wanted; ARGV[2]
# earliest and ARGV[3] latest time; ARGV[4] the id after which it goes on, or '', ARGV[5] its time;
# ARGV[6] how many at most, ARGV[7] how many are looked at; ARGV[8…12] contact, medium, check, kind
# and outcome, each '' for any. Returns the id and time after which it goes on, or nothing, and of
# each alert: id, time, outcome, whether it can be sent again, values of the fields.
_FIND = Script(
    """
local alerts, outboxes, failures, wanted = unpack(cmsgpack.unpack(ARGV[1]))
local earliest, most, looks = tonumber(ARGV[2]), tonumber(ARGV[6]), tonumber(ARGV[7])
local contact, medium, check, kind, outcome = unpack(ARGV, 8, 12)
"""
    + READ
    + _FATE
    + """
local function fits(value, asked) return asked == '' or value == asked end

local rank = ARGV[4] ~= '' and read('ZREVRANK', KEYS[1], ARGV[4])
local from = ARGV[4] ~= '' and ARGV[5] or '(' .. ARGV[3]
local at = rank and rank + 1 or read('ZCOUNT', KEYS[1], from, '+inf') or 0

local found, last, over = {}, {}, false
while not over and #found < most and looks > 0 do
  local page = read('ZREVRANGE', KEYS[1], at, at + 99, 'WITHSCORES') or {}
  over = #page == 0
  for i = 1, #page, 2 do
    local id, time = page[i], page[i + 1]
    if tonumber(time) < earliest then over = true end
    if over or #found == most or looks == 0 then break end
    at, looks, last = at + 1, looks - 1, {id, time}
    local values = read('HMGET', alerts .. id, unpack(wanted))
    if values and values[2] and fits(values[1], contact) and fits(values[2], medium)
        and fits(values[4], check) and fits(values[5], kind) then
      local became, again = fate(id, values[2], values[8], values[9])
      if fits(became, outcome) then found[#found + 1] = {id, time, became, again, values} end
    end
  end
end
local rest = not over and read('ZREVRANGE', KEYS[1], at, at, 'WITHSCORES') or {}
if not rest[2] or tonumber(rest[2]) < earliest then last = {} end
return {last, found}
"""
)

# KEYS[1] alert; ARGV[1] its id, ARGV[2] msgpack: what stands around a medium's name in the keys of
# outboxes and failures. Returns outcome, whether it can be sent again, its item, all its fields.
_ONE = Script(
    """
local outboxes, failures = unpack(cmsgpack.unpack(ARGV[2]))
"""
    + READ
    + _FATE
    + """
local known = read('HMGET', KEYS[1], 'media', 'delivered_at', 'failed_at') or {}
if not known[1] then return false end
local became, again = fate(ARGV[1], known[1], known[2], known[3])
local box = again == 1 and failures or outboxes
local item = read('HGET', box[1] .. known[1] .. box[2], ARGV[1])
return {became, again, item, read('HGETALL', KEYS[1])}
"""
)


class AlertFilter(Struct, frozen=True, kw_only=True):
    """Conditions on alerts; empty for any."""

    contact: str = ""
    medium: str = ""
    check: str = ""
    kind: NotificationType | Literal[""] = ""
    outcome: Outcome | Literal[""] = ""
    start: int | None = None
    end: int | None = None


class Place(Struct, frozen=True):
    """The alert after which a list continues."""

    id: str
    time: int


class AlertRecord(Struct, frozen=True, kw_only=True):
    """An alert and its outcome. Times are seconds since 1970."""

    id: str
    time: int
    """When it was made."""
    outcome: Outcome
    """In the queue, in the gateway's outbox, accepted by the server, given up."""
    can_retry: bool
    contact: str = ""
    media: str = ""
    address: str = ""
    check: str = ""
    type: str = ""
    rollup: str = ""
    state: str = ""
    delivered_at: int | None = None
    failed_at: int | None = None
    tries: int | None = None
    answer: str = ""
    """The server's answer when it accepted the alert."""
    error: str = ""
    """Why it was last given up."""
    subject: str = ""


class SentMessage(Struct, frozen=True, kw_only=True):
    """An alert with its text, as far as it is known."""

    sent: AlertRecord
    body: str = ""
    """As it was sent, or the beginning of it."""
    summary: str = ""
    """The check's summary, as long as the alert is waiting or can be sent again."""
    details: str = ""
    problem: str = ""
    """Why the last attempt failed, as long as the alert is waiting."""


async def find(
    store: Store, wanted: AlertFilter, after: Place | None, limit: int
) -> tuple[list[AlertRecord], Place | None]:
    """Alerts, newest first, and the place after which the list continues.

    Fewer than the limit come where many had to be looked at; there may be more all the same.
    """
    found: list[AlertRecord] = []
    for _ in range(_CALLS):
        more, after = await _found(store, wanted, after, limit - len(found))
        found += more
        if after is None or len(found) == limit:
            break
    return found, after


async def _found(
    store: Store, wanted: AlertFilter, after: Place | None, limit: int
) -> tuple[list[AlertRecord], Place | None]:
    keys, boxes = Alerting(store.prefix), Gateways(store.prefix)
    literals = [keys.alert.literals[0], boxes.outbox.literals, boxes.failures.literals, _FIELDS]
    args: list[Argument] = [
        msgspec.msgpack.encode(literals),
        "-inf" if wanted.start is None else wanted.start,
        "+inf" if wanted.end is None else wanted.end,
        *(("", 0) if after is None else (after.id, after.time)),
        *(limit, _LOOKED_AT),
        *(wanted.contact, wanted.medium, wanted.check, wanted.kind, wanted.outcome),
    ]
    last, found = await _FIND(store, [_index(keys, wanted)], args)
    place = Place(text(last[0]), number(last[1]) or 0) if last else None
    return [_listed(*one) for one in found], place


def _index(keys: Alerting, wanted: AlertFilter) -> str:
    """The smallest index that contains all alerts that may match."""
    if wanted.check:
        return keys.alerts_by_check(*split_id(wanted.check))
    if wanted.contact and wanted.medium:
        return keys.alerts_by_medium(wanted.contact, wanted.medium)
    return keys.alerts_by_contact(wanted.contact) if wanted.contact else keys.alerts()


def _listed(
    name: bytes, time: bytes, outcome: bytes, again: int, values: Sequence[bytes | None]
) -> AlertRecord:
    known = {field: v for field, v in zip(_FIELDS, values, strict=True) if v is not None}
    return _sent(text(name), number(time) or 0, text(outcome), again, known)


def _sent(name: str, time: int, outcome: str, again: int, fields: dict[str, bytes]) -> AlertRecord:
    numbers = ("delivered_at", "failed_at", "tries")
    values: dict[str, Any] = {
        field: number(value) if field in numbers else text(value)
        for field, value in fields.items()
        if field in _FIELDS
    }
    became = cast("Outcome", outcome)
    return AlertRecord(id=name, time=time, outcome=became, can_retry=bool(again), **values)


async def one(store: Store, alert_id: str) -> SentMessage:
    boxes = Gateways(store.prefix)
    literals = msgspec.msgpack.encode([boxes.outbox.literals, boxes.failures.literals])
    found = await _ONE(store, [Alerting(store.prefix).alert(alert_id)], [alert_id, literals])
    if found is None:
        raise NotFound(f"there is no alert {alert_id[:80]}; it may be too old")
    outcome, again, raw, flat = found
    fields = {text(name): value for name, value in pairs(flat)}
    made = number(fields.get("timestamp")) or 0
    item = _item(raw)
    alert = item.alert if item else None
    return SentMessage(
        sent=_sent(alert_id, made, text(outcome), again, fields),
        body=text(fields.get("body", b"")),
        summary=(alert.summary if alert else None) or "",
        details=(alert.details if alert else None) or "",
        problem=item.error if item and not again else "",
    )


def _item(raw: bytes | None) -> Item | None:
    try:
        return None if raw is None else msgspec.json.decode(raw, type=Item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


async def retry(store: Store, alert_id: str, now: float) -> Alert:
    """Sends an alert that was given up again."""
    keys = Alerting(store.prefix)
    medium = await store.call("HGET", keys.alert(alert_id), "media")
    failures = Gateways(store.prefix).failures(text(medium or b""))
    item = _item(await store.call("HGET", failures, alert_id)) if medium else None
    alert = item.alert if item else None
    if item is None or alert is None or not await outcomes.retry(store, text(medium), [item], now):
        raise NotFound(f"no alert {alert_id[:80]} was given up")
    return alert
