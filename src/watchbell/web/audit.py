"""The audit log: who changed what, from where; the newest ten thousand entries."""

import msgspec
from msgspec import Struct

from watchbell.store.client import Store
from watchbell.web.keys import Web

MOST = 10_000


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    time: int
    who: str
    action: str
    """What was done, as `user.add`."""
    subject: str = ""
    """What it was done to."""
    details: str = ""
    address: str = ""


class Logged(Struct, frozen=True):
    id: str
    entry: Entry


def encoded(entry: Entry) -> bytes:
    return msgspec.json.encode(entry)


async def record(store: Store, entry: Entry) -> None:
    """For what changes no record of the web; what does is recorded by the same script."""
    key = Web(store.prefix).audit()
    await store.call("XADD", key, "MAXLEN", "~", MOST, "*", "e", encoded(entry))


async def read(store: Store, before: str, limit: int) -> list[Logged]:
    """The newest entries, or those before an id."""
    end = f"({before}" if before else "+"
    key = Web(store.prefix).audit()
    found = await store.call("XREVRANGE", key, end, "-", "COUNT", limit)
    return [
        Logged(id_.decode(), msgspec.json.decode(fields[b"e"], type=Entry)) for id_, fields in found
    ]
