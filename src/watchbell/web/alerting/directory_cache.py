"""Who there is, and who is told about what: searched for in the store, and not too often."""

import asyncio

from msgspec import Struct

from watchbell.alerting import contacts, entities
from watchbell.alerting.entities import Entity
from watchbell.clock import Clock
from watchbell.store.client import Store

_CHEAP = 0.1
"""Seconds that a search may take and be made anew each time."""
_TIMES = 10
"""How much longer than it took the result of a longer one is good for."""


class Directory(Struct, frozen=True):
    """What the store has no index of, as it was a moment ago."""

    contacts: list[str]
    """Their ids."""
    tags: dict[str, tuple[str, ...]]
    """Of those contacts that have any."""
    entities: list[Entity]
    """By name, with who is told about each and its checks."""


class DirectoryCache:
    """Searching costs the more the more keys there are, of whatever kind. So what was found is
    good for a while where that took long, unless this process changed something itself."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._searching = asyncio.Lock()
        self._seen: Directory | None = None
        self._until = 0.0
        self._changes = 0

    async def seen(self) -> Directory:
        """Whoever asks while others search waits for what they find."""
        async with self._searching:
            if self._seen is not None and self._clock.monotonic() < self._until:
                return self._seen
            began, changes = self._clock.monotonic(), self._changes
            found = Directory(
                await contacts.all_ids(self._store),
                await contacts.tags(self._store),
                await entities.find(self._store),
            )
            ended = self._clock.monotonic()
            if changes == self._changes:
                self._seen = found
                self._until = ended + max(ended - began - _CHEAP, 0) * _TIMES
            return found

    def forget(self) -> None:
        """After a change: what was found until now, or is just being searched for, is old."""
        self._changes += 1
        self._seen = None
