"""Writes what agents report about jobs, each report once.

The reports of a job are numbered without gaps, and the field `_reported` of its hash is the number
of the last one in the store. What depends on values in the store is merged here, and written only
if nobody has changed those values meanwhile.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.clock import SYSTEM
from watchbell.fleet.messages import Changes, LimitReached, Output, Report, Result, Started
from watchbell.fleet.presence import IS_CURRENT
from watchbell.jobs import job_changes, late_results
from watchbell.jobs.decide.actions import ActionItem
from watchbell.jobs.job_changes import MERGED, ChangedJob
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.orders import SessionLost
from watchbell.probes import probe
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import RAISE_NOT_NOW, READ, Script

AT_ONCE = 2_000
"""Reports that one call of the store applies, since it does nothing else meanwhile."""

_STARTED, _OUTPUT, _FIELDS, _ACTION, _RESULT = 1, 2, 3, 4, 5

# KEYS[1] ready; ARGV job ids. Returns for each the last number, and the fields of MERGED.
_READ_MERGED = Script(
    LAYOUT
    + READ
    + f"""
local found = {{}}
for i, id in ipairs(ARGV) do
  found[i] = read('HMGET', jobs.job .. id, '_reported', '{"', '".join(MERGED)}') or {{}}
end
return found
"""
)

# KEYS[1] ready; ARGV[1] server, ARGV[2] session, ARGV[3] msgpack: jobs, each {id, the last number
# that the store must have or -1, fields that must not have changed and their texts, reports, fields
# that are set with the last report}. A report is its number, one of the numbers above, and
# - of the start: when, and the process
# - of output: when, offset, line and text as words, and the size and lines of all output
# - of fields: each name and text
# - of an action to carry out: the item
# - of the result: its text
# Returns false where another session has taken the place of this one; else for each job the number
# of the last report in the store, or -1 where the job is over, or -2 where something has changed.
_APPLY = Script(
    LAYOUT
    + IS_CURRENT
    + RAISE_NOT_NOW
    + """
local server = ARGV[1]
if not is_current(fleet.links, server, ARGV[2]) then return false end
redis.call('LLEN', jobs.finishing)
redis.call('LLEN', jobs.actions)
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6

local function seconds(number) return string.format('%.3f', number) end

local apply = {}

apply[1] = function(id, key, report)
  local begun = tonumber(redis.call('HGET', key, 'started') or 0) or 0
  local at = math.max(math.min(tonumber(report[3]), now), begun)
  redis.call('HSET', key, 'started', seconds(at), 'pid', report[4])
  return true
end

apply[2] = function(id, key, report)
  local _, _, at, offset, line, text, size, lines = unpack(report)
  local reply = redis.pcall('XADD', jobs.log .. id, report[1] .. '-0',
    'at', at, 'offset', offset, 'line', line, 'text', text)
  if type(reply) == 'table' and reply.err then raise_not_now(reply) end
  redis.call('HSET', key, 'log_file_size', size, '_size', size, '_lines', lines)
end

apply[3] = function(id, key, report)
  if #report > 2 then redis.call('HSET', key, unpack(report, 3)) end
  return true
end

apply[4] = function(id, key, report) redis.call('RPUSH', jobs.actions, report[3]) end

apply[5] = function(id, key, report)
  redis.call('HSET', key, '_result', report[3], 'state', '"finishing"')
  redis.call('RPUSH', jobs.finishing, id)
  return true
end

local function has_changed(key, last, expected, unchanged)
  if expected >= 0 and last ~= expected then return true end
  for i = 1, #unchanged, 2 do
    if (redis.call('HGET', key, unchanged[i]) or '') ~= unchanged[i + 1] then return true end
  end
  return false
end

