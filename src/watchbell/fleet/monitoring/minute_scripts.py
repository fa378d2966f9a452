"""The scripts of minute samples: what is known of their servers, and what a batch writes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.fleet import records
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.fleet.monitoring import snoozes
from watchbell.fleet.monitoring.buckets import LUA_SLOT, RINGS, SIZE, SLOT
from watchbell.fleet.monitoring.judgement import Facts, Verdict
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.fleet.monitoring.transitions import Active, Change, field
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.replies import pairs
from watchbell.store.script import RAISE_NOT_NOW, READ, Script

SERIES_KEPT = 400 * 86_400
"""Seconds after its last value when a series is forgotten."""

# KEYS servers, monitoring, active alerts, snoozes; ARGV[1] msgpack: servers, ARGV[2] msgpack: ids
# of alert definitions. Returns the snoozes, and for each server its record, its state and its
# active alerts in the order of the definitions.
_LOAD = Script(
    READ
    + """
local alerts, found = cmsgpack.unpack(ARGV[2]), {}
for i, server in ipairs(cmsgpack.unpack(ARGV[1])) do
  local fields, active = {}, {}
  for n, alert in ipairs(alerts) do fields[n] = server .. ':' .. alert end
  for first = 1, #fields, 1000 do
    local last = math.min(first + 999, #fields)
    local some = read('HMGET', KEYS[3], unpack(fields, first, last)) or {}
    for n = first, last do active[n] = some[n - first + 1] or false end
  end
  found[i] = {read('HGET', KEYS[1], server), read('HGET', KEYS[2], server), active}
end
return {read('HGETALL', KEYS[4]) or {}, found}
"""
)

_SERIES = (
    "local rings, whole, width = {"
    + ", ".join(f"{{{one.step}, {one.slots}, {one.place}}}" for one in RINGS.values())
    + f"}}, {SIZE}, {SLOT}\n"
    + f"local form, kept = '{LUA_SLOT}', {SERIES_KEPT}\n"
    + """
-- Adds a value to a series, unless there is one of this minute.
local function add(key, at, value)
  for i, ring in ipairs(rings) do
    local bucket = math.floor(at / ring[1])
    local place = ring[3] + bucket % ring[2] * width
    local text = redis.call('GETRANGE', key, place, place + width - 1)
    local count, sum = 0, 0
    if #text == width then
      local its_bucket, its_count, its_sum = struct.unpack(form, text)
      if its_bucket == bucket and its_count > 0 then
        if i == 1 then return end
        count, sum = its_count, its_sum
      end
    elseif i == 1 then
      redis.call('SETRANGE', key, whole - 1, '\\0')  -- at once as long as it will ever be
    end
    if count == 0 and i >= 3 then redis.call('EXPIRE', key, kept) end
    if count < 65535 then
      redis.call('SETRANGE', key, place, struct.pack(form, bucket, count + 1, sum + value))
    end
  end
end
"""
)

# Needs active, alerts, events, unreported, actions, own, and batch.alert and batch.alerts_by.
# `change(one)` writes one change of an alert, as `_packed_change` gives it.
_CHANGE = (
    RAISE_NOT_NOW
    + REPORT
    + """
local refused = {}
local function try(name, attempt, ...)
  local is_done, problem = pcall(attempt, ...)
  if is_done then return true end
  local answer = type(problem) == 'table' and problem or {err = tostring(problem)}
  raise_not_now(answer)
  refused[#refused + 1] = name .. ': ' .. answer.err
  return false
end

-- Where it can't be known that an alert is active, nothing else is written: it would be new again
-- with each sample.
local function change(one)
  local field, kept, id, fields, date, indexes, check, event, item = unpack(one)
  if kept == '' then
    redis.call('HDEL', active, field)
  else
    redis.call('HSET', active, field, kept)
  end
  try(id, redis.call, 'HSET', batch.alert .. id, unpack(fields))
  try(id, redis.call, 'ZADD', alerts, date, id)
  for _, index in ipairs(indexes) do
    try(id, redis.call, 'ZADD', batch.alerts_by .. index, date, id)
  end
  if check ~= '' then try(id, report, check, event) end
  if item ~= '' then try(id, redis.call, 'RPUSH', actions, item) end
end
"""
)

# KEYS monitoring, active alerts, alerts, monitor errors, alert errors, events of alerting,
# unreported, actions. ARGV[1] msgpack:
# - most_events; series, alert, alerts_by: what such keys begin with
# - errors: two tables of texts by definition, of monitors and alerts
# - servers, each {id, state as it was read, new state, time, series, alerts as they were read,
#   changes}; series {monitor, value}; alerts {field, text}; changes {field, what is kept while it
#   is active or '', id, fields of the record, date, indexes, check or '', event, action item or ''}
# A server of which something is not as it was read is left as it is. Returns whether each was
# written, and what the store refused because of a key that another program spoiled.
_APPLY = Script(
    """
local monitoring, active, alerts, monitor_errors, alert_errors, events, unreported, actions =
  unpack(KEYS)
local batch = cmsgpack.unpack(ARGV[1])
local own = {most_events = batch.most_events}
"""
    + _CHANGE
    + _SERIES
    + """
local function text(...)
  local answer = redis.pcall(...)
  return type(answer) == 'string' and answer or ''
end

local function write(server)
  local id, known, new, at, series, seen, changes = unpack(server)
  if text('HGET', monitoring, id) ~= known then return 0 end
  for _, one in ipairs(seen) do
    if text('HGET', active, one[1]) ~= one[2] then return 0 end
  end
  try(id, redis.call, 'HSET', monitoring, id, new)
  for _, one in ipairs(series) do
    try(one[1], add, batch.series .. id .. ':' .. one[1], at, one[2])
  end
  for _, one in ipairs(changes) do try(id, change, one) end
  return 1
end

local written = {}
for i, server in ipairs(batch.servers) do written[i] = write(server) end
for name, reason in pairs(batch.errors[1]) do
  try(name, redis.call, 'HSET', monitor_errors, name, reason)
end
for name, reason in pairs(batch.errors[2]) do
  try(name, redis.call, 'HSET', alert_errors, name, reason)
end
return {written, refused}
"""
)

# KEYS active alerts, alerts, events of alerting, unreported, actions; ARGV[1] msgpack: most_events,
# alert and alerts_by as above, and changes, each {what is kept as it was read, change}. Returns how
# many were written.
_CLOSE = Script(
    """
local active, alerts, events, unreported, actions = unpack(KEYS)
local batch = cmsgpack.unpack(ARGV[1])
local own = {most_events = batch.most_events}
"""
    + _CHANGE
    + """
local count = 0
for _, one in ipairs(batch.changes) do
  local known, new = unpack(one)
  if redis.call('HGET', active, new[1]) == known and try(new[3], change, new) then
    count = count + 1
  end
end
return count
"""
)


class Outlets(Struct, frozen=True):
    """Where alerts go: keys of whoever calls, and a limit."""

    actions: str
    """The queue of actions."""
    unreported: str
    """The hash of check events that are held back."""
    most_events: int


class Loaded(Struct, frozen=True):
    facts: Facts
    state: bytes
    """As it was read."""
    active: Mapping[str, bytes]
    """Active alerts as they were read, by definition; empty where there is none."""


async def load(store: Store, servers: Sequence[str], alerts: Sequence[str]) -> dict[str, Loaded]:
    """What is known of each server; one that has no record is left out."""
    keys = Fleet(store.prefix)
    names = [keys.servers(), keys.monitoring(), keys.active_alerts(), keys.alert_snoozes()]
    packed = [msgspec.msgpack.encode(list(one)) for one in (servers, alerts)]
    fields, found = await _LOAD(store, names, packed)
    snoozed = snoozes.parsed(dict(pairs(fields)))
    known = {}
    for id_, (record, state, active) in zip(servers, found, strict=True):
        server = records.parsed(Server, record) if record else None
        if server is None:
            continue
        texts = {name: text or b"" for name, text in zip(alerts, active, strict=True)}
        facts = Facts(
            server=server,
            state=state_of(state),
            active={name: one for name, text in texts.items() if (one := active_of(text))},
            snoozes=snoozed,
        )
        known[id_] = Loaded(facts, state or b"", texts)
    return known


def state_of(raw: bytes | None) -> MonitorState:
    """Of a server without samples, or whose state another program spoiled: nothing is known."""
    try:
        return msgspec.json.decode(raw, type=MonitorState) if raw else MonitorState()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return MonitorState()


def active_of(raw: bytes) -> Active | None:
    try:
        return msgspec.json.decode(raw, type=Active) if raw else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Written(Struct, frozen=True):
    done: tuple[str, ...]
    """Servers that were written; of the others, something had changed meanwhile."""
    refused: tuple[str, ...]


Errors = Mapping[str, bytes]


async def apply(
    store: Store,
    packed: Mapping[str, msgspec.Raw],
    errors: tuple[Errors, Errors],
    outlets: Outlets,
) -> Written:
    """Writes what follows from samples, each as `pack` gives it, and each whole. May be repeated:
    then nothing is as it was read."""
    keys = Fleet(store.prefix)
    names = [
        *(keys.monitoring(), keys.active_alerts(), keys.alerts(), keys.monitor_errors()),
        *(keys.alert_errors(), Alerting(store.prefix).events(), outlets.unreported),
        outlets.actions,
    ]
    batch = {
        **_beginnings(keys),
        "most_events": outlets.most_events,
        "errors": [{name: verbatim(text) for name, text in one.items()} for one in errors],
        "servers": list(packed.values()),
    }
    written, refused = await _APPLY(store, names, [msgspec.msgpack.encode(batch)])
    done = [server for server, is_done in zip(packed, written, strict=True) if is_done]
    return Written(tuple(done), tuple(one.decode(errors="replace") for one in refused))


async def close(store: Store, changes: Sequence[tuple[bytes, Change]], outlets: Outlets) -> int:
    """Ends alerts, each with its text as it was read. Returns how many."""
    keys = Fleet(store.prefix)
    names = [keys.active_alerts(), keys.alerts(), Alerting(store.prefix).events()]
    names += [outlets.unreported, outlets.actions]
    packed = [[verbatim(text), _packed_change(change)] for text, change in changes]
    batch = {**_beginnings(keys), "most_events": outlets.most_events, "changes": packed}
    return int(await _CLOSE(store, names, [msgspec.msgpack.encode(batch)]))


def _beginnings(keys: Fleet) -> dict[str, str]:
    return {
        "series": keys.series.literals[0],
        "alert": keys.alert.literals[0],
        "alerts_by": keys.alerts_by.literals[0],
    }


def pack(server: str, loaded: Loaded, verdict: Verdict) -> msgspec.Raw:
    """What is written for one server."""
    state = verdict.state
    assert state is not None
    item = [
        server,
        verbatim(loaded.state),
        verbatim(msgspec.json.encode(state)),
        state.at,
        verdict.series,
        [[field(server, name), verbatim(text)] for name, text in loaded.active.items()],
        [_packed_change(one) for one in verdict.changes],
    ]
    return msgspec.Raw(msgspec.msgpack.encode(item))


def _packed_change(one: Change) -> list[Any]:
    kept = b"" if one.is_over else msgspec.json.encode(one.active)
    return [
        one.field,
        verbatim(kept),
        one.active.id,
        [verbatim(part) for part in one.fields],
        one.active.date,
        one.indexes,
        one.report.check if one.report else "",
        verbatim(one.report.event if one.report else b""),
        verbatim(one.item),
    ]
