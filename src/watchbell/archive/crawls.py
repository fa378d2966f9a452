"""Crawls that wait, run or have just ended: added, read and changed."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.archive import ignores
from watchbell.archive.crawl_records import Fields, crawl_of, fields_of, settings_of, time_text
from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT, QUEUES
from watchbell.archive.model import Crawl, CrawlOptions, CrawlSettings, Depth, Grabber
from watchbell.archive.options import LONGEST_DELAY, MOST_CONCURRENCY
from watchbell.errors import NotFound, Refused
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

MOST_IGNORES = 10_000
_PAGE = 200
_SEEN_ENDED = 172_800
"""Seconds for which ended crawls are listed with the others, at most."""


class NewCrawl(Struct, frozen=True, kw_only=True):
    ident: str
    url: str
    slug: str
    queue: str = "pending"
    """`pending`, `pending-ao`, `pending-large` or `pending:TAG`."""
    fetch_depth: Depth = "inf"
    url_file: str = ""
    note: str = ""
    started_by: str = ""
    started_in: str = ""
    user_agent: str = ""
    no_offsite_links: bool = False
    grabber: Grabber = ""
    phantomjs_wait: float | None = None
    phantomjs_scroll: int | None = None
    no_phantomjs_smart_scroll: bool = False
    settings: CrawlSettings = CrawlSettings(age=4)
    """Upstream's bot sets delay, concurrency, ignores and their reports: its age begins at 4."""
    options: CrawlOptions = CrawlOptions()


class Added(Struct, frozen=True):
    ident: str
    is_new: bool
    """False where the URL has a crawl already, which stays as it is."""
    ahead: int
    """How many crawls are before it in its queue."""


class Change(Struct, frozen=True, kw_only=True):
    """What to change; None and empty leave things as they are."""

    delay: tuple[int, int] | None = None
    concurrency: int | None = None
    ignore: Sequence[str] = ()
    unignore: Sequence[str] = ()
    suppress_ignore_reports: bool | None = None
    is_paused: bool | None = None
    note: str | None = None


class ChangedCrawl(Struct, frozen=True):
    age: int
    """Of its settings."""
    ignored: int
    """How many patterns were added."""
    unignored: int


# KEYS[1] pending; ARGV[1] ident, ARGV[2] queue, ARGV[3] TAG of the queue or '', ARGV[4] how many
# fields and values of the record follow, those of our own hash, then ignore patterns. `token` of
# our own hash tells a repeated call. Returns 1 or 0: is it new; and how many are before it.
_ADD = Script(
    LAYOUT
    + """
local ident, queue, tag, count = ARGV[1], base .. ARGV[2], ARGV[3], tonumber(ARGV[4])
local own_count = tonumber(ARGV[5 + count])
local job, own = archive.job(ident), crawls.crawl(ident)
local token = ARGV[6 + count + 1]
if redis.call('EXISTS', job) == 1 then
  local is_ours = kind_of(own) == 'hash' and redis.call('HGET', own, 'token') == token
  return {is_ours and 1 or 0, 0}
end
local ahead = redis.call('LLEN', queue)
if tag ~= '' then redis.call('SADD', crawls.queues, tag) end
redis.call('DEL', own, archive.log(ident), archive.ignores(ident), crawls.recent(ident),
  crawls.matches(ident), crawls.hosts(ident), crawls.minutes(ident))
redis.call('HSET', job, unpack(ARGV, 5, 4 + count))
redis.call('HSET', own, unpack(ARGV, 6 + count, 5 + count + own_count))
for i = 6 + count + own_count, #ARGV do redis.call('SADD', archive.ignores(ident), ARGV[i]) end
redis.call('LPUSH', queue, ident)
redis.call('PUBLISH', crawls.news, ident)
return {1, ahead}
"""
)

# KEYS[1] pending; ARGV[1] 1 to read ignore patterns, too, then idents. Returns for each the fields
# of its record, of our own hash, and its ignore patterns.
_READ = Script(
    LAYOUT
    + READ
    + """
local found = {}
for i = 2, #ARGV do
  local ident = ARGV[i]
  found[i - 1] = {
    read('HGETALL', archive.job(ident)) or {},
    read('HGETALL', crawls.crawl(ident)) or {},
    ARGV[1] == '1' and read('SMEMBERS', archive.ignores(ident)) or {},
  }
end
return found
"""
)

# KEYS[1] pending. Returns the idents of crawls at work.
_WORKING = Script(LAYOUT + READ + "return read('LRANGE', archive.working, 0, -1) or {}")