local function applied(id, expected, unchanged, reports, fields)
  local key = jobs.job .. id
  local found = redis.pcall('HMGET', key, 'server', '_reported', '_result')
  if found.err then
    raise_not_now(found)
    return -1
  end
  local last, is_over = tonumber(found[2] or 0) or 0, found[3]
  if text_of(found[1]) ~= server then return -1 end
  if is_over then
    local newest = reports[#reports]
    return (not newest or newest[1] <= last) and last or -1
  end
  if has_changed(key, last, expected, unchanged) then return -2 end
  local before, is_news = last, false
  for _, report in ipairs(reports) do
    if report[1] == last + 1 then
      is_news = apply[report[2]](id, key, report) or is_news
      last = report[1]
    elseif report[1] > last then
      break
    end
  end
  if last > before then
    if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
    redis.call('HSET', key, '_reported', last, 'updated', seconds(now), 'remote', 'true')
    if is_news then redis.call('PUBLISH', jobs.news, id) end
  end
  return last
end

local answers = {}
for i, job in ipairs(cmsgpack.unpack(ARGV[3])) do answers[i] = applied(unpack(job, 1, 5)) end
return answers
"""
)


class Applied(Struct, frozen=True):
    acknowledged: dict[str, int]
    """For each job: the number of the last report in the store."""
    drop: tuple[str, ...]
    """Jobs that are over, or not of this server."""


async def apply(store: Store, server: str, session: str, reports: Sequence[Report]) -> Applied:
    """Writes reports of jobs of a server. May be repeated. Raises SessionLost."""
    acknowledged, drop = dict[str, int](), dict[str, None]()
    for first in range(0, len(reports), AT_ONCE):
        applied = await _applied(store, server, session, reports[first : first + AT_ONCE])
        acknowledged |= applied.acknowledged
        drop |= dict.fromkeys(applied.drop)
    return Applied(acknowledged, tuple(drop))


async def _applied(store: Store, server: str, session: str, reports: Iterable[Report]) -> Applied:
    left = _by_job(reports)
    acknowledged, drop = dict[str, int](), list[str]()
    while left:
        packed = await _packed(store, server, left)
        answers = await _APPLY(
            store,
            [Jobs(store.prefix).ready()],
            [server, session, msgspec.msgpack.encode(packed)],
        )
        probe("jobs.reported")
        if answers is None:
            raise SessionLost(f"another session has taken the place of {session}")
        again = dict[str, list[Report]]()
        for (id_, some), answer in zip(left.items(), answers, strict=True):
            if answer >= 0:
                acknowledged[id_] = answer
            elif answer == -1:
                drop.append(id_)
                await _record_late(store, id_, server, some)
            else:
                again[id_] = some
        left = again
    return Applied(acknowledged, tuple(drop))


async def _record_late(store: Store, id_: str, server: str, reports: Sequence[Report]) -> None:
    for report in reports:
        if isinstance(report.body, Result):
            await late_results.record(store, id_, server, report.body, SYSTEM.now())


def _by_job(reports: Iterable[Report]) -> dict[str, list[Report]]:
    """In order, each number once."""
    numbered: dict[str, dict[int, Report]] = {}
    for report in reports:
        numbered.setdefault(report.job, {})[report.n] = report
    return {id_: [some[n] for n in sorted(some)] for id_, some in numbered.items()}


async def _packed(store: Store, server: str, left: dict[str, list[Report]]) -> list[Any]:
    merging = [id_ for id_, some in left.items() if any(map(_needs_merging, some))]
    keys = [Jobs(store.prefix).ready()]
    found = await _READ_MERGED(store, keys, merging) if merging else []
    stored = dict(zip(merging, found, strict=True))
    return [
        _merged(id_, some, server, stored[id_])
        if id_ in stored
        else [id_, -1, [], [_plain(report, server) for report in some], []]
        for id_, some in left.items()
    ]


def _needs_merging(report: Report) -> bool:
    body = report.body
    return isinstance(body, Changes | LimitReached) and job_changes.needs_merging(body)


def _plain(report: Report, server: str) -> list[Any]:
    """A report that depends on nothing in the store."""
    body = report.body
    match body:
        case Started():
            pid = body.pid if 0 <= body.pid < 1 << 31 else 0
            return [report.n, _STARTED, job_changes.time_of(body.at), pid]
        case Output():
            end = body.offset + len(body.text)
            ended = body.line + body.text.count(b"\n")
            words = [
                f"{job_changes.time_of(body.at):.3f}",
                str(body.offset),
                str(body.line),
                verbatim(body.text),
            ]
            return [report.n, _OUTPUT, *words, str(end), str(ended)]
        case Result():
            text = msgspec.json.encode(job_changes.result(body, report.job, server))
            return [report.n, _RESULT, verbatim(text)]
        case Changes():
            changed = ChangedJob(server, {})
            changed.apply(body)
            return [report.n, _FIELDS, *_words(changed.fields)]
        case LimitReached():
            item = ActionItem(job=report.job, limit=body.limit, text=body.description[:2_000])
            return [report.n, _ACTION, verbatim(msgspec.json.encode(item))]


def _words(fields: Mapping[str, bytes | None]) -> list[Any]:
    return [word for name, text in fields.items() for word in (name, verbatim(text or b""))]


def _merged(id_: str, reports: Sequence[Report], server: str, found: Sequence[Any]) -> list[Any]:
    """The reports that come next, and what their changes add up to."""
    number, *texts = found or [None] * (len(MERGED) + 1)
    before = dict(zip(MERGED, texts, strict=True))
    expected = replies.number(number) or 0
    changed, packed = ChangedJob(server, before), list[Any]()
    for report in _next(reports, expected):
        body = report.body
        if isinstance(body, Changes):
            changed.apply(body)
            packed.append([report.n, _FIELDS])
            continue
        if isinstance(body, LimitReached):
            changed.log(body.at, body.description)
        packed.append(_plain(report, server))
    unchanged = {name: text for name, text in before.items() if name in changed.fields}
    return [id_, expected, _words(unchanged), packed, _words(changed.fields)]


def _next(reports: Sequence[Report], last: int) -> Iterator[Report]:
    """Those after the last number in the store, up to a gap."""
    for report in reports:
        if report.n == last + 1:
            last = report.n
            yield report
