"""The instances of a fleet: each says that it is there, and what it does."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

import watchbell
from watchbell.cron.keys import CronOwn, CronUpstream
from watchbell.cron.model import Beat, parsed
from watchbell.store.client import Store, patiently
from watchbell.store.script import Script
from watchbell.store.url import StoreURL

LONGEST_PAUSE = 5.0
"""Seconds between signs of life, whatever the heartbeat, so that an instance that died is not
listed as working for long."""
_SKEW = 30

# KEYS instances, own instances; ARGV[1] member, ARGV[2] name, ARGV[3] what it says of itself,
# without the end: there the time is added.
_BEAT = Script("""
local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. ',"seen":' .. now .. '}')
""")


class Fleet(NamedTuple):
    beats: list[Beat]
    """Of our own instances, by name."""
    hosts: set[str]
    """Where instances run, as all kinds of them say."""

    @property
    def is_mixed(self) -> bool:
        """Whether an instance of Cronken runs on a host of its own."""
        return not self.hosts <= {beat.host for beat in self.beats}

    @property
    def working(self) -> int:
        """How many of ours begin runs."""
        return sum(not beat.is_silent and not beat.is_drained for beat in self.beats)


def first_beat(name: str, url: StoreURL, capacity: int, tags: tuple[str, ...] = ()) -> Beat:
    return Beat(
        name=name,
        host=socket.gethostname(),
        ip=_address(url),
        pid=os.getpid(),
        version=watchbell.__version__,
        capacity=capacity,
        tags=tags,
    )


def _address(url: StoreURL) -> str:
    """Ours, as the store would see it; nothing is sent to find out."""
    host, port = url.hosts[0] if url.hosts else ("127.0.0.1", 6379)
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(place)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"


# KEYS instances, own instances. Returns the time, the members that other programs may have written,
# and what each of ours says of itself.
_INSTANCES = Script("""
return {redis.call('TIME'), redis.call('ZRANGE', KEYS[1], 0, -1), redis.call('HVALS', KEYS[2])}
""")


class Presence:
    def __init__(
        self,
        store: Store,
        beat: Callable[[], Beat],
        every: float,
        on_fleet: Callable[[Fleet], None] = lambda _: None,
    ) -> None:
        """`on_fleet` is given the fleet as it is after each beat."""
        self._store, self._beat, self._every = store, beat, min(every, LONGEST_PAUSE)
        self._on_fleet = on_fleet
        self._news = asyncio.Event()
        self._keys = [CronUpstream(store.prefix).instances(), CronOwn(store.prefix).instances()]

    async def run(self) -> None:
        while True:
            self._news.clear()
            await patiently(self.tell)
            self._on_fleet(await patiently(lambda: fleet(self._store)))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._news.wait()

    def hurry(self) -> None:
        """What it says of itself has changed, and people look for it."""
        self._news.set()

    async def tell(self) -> None:
        beat = msgspec.structs.replace(self._beat(), every=self._every)
        member = msgspec.json.encode({"host": beat.host, "ip": beat.ip})
        said = msgspec.structs.asdict(beat)
        del said["seen"], said["is_silent"]
        text = msgspec.json.encode(said)
        await _BEAT(self._store, self._keys, [member, beat.name, text[:-1]])


async def fleet(store: Store) -> Fleet:
    keys = [CronUpstream(store.prefix).instances(), CronOwn(store.prefix).instances()]
    time, members, texts = await _INSTANCES(store, keys)
    now = int(time[0])
    beats = sorted((beat for text in texts if (beat := parsed(text, Beat))), key=_name)
    for beat in beats:
        beat.is_silent = not -_SKEW <= now - beat.seen <= 3 * beat.every
    known = [parsed(member, dict[str, str]) or {} for member in members]
    return Fleet(beats, {one["host"] for one in known if "host" in one})


def state(beat: Beat) -> str:
    """In a word or two."""
    if beat.is_silent:
        return "silent"
    return "drained" if beat.is_drained else "at work"


def _name(beat: Beat) -> str:
    return beat.name


# KEYS pending, pools; ARGV[1] beginning of the lists of placements. Returns how many fires wait.
_PENDING = Script("""
local count = redis.call('LLEN', KEYS[1])
for _, pool in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  count = count + redis.call('LLEN', ARGV[1] .. redis.sha1hex(pool))
end
return count
""")


async def instances(store: Store) -> list[Beat]:
    """Those of ours that there are, by name."""
    return (await fleet(store)).beats


async def hosts(store: Store) -> set[str]:
    """Where instances run, those of Cronken included."""
    found = await fleet(store)
    return found.hosts | {beat.host for beat in found.beats}


async def is_idle(store: Store) -> bool:
    """Whether every instance that there is was told to begin nothing new."""
    found = await fleet(store)
    alive = [beat for beat in found.beats if not beat.is_silent]
    return bool(alive) and all(beat.is_drained for beat in alive) and not found.is_mixed


async def pending(store: Store) -> int:
    """Fires that wait for an instance with a free place, also those that only some may run."""
    own = CronOwn(store.prefix)
    keys, prefix = [own.pending(), own.pools()], own.pool_pending.literals[0]
    waiting: int = await _PENDING(store, keys, [prefix])
    return waiting


async def alive(store: Store) -> list[Beat]:
    """Those of ours that gave a sign of life lately, drained ones included."""
    return [beat for beat in (await fleet(store)).beats if not beat.is_silent]
