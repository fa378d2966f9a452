"""Finished jobs: searched and deleted.

A job is in a sorted set for each of its values, by when it was completed. A search walks the
smallest of the sets that it names from the newest job on, some at a time, and looks each job up in
the others.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.errors import Refused
from watchbell.files.objects import Files
from watchbell.jobs import job_files, job_packing
from watchbell.jobs.history_index import index_keys, workflow_of
from watchbell.jobs.job_packing import Packed
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.jobs.timelines import WORTH_KEEPING
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

MOST = 1_000
"""Jobs of a page, at most."""
_STEP = 1_000
"""Jobs that the store looks at in one go."""
_GOES = 50
_MOST_VALUES = 20
"""Values of a field that the store looks up; a job is compared with more of them here."""
_POSITION = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)-(\w{1,64})", re.ASCII)

# KEYS[1] finished; ARGV[1] msgpack: `low` and `high`, times; `after`, the id after which to begin
# among jobs that were completed at the time `high`, or empty; `groups`, each a list of keys, in one
# of which a job must be; `all`, the key of all jobs; `most` jobs to give and `step` to look at.
# Returns the jobs, each as id, time and record; the time and id from which to go on, or an empty
# time at the end. What has no record any more is removed from the index.
_SEARCH = Script(
    READ
    + """
local asked = cmsgpack.unpack(ARGV[1])
local low, high, step = asked.low, asked.high, asked.step

local function count(keys)
  local total = 0
  for _, key in ipairs(keys) do total = total + (read('ZCOUNT', key, low, high) or 0) end
  return total
end

local walked, smallest = nil, nil
for i, keys in ipairs(asked.groups) do
  local size = count(keys)
  if not smallest or size < smallest then walked, smallest = i, size end
