"""Locks: one holder at a time, by the store's clock.

A lock is a hint: a holder that slept may go on for a moment after it was lost. So what is written
under one compares before it writes, and may be done twice.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from watchbell import ids
from watchbell.errors import LockLost, Refused, StoreUnavailable
from watchbell.store.client import Argument, Store
from watchbell.store.lease import kept
from watchbell.store.script import Script

# KEYS[1] lock; ARGV[1] token, ARGV[2] ms of the lock. Returns -1 once it is ours, or else the ms
# for which another holds it.
_ACQUIRE = Script("""
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return math.max(redis.call('PTTL', KEYS[1]), 0) end
if not held then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return -1
""")

# KEYS[1] lock; ARGV[1] token, ARGV[2] ms of the lock. Returns 1 if the lock was still ours and
# lives on.
_EXTEND = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")

# KEYS[1] lock; ARGV[1] token. Returns 1 if the lock was ours.
_RELEASE = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
""")


class Held(Struct, frozen=True):
    store: Store
    key: str
    token: str
    seconds: float

    async def extend(self) -> bool:
        args: list[Argument] = [self.token, round(self.seconds * 1000)]
        return bool(await _EXTEND(self.store, [self.key], args))

    async def release(self) -> bool:
        return bool(await _RELEASE(self.store, [self.key], [self.token]))


async def acquire(store: Store, key: str, seconds: float, *, wait: float = 0) -> Held | None:
    """The lock for `seconds`, or None where another still holds it after `wait` seconds."""
    token = ids.token()
    args: list[Argument] = [token, round(seconds * 1000)]
    try:
        async with asyncio.timeout(wait or None):
            while True:
                left = await _ACQUIRE(store, [key], args)
                if left < 0:
                    return Held(store, key, token, seconds)
                if not wait:
                    return None
                await asyncio.sleep(min(max(left, 10) / 1000, 0.1) * random.uniform(0.5, 1))
    except TimeoutError:
        await _RELEASE(store, [key], [token])
        return None
    except asyncio.CancelledError:  # the store may have given us the lock, and its answer is lost
        await _release(Held(store, key, token, seconds))
        raise


@asynccontextmanager
async def locked(store: Store, key: str, seconds: float, *, wait: float = 0) -> AsyncIterator[Held]:
    """The body holds the lock, which is extended as long as it runs, and released after it.

    Raises Refused where another holds it, and LockLost in place of the body once it is lost.
    """
    held = await acquire(store, key, seconds, wait=wait)
    if held is None:
        raise Refused(f"the lock {key} is held by another")
    lost, is_ours = LockLost(f"the lock {key} was lost"), True
    try:
        async with kept(held.extend, seconds, lost):
            yield held
    except LockLost as error:
        is_ours = error is not lost
        raise
    finally:
        if is_ours:
            await _release(held)


async def _release(held: Held) -> None:
    """Where the store can't be reached in time, the lock expires by itself."""
    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(held.seconds):
            await held.release()
