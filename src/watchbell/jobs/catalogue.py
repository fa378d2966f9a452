"""All definitions in memory, kept current by the channel on which changes are published."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.errors import Refused
from watchbell.fleet.model import Monitor
from watchbell.jobs import definitions, validation
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import KINDS, AlertDef, Category, Channel, Event, Plugin, Tag
from watchbell.jobs.validation import Record
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import Gap, listen

if TYPE_CHECKING:
    from watchbell.jobs.dashboards import Dashboard

Callback = Callable[[str, str], None]
"""Called with the kind and id of a record that was changed, created or removed."""


class Change(Struct, frozen=True):
    kind: str
    id: str


class Catalogue:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.events: dict[str, Event] = {}
        self.categories: dict[str, Category] = {}
        self.plugins: dict[str, Plugin] = {}
        self.channels: dict[str, Channel] = {}
        self.tags: dict[str, Tag] = {}
        self.monitors = dict[str, Monitor]()
        self.alert_defs: dict[str, AlertDef] = {}
        self.dashboards = dict[str, "Dashboard"]()
        self.invalid: dict[tuple[str, str], str] = {}
        """Kind and id of records that other programs have spoiled, and what is wrong."""
        self._subscribers: list[Callback] = []
        self._digests: dict[tuple[str, str], int] = {}
        """Of the stored records: one that has not changed is not read again."""
        # What is read is placed before anything else is read: an older answer must not replace a
        # newer one.
        self._reading = asyncio.Lock()

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Calls back after each change, and returns what ends that."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def of(self, kind: str) -> dict[str, Any]:
        """The records of a kind."""
        tables: Mapping[str, dict[str, Any]] = {
            "event": self.events,
            "category": self.categories,
            "plugin": self.plugins,
            "channel": self.channels,
            "tag": self.tags,
            "monitor": self.monitors,
            "alert": self.alert_defs,
            "dashboard": self.dashboards,
        }
        return tables[kind]

    def plugins_of(self, type_: str) -> list[Plugin]:
        return [one for one in self.plugins.values() if one.type == type_]

    async def load(self) -> None:
        """Reads all records. A key of a wrong type leaves what is known of its kind."""
        for kind in KINDS:
            try:
                async with self._reading:
                    await self._load_kind(kind)
            except ResponseError as error:
                logs.get().error("definitions can't be read", kind=kind, exc_info=error)

    async def run(self) -> None:
        """Keeps the records current, for ever."""
        await enduring(self._follow, "jobs", "follow changes of definitions")

    async def _follow(self) -> None:
        async for item in listen(self._store, Jobs(self._store.prefix).changes()):
            if isinstance(item, Gap):
                await patiently(self.load)
            elif (change := _change(item.body)) is not None:
                await self.refresh(change.kind, change.id)

    async def refresh(self, kind: str, record: str) -> None:
        """Reads one record again."""

        async def read() -> bytes | None:
            key = definitions.records(self._store, kind)()
            raw: bytes | None = await self._store.call("HGET", key, record)
            return raw

        async with self._reading:
            self._place(kind, record, await patiently(read))

    async def _load_kind(self, kind: str) -> None:
        seen: set[str] = set()
        async for pairs in definitions.scan(self._store, kind):
            for key, raw in pairs:
                name = key.decode(errors="backslashreplace")
                seen.add(name)
                self._place(kind, name, raw)
        known = {*self.of(kind), *(name for one, name in self.invalid if one == kind)}
        for name in known - seen:
            self._place(kind, name, None)

    def _place(self, kind: str, name: str, raw: bytes | None) -> None:
        """Takes a record over, and calls back if it differs from what is known."""
        digest = hash(raw)
        if self._digests.get((kind, name)) == digest:
            return
        self._digests[kind, name] = digest
        if raw is None:
            del self._digests[kind, name]
        table = self.of(kind)
        before = table.get(name), self.invalid.get((kind, name))
        record, reason = _judged(kind, name, raw)
        if (record, reason) == before:
            return
        table.pop(name, None)
        self.invalid.pop((kind, name), None)
        if record is not None:
            table[name] = record
        if reason is not None:
            self.invalid[kind, name] = reason
        for callback in tuple(self._subscribers):
            callback(kind, name)


def _judged(kind: str, name: str, raw: bytes | None) -> tuple[Record | None, str | None]:
    if raw is None:
        return None, None
    try:
        record = validation.stored(kind, raw)
    except Refused as error:
        return None, str(error)
    if record.id != name:
        return None, f"it is stored as {name!r}, but its id is {record.id!r}"
    return record, None


def _change(body: bytes) -> Change | None:
    """The change that a message names; None where the message is not ours."""
    try:
        change = msgspec.json.decode(body, type=Change)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return change if change.kind in KINDS else None
