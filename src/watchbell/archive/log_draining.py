"""Drains the log of a crawl: counts its responses, broadcasts its entries and trims them, in one
script, so that the cursors and counters always belong together."""

from collections.abc import Sequence
from typing import NamedTuple

from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

AT_ONCE = 500
RECENT = 500
"""Entries that stay readable after they were trimmed."""
TRIM_AT = 500
"""Entries from which on a log is trimmed at once, as upstream does."""
QUIET = 10.0
"""Seconds without new entries after which the rest is trimmed. Until then other programs may read
it, by cursors of their own."""
MOST_TIMES = 720
"""Times for which responses are counted; the span between two is doubled when there are more."""

# Needs LAYOUT, and `now`. `count_times` counts responses by time and class: a field for each, and
# `step`, the seconds between two times.
_TIMES = (
    f"local FIRST_STEP, MOST_FIELDS = 60, 6 * {MOST_TIMES}\n"
    """
local function regroup(key, step)
  local sums, found = {}, redis.call('HGETALL', key)
  for i = 1, #found, 2 do
    local at, class = string.match(found[i], '^(%d+) (%w+)$')
    if at then
      local name = whole(math.floor(at / step) * step) .. ' ' .. class
      sums[name] = (sums[name] or 0) + number_of(found[i + 1])
    end
  end
  redis.call('DEL', key)
  for name, sum in pairs(sums) do redis.call('HSET', key, name, whole(sum)) end
  redis.call('HSET', key, 'step', whole(step))
end

local function count_times(ident, times)
  local key = crawls.minutes(ident)
  local step = number_of(redis.call('HGET', key, 'step'))
  if step < FIRST_STEP then step = FIRST_STEP end
  for _, one in ipairs(times) do
    local at = type(one[1]) == 'number' and one[1] > 0 and one[1] <= now and one[1] or now
    add_to(key, whole(math.floor(at / step) * step) .. ' ' .. one[2], 1)
    if redis.call('HLEN', key) > MOST_FIELDS then
      step = step * 2
      regroup(key, step)
    end
  end
  if #times > 0 then redis.call('HSET', key, 'step', whole(step)) end
end
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] most entries, ARGV[3] seconds of quiet after which all is
# trimmed. An entry with a number that can't be counted on, such as infinity, gets the next one.
# Returns {entries handled, entries left in the log, 1 if the crawl has ended and is not
# in the history}, or why nothing could be done: `gone`, `spoilt`.
_DRAIN = Script(
    LAYOUT
    + "local now = store_time()\n"
    + _TIMES
    + f"local TRIM_AT, RECENT, LAST = {TRIM_AT}, {RECENT}, '{2**53}'\n"
    + """
local ident, most, quiet = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local job, log, recent = archive.job(ident), archive.log(ident), crawls.recent(ident)
if not is_readable(ident) then return 'gone' end
if not is_fit(log, 'zset') then return 'spoilt' end
for _, stray in ipairs(redis.call('ZRANGEBYSCORE', log, '(' .. LAST, '+inf', 'LIMIT', 0, most)) do
  redis.call('ZADD', log, add_to(job, 'log_score', 1), stray)
end

local fields = redis.call('HMGET', job, 'log_score', 'last_analyzed_log_entry',
  'last_broadcasted_log_entry', 'last_trimmed_log_entry', 'finished_at', 'recorded_at', 'ts')
local score, finished, seen = number_of(fields[1]), fields[5], number_of(fields[7])
local analyzed, broadcasted, trimmed =
  cursor_of(fields[2], score), cursor_of(fields[3], score), cursor_of(fields[4], score)
local from = math.min(analyzed, broadcasted)
local found = redis.call('ZRANGEBYSCORE', log, '(' .. whole(from), '+inf', 'WITHSCORES',
  'LIMIT', 0, most)

local counts, times, texts, to = {}, {}, {}, from
local function count(field) counts[field] = (counts[field] or 0) + 1 end

local function analyze(entry)
  if entry.type ~= 'download' then return end
  local code = type(entry.response_code) == 'number' and entry.response_code or 0
  local class = math.floor(code / 100)
  local name = class >= 1 and class <= 5 and 'r' .. class .. 'xx' or 'runk'
  count(name)
  if class == 4 or class == 5 then count('error_count') end
  times[#times + 1] = {entry.ts, name}
end

for i = 1, #found, 2 do
  local text, index = found[i], number_of(found[i + 1])
  local is_json, entry = pcall(cjson.decode, text)
  if not is_json or type(entry) ~= 'table' or string.sub(text, 1, 1) ~= '{' then
    entry = {type = 'stdout', ts = math.floor(now), message = text}
    text = cjson.encode(entry)
  end
  if not entry.index then
    local rest = string.match(text, '^{%s*(.*)$')
    text = '{"index":' .. whole(index) .. (rest == '}' and '' or ',') .. rest
  end
  if index > analyzed then analyze(entry) end
  if index > broadcasted then texts[#texts + 1] = text end
  to = index
end
if #found < 2 * most then to = math.max(to, score, analyzed, broadcasted) end

for field, by in pairs(counts) do add_to(job, field, by) end
if is_fit(crawls.minutes(ident), 'hash') then count_times(ident, times) end
redis.call('HSET', job, 'last_analyzed_log_entry', whole(math.max(to, analyzed)),
  'last_broadcasted_log_entry', whole(math.max(to, broadcasted)))
if #found > 0 then redis.call('HSET', job, 'ts', precise(now)) end
if is_fit(recent, 'list') and #texts > 0 then
  for _, text in ipairs(texts) do redis.call('LPUSH', recent, text) end
  redis.call('LTRIM', recent, 0, RECENT - 1)
end

if finished or to - trimmed >= TRIM_AT or quiet == 0 or (#found == 0 and now - seen >= quiet) then
  redis.call('ZREMRANGEBYSCORE', log, '-inf', whole(to))
  redis.call('HSET', job, 'last_trimmed_log_entry', whole(to))
end
if #texts > 0 then
  local all, data = redis.call('HGETALL', job), {}
  for i = 1, #all, 2 do data[all[i]] = all[i + 1] end
  redis.call('PUBLISH', crawls.entries, '{"ident":' .. cjson.encode(ident) .. ',"job_data":'
    .. cjson.encode(data) .. ',"entries":[' .. table.concat(texts, ',') .. ']}')
end
return {#found / 2, redis.call('ZCARD', log), finished and not fields[6] and 1 or 0}
"""
)

# KEYS[1] pending; ARGV idents. Returns those with entries in their log, and those that have ended
# and are not in the history.
_UNDRAINED = Script(
    LAYOUT
    + READ
    + """
local found = {}
for _, ident in ipairs(ARGV) do
  local fields = read('HMGET', archive.job(ident), 'finished_at', 'recorded_at')
  if fields and (redis.call('EXISTS', archive.log(ident)) == 1 or (fields[1] and not fields[2]))
  then found[#found + 1] = ident end
end
return found
"""
)


class Drained(NamedTuple):
    handled: int
    left: int
    """Entries that are still in the log."""
    is_unrecorded: bool = False
    """Whether the crawl has ended, by another program, and is not in the history yet."""
    is_spoilt: bool = False
    """Whether another program has put something else in the place of its log."""


async def drain(store: Store, ident: str, quiet: float = QUIET) -> Drained | None:
    """Counts and broadcasts up to AT_ONCE entries, and trims what may be trimmed; with `quiet` 0
    all that was handled. None where there is no such crawl."""
    args: list[Argument] = [ident, AT_ONCE, quiet]
    answer = await _DRAIN(store, [Archive(store.prefix).pending()], args)
    probe("archive.drained")
    if isinstance(answer, bytes):
        return None if answer == b"gone" else Drained(0, 0, is_spoilt=True)
    handled, left, is_unrecorded = answer
    return Drained(handled, left, bool(is_unrecorded))


async def undrained(store: Store, idents: Sequence[str]) -> list[str]:
    """Those of these crawls about which there is something to do."""
    found: list[bytes] = []
    for first in range(0, len(idents), AT_ONCE):
        some = idents[first : first + AT_ONCE]
        found += await _UNDRAINED(store, [Archive(store.prefix).pending()], some)
    return [text(ident) for ident in found]
