"""Crawls that have ended: kept with all of note, read page by page, the newest first."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.archive.crawl_records import crawl_of, state_of, time_text
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.lua import LAYOUT
from watchbell.archive.model import Crawl, CrawlState, FinishedFile
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

_SLICE = 500
_MOST_SLICES = 20
"""Slices that are searched for one page."""
_DAY = 86_400

_Record = tuple[str, bytes | None]

# Needs LAYOUT, READ. `records` returns crawls of the history by their ids.
_RECORDS = """
local function records(ids)
  if not ids or #ids == 0 then return {} end
  return {ids, read('HMGET', crawls.history, unpack(ids)) or {}}
end
"""

# KEYS[1] pending; ARGV[1] the id before the first or '', ARGV[2] how many. Returns the ids and
# records that follow, the newest first. Nothing follows an id that is gone: the oldest go first.
_PAGE = Script(
    LAYOUT
    + READ
    + _RECORDS
    + """
local first = 0
if ARGV[1] ~= '' then
  local rank = read('ZREVRANK', crawls.ended, ARGV[1])
  if not rank then return {} end
  first = rank + 1
end
return records(read('ZREVRANGE', crawls.ended, first, first + tonumber(ARGV[2]) - 1))
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] the id before the first or '', ARGV[3] how many. Returns
# ids and records of this ident, the newest first.
_OF_IDENT = Script(
    LAYOUT
    + READ
    + _RECORDS
    + """
local last = ARGV[2] ~= '' and ARGV[2] or ARGV[1] .. ';'
return records(read('ZREVRANGEBYLEX', crawls.ended_by_ident, '(' .. last, '[' .. ARGV[1] .. ':',
  'LIMIT', 0, ARGV[3]))
"""
)

# KEYS[1] pending; ARGV[1] since, ARGV[2] until, ARGV[3] how many. Returns ids and records of crawls
# that ended then, the newest first.
_BETWEEN = Script(
    LAYOUT
    + READ
    + _RECORDS
    + """
return records(read('ZREVRANGEBYSCORE', crawls.ended, ARGV[2], ARGV[1], 'LIMIT', 0, ARGV[3]))
"""
)

# KEYS[1] pending; ARGV[1] time, ARGV[2] how many. Removes what ended before that time; returns how
# many.
_TRIM = Script(
    LAYOUT
    + """
local old = redis.call('ZRANGEBYSCORE', crawls.ended, '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2])
for _, id in ipairs(old) do redis.call('HDEL', crawls.failing, string.match(id, '^[^:]*')) end
if #old > 0 then
  redis.call('HDEL', crawls.history, unpack(old))
  redis.call('ZREM', crawls.ended, unpack(old))
  redis.call('ZREM', crawls.ended_by_ident, unpack(old))
end
return #old
"""
)


# KEYS[1] pending; ARGV[1] id of a record, ARGV[2] JSON: by name, place and digest of a file.
# Returns 0 where there is no such record.
_PLACE = Script(
    LAYOUT
    + """
local packed = redis.call('HGET', crawls.history, ARGV[1])
local is_whole, record = pcall(cjson.decode, packed or '')
if not is_whole or type(record) ~= 'table' or type(record.files) ~= 'table' then return 0 end
local places = cjson.decode(ARGV[2])
for _, file in ipairs(record.files) do
  local known = type(file) == 'table' and places[file.name]
  if known then file.place, file.sha256 = known[1], known[2] end
end
redis.call('HSET', crawls.history, ARGV[1], cjson.encode(record))
redis.call('PUBLISH', crawls.news, record.ident)
return 1
"""
)


class EndedCrawl(Struct, frozen=True):
    id: str
    """`IDENT:TIMESTAMP`; a URL may have been archived several times."""
    crawl: Crawl
    state: CrawlState
    nickname: str
    """Of the pipeline that ran it last; empty if none did."""
    files: tuple[FinishedFile, ...]


