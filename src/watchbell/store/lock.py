"""Locks: one holder by the store's clock, and a fencing number for what a lock can't stop."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import Struct

from watchbell import ids
from watchbell.errors import LockLost, Refused, StoreUnavailable
from watchbell.store.client import Argument, Store
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.lease import kept
from watchbell.store.script import Script

_keys = StoreKeys()
_FENCE_KEPT = 86_400_000

# KEYS[1] lock, KEYS[2] fence; ARGV[1] token, ARGV[2] ms of the lock, ARGV[3] ms of the fence.
# Returns the fencing number, or -1 and the ms for which another holds the lock.
# The number follows the store's clock, so it grows even where a failover forgot the last one.
_ACQUIRE = Script("""
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return {'-1', redis.call('PTTL', KEYS[1])} end
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if held then return {string.format('%.0f', last), 0} end
local time = redis.call('TIME')
local fence = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], fence, 'PX', ARGV[3])
return {fence, 0}
""")

# KEYS[1] lock, KEYS[2] fence; ARGV[1] token, ARGV[2] ms of the lock, ARGV[3] ms of the fence.
# Returns 1 if the lock was still ours and lives on.
_EXTEND = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")

# KEYS[1] lock; ARGV[1] token. Returns 1 if the lock was ours.
_RELEASE = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
""")


class Fenced:
    """Effects, as Lua over KEYS and ARGV, that happen unless somebody newer was given the lock."""

    def __init__(self, effects: str) -> None:
        # KEYS[1] fence, ARGV[1] our number; the rest are the effects'. Returns 0 where refused.
        self._script = Script(f"""
local function effects(KEYS, ARGV) {effects}
end
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
if last > tonumber(ARGV[1]) then return {{0}} end
return {{1, effects({{unpack(KEYS, 2)}}, {{unpack(ARGV, 2)}})}}
""")

    async def __call__(
        self, held: "Held", keys: Sequence[str] = (), args: Sequence[Argument] = ()
    ) -> Any:
        done, *answer = await self._script(
            held.store, [_fence(held.key), *keys], [held.fence, *args]
        )
        if not done:
            raise LockLost(f"somebody newer holds the lock {held.key}")
        return answer[0] if answer else None


class Held(Struct, frozen=True):
    store: Store
    key: str
    token: str
    fence: int
    """Grows with every holder. What is done under the lock carries it, and the older gives way."""
    seconds: float

    async def extend(self) -> bool:
        args: list[Argument] = [self.token, round(self.seconds * 1000), _FENCE_KEPT]
        return bool(await _EXTEND(self.store, [self.key, _fence(self.key)], args))

    async def release(self) -> bool:
        return bool(await _RELEASE(self.store, [self.key], [self.token]))


async def acquire(store: Store, key: str, seconds: float, *, wait: float = 0) -> Held | None:
    """The lock for `seconds`, or None where another still holds it after `wait` seconds."""
    token = ids.token()
    args: list[Argument] = [token, round(seconds * 1000), _FENCE_KEPT]
    try:
        async with asyncio.timeout(wait or None):
            while True:
                fence, others = await _ACQUIRE(store, [key, _fence(key)], args)
                if int(fence) >= 0:
                    return Held(store, key, token, int(fence), seconds)
                if not wait:
                    return None
                await asyncio.sleep(min(max(others, 10) / 1000, 0.1) * random.uniform(0.5, 1))
    except TimeoutError:
        await _RELEASE(store, [key], [token])
        return None
    except asyncio.CancelledError:  # the store may have given us the lock, and its answer is lost
        await _let_go(Held(store, key, token, 0, seconds))
        raise


@asynccontextmanager
async def locked(store: Store, key: str, seconds: float, *, wait: float = 0) -> AsyncIterator[Held]:
    """The body holds the lock, which is extended as long as it runs, and let go after it.

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
            await _let_go(held)


async def _let_go(held: Held) -> None:
    """Frees the lock; where the store can't be told in time, it ends by itself."""
    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(held.seconds):
            await held.release()


def _fence(key: str) -> str:
    return _keys.fence(tagged(key))