end
local driving = walked and asked.groups[walked] or {asked.all}
step = math.max(math.floor(step / #driving), 50)

-- The next jobs of a set: after the given id among those of the same time.
local function following(key)
  local found, offset = {}, 0
  while #found == 0 do
    local some = read('ZREVRANGEBYSCORE', key, high, low, 'WITHSCORES', 'LIMIT', offset, step) or {}
    for i = 1, #some, 2 do
      local is_before = asked.after ~= '' and tonumber(some[i + 1]) == tonumber(high)
                        and some[i] >= asked.after
      if not is_before then found[#found + 1] = {some[i], some[i + 1], key} end
    end
    if #some < 2 * step then return found, true end
    offset = offset + step
  end
  return found, false
end

local function is_newer(one, other)
  local a, b = tonumber(one[2]), tonumber(other[2])
  if a ~= b then return a > b end
  return one[1] > other[1]
end

-- Of several sets, jobs count only down to where all of them have been read.
local candidates, horizon = {}, nil
for _, key in ipairs(driving) do
  local found, is_end = following(key)
  for _, one in ipairs(found) do candidates[#candidates + 1] = one end
  local last = found[#found]
  if not is_end and (not horizon or is_newer(last, horizon)) then horizon = last end
end
if #driving > 1 then table.sort(candidates, is_newer) end

-- The same jobs without those that are not in one of the other groups.
local function narrowed(jobs, keys)
  local is_in, kept = {}, {}
  for _, key in ipairs(keys) do
    for first = 1, #jobs, 1000 do
      local ids = {}
      for i = first, math.min(first + 999, #jobs) do ids[#ids + 1] = jobs[i][1] end
      for i, score in ipairs(read('ZMSCORE', key, unpack(ids)) or {}) do
        if score then is_in[ids[i]] = true end
      end
    end
  end
  for _, one in ipairs(jobs) do
    if is_in[one[1]] then kept[#kept + 1] = one end
  end
  return kept
end
for i, keys in ipairs(asked.groups) do
  if i ~= walked and #candidates > 0 then candidates = narrowed(candidates, keys) end
end

local answer, last = {}, nil
for _, one in ipairs(candidates) do
  if horizon and is_newer(horizon, one) then break end
  if #answer == asked.most then return {answer, last[2], last[1]} end
  if not last or one[1] ~= last[1] then
    local record = read('HGET', KEYS[1], one[1])
    if record then
      answer[#answer + 1] = {one[1], one[2], record}
    else
      redis.pcall('ZREM', one[3], one[1])
    end
  end
  last = one
end
if horizon then return {answer, horizon[2], horizon[1]} end
return {answer, '', ''}
"""
)

# KEYS[1] finished, KEYS[2] done, KEYS[3] channel of news; ARGV[1] msgpack: {id, key of the job if
# it is in progress, keys that are deleted if it is not, indexes}. Returns how many jobs there were.
_DELETE = Script("""
local count = 0
for _, one in ipairs(cmsgpack.unpack(ARGV[1])) do
  local id, live, keys, indexes = unpack(one)
  count = count + redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  if redis.call('EXISTS', live) == 0 then redis.call('UNLINK', unpack(keys)) end
  for _, key in ipairs(indexes) do redis.pcall('ZREM', key, id) end
  redis.call('PUBLISH', KEYS[3], id)
end
return count
""")


class Query(Struct, frozen=True, kw_only=True):
    """Jobs that have one of the values of each field that is given, and all of the tags."""

    events: tuple[str, ...] | None = None
    """Who searches for words of a title gives the events that have them; none finds nothing."""
    categories: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    usernames: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    """Events of the workflows that launched them."""
    tags: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    """`success`, `error` for all failures, or codes."""
    since: float | None = None
    until: float | None = None
    """Before this time."""


class Page(Struct, frozen=True):
    jobs: list[Job]
    following: str | None
    """Where the next page begins; None at the end. A page may be empty and have a next one, since
    each search looks at a limited number of jobs."""


async def search(store: Store, query: Query, most: int = 50, after: str = "") -> Page:
    """The newest jobs first. `after` is `following` of the page before."""
    most = max(1, min(most, MOST))
    if query.events == ():
        return Page([], None)
    asked, is_wanted = _asked(Jobs(store.prefix), query)
    if after:
        asked["high"], asked["after"] = _position(after)
    jobs: list[Job] = []
    for _ in range(_GOES):
        args = msgspec.msgpack.encode({**asked, "most": most - len(jobs), "step": _STEP})
        found, at, last = await _SEARCH(store, [Jobs(store.prefix).finished()], [args])
        records = (job_packing.unpack(record) for _, _, record in found)
        jobs += [one.job for one in records if one and is_wanted(one.job)]
        if not at:
            return Page(jobs, None)
        asked["high"], asked["after"] = at.decode(), last.decode(errors="replace")
        if len(jobs) >= most:
            break
    return Page(jobs, f"{float(asked['high']):.6f}-{asked['after']}")


async def count(store: Store, query: Query) -> int | None:
    """How many jobs match, where the indexes alone can tell. None where they can't."""
    if query.events == ():
        return 0
    asked, _ = _asked(Jobs(store.prefix), query)
    groups: list[list[str]] = asked["groups"]
    if any(len(keys) > 1 for keys in groups) or _has_many(query):
        return None
    keys = [key for (key,) in groups] or [asked["all"]]
    if len(keys) == 1:
        return int(await store.call("ZCOUNT", keys[0], asked["low"], asked["high"]))
    if query.since is not None or query.until is not None:
        return None
    return int(await store.call("ZINTERCARD", len(keys), *keys))


def _has_many(query: Query) -> bool:
    """Whether there are values that are compared here."""
    return any(len(values) > _MOST_VALUES for values in _values(query).values())


def _values(query: Query) -> dict[str, tuple[str, ...]]:
    """Those that jobs must have one of, by the field of the index."""
    return {
        "event": query.events or (),
        "category": query.categories,
        "plugin": query.plugins,
        "server": query.servers,
        "username": query.usernames,
        "source": query.sources,
        "workflow": query.workflows,
    }


def _value(job: Job, field: str) -> str:
    return workflow_of(job) if field == "workflow" else getattr(job, field)


def _asked(keys: Jobs, query: Query) -> tuple[dict[str, Any], Callable[[Job], bool]]:
    """The arguments of the script, and what is left to compare here."""
    groups = [[keys.done_by("tag", tag)] for tag in query.tags]
    if query.codes:
        groups.append([_code_key(keys, code) for code in query.codes])
    rest: dict[str, frozenset[str]] = {}
    for field, values in _values(query).items():
        if len(values) > _MOST_VALUES:
            rest[field] = frozenset(values)
        elif values:
            groups.append([keys.done_by(field, value) for value in values])
    asked: dict[str, Any] = {
        "low": "-inf" if query.since is None else f"{query.since:.6f}",
        "high": "+inf" if query.until is None else f"({query.until:.6f}",
        "after": "",
        "groups": groups,
        "all": keys.done(),
    }
    return asked, lambda job: all(_value(job, name) in some for name, some in rest.items())


def _code_key(keys: Jobs, code: str) -> str:
    if code in ("success", "0"):
        return keys.done_by("tag", "_success")
    return keys.done_by("tag", "_error") if code == "error" else keys.done_by("code", code)


def _position(text: str) -> tuple[str, str]:
    found = _POSITION.fullmatch(text)
    if not found:
        raise Refused(f"{text[:80]!r} is no position in a list of jobs", field="after")
    return found[1], found[2]


async def delete(store: Store, files: Files, ids: Sequence[str]) -> int:
    """Deletes finished jobs with their logs and files. Returns how many there were.

    Files go first, so that none is left behind without a record.
    """
    keys = Jobs(store.prefix)
    raws = await store.call("HMGET", keys.finished(), *ids) if ids else []
    items: list[Any] = []
    for job_id, raw in zip(ids, raws, strict=True):
        packed = job_packing.unpack(raw) if raw else None
        if packed is None or _has_files(packed):
            await job_files.delete_all(files, job_id)
        stored = [keys.log(job_id), keys.log_parts(job_id)]
        stored += [keys.seconds(job_id), keys.minutes(job_id)]
        indexes = index_keys(keys, packed.job) if packed else []
        items.append([job_id, keys.job(job_id), stored, indexes])
    probe("jobs.files_deleted")
    if not items:
        return 0
    names = [keys.finished(), keys.done(), keys.news()]
    return int(await _DELETE(store, names, [msgspec.msgpack.encode(items)]))


def _has_files(packed: Packed) -> bool:
    job = packed.job
    has_log = job.log_file_size > 0 and not packed.log
    return has_log or bool(job.files) or job.elapsed >= WORTH_KEEPING
