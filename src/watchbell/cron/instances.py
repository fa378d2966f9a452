"""Instances of cron: each reports its presence and its state."""

import os
import socket
from collections.abc import Callable
from typing import NamedTuple

import msgspec

import watchbell
from watchbell.cron.keys import CronOwn, CronUpstream
from watchbell.cron.model import Beat, parsed
from watchbell.store import presence
from watchbell.store.client import Store
from watchbell.store.presence import Presence, Stamped
from watchbell.store.script import Script
from watchbell.store.url import StoreURL

LONGEST_PAUSE = 5.0
"""The most seconds between two reports, even with a long heartbeat, so that an instance that died
is not listed as working for long."""


class Fleet(NamedTuple):
    beats: list[Beat]
    """Heartbeats of our own instances, by name."""
    hosts: set[str]
    """Hosts of all instances, those of Cronken included."""

    @property
    def is_mixed(self) -> bool:
        """Whether an instance of Cronken runs on a host without one of ours."""
        return not self.hosts <= {beat.host for beat in self.beats}

    @property
    def working(self) -> int:
        """How many of our instances begin runs."""
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
    """The address of this host as seen by the store; found without sending anything."""
    host, port = url.hosts[0] if url.hosts else ("127.0.0.1", 6379)
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(place)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"


class InstancePresence:
    """Reports this instance in the set that the document defines, and with details in our own."""

    def __init__(
        self,
        store: Store,
        beat: Callable[[], Beat],
        every: float,
        on_fleet: Callable[[Fleet], None] = lambda _: None,
    ) -> None:
        """`on_fleet` is called with the whole fleet after each report."""
        self._store, self._beat, self._every = store, beat, min(every, LONGEST_PAUSE)
        self._on_fleet = on_fleet
        self._presence = Presence(self._report_and_look, self._every)
        self.run, self.hurry = self._presence.run, self._presence.hurry

    async def report(self) -> None:
        beat = msgspec.structs.replace(self._beat(), every=self._every)
        member = msgspec.json.encode({"host": beat.host, "ip": beat.ip}).decode()
        fields = msgspec.structs.asdict(beat)
        del fields["seen"], fields["is_silent"]
        text = msgspec.json.encode(fields).decode()
        upstream, own = _keys(self._store)
        await presence.report(
            self._store,
            own,
            ["ZADD", upstream, Stamped("", 6, ""), member],
            ["HSET", own, beat.name, Stamped(f'{text[:-1]},"seen":', 6, "}")],
        )

    async def _report_and_look(self) -> None:
        await self.report()
        self._on_fleet(await fleet(self._store))


async def fleet(store: Store) -> Fleet:
    upstream, own = _keys(store)
    now, (members, texts) = await presence.read(
        store, own, ["ZRANGE", upstream, 0, -1], ["HVALS", own]
    )
    beats = sorted((beat for text in texts if (beat := parsed(text, Beat))), key=_name)
    for beat in beats:
        beat.is_silent = presence.is_silent(beat.seen, now, 3 * beat.every)
    known = [parsed(member, dict[str, str]) or {} for member in members]
    return Fleet(beats, {one["host"] for one in known if "host" in one})


def _keys(store: Store) -> tuple[str, str]:
    return CronUpstream(store.prefix).instances(), CronOwn(store.prefix).instances()


def state(beat: Beat) -> str:
    """The state of an instance in a word or two."""
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
    """All known instances of ours, by name."""
    return (await fleet(store)).beats


async def hosts(store: Store) -> set[str]:
    """Hosts of all instances, those of Cronken included."""
    found = await fleet(store)
    return found.hosts | {beat.host for beat in found.beats}


async def is_idle(store: Store) -> bool:
    """Whether there are instances and all of them are drained."""
    found = await fleet(store)
    alive = [beat for beat in found.beats if not beat.is_silent]
    return bool(alive) and all(beat.is_drained for beat in alive) and not found.is_mixed


async def pending(store: Store) -> int:
    """How many fires wait for a free place, including those that only some instances may run."""
    own = CronOwn(store.prefix)
    keys, prefix = [own.pending(), own.pools()], own.pool_pending.literals[0]
    waiting: int = await _PENDING(store, keys, [prefix])
    return waiting


async def alive(store: Store) -> list[Beat]:
    """Our instances that reported lately, drained ones included."""
    return [beat for beat in (await fleet(store)).beats if not beat.is_silent]
