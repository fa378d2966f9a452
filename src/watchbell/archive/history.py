"""Crawls that have ended: kept with all of note, read page by page, the newest first."""

from typing import Any

import msgspec
from msgspec import Struct

from watchbell.archive.crawl_records import crawl_of, state_of
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.lua import LAYOUT
from watchbell.archive.model import Crawl, CrawlState, FinishedFile
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

_SLICE = 500
_DAY = 86_400

# KEYS[1] pending; ARGV[1] offset, ARGV[2] how many. Returns the records at this place, the newest
# first.
_PAGE = Script(
    LAYOUT
    + READ
    + """
local last = tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1
local ids = read('ZREVRANGE', crawls.ended, ARGV[1], last) or {}
if #ids == 0 then return {} end
return {ids, read('HMGET', crawls.history, unpack(ids)) or {}}
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
end
return #old
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


async def page(
    store: Store, *, offset: int = 0, limit: int = 50, contains: str = "", ident: str = ""
) -> list[EndedCrawl]:
    """The newest first. `contains` is part of a URL, a note, or the name of who started it."""
    if not contains and not ident:
        return await _slice(store, offset, limit)
    found: list[EndedCrawl] = []
    for first in range(0, await count(store), _SLICE):
        found += [
            one
            for one in await _slice(store, first, _SLICE)
            if (not ident or one.crawl.ident == ident) and _mentions(one.crawl, contains)
        ]
        if len(found) >= offset + limit:
            break
    return found[offset : offset + limit]


async def count(store: Store) -> int:
    found: int = await store.call("ZCARD", Crawls(store.prefix).ended())
    return found


async def trim(store: Store, now: float, days: int) -> int:
    """Removes some of what is older; returns how many. As many as a slice: there may be more."""
    args: list[Argument] = [now - days * _DAY, _SLICE]
    removed: int = await _TRIM(store, [Archive(store.prefix).pending()], args)
    return removed


async def _slice(store: Store, offset: int, limit: int) -> list[EndedCrawl]:
    answer = await _PAGE(store, [Archive(store.prefix).pending()], [offset, limit])
    ids, records = answer or ([], [])
    found = [
        _ended(one.decode(errors="replace"), text) for one, text in zip(ids, records, strict=False)
    ]
    return [one for one in found if one is not None]


def _ended(history_id: str, record: bytes | None) -> EndedCrawl | None:
    """None for a record that other programs spoiled."""
    try:
        stored = msgspec.json.decode((record or b"").decode(errors="replace"), type=_Stored)
        files = msgspec.convert(stored.files or (), type=tuple[FinishedFile, ...])
    except msgspec.MsgspecError:
        return None
    crawl = crawl_of(stored.ident, stored.job, stored.own)
    if crawl is None:
        return None
    return EndedCrawl(history_id, crawl, state_of(crawl), stored.own.get("nickname", ""), files)


def _mentions(crawl: Crawl, words: str) -> bool:
    texts = (crawl.url, crawl.url_file, crawl.note, crawl.started_by, crawl.ident)
    return any(words.casefold() in text.casefold() for text in texts)
