"""The locks of Flapjack's records: other programs hold those of the classes that they change."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from watchbell import ids
from watchbell.alerting.record_keys import CLASSES, Records
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text_or_none
from watchbell.store.script import Script

_LIFE = 60
"""Seconds after which others may take a lock."""
_TOKEN = ids.token()
OWNER = "lock owner"
"""The field of a hash that has the token of the process that takes locks."""

# KEYS: owner and expiry of the lock of each class; ARGV[1] our token, ARGV[2] now, ARGV[3] seconds.
# Takes all or none; returns whether they are ours. The keys expire, too, for programs that do not
# read when a lock does.
_TAKE = Script("""
local now = tonumber(ARGV[2])
for i = 1, #KEYS, 2 do
  local held = redis.call('GET', KEYS[i])
  local expiry = tonumber(redis.call('GET', KEYS[i + 1]) or '') or 0
  if held and held ~= ARGV[1] and expiry > now then return 0 end
end
for i = 1, #KEYS, 2 do
  redis.call('SET', KEYS[i], ARGV[1], 'EX', ARGV[3])
  redis.call('SET', KEYS[i + 1], string.format('%.0f', now + ARGV[3]), 'EX', ARGV[3])
end
return 1
""")

# KEYS as above; ARGV[1] our token.
_RELEASE = Script("""
for i = 1, #KEYS, 2 do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i], KEYS[i + 1]) end
end
""")


@asynccontextmanager
async def held(store: Store, classes: Iterable[str], now: int) -> AsyncIterator[bool]:
    """Takes the locks of all classes, or none where another program holds one of them. Gives
    whether they are held, and releases them afterwards.

    A cancellation waits for the store's answer: it may have given us the locks.
    """
    places = _places(store, classes)
    args: list[Argument] = [_TOKEN, now, _LIFE]
    taking = asyncio.ensure_future(_TAKE(store, places, args))  # noqa: TID251 see above
    try:
        yield bool(await asyncio.shield(taking))
    finally:
        if await taking:
            await _RELEASE(store, places, [_TOKEN])


async def take_over(store: Store, place: str) -> None:
    """Releases what the process held that called this last and may have been killed. Its token is
    in a hash, in which ours is the next."""
    before = text_or_none(await store.call("HGET", place, OWNER))
    if before is not None and before != _TOKEN:
        await _RELEASE(store, _places(store, CLASSES), [before])
    await store.call("HSET", place, OWNER, _TOKEN)


def _places(store: Store, classes: Iterable[str]) -> list[str]:
    keys = Records(store.prefix)
    return [key for name in classes for key in (keys.lock_owner(name), keys.lock_expiry(name))]