class _Stored(Struct, frozen=True):
    ident: str
    job: dict[str, str]
    own: dict[str, str] = {}
    files: Any = ()


class HistoryPage(Struct, frozen=True):
    items: list[EndedCrawl]
    next: str
    """Where the next page begins; empty on the last one."""


async def page(
    store: Store, *, after: str = "", limit: int = 50, contains: str = "", ident: str = ""
) -> HistoryPage:
    """The newest first, after the place at which another page ended. `contains` is part of a URL, a
    note, or the name of who started it; such a page may be short and still have a next one."""
    found: list[EndedCrawl] = []
    size = _SLICE if contains else min(limit + 1, _SLICE)
    for _ in range(_MOST_SLICES):
        records = await _following(store, ident, after, size)
        for history_id, record in records:
            if len(found) == limit:
                return HistoryPage(found, after)
            after, one = history_id, _ended(history_id, record)
            if one is not None and _mentions(one.crawl, contains):
                found.append(one)
        if len(records) < size:
            return HistoryPage(found, "")
    return HistoryPage(found, after)


async def of_ident(store: Store, ident: str, most: int = 1) -> list[EndedCrawl]:
    """The newest crawls of an ident."""
    return (await page(store, ident=ident, limit=most)).items


async def between(store: Store, since: float, until: float, most: int) -> list[EndedCrawl]:
    """Those that ended in a stretch of time, the newest first."""
    found = await _records(store, _BETWEEN, since, until, most)
    made = [_ended(history_id, record) for history_id, record in found]
    return [one for one in made if one is not None]


async def count(store: Store) -> int:
    found: int = await store.call("ZCARD", Crawls(store.prefix).ended())
    return found


async def trim(store: Store, now: float, days: int) -> int:
    """Removes some of what is older; returns how many. As many as a slice: there may be more."""
    args: list[Argument] = [now - days * _DAY, _SLICE]
    removed: int = await _TRIM(store, [Archive(store.prefix).pending()], args)
    return removed


async def set_places(
    store: Store, ident: str, queued_at: float, files: Sequence[FinishedFile]
) -> bool:
    """Records where files of a crawl that has ended were uploaded to. False if there is no record
    of it. May be repeated."""
    places = {file.name: (file.place, file.sha256) for file in files}
    keys, packed = [Archive(store.prefix).pending()], msgspec.json.encode(places).decode()
    if await _PLACE(store, keys, [f"{ident}:{time_text(queued_at)}", packed]):
        return True
    for one in await of_ident(store, ident, _SLICE):  # queued by another program
        if any(file.name in places for file in one.files):
            return bool(await _PLACE(store, keys, [one.id, packed]))
    return False


async def _following(store: Store, ident: str, after: str, most: int) -> list[_Record]:
    if ident:
        return await _records(store, _OF_IDENT, ident, after, most)
    return await _records(store, _PAGE, after, most)


async def _records(store: Store, script: Script, *args: Argument) -> list[_Record]:
    answer = await script(store, [Archive(store.prefix).pending()], args)
    ids, records = answer or ([], [])
    names = [one.decode(errors="replace") for one in ids]
    return list(zip(names, records, strict=False))


def _ended(history_id: str, record: bytes | None) -> EndedCrawl | None:
    """None for a record that other programs spoiled."""
    try:
        stored = msgspec.json.decode((record or b"").decode(errors="replace"), type=_Stored)
        files = msgspec.convert(stored.files or (), type=tuple[FinishedFile, ...])
    except (msgspec.MsgspecError, RecursionError):
        return None
    crawl = crawl_of(stored.ident, stored.job, stored.own)
    if crawl is None:
        return None
    return EndedCrawl(history_id, crawl, state_of(crawl), stored.own.get("nickname", ""), files)


def _mentions(crawl: Crawl, words: str) -> bool:
    texts = (crawl.url, crawl.url_file, crawl.note, crawl.started_by, crawl.ident)
    return any(words.casefold() in text.casefold() for text in texts)
