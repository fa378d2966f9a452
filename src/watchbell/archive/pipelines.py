"""Pipelines: the record that each renews every second, who is there, and who should stop."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from watchbell.archive.crawl_records import fields_of, time_text
from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.archive.model import Pipeline
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

_PREFIX = Archive.pipeline.literals[0]


class UploadProgress(Struct, frozen=True, kw_only=True):
    files: int
    """Files that are not uploaded yet."""
    size: int
    """Their bytes."""
    sent: int
    """Bytes of the present file that were sent."""
    problem: str = ""
    """Why some of them can't be uploaded now; empty if all can."""


class Capacity(Struct, frozen=True, kw_only=True):
    """What a pipeline takes."""

    concurrent: int
    running: int
    only_pages: bool = False
    large: bool = False
    has_space: bool = True
    """False while its disk is too full for another crawl."""
    uploads: UploadProgress | None = None
    """None if it uploads nothing."""

    @property
    def is_full(self) -> bool:
        return self.running >= self.concurrent


class KnownPipeline(Struct, frozen=True):
    record: Pipeline
    silent: float
    """Seconds since its last sign of life."""
    capacity: Capacity | None
    """None for one of another program."""
    should_stop: bool

    @property
    def name(self) -> str:
        return self.record.nickname or self.record.id


# Needs LAYOUT. `pipeline_key` of an id, which has the prefix of the family.
_KEY = "local function pipeline_key(id) return base .. id end\n"

# KEYS[1] pending; ARGV[1] id, ARGV[2] capacity as JSON, then fields and values of the record.
# Returns 1 if the pipeline should stop.
_REPORT = Script(
    LAYOUT
    + _KEY
    + """
local id = ARGV[1]
local is_new = redis.call('HSET', pipeline_key(id), unpack(ARGV, 3)) == (#ARGV - 2) / 2
redis.call('ZADD', crawls.pipelines_seen, precise(store_time()), id)
redis.call('HSET', crawls.capacities, id, ARGV[2])
if is_fit(archive.pipelines, 'list') and not redis.call('LPOS', archive.pipelines, id) then
  redis.call('RPUSH', archive.pipelines, id)
end
redis.call('PUBLISH', archive.pipeline_updates, id)
if is_new then redis.call('PUBLISH', crawls.news, id) end
return redis.call('SISMEMBER', crawls.stopping, id)
"""
)

# KEYS[1] pending; ARGV ids. Notes a sign of life of pipelines that have a record.
_NOTICE = Script(
    LAYOUT
    + _KEY
    + """
local now = precise(store_time())
for _, id in ipairs(ARGV) do
  if kind_of(pipeline_key(id)) == 'hash' then redis.call('ZADD', crawls.pipelines_seen, now, id) end
end
"""
)

# Needs LAYOUT, _KEY.
_REMOVAL = """
local function remove(id)
  redis.call('DEL', pipeline_key(id))
  redis.call('ZREM', crawls.pipelines_seen, id)
  redis.call('HDEL', crawls.capacities, id)
  redis.call('HDEL', crawls.claims, id)
  redis.call('SREM', crawls.stopping, id)
  if kind_of(archive.pipelines) == 'list' then redis.call('LREM', archive.pipelines, 0, id) end
  redis.call('PUBLISH', archive.pipeline_updates, id)
  redis.call('PUBLISH', crawls.news, id)
end
"""

# KEYS[1] pending; ARGV[1] id, ARGV[2] when it was last seen, or ''. Removes a pipeline, unless it
# was seen since. Returns 1 if it was removed.
_REMOVE = Script(
    LAYOUT
    + _KEY
    + _REMOVAL
    + """
local id, seen = ARGV[1], ARGV[2]
if seen ~= '' and redis.call('ZSCORE', crawls.pipelines_seen, id) ~= seen then return 0 end
remove(id)
return 1
"""
)

# KEYS[1] pending; ARGV[1] id, ARGV[2] seconds of silence after which a pipeline is gone. Returns
# removed, unknown, or alive: it is not gone.
_FORGET = Script(
    LAYOUT
    + _KEY
    + _REMOVAL
    + """
local id, lease = ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', pipeline_key(id)) == 0 then return 'unknown' end
local seen = tonumber(redis.call('ZSCORE', crawls.pipelines_seen, id) or '0')
if store_time() - seen < lease then return 'alive' end
remove(id)
return 'removed'
"""
)

# KEYS[1] pending. Returns the time, and for each pipeline: id, when it was last seen, the fields of
# its record, its capacity, whether it should stop.
_EVERY = Script(
    LAYOUT
    + READ
    + _KEY
    + """
local found, seen = {}, read('ZRANGE', crawls.pipelines_seen, 0, -1, 'WITHSCORES') or {}
for i = 1, #seen, 2 do
  local id = seen[i]
  found[#found + 1] = {id, seen[i + 1], read('HGETALL', pipeline_key(id)) or {},
    read('HGET', crawls.capacities, id) or '', read('SISMEMBER', crawls.stopping, id) or 0}
end
return {precise(store_time()), found}
"""
)

