"""Contacts, entities and their links as the store has them, cached because searching is slow."""

import asyncio

from msgspec import Struct

from watchbell.alerting import contacts, entities
from watchbell.alerting.entities import Entity
from watchbell.clock import Clock
from watchbell.store.client import Store

_CHEAP = 0.1
"""Seconds. The result of a search that takes no longer is not reused."""
_TIMES = 10
"""The result of a longer search is valid for so many times its duration."""


class Directory(Struct, frozen=True):
    """What the store has no index for, as it was a moment ago."""

    contacts: list[str]
    """Their ids."""
    tags: dict[str, tuple[str, ...]]
    """Of those contacts that have any."""
    entities: list[Entity]
    """By name, with the contacts of each and of its checks."""


class DirectoryCache:
    """Searching takes the longer the more keys the store has. So the result of a slow search is
    reused for a while, unless this process changes something itself."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._searching = asyncio.Lock()
        self._found: Directory | None = None
        self._until = 0.0
        self._changes = 0

    async def current(self) -> Directory:
        """Callers that ask during a search wait for its result."""
        async with self._searching:
            if self._found is not None and self._clock.monotonic() < self._until:
                return self._found
            began, changes = self._clock.monotonic(), self._changes
            found = Directory(
                await contacts.all_ids(self._store),
                await contacts.tags(self._store),
                await entities.find(self._store),
            )
            ended = self._clock.monotonic()
            if changes == self._changes:
                self._found = found
                self._until = ended + max(ended - began - _CHEAP, 0) * _TIMES
            return found

    def forget(self) -> None:
        """After a change: drops what was found, and what a search in progress will find."""
        self._changes += 1
        self._found = None
