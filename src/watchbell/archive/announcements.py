"""What is announced to people: crawls that begin, as short public notices, and crawls that end."""

from typing import Any

import msgspec
from msgspec import Struct

from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

POST_EVERY = 120.0
"""Seconds between two notices, as upstream's tweeter has it."""
_KEPT = 30 * 86_400
_MOST_QUEUED = 1_000

# KEYS[1] pending; ARGV[1] ident, ARGV[2] most. Queues a notice of a crawl at work, once. Returns 0
# if it is not at work.
_QUEUE = Script(
    LAYOUT
    + """
local ident = ARGV[1]
if kind_of(archive.job(ident)) ~= 'hash' then return 0 end
local url, started, finished = unpack(
  redis.call('HMGET', archive.job(ident), 'url', 'started_at', 'finished_at'))
if not url or not started or finished then return 0 end
local notice = 'Archiving ' .. shown_url(url)
for _, key in ipairs({archive.tweeted, archive.tweets}) do
  if redis.call('ZSCORE', key, notice) then return 1 end
end
redis.call('ZADD', archive.tweets, precise(store_time()), notice)
redis.call('ZREMRANGEBYRANK', archive.tweets, 0, -1 - tonumber(ARGV[2]))
return 1
"""
)

# KEYS[1] pending; ARGV[1] seconds for which posted notices are kept. Posts the oldest notice: moves
# it to the feed. Returns how many wait.
_POST = Script(
    LAYOUT
    + """
local now = store_time()
redis.call('ZREMRANGEBYSCORE', archive.tweeted, '-inf', precise(now - tonumber(ARGV[1])))
local oldest = redis.call('ZRANGE', archive.tweets, 0, 0)[1]
if oldest then
  redis.call('ZADD', archive.tweeted, precise(now), oldest)
  redis.call('ZREM', archive.tweets, oldest)
end
return redis.call('ZCARD', archive.tweets)
"""
)

# KEYS[1] pending; ARGV[1] how many. Returns the newest notices that were posted, with their times.
_FEED = Script(
    LAYOUT
    + READ
    + """
return read('ZREVRANGE', archive.tweeted, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES') or {}
"""
)


class Notice(Struct, frozen=True):
    """A crawl that has ended, as whoever ended it announced it."""

    text: bytes
    """As the store has it."""
    ident: str = ""
    url: str = ""
    state: str = ""
    started_by: str = ""
    started_in: str = ""


async def queue(store: Store, ident: str) -> bool:
    """Queues a notice that a crawl has begun, once. False if it is not at work."""
    args: list[Argument] = [ident, _MOST_QUEUED]
    return bool(await _QUEUE(store, [Archive(store.prefix).pending()], args))


async def post(store: Store) -> None:
    """Posts the oldest notice to the feed."""
    await _POST(store, [Archive(store.prefix).pending()], [_KEPT])
    probe("archive.posted")


async def feed(store: Store, count: int = 50) -> list[tuple[str, float]]:
    """The newest notices that were posted, with their times."""
    found = await _FEED(store, [Archive(store.prefix).pending()], [count])
    return [
        (text.decode(errors="replace"), float(at))
        for text, at in zip(found[::2], found[1::2], strict=True)
    ]


async def ended(store: Store) -> list[Notice]:
    """Crawls whose end was not announced yet, the oldest first; `done` removes one."""
    found = await store.call("LRANGE", Archive(store.prefix).finish_notifications(), 0, -1)
    return [_notice(text) for text in found]


async def done(store: Store, notice: Notice) -> None:
    key = Archive(store.prefix).finish_notifications()
    await store.call("LREM", key, 1, notice.text)
    probe("archive.announced")


def _notice(text: bytes) -> Notice:
    """Other programs write these too, with other fields."""
    try:
        found: Any = msgspec.json.decode(text.decode(errors="replace"))
    except (msgspec.MsgspecError, RecursionError):
        return Notice(text)
    if not isinstance(found, dict):
        return Notice(text)
    names = ("ident", "url", "state", "started_by", "started_in")
    known = {name: found[name] for name in names if isinstance(found.get(name), str)}
    if "state" not in known:
        known["state"] = "aborted" if found.get("aborted") in (True, "true") else "completed"
    return Notice(text, **known)