# KEYS[1] pending; ARGV[1] id. Returns 0 where there is no such pipeline.
_STOP = Script(
    LAYOUT
    + _KEY
    + """
if redis.call('EXISTS', pipeline_key(ARGV[1])) == 0 then return 0 end
redis.call('SADD', crawls.stopping, ARGV[1])
redis.call('PUBLISH', crawls.news, ARGV[1])
return 1
"""
)


async def report(store: Store, pipeline: Pipeline, capacity: Capacity) -> bool:
    """Renews the record; to be called every second. Returns whether the pipeline should stop."""
    fields = msgspec.to_builtins(pipeline)
    fields["ts"] = time_text(pipeline.ts)
    words = [str(word) for pair in fields.items() for word in pair]
    packed = msgspec.json.encode(capacity).decode()
    args: list[Argument] = [pipeline.id, packed, *words]
    return bool(await _REPORT(store, [_pending(store)], args))


async def say_goodbye(store: Store, pipeline: str) -> None:
    """Removes the record of a pipeline that ends."""
    await _REMOVE(store, [_pending(store)], [pipeline, ""])


async def remove(store: Store, pipeline: str, seen: str) -> bool:
    """Removes the record of a pipeline that is gone; `seen` is its score in `pipelines_seen`."""
    return bool(await _REMOVE(store, [_pending(store)], [pipeline, seen]))


async def forget(store: Store, known: KnownPipeline, lease: float) -> None:
    """Removes the record of a pipeline that will not come back. Raises NotFound, or Refused while
    it is there."""
    answer = await _FORGET(store, [_pending(store)], [known.record.id, lease])
    if answer == b"unknown":
        raise NotFound(f"there is no pipeline {known.name}")
    if answer == b"alive":
        raise Refused(f"{known.name} is running; stop it instead", code="running")


async def notice(store: Store, pipelines: Iterable[str]) -> None:
    """Notes a sign of life of pipelines, also of those of other programs."""
    await _NOTICE(store, [_pending(store)], [*pipelines])


async def every(store: Store) -> list[KnownPipeline]:
    """All pipelines with a record, by name."""
    now, found = await _EVERY(store, [_pending(store)])
    known = []
    for pipeline, seen, fields, packed, should_stop in found:
        record = record_of(text(pipeline), fields_of(fields))
        if record is not None:
            silent = max(0.0, float(now) - float(seen))
            one = KnownPipeline(record, silent, _capacity(packed), bool(should_stop))
            known.append(one)
    return sorted(known, key=lambda one: (one.name, one.record.id))


async def find(store: Store, name: str) -> KnownPipeline:
    """By id, with or without `pipeline:`, or by nickname. Raises NotFound, or Refused where several
    pipelines have the nickname."""
    known = await every(store)
    found = [one for one in known if one.record.id in (name, _PREFIX + name)]
    found = found or [one for one in known if one.record.nickname == name]
    if not found:
        raise NotFound(f"there is no pipeline {name}")
    if len(found) > 1:
        ids = ", ".join(one.record.id for one in found)
        raise Refused(f"several pipelines are named {name}; use the id of one: {ids}")
    return found[0]


async def stop(store: Store, pipeline: str) -> None:
    """Asks a pipeline, by its id, to take no more crawls and to end after those that run."""
    if not await _STOP(store, [_pending(store)], [pipeline]):
        raise NotFound(f"there is no pipeline {pipeline}")


def record_of(pipeline: str, fields: dict[str, str]) -> Pipeline | None:
    """None for one without record. Values that make no sense count as 0."""
    if not fields:
        return None
    return Pipeline(
        id=pipeline,
        nickname=fields.get("nickname", ""),
        hostname=fields.get("hostname", ""),
        fqdn=fields.get("fqdn", ""),
        pid=int(_number(fields, "pid")),
        version=fields.get("version", ""),
        python=fields.get("python", ""),
        status="Stopping" if fields.get("status") == "Stopping" else "Running",
        ts=_number(fields, "ts"),
        disk_usage=_number(fields, "disk_usage"),
        disk_available=int(_number(fields, "disk_available")),
        mem_usage=_number(fields, "mem_usage"),
        mem_available=int(_number(fields, "mem_available")),
        load_average_1m=_number(fields, "load_average_1m"),
        load_average_5m=_number(fields, "load_average_5m"),
        load_average_15m=_number(fields, "load_average_15m"),
    )


def _number(fields: dict[str, str], name: str) -> float:
    try:
        number = float(fields.get(name, ""))
    except ValueError:
        return 0
    return number if abs(number) <= 2**53 else 0


def _capacity(packed: bytes) -> Capacity | None:
    try:
        return msgspec.json.decode(packed, type=Capacity)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _pending(store: Store) -> str:
    return Archive(store.prefix).pending()
