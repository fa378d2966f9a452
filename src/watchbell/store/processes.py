"""The processes of Watchbell, and the state of their roles, as each reports them."""

from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.store import presence
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys
from watchbell.store.presence import Stamped, is_silent

SILENT_AFTER = 20.0
"""Seconds after which a process that did not report counts as gone."""
KEPT = 86_400.0
"""Seconds that it stays listed then, so that people see that it is missing."""


RoleState = Literal["starting", "running", "waiting", "failed", "stopped"]


class RoleReport(Struct, frozen=True, kw_only=True):
    name: str
    state: str
    words: str = ""
    since: float = 0
    """By the clock of its process."""
    failures: int = 0


class Process(Struct, frozen=True, kw_only=True):
    name: str
    host: str
    pid: int
    version: str
    roles: list[RoleReport]
    seen: float = 0
    """By the store's clock."""
    is_alive: bool = True


async def report(store: Store, process: Process) -> None:
    """Also removes those that did not report for a day."""
    key = StoreKeys(store.prefix).processes()
    text = msgspec.json.encode(process).decode()
    await presence.report(store, key, ["HSET", key, process.name, Stamped("", 3, f" {text}")])
    now, (found,) = await presence.read(store, key, ["HGETALL", key])
    names = [
        name
        for name, value in zip(found[::2], found[1::2], strict=True)
        if now - _seen(value) > KEPT
    ]
    if names:
        await store.call("HDEL", key, *names)


async def leave(store: Store, name: str) -> None:
    """Removes a process that ends in order."""
    await store.call("HDEL", StoreKeys(store.prefix).processes(), name)


async def processes(store: Store) -> list[Process]:
    """All that reported within a day, by host and name."""
    key = StoreKeys(store.prefix).processes()
    now, (found,) = await presence.read(store, key, ["HVALS", key])
    known = [process for value in found if (process := _process(value, now))]
    return sorted(known, key=lambda one: (one.host, one.name))


def _process(value: bytes, now: int) -> Process | None:
    try:
        process = msgspec.json.decode(value.partition(b" ")[2], type=Process)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # not of our writing
        return None
    seen = _seen(value)
    return replace(process, seen=seen, is_alive=not is_silent(seen, now, SILENT_AFTER))


def _seen(value: bytes) -> float:
    try:
        return float(value.partition(b" ")[0])
    except ValueError:
        return 0
