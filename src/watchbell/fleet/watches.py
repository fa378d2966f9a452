"""Watches: a snapshot of a server or group each minute, until a time."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from watchbell.errors import Refused
from watchbell.fleet.keys import Fleet
from watchbell.fleet.minutes import SPREAD, is_next, minute_of, second_of
from watchbell.fleet.model import Target, Watch
from watchbell.fleet.snapshots import Occasion
from watchbell.store.client import Store
from watchbell.store.replies import number
from watchbell.store.script import READ, Script
from watchbell.units import in_words

LONGEST = 7 * 86_400
_LATE = 3
"""Seconds that the sample of a minute may take to be here."""

# KEYS watches, watched. Returns both.
_READ = Script(
    READ
    + """
return {read('HGETALL', KEYS[1]) or {}, read('HGETALL', KEYS[2]) or {}}
"""
)

# KEYS watches, watched; ARGV[1] field, ARGV[2] the watch as it was read, or empty for any. Returns
# how many were removed.
_REMOVE = Script("""
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
""")


class Watched(Struct, frozen=True):
    """A watch, as it was read, and the minute of its last snapshot."""

    watch: Watch
    text: bytes
    minute: int = -1

    def occasion(self, now: float) -> Occasion | None:
        """The snapshot that is to be taken now, if one is."""
        minute = minute_of(now - _LATE, _second(self.watch))
        if now >= self.watch.until or not is_next(minute, self.minute):
            return None
        return Occasion(self.watch, self.text, minute)


def _second(watch: Watch) -> int:
    """When the sample of a minute is taken; of a group, those of all its servers."""
    return second_of(watch.target) if watch.type == "server" else SPREAD


def check(seconds: float) -> None:
    """Raises Refused for a period that no watch may have."""
    if not 0 < seconds <= LONGEST:
        raise Refused(f"expected a time of up to {in_words(LONGEST)}", field="duration")


async def begin(store: Store, watch: Watch) -> None:
    """In place of another one of the same server or group."""
    key = Fleet(store.prefix).watches()
    await store.call("HSET", key, f"{watch.type}:{watch.target}", msgspec.json.encode(watch))


async def end(store: Store, type_: Target, target: str, *, text: bytes = b"") -> bool:
    """Whether there was one. With `text`, only that watch."""
    keys = Fleet(store.prefix)
    names = [keys.watches(), keys.watched()]
    return bool(await _REMOVE(store, names, [f"{type_}:{target}", text]))


async def every(store: Store) -> list[Watched]:
    """Those that another program has spoiled are left out."""
    keys = Fleet(store.prefix)
    watches, watched = await _READ(store, [keys.watches(), keys.watched()])
    minutes = dict(zip(watched[::2], watched[1::2], strict=True))
    found = zip(watches[::2], watches[1::2], strict=True)
    return [one for field, text in found if (one := _parsed(field, text, minutes)) is not None]


def _parsed(field: bytes, text: bytes, minutes: Mapping[bytes, bytes]) -> Watched | None:
    try:
        watch = msgspec.json.decode(text, type=Watch)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if f"{watch.type}:{watch.target}".encode() != field:
        return None
    minute = number(minutes.get(field))
    return Watched(watch, text, -1 if minute is None else minute)
