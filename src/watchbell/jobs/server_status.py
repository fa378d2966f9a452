"""Servers as people see them: their records, with what is known of their agents and jobs."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from watchbell.errors import NotFound, Refused
from watchbell.fleet import grouping, records, servers
from watchbell.fleet.model import Group, Link, Sample, Server
from watchbell.fleet.presence import Presence
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.script import READ, Script
from watchbell.units import counted

State = Literal["online", "offline", "disabled"]
_AT_ONCE = 500

# KEYS[1] ready; ARGV servers. Returns the time, the groups, and for each server its record, its
# link, when it was seen, its latest sample and the number of its jobs.
_READ = Script(
    LAYOUT
    + READ
    + """
local time = redis.call('TIME')
local found = {}
for i, id in ipairs(ARGV) do
  found[i] = {read('HGET', fleet.servers, id), read('HGET', fleet.links, id),
    read('ZSCORE', fleet.seen, id), read('HGET', fleet.samples, id),
    read('SCARD', jobs.server_jobs .. id) or 0}
end
return {time[1] .. '.' .. string.format('%06d', time[2]), read('HVALS', fleet.groups) or {}, found}
"""
)


class ServerStatus(Struct, frozen=True, kw_only=True):
    server: Server
    state: State
    """A disabled server gets no jobs, whether it is online or not."""
    is_online: bool
    seen: float | None
    link: Link | None
    sample: Sample | None
    jobs: int
    slots: int


async def read(store: Store, ids: Sequence[str], down_after: float) -> dict[str, ServerStatus]:
    """By id; servers that do not exist are missing."""
    found: dict[str, ServerStatus] = {}
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        time, texts, rows = await _READ(store, [Jobs(store.prefix).ready()], some)
        groups = {one.id: one for one in map(_group, texts) if one is not None}
        for row in rows:
            status = _status(row, groups, float(time), down_after)
            if status is not None:
                found[status.server.id] = status
    return found


async def every(store: Store, down_after: float) -> list[ServerStatus]:
    """By title or hostname."""
    known = [server.id for server in await servers.every(store)]
    found = await read(store, known, down_after)
    return [found[id_] for id_ in known if id_ in found]


async def one(store: Store, id_: str, down_after: float) -> ServerStatus:
    found = await read(store, [id_], down_after)
    if id_ not in found:
        raise NotFound(f"there is no server {id_[:100]!r}")
    return found[id_]


async def remove(store: Store, id_: str) -> None:
    """Removes a server that has no jobs. Raises Refused."""
    count = await store.call("SCARD", Jobs(store.prefix).server_jobs(id_))
    if count:
        raise Refused(
            f"this server runs {counted(count, 'job')}; disable it and wait, or abort what runs",
            code="busy",
        )
    await servers.remove(store, id_)


def _group(text: bytes) -> Group | None:
    return records.parsed(Group, text)


def _status(
    row: Sequence[Any], groups: dict[str, Group], now: float, down_after: float
) -> ServerStatus | None:
    text, link_text, score, sample, count = row
    server = records.parsed(Server, text) if text is not None else None
    if server is None:
        return None
    link, seen = _parsed(link_text, Link), None if score is None else float(score)
    links = {} if link is None else {server.id: link}
    known = Presence(now, links, {} if seen is None else {server.id: seen})
    is_online = known.is_online(server.id, down_after)
    state: State = "online" if is_online else "offline"
    return ServerStatus(
        server=server,
        state=state if server.enabled else "disabled",
        is_online=is_online,
        seen=seen,
        link=link,
        sample=_parsed(sample, Sample),
        jobs=replies.number(count) or 0,
        slots=grouping.slots(server, groups),
    )


def _parsed(text: bytes | None, kind: Any) -> Any:
    try:
        return None if text is None else msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
