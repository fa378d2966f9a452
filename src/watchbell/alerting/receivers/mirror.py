"""Events of another installation, read from its archive, oldest first."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct

from watchbell.alerting.hours import hours_back
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.store.client import Store, patiently

PAUSE = 0.5
"""Seconds between two reads of an archive: a list can't be waited for without popping."""

_PAGE = 500
_REMEMBERED = 50
"""Last items by which a place is found again; Flapjack removes those that it rejects."""
_HOURS = 4
"""Hours that are always read: early versions of Flapjack keep no list of archives."""


class _Place(Struct):
    """How far a list was read: the number of items from its old end, and the last of them."""

    done: int = 0
    last: list[bytes] = []


class Mirror:
    """The archive of another installation; no item is returned twice."""

    def __init__(self, source: Store) -> None:
        self._source = source
        self._keys = Alerting(source.prefix)
        self._places: dict[str, _Place] = {}

    async def check_is_not(self, target: Store) -> None:
        """Events that are archived where they came from would go round for ever."""
        source = self._source
        same_keys = (source.url.db, source.prefix) == (target.url.db, target.prefix)
        servers = await _servers(source)
        if same_keys and servers & await _servers(target):
            raise Refused("URL is this installation's own store; name that of another")

    async def skip(self) -> None:
        """Skips everything that is there now."""
        for key in await self._archives():
            count = await self._call("LLEN", key)
            last = await self._call("LRANGE", key, -count, _REMEMBERED - 1 - count)
            self._places[key] = _Place(count, last[::-1])

    async def fresh(self) -> AsyncIterator[list[bytes]]:
        """Everything that was not returned yet."""
        keys = await self._archives()
        self._places = {key: self._places.get(key, _Place()) for key in keys}
        for key in keys:
            async for items in self._rest_of(key, self._places[key]):
                yield items

    async def follow(self) -> AsyncIterator[list[bytes]]:
        while True:
            async for items in self.fresh():
                yield items
            await asyncio.sleep(PAUSE)

    async def _archives(self) -> list[str]:
        """The keys of all possible hours, oldest first."""
        known = await self._call("SMEMBERS", self._keys.archives())
        recent = map(self._keys.archive, hours_back(int(SYSTEM.now()), _HOURS))
        ours = self._keys.archive("")
        names = {name.decode(errors="surrogateescape") for name in known}
        return sorted({*recent, *(name for name in names if name.startswith(ours))})

    async def _rest_of(self, key: str, place: _Place) -> AsyncIterator[list[bytes]]:
        while True:
            # The newest come first in the list; with the last item given, to see that it is there.
            page = await self._call("LRANGE", key, -place.done - _PAGE, -max(place.done, 1))
            items = page[::-1]
            if place.done:
                if not items or items[0] != place.last[-1]:
                    await self._find_again(key, place)
                    continue
                items = items[1:]
            if not items:
                return
            place.done += len(items)
            place.last = [*place.last, *items][-_REMEMBERED:]
            yield items

    async def _find_again(self, key: str, place: _Place) -> None:
        """Finds the place again after items were removed, or the old end was trimmed."""
        items = (await self._call("LRANGE", key, 0, -1))[::-1]
        given = items[: place.done][::-1]
        while place.last and place.last[-1] not in given:
            place.last.pop()
        place.done = len(given) - given.index(place.last[-1]) if place.last else 0

    async def _call(self, *command: str | int) -> Any:
        return await patiently(lambda: self._source.call(*command))


async def _servers(store: Store) -> set[str]:
    primaries = await store.primaries()
    return {(await primary.call("INFO", "server"))["run_id"] for primary in primaries}
