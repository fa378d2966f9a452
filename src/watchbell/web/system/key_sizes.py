"""Number and size of the keys of each family, cached because counting is slow."""

import asyncio

from msgspec import Struct

from watchbell.clock import Clock
from watchbell.store import key_counts
from watchbell.store.client import Store
from watchbell.store.families import Channel
from watchbell.web.system.key_families import KEYSPACES

LASTS = 60.0


class FamilyView(Struct, frozen=True, kw_only=True):
    document: str
    name: str
    pattern: str
    type: str
    keys: int
    bytes: int
    expiring: int


class KeySizes:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._counting = asyncio.Lock()
        self._until, self._rows = 0.0, list[FamilyView]()

    async def families(self) -> list[FamilyView]:
        """At most a minute old. Callers that ask during a count wait for its result."""
        async with self._counting:
            if not self._rows or self._until < self._clock.monotonic():
                self._rows = await self._counted()
                self._until = self._clock.monotonic() + LASTS
            return self._rows

    async def _counted(self) -> list[FamilyView]:
        owners = {family: space for space in KEYSPACES for family in space.families()}
        counts = await key_counts.count(self._store, list(owners), lambda _: None)
        return [
            FamilyView(
                document=space.document,
                name=family.name,
                pattern=self._store.prefix + family.pattern,
                type=family.kind,
                keys=counts[family].keys,
                bytes=counts[family].bytes,
                expiring=counts[family].expiring,
            )
            for family, space in owners.items()
            if not isinstance(family, Channel)
        ]
