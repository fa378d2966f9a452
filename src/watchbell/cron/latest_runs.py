"""The latest runs of each job."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from watchbell.cron import history
from watchbell.cron.history import RunRecord
from watchbell.cron.keys import Cron
from watchbell.cron.model import Status
from watchbell.errors import NotFound
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

# KEYS rundata; ARGV[1] prefix of results, ARGV[2] the middle, then names of jobs. Returns for
# each the last success and the last failure, each as run, score and record.
_LAST = Script(
    READ
    + """
local answers = {}
for i = 3, #ARGV do
  local found = {}
  for _, verdict in ipairs({'success', 'fail'}) do
    local key = ARGV[1] .. ARGV[i] .. ARGV[2] .. verdict
    local last = read('ZRANGE', key, -1, -1, 'WITHSCORES') or {}
    if last[1] then
      last[3] = redis.call('HGET', KEYS[1], last[1])
      found[#found + 1] = last
    end
  end
  answers[#answers + 1] = found
end
return answers
"""
)

# KEYS rundata; ARGV[1] prefix of results, ARGV[2] the middle, ARGV[3] how many, then names of
# jobs. Returns for each its latest runs that ended, the newest first, each as run, score, verdict,
# and the duration and whether it froze, from its record. Records end with the duration, after the
# output, so that it is looked for there first.
_SPANS = Script(
    READ
    + """
local function last(key, verdict, into)
  local found = read('ZREVRANGE', key, 0, ARGV[3] - 1, 'WITHSCORES') or {}
  for i = 1, #found, 2 do into[#into + 1] = {found[i], found[i + 1], verdict} end
end

local function duration(record)
  local took = string.match(string.sub(record, -100), '[^\\\\]"duration":%s*([%d.]+)')
  if took then return took end
  local is_json, fields = pcall(cjson.decode, record)
  return is_json and type(fields) == 'table' and tostring(fields.duration or '') or ''
end

local answers = {}
for i = 4, #ARGV do
  local runs = {}
  for _, verdict in ipairs({'success', 'fail'}) do
    last(ARGV[1] .. ARGV[i] .. ARGV[2] .. verdict, verdict, runs)
  end
  table.sort(runs, function(a, b) return tonumber(a[2]) > tonumber(b[2]) end)
  local kept = {}
  for n = 1, math.min(#runs, tonumber(ARGV[3])) do
    local record = redis.call('HGET', KEYS[1], runs[n][1])
    if record then
      runs[n][4] = duration(record)
      runs[n][5] = string.find(record, '"status":%s*"frozen"') and 'frozen' or ''
      kept[#kept + 1] = runs[n]
    end
  end
  answers[#answers + 1] = kept
end
return answers
"""
)
_SPANS_AT_ONCE = 25


class Span(Struct, frozen=True):
    """A run that ended, in short."""

    id: str
    ended: float
    status: Status
    duration: float | None = None


async def spans(store: Store, names: Sequence[bytes], most: int) -> list[list[Span]]:
    """The latest runs of each of these jobs, newest first."""
    keys = Cron(store.prefix)
    begin, middle, _ = keys.job_results.literals
    found: list[list[Span]] = []
    for first in range(0, len(names), _SPANS_AT_ONCE):
        some = names[first : first + _SPANS_AT_ONCE]
        answers = await _SPANS(store, [keys.runs()], [begin, middle, most, *some])
        found += [[_span(*one) for one in answer] for answer in answers]
    return found


def _span(run: bytes, score: bytes, verdict: bytes, took: bytes, frozen: bytes) -> Span:
    status: Status = "success" if verdict == b"success" else "frozen" if frozen else "fail"
    return Span(run.decode(errors="replace"), float(score), status, _number(took))


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


async def lasts(store: Store, names: Sequence[bytes]) -> list[RunRecord | None]:
    """The last run of each of these jobs that ended."""
    if not names:
        return []
    keys = Cron(store.prefix)
    begin, middle, _ = keys.job_results.literals
    answers = await _LAST(store, [keys.runs()], [begin, middle, *names])
    return [_newest(answer) for answer in answers]


def _newest(found: Iterable[Any]) -> RunRecord | None:
    seen = [history.run_record(run, record, None, float(score)) for run, score, record in found]
    known = [one for one in seen if one]
    return max(known, key=lambda one: one.ended or 0, default=None)


async def latest(store: Store, job: str) -> RunRecord | None:
    """The newest run of a job in progress; without one, the run that ended last."""
    active_ones = [one for one in await history.active(store) if one.record.job_name == job]
    if active_ones:
        return max(active_ones, key=lambda one: one.record.start_time)
    last = (await lasts(store, [job.encode()]))[0]
    return await history.run(store, last.id) if last else None


async def run_or_latest(store: Store, word: str) -> RunRecord:
    """The run of this id, else the latest of the job of this name, else the run whose id has the
    word as a prefix."""
    exact = await history.some(store, [word])
    found = exact.get(word) or await latest(store, word)
    if found:
        return found
    if await store.call("HEXISTS", Cron(store.prefix).jobs(), word):
        raise NotFound(f"job {word!r} has not run yet")
    try:
        return await history.run(store, word)
    except NotFound:
        raise NotFound(f"there is no job and no run {word!r}") from None
