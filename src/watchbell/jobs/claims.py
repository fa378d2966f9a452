"""Claims fires of events, so that each launches its jobs once, whichever conductor is first."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from watchbell.jobs import launches
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import LAUNCH, Outcome
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

MOST_AHEAD = 2 * 3_600
"""Seconds by which a cursor may be ahead of the store's clock. After that clock was set back by an
hour, the minutes of that hour are not run again. A cursor further ahead would stop its event for
too long, so the event continues from the present."""

LAUNCHED, PASSED, GONE, STALE, COUNTED, SPENT, LIMITED = range(7)
"""What became of a claim: its jobs were launched; another conductor was faster; the event was
deleted; the event was changed; it was only counted, since just one of N fires launches jobs; the
event has had its only run; the limit of jobs a day was reached."""


class LeftOut(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fires that launched nothing, as recorded for the event."""

    at: float
    """When that was decided."""
    first: int
    last: int
    number: int | None
    reason: str


class Claim(NamedTuple):
    event: str
    at: int
    """The fire; the cursor is moved to it."""
    revision: int
    """The revision of the event by which this was decided."""
    fingerprint: str
    """Of its timings."""
    every: int
    is_once: bool
    jobs: Sequence[Job]
    left_out: LeftOut | None = None


# Needs LAYOUT. `changed` returns why an event is not what a claim was decided by; nil if it is.
CHANGED = f"""
local GONE, STALE = {GONE}, {STALE}

local function changed(event, revision)
  local text = redis.call('HGET', jobs.events, event)
  if not text then return GONE end
  local found = list_of(text)
  if (tonumber(found.revision) or 1) ~= revision or found.enabled == false then return STALE end
end
"""

# Needs LAYOUT, and `seconds`, the time. A cursor is `TIME:FINGERPRINT`: the last fire that was
# handled, and the timings that it belongs to. One that is too far ahead counts as none.
CURSORS = f"""
local function cursor_of(event)
  local text = redis.call('HGET', jobs.cursors, event) or ''
  local last, fingerprint = string.match(text, '^(%d+):?(.*)$')
  last = tonumber(last)
  if last and last > seconds + {MOST_AHEAD} then last = nil end
  return last, fingerprint
end

local function set_cursor(event, at, fingerprint)
  redis.call('HSET', jobs.cursors, event, string.format('%.0f:%s', at, fingerprint))
end
"""

# KEYS[1] ready; ARGV[1] day; ARGV[2] msgpack: claims as of `_packed`. Returns what became of each.
_CLAIM = Script(
    LAYOUT
    + LAUNCH
    + CHANGED
    + f"""
local LAUNCHED, PASSED, COUNTED, SPENT, LIMITED =
  {LAUNCHED}, {PASSED}, {COUNTED}, {SPENT}, {LIMITED}
local OVER_LIMIT = '{Outcome.LIMITED.value}'
local seconds = tonumber(redis.call('TIME')[1])
"""
    + CURSORS
    + """
check_launches()
redis.call('HLEN', jobs.counts)
redis.call('HLEN', jobs.left_out)
redis.call('HLEN', jobs.first_runs)

-- Whether this is one of the fires that only count.
local function is_counted_only(event, every)
  if every < 2 then return false end
  local kept = tonumber(redis.call('HGET', jobs.counts, event) or '0') or 0
  redis.call('HSET', jobs.counts, event, kept + 1)
  return kept % every ~= 0
end

local function has_run(event, fingerprint)
  local first = redis.call('HGET', jobs.first_runs, event) or ''
  return string.match(first, '^(%x+):') == fingerprint
end

local function claim(one)
  local event, at, revision, fingerprint, every, is_once, items, left_out = unpack(one, 1, 8)
  local last = cursor_of(event)
  if last and last >= at then return PASSED end
  local change = changed(event, revision)
  if change then return change end
  set_cursor(event, at, fingerprint)
  if left_out ~= '' then redis.call('HSET', jobs.left_out, event, left_out) end
  if #items == 0 then return LAUNCHED end
  if is_once and has_run(event, fingerprint) then return SPENT end
  if is_counted_only(event, every) then return COUNTED end
  local answer = LIMITED
  for _, item in ipairs(items) do
    if launch(item, ARGV[1]) ~= 'limited' then answer = LAUNCHED end
  end
  if is_once and answer == LAUNCHED then
    local first = fingerprint .. ':' .. items[1][3] .. ':' .. items[1][1]
    redis.call('HSET', jobs.first_runs, event, first)
  elseif answer == LIMITED then
    redis.call('HSET', jobs.left_out, event, cjson.encode({
      at = seconds, first = at, last = at, number = 1, reason = OVER_LIMIT
    }))
  end
  return answer
end

local answers = {}
for i, one in ipairs(cmsgpack.unpack(ARGV[2])) do answers[i] = claim(one) end
return answers
"""
)


async def claim(store: Store, claims: Sequence[Claim], day: str) -> list[int]:
    """What became of each claim. May be repeated: what was launched has passed then."""
    args: list[Argument] = [day, msgspec.msgpack.encode([_packed(one) for one in claims])]
    probe("jobs.before_claim")
    answers: list[int] = await _CLAIM(store, [Jobs(store.prefix).ready()], args)
    probe("jobs.claimed")
    return answers


def _packed(claim: Claim) -> list[object]:
    left_out = msgspec.json.encode(claim.left_out).decode() if claim.left_out else ""
    return [*claim[:6], [launches.item_of(job) for job in claim.jobs], left_out]
