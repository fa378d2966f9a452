"""The titles of very many records, read without the rest of them."""

import msgspec
from msgspec import Struct

from watchbell.jobs import definitions
from watchbell.store.client import Store


class Titled(Struct, frozen=True):
    title: str
    category: str = "general"
    """Of an event."""


_TITLED = msgspec.json.Decoder(Titled)


async def every(store: Store, kind: str) -> dict[str, Titled]:
    """By the ids of the records, sorted by title. Those that another program has spoiled may be
    among them."""
    found: dict[str, Titled] = {}
    async for pairs in definitions.scan(store, kind):
        for key, raw in pairs:
            try:
                found[key.decode()] = _TITLED.decode(raw)
            except (msgspec.MsgspecError, UnicodeError):
                continue
    return dict(sorted(found.items(), key=lambda one: (one[1].title.casefold(), one[0])))
