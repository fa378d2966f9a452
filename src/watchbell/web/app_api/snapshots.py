"""Handlers for snapshots, watches, quick values, and for trying commands."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from watchbell.errors import NotFound, Refused
from watchbell.fleet import (
    command_requests,
    groups,
    permissions,
    samples,
    servers,
    snapshots,
    watches,
)
from watchbell.fleet.model import Group as ServerGroup
from watchbell.fleet.model import (
    Quick,
    Server,
    ServerState,
    Snapshot,
    SnapshotHead,
    Target,
    Watch,
)
from watchbell.jobs import command_tries, snapshot_taker
from watchbell.web.app_api import query, records
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.app_api.query import Fields

SNAPSHOTS = Group("snapshot")
MOST_SEARCHED = 10_000
MOST_SHOWN = snapshots.MOST_SERVERS
"""Servers whose data one answer has."""
_VERSION = "1.0"
_FIELDS = Fields(
    words=("id", "type", "source", "username", "server", "hostname", "groups"), times=("date",)
)
_COMMAND = ("id", "command", "script", "format", "timeout", "uid", "gid", "cwd", "env")


@SNAPSHOTS.changes("create_snapshots", takes="server", gives="id")
async def create_snapshot(call: Call) -> Answer:
    server = await _server(call, "server")
    return await _taken(call, "server", server.id)


@SNAPSHOTS.changes("create_snapshots", takes="group", gives="id")
async def create_group_snapshot(call: Call) -> Answer:
    group = await _group(call, "group")
    return await _taken(call, "group", group.id)


async def _taken(call: Call, kind: Target, target: str) -> Answer:
    head, _ = await snapshot_taker.take(
        call.store,
        kind,
        target,
        source="user",
        now=call.now,
        username=call.actor.display_name,
    )
    await call.audit("snapshot.create", head.id, f"{kind} {target}")
    return {"id": head.id}


@SNAPSHOTS.reads(takes="id", gives="snapshot")
async def get_snapshot(call: Call) -> Answer:
    found = await snapshots.get(call.store, call.text("id"))
    permissions.check_snapshot(call.actor, "read", found.head)
    return {"snapshot": _shown(found)}


@SNAPSHOTS.changes("delete_snapshots", takes="id")
async def delete_snapshot(call: Call) -> Answer:
    head = await snapshots.head(call.store, call.text("id"))
    permissions.check_snapshot(call.actor, "delete_snapshots", head)
    await snapshots.delete(call.store, [head.id])
    await call.audit("snapshot.delete", head.id)
    return {}


@SNAPSHOTS.reads(takes="query offset limit sort_by sort_dir verbose", gives="rows list")
async def search_snapshots(call: Call) -> Answer:
    """Newest first, or oldest first with a `sort_dir` of 1. Rows have no data unless `verbose` is
    set."""
    matching = await matching_snapshots(call)
    if call.number("sort_dir", -1) > 0:
        matching.reverse()
    found = call.listed(matching, most=1)
    page: list[SnapshotHead] = found["rows"]
    if not call.yes("verbose"):
        return {**found, "rows": [_head(one) for one in page]}
    total = sum(one.servers for one in page)
    if total > MOST_SHOWN:
        reason = f"their data is of {total:,} servers; ask for fewer, with {MOST_SHOWN:,} at most"
        raise Refused(reason, field="limit")
    return {**found, "rows": [await _with_data(call, one) for one in page]}


async def matching_snapshots(call: Call) -> list[SnapshotHead]:
    """The newest first."""
    zone = ZoneInfo(call.services.settings.jobs.timezone)
    terms = query.parse(call.text("query", "*"), _FIELDS, zone)
    known = await snapshots.heads(call.store, MOST_SEARCHED)
    readable = permissions.readable_snapshots(call.actor, known)
    return [one for one in readable if query.fits(terms, _head(one))]


async def _with_data(call: Call, head: SnapshotHead) -> dict[str, Any]:
    """The head alone where the snapshot was deleted meanwhile, or is damaged."""
    try:
        return _shown(await snapshots.get(call.store, head.id))
    except (NotFound, Refused):
        return _head(head)


@SNAPSHOTS.changes("create_snapshots", takes="id duration")
async def watch_server(call: Call) -> Answer:
    """A duration of 0 ends the watch."""
    return await _watch(call, "server", (await _server(call, "id")).id)


@SNAPSHOTS.changes("create_snapshots", takes="id duration")
async def watch_group(call: Call) -> Answer:
    return await _watch(call, "group", (await _group(call, "id")).id)


async def _watch(call: Call, kind: Target, target: str) -> Answer:
    seconds = call.number("duration", -1)
    if seconds == 0:
        await watches.end(call.store, kind, target)
        await call.audit(f"{kind}.unwatch", target)
        return {}
    watches.check(seconds)
    watch = Watch(
        type=kind,
        target=target,
        until=call.now + seconds,
        username=call.actor.display_name,
        created=call.now,
    )
    await watches.begin(call.store, watch)
    await call.audit(f"{kind}.watch", target, f"{seconds} s")
    return {}


@SNAPSHOTS.reads(takes="server group", gives="servers")
async def get_quickmon_data(call: Call) -> Answer:
    """The last minute of one server, of a group, or of all that the caller may read."""
    only, group = call.text("server", ""), call.text("group", "")
    known = permissions.readable(call.actor, await servers.every(call.store))
    wanted = [
        one.id for one in known if only in ("", one.id) and (not group or group in one.groups)
    ]
    found = await samples.quick(call.store, wanted)
    return {"servers": {id_: _quick(values) for id_, values in found.items()}}


@SNAPSHOTS.changes("edit_plugins", takes="server *", gives="output text error elapsed")
async def test_monitor_plugin(call: Call) -> Answer:
    """Runs a command on a server now: that of the plugin with this id, or what is given."""
    server = await servers.get(call.store, call.text("server"))
    permissions.check_server(call.actor, "edit_plugins", server)
    given = {name: value for name, value in call.record("server").items() if name in _COMMAND}
    if "command" in given:
        plugin = command_tries.unsaved(given)
    elif "id" in given:
        plugin = await command_tries.saved(call.store, str(given["id"]))
    else:
        raise Refused("it is missing", field="command")
    after = call.services.settings.jobs.down_after
    command = await command_tries.ready(call.store, server, plugin, after)
    await call.audit("server.command", server.hostname, plugin.id)
    found = await command_requests.run(call.store, server.id, command, call.services.clock)
    return {
        "output": found.output,
        "text": found.text,
        "error": found.error,
        "elapsed": found.elapsed,
    }


async def _server(call: Call, name: str) -> Server:
    server = await servers.get(call.store, call.text(name))
    permissions.check_server(call.actor, "create_snapshots", server)
    return server


async def _group(call: Call, name: str) -> ServerGroup:
    group = await groups.get(call.store, call.text(name))
    permissions.check_groups(call.actor, "create_snapshots", [group.id])
    return group


def _head(head: SnapshotHead) -> dict[str, Any]:
    """A snapshot without its data."""
    found = {
        "id": head.id,
        "type": head.type,
        "source": head.source,
        "date": head.date,
        "groups": list(head.groups),
        "jobs": list(head.jobs),
        "alerts": list(head.alerts),
        "version": _VERSION,
    }
    if head.username:
        found["username"] = head.username
    if head.type == "server":
        found |= {"server": head.server, "hostname": head.hostname, "ip": head.ip}
    return found


def _shown(found: Snapshot) -> dict[str, Any]:
    shown = _head(found.head)
    if found.head.type == "server" and found.states:
        (state,) = found.states
        return {**shown, "data": _data(state), "quickmon": _quick(state.quickmon)}
    return {
        **shown,
        "group_def": records.group(found.group) if found.group else None,
        "servers": [msgspec.to_builtins(one.server) for one in found.states],
        "snapshots": [_data(one) for one in found.states],
        "quickmons": [_quick(one.quickmon) for one in found.states],
    }


def _data(state: ServerState) -> Mapping[str, Any]:
    return {} if state.data is None else samples.expression_values(state.data)


def _quick(values: tuple[Quick, ...]) -> list[dict[str, float]]:
    return [
        {
            "date": one.date,
            **{
                f"_qm_{name}": value
                for name, value in msgspec.structs.asdict(one).items()
                if name != "date"
            },
        }
        for one in values
    ]
