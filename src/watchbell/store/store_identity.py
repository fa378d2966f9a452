"""The mark of a store, by which we notice that it was emptied or replaced."""

import hashlib
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.store.health import Finding
from watchbell.store.keys import StoreKeys
from watchbell.store.script import Script

SETTLED = 10
"""Seconds after which a mark is trusted: a crash may lose a younger one."""
ACCEPTED = 7 * 86_400
"""Seconds after which a loss counts as intended."""
_KEPT = 20

_Time = Annotated[int, Meta(ge=0, lt=1 << 33)]


class StoreIdentity(Struct, frozen=True, omit_defaults=True):
    id: str
    since: _Time
    after: tuple[str, ...] = ()
    """The marks that were missed before this one, the latest first."""
    lost: _Time = 0
    """When the one before it was missed; 0 where none was, or where that was accepted."""

    def is_settled(self, now: int) -> bool:
        return now - self.since >= SETTLED


def next_identity(
    known: StoreIdentity | None, found: StoreIdentity | None, new_id: str, now: int
) -> StoreIdentity:
    """The mark that a store should have, given the one we know and the one it has."""
    if found is not None and (known is None or _are_related(known, found)):
        return found
    if known is None:
        return StoreIdentity(new_id, now)
    before = (known.id, *known.after)
    if found is None:
        return StoreIdentity(new_id, now, before[:_KEPT], now)
    return replace(found, after=(*before, *found.after)[:_KEPT], lost=now)


def _are_related(one: StoreIdentity, other: StoreIdentity) -> bool:
    """Whether they are the same, or one replaced the other: then the loss was reported already,
    or a backup was restored."""
    return one.id == other.id or one.id in other.after or other.id in one.after


def findings(mark: StoreIdentity | None) -> list[Finding]:
    if mark is None or not mark.lost:
        return []
    noticed = f"{datetime.fromtimestamp(mark.lost, UTC):%Y-%m-%d %H:%M} UTC"
    return [
        Finding(
            "error",
            "loss",
            f"store lost: it was emptied, or is another one than before, noticed on {noticed}",
            "restore a backup, or import contacts and entities anew; "
            "`watchbell ack watchbell:store` accepts it",
        )
    ]


# KEYS[1] the mark. Returns it, or nothing where there is none, or something else in its place.
_READ = Script("""
local there = redis.pcall('GET', KEYS[1])
return type(there) == 'string' and there
""")

# KEYS[1] the mark; ARGV[1] what it was when it was read, empty for nothing, ARGV[2] what it is to
# be. Returns whether nobody was quicker.
_PUT = Script("""
local there = redis.pcall('GET', KEYS[1])
if (type(there) == 'string' and there or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
""")


async def read(store: Store) -> tuple[StoreIdentity | None, bytes]:
    """The mark of a store, and the bytes that it was read from."""
    raw: bytes = await _READ(store, [StoreKeys(store.prefix).mark()]) or b""
    return _decoded(raw), raw


async def put(store: Store, mark: StoreIdentity, before: bytes) -> bool:
    """Marks a store, unless somebody else did so since."""
    args = [before, msgspec.json.encode(mark)]
    return bool(await _PUT(store, [StoreKeys(store.prefix).mark()], args))


class Memory:
    """The mark that this process knows, also kept in the data folder if it is writable."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._file = settings.data / _file_name(settings, store)
        self.mark: StoreIdentity | None = None
        with suppress(OSError):
            self.mark = _decoded(self._file.read_bytes())

    def keep(self, mark: StoreIdentity) -> None:
        if mark == self.mark:
            return
        self.mark = mark
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            self._file.write_bytes(msgspec.json.encode(mark))


def _file_name(settings: Settings, store: Store) -> str:
    if not settings.store.url:
        return "store.mark"
    place = f"{store.url.redacted()} {store.url.db} {store.prefix}"
    return f"store-{hashlib.sha256(place.encode()).hexdigest()[:12]}.mark"


def _decoded(raw: bytes) -> StoreIdentity | None:
    try:
        return msgspec.json.decode(raw, type=StoreIdentity)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
