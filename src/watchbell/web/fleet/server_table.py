"""The live table of all servers."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from watchbell.clock import Clock
from watchbell.fleet import records
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.fleet.monitoring import alerts
from watchbell.jobs import server_status
from watchbell.jobs.server_status import ServerStatus
from watchbell.store.client import Store
from watchbell.store.live import Message
from watchbell.web.fleet.server_shapes import ChangedServers, ServerCounts, ServerRow
from watchbell.web.live import table_stream
from watchbell.web.live.background import Background
from watchbell.web.live.events import Source
from watchbell.web.live.live_table import LiveTable
from watchbell.web.live.row_loader import SLICE, Loaded, Published
from watchbell.web.live.table_stream import Changed
from watchbell.web.live.views import Key, Rules

Sort = Literal["name", "state", "cpu", "memory", "jobs"]
_FRESH = 5
"""Seconds after which the figures of a server are read again."""


class ServerFilter(Struct, frozen=True, kw_only=True):
    """What is left out matches everything."""

    text: str = ""
    """Words that all occur in the title, the hostname, the address or the groups."""
    group: tuple[str, ...] = ()
    """One of these."""
    online: bool | None = None
    enabled: bool | None = None
    readable: frozenset[str] | None = None
    """The groups to which the reader has access; None for all."""

    def normal(self) -> "ServerFilter":
        words = " ".join(sorted(set(self.text.lower().split())))
        return msgspec.structs.replace(self, text=words, group=tuple(sorted(set(self.group))))


def _matching(wanted: ServerFilter) -> Callable[[ServerRow], bool]:
    words, groups = wanted.text.split(), set(wanted.group)

    def matches(row: ServerRow) -> bool:
        if wanted.online not in (None, row.is_online) or wanted.enabled not in (None, row.enabled):
            return False
        if wanted.readable is not None and wanted.readable.isdisjoint(row.groups):
            return False
        if groups and not groups.intersection(row.groups):
            return False
        text = "\n".join((row.title, row.hostname, row.ip, *row.groups)).lower()
        return all(word in text for word in words)

    return matches


def _name(row: ServerRow) -> str:
    return f"{(row.title or row.hostname).lower()}\n{row.id}"


_STATES = {"offline": 0, "online": 1, "disabled": 2}
_ORDERS: dict[str, Callable[[ServerRow], Key]] = {
    "name": lambda row: (0, 0, _name(row)),
    "state": lambda row: (_STATES[row.state], 0, _name(row)),
    "cpu": lambda row: (-int((row.cpu or 0) * 100), 0, _name(row)),
    "memory": lambda row: (-int(1e6 * (row.memory or 0) / (row.memory_total or 1)), 0, _name(row)),
    "jobs": lambda row: (-row.jobs, 0, _name(row)),
}
_RULES: Rules[ServerRow, ServerFilter, ServerCounts] = Rules(
    ServerFilter.normal,
    _matching,
    _ORDERS,
    ServerCounts,
    lambda row: msgspec.structs.replace(
        row, seen=None, cpu=None, load=None, memory=None, memory_total=None
    ),
)


async def active_alerts(store: Store) -> Mapping[str, int]:
    """How many each server has."""
    return Counter(one.server for one in await alerts.active(store))


def row_of(status: ServerStatus, active: Mapping[str, int]) -> ServerRow:
    """`active`: of each server, how many alerts it has."""
    server, sample, link = status.server, status.sample, status.link
    os = server.info.os
    return ServerRow(
        id=server.id,
        hostname=server.hostname,
        title=server.title,
        icon=server.icon,
        state=status.state,
        is_online=status.is_online,
        enabled=server.enabled,
        groups=server.groups,
        auto_group=server.auto_group,
        ip=server.ip,
        jobs=status.jobs,
        slots=status.slots,
        alerts=active.get(server.id, 0),
        seen=None if status.seen is None else int(status.seen),
        since=int(link.since) if link and status.is_online else None,
        cpu=sample.cpu if sample and status.is_online else None,
        load=sample.load[0] if sample and status.is_online else None,
        memory=sample.memory if sample and status.is_online else None,
        memory_total=sample.memory_total if sample else None,
        os=" ".join(filter(None, (os.get("distro"), os.get("release")))) or server.info.platform,
        agent=server.info.agent,
    )


class ServerSource:
    def __init__(self, store: Store, down_after: float) -> None:
        self._store, self._down_after = store, down_after
        self.channels = (Fleet(store.prefix).changes(),)

    def published(self, message: Message) -> Published:
        return Published([message.body.decode(errors="replace")])

    async def ids(self) -> AsyncIterator[Sequence[str]]:
        known = sorted(await records.every(self._store, Server))
        for first in range(0, len(known), SLICE):
            yield known[first : first + SLICE]

    async def read(self, ids: Sequence[str], now: int) -> Mapping[str, Loaded[ServerRow]]:
        found = await server_status.read(self._store, ids, self._down_after)
        active = await active_alerts(self._store)
        return {
            id_: Loaded(row_of(one, active), now + _FRESH if one.link is not None else None)
            for id_, one in found.items()
        }

    async def load_shared(self) -> None:
        pass

    def completed(self, row: ServerRow) -> ServerRow:
        return row

    def round_ended(self) -> None:
        pass


class ServerTable(LiveTable[ServerRow, ServerFilter, ServerCounts]):
    def __init__(
        self, store: Store, clock: Clock, background: Background, down_after: float
    ) -> None:
        def source() -> ServerSource:
            return ServerSource(store, down_after)

        super().__init__("servers", store, clock, background, source, _RULES)


def changes(table: ServerTable, wanted: ServerFilter, since: str) -> Source:
    return table_stream.changes(table, wanted, since, _encoded)


def _encoded(change: Changed[ServerRow, ServerCounts]) -> bytes:
    return msgspec.json.encode(
        ChangedServers(
            rows=change.rows, gone=change.gone, refreshed=change.refreshed, counts=change.counts
        )
    )
