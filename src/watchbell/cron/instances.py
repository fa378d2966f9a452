"""The instances of a fleet: each says that it is there, and what it does."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress

import msgspec

import watchbell
from watchbell.cron.keys import CronOwn, CronUpstream
from watchbell.cron.model import Beat, parsed
from watchbell.store.client import Store, patiently
from watchbell.store.script import Script
from watchbell.store.url import StoreURL

# KEYS instances, own instances; ARGV[1] member, ARGV[2] name, ARGV[3] what it says of itself,
# without the end: there the time is added.
_BEAT = Script("""
local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. ',"seen":' .. now .. '}')
""")


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


class Presence:
    def __init__(self, store: Store, beat: Callable[[], Beat], every: float) -> None:
        self._store, self._beat, self._every = store, beat, every
        self._news = asyncio.Event()
        self._keys = [CronUpstream(store.prefix).instances(), CronOwn(store.prefix).instances()]

    async def run(self) -> None:
        while True:
            self._news.clear()
            await patiently(self.tell)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._news.wait()

    def hurry(self) -> None:
        """What it says of itself has changed, and people look for it."""
        self._news.set()

    async def tell(self) -> None:
        beat = self._beat()
        member = msgspec.json.encode({"host": beat.host, "ip": beat.ip})
        said = msgspec.structs.asdict(beat)
        del said["seen"]
        text = msgspec.json.encode(said)
        await _BEAT(self._store, self._keys, [member, beat.name, text[:-1]])


async def instances(store: Store) -> list[Beat]:
    """Those of ours that there are, by name."""
    found = await store.call("HVALS", CronOwn(store.prefix).instances())
    beats = [parsed(text, Beat) for text in found]
    return sorted((beat for beat in beats if beat), key=lambda beat: beat.name)


async def hosts(store: Store) -> set[str]:
    """Where instances run, those of Cronken included."""
    members = await store.call("ZRANGE", CronUpstream(store.prefix).instances(), 0, -1)
    told = [parsed(member, dict[str, str]) or {} for member in members]
    return {one["host"] for one in told if "host" in one} | {
        beat.host for beat in await instances(store)
    }


async def is_idle(store: Store) -> bool:
    """Whether every instance that there is was told to begin nothing new."""
    beats = await instances(store)
    others = await hosts(store) - {beat.host for beat in beats}
    return bool(beats) and all(beat.is_drained for beat in beats) and not others


async def pending(store: Store) -> int:
    """Fires that wait for an instance with a free place."""
    waiting: int = await store.call("LLEN", CronOwn(store.prefix).pending())
    return waiting