# KEYS[1] pending; ARGV[1] since when ended crawls are wanted. Returns idents, each once: at work,
# queued (the next first, queue by queue), ended (the newest first).
_IDENTS = Script(
    LAYOUT
    + READ
    + QUEUES
    + """
local found, seen = {}, {}
local function add(ident)
  if not seen[ident] then found[#found + 1] = ident end
  seen[ident] = true
end
for _, ident in ipairs(read('LRANGE', archive.working, 0, -1) or {}) do add(ident) end
for _, key in ipairs(queue_keys('')) do
  local waiting = read('LRANGE', key, 0, -1) or {}
  for i = #waiting, 1, -1 do add(waiting[i]) end
end
for _, id in ipairs(read('ZREVRANGEBYSCORE', crawls.ended, '+inf', ARGV[1]) or {}) do
  add(string.match(id, '^[^:]*'))
end
return found
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] msgpack: {fields to set, fields to delete, own fields to
# set, patterns to add, patterns to remove, most patterns}. Settings get the next age where any of
# them is named. Returns {age, patterns added, patterns removed}, or why it was refused.
_CHANGE = Script(
    LAYOUT
    + """
local ident = ARGV[1]
local set, delete, own_set, ignore, unignore, most = unpack(cmsgpack.unpack(ARGV[2]))
local job, own, ignores = archive.job(ident), crawls.crawl(ident), archive.ignores(ident)
if not is_readable(ident) then return 'gone' end
if not is_fit(ignores, 'set') then return 'spoilt' end
if redis.call('HEXISTS', job, 'finished_at') == 1 then return 'ended' end
if #ignore + #unignore > 0 and redis.call('SCARD', ignores) + #ignore > most then return 'many' end

local added, removed = 0, 0
local is_setting = #delete + #own_set + #ignore + #unignore > 0
for i = 1, #set, 2 do
  redis.call('HSET', job, set[i], set[i + 1])
  is_setting = is_setting or set[i] ~= 'note'
end
for _, field in ipairs(delete) do redis.call('HDEL', job, field) end
for i = 1, #own_set, 2 do redis.call('HSET', own, own_set[i], own_set[i + 1]) end
for _, pattern in ipairs(ignore) do added = added + redis.call('SADD', ignores, pattern) end
for _, pattern in ipairs(unignore) do removed = removed + redis.call('SREM', ignores, pattern) end
local age = redis.call('HGET', job, 'settings_age') or '0'
if is_setting then
  age = add_to(job, 'settings_age', 1)
  redis.call('PUBLISH', archive.settings(ident), age)
end
redis.call('PUBLISH', crawls.news, ident)
return {whole(number_of(age)), added, removed}
"""
)

_REFUSALS = {
    b"ended": "the crawl has ended",
    b"spoilt": "another program has put something else where its ignore patterns should be",
    b"many": f"a crawl has at most {MOST_IGNORES:,} ignore patterns",
}


async def add(store: Store, crawl: NewCrawl, now: float, token: str) -> Added:
    """Queues a crawl, unless its URL has one. May be repeated with the same `token`."""
    job, own = _job_fields(crawl, store.prefix, now), _own_fields(crawl, token)
    tag = crawl.queue.partition(":")[2]
    args: list[Argument] = [crawl.ident, crawl.queue, tag, len(job), *job, len(own), *own]
    is_new, ahead = await _ADD(store, [_pending(store)], [*args, *sorted(crawl.settings.ignores)])
    probe("archive.added")
    return Added(crawl.ident, bool(is_new), ahead)


def _job_fields(crawl: NewCrawl, prefix: str, now: float) -> list[str]:
    keys, settings = Archive(prefix), crawl.settings
    fields = {
        "url": crawl.url,
        "fetch_depth": crawl.fetch_depth,
        "log_key": keys.log(crawl.ident),
        "user_agent": crawl.user_agent,
        "ignore_patterns_set_key": keys.ignores(crawl.ident),
        "slug": crawl.slug,
        "started_by": crawl.started_by,
        "started_in": crawl.started_in,
        "queued_at": time_text(now),
        "settings_age": str(settings.age),
        "delay_min": str(settings.delay_min),
        "delay_max": str(settings.delay_max),
        "concurrency": str(settings.concurrency),
    }
    optional = {
        "url_file": crawl.url_file,
        "note": crawl.note,
        "grabber": crawl.grabber,
        "phantomjs_wait": _text(crawl.phantomjs_wait),
        "phantomjs_scroll": _text(crawl.phantomjs_scroll),
        "no_offsite_links": _flag(crawl.no_offsite_links),
        "no_phantomjs_smart_scroll": _flag(crawl.no_phantomjs_smart_scroll),
        "suppress_ignore_reports": _flag(settings.suppress_ignore_reports),
    }
    fields |= {name: value for name, value in optional.items() if value}
    return [word for pair in fields.items() for word in pair]


def _own_fields(crawl: NewCrawl, token: str) -> list[str]:
    fields = ["token", token, "queue", crawl.queue]
    if crawl.options != CrawlOptions():
        fields += ["options", msgspec.json.encode(crawl.options).decode()]
    return [*fields, "paused", "true"] if crawl.settings.is_paused else fields


def _flag(is_set: bool) -> str:
    return "true" if is_set else ""


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


async def get(store: Store, ident: str) -> Crawl | None:
    return (await find(store, [ident]))[0]


async def to_fetch(store: Store, ident: str) -> Crawl | None:
    """As its pipeline needs it, with names and passwords in URLs."""
    (answer,) = await _READ(store, [_pending(store)], [1, ident])
    return crawl_of(ident, *_parts(answer), with_logins=True)


async def find(
    store: Store, idents: Sequence[str], *, with_ignores: bool = True
) -> list[Crawl | None]:
    """The records of these crawls, for people: names and passwords in URLs are hidden. None for one
    that does not exist or can't be read."""
    found: list[Crawl | None] = []
    for first in range(0, len(idents), _PAGE):
        some = idents[first : first + _PAGE]
        answers = await _READ(store, [_pending(store)], [int(with_ignores), *some])
        for ident, answer in zip(some, answers, strict=True):
            found.append(crawl_of(ident, *_parts(answer)))
    return found


async def working(store: Store) -> list[Crawl]:
    """Those that pipelines work on, without their ignores."""
    found = await _WORKING(store, [_pending(store)])
    records = await find(store, [text(ident) for ident in found], with_ignores=False)
    return [one for one in records if one is not None]


async def every(store: Store, now: float) -> list[Crawl]:
    """All that run, wait (the next first) or have ended (the newest first) and still have a
    record."""
    return [one for one in await find(store, await idents(store, now)) if one is not None]


async def at_work(store: Store, most: int = 1_000) -> list[Crawl]:
    """Those that pipelines have, the newest first."""
    working = Archive(store.prefix).working()
    if await store.call("TYPE", working) != b"list":
        return []
    names = await store.call("LRANGE", working, 0, most - 1)
    found = await find(store, [text(name) for name in names], with_ignores=False)
    return [one for one in found if one is not None and one.finished_at is None]


async def idents(store: Store, now: float) -> list[str]:
    """In the order of `every`."""
    found = await _IDENTS(store, [_pending(store)], [now - _SEEN_ENDED])
    return [text(ident) for ident in found]


async def settings(store: Store, ident: str) -> CrawlSettings | None:
    """None where the crawl is gone."""
    (answer,) = await _READ(store, [_pending(store)], [1, ident])
    job, own, patterns = _parts(answer)
    return settings_of(job, own, patterns) if job else None


async def change(store: Store, ident: str, change: Change) -> ChangedCrawl:
    """Raises NotFound, or Refused where a value makes no sense or the crawl has ended."""
    _check(change)
    packed = msgspec.msgpack.encode(_changes(change))
    answer = await _CHANGE(store, [_pending(store)], [ident, packed])
    if answer == b"gone":
        raise NotFound(f"there is no crawl {ident}")
    if isinstance(answer, bytes):
        raise Refused(_REFUSALS[answer], code=answer.decode())
    return ChangedCrawl(int(answer[0]), answer[1], answer[2])


def _check(change: Change) -> None:
    for pattern in change.ignore:
        ignores.check(pattern)
    least, most = change.delay or (0, 0)
    if not 0 <= least <= most <= LONGEST_DELAY:
        reason = f"must be two numbers of milliseconds, the smaller first, up to {LONGEST_DELAY}"
        raise Refused(reason, field="delay")
    if change.concurrency is not None and not 1 <= change.concurrency <= MOST_CONCURRENCY:
        raise Refused(f"must be between 1 and {MOST_CONCURRENCY}", field="concurrency")


def _changes(change: Change) -> list[Any]:
    fields: list[str] = []
    if change.delay is not None:
        fields += ["delay_min", str(change.delay[0]), "delay_max", str(change.delay[1])]
    if change.concurrency is not None:
        fields += ["concurrency", str(change.concurrency)]
    if change.note is not None:
        fields += ["note", change.note]
    deleted = []
    if change.suppress_ignore_reports:
        fields += ["suppress_ignore_reports", "true"]
    elif change.suppress_ignore_reports is not None:
        deleted.append("suppress_ignore_reports")
    own = [] if change.is_paused is None else ["paused", "true" if change.is_paused else "false"]
    return [fields, deleted, own, list(change.ignore), list(change.unignore), MOST_IGNORES]


def _parts(answer: list[list[bytes]]) -> tuple[Fields, Fields, frozenset[str]]:
    job, own, patterns = answer
    bounded = patterns if len(patterns) <= MOST_IGNORES else sorted(patterns)[:MOST_IGNORES]
    return fields_of(job), fields_of(own), frozenset(map(text, bounded))


def _pending(store: Store) -> str:
    return Archive(store.prefix).pending()
