"""Endpoints for snapshots, watches, and what a server reports about its last minute."""

from typing import Annotated, Any

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.actors import Privilege
from watchbell.errors import NotFound
from watchbell.fleet import (
    command_requests,
    groups,
    permissions,
    samples,
    servers,
    snapshot_comparison,
    snapshots,
    watches,
)
from watchbell.fleet.model import (
    Group,
    Server,
    ServerState,
    Snapshot,
    SnapshotHead,
    SnapshotSource,
    Target,
    Watch,
)
from watchbell.fleet.snapshot_comparison import Comparison
from watchbell.jobs import command_tries, snapshot_taker
from watchbell.jobs.model import Plugin
from watchbell.web.access import needs
from watchbell.web.fleet.snapshot_shapes import (
    MachineShown,
    Ran,
    SnapshotShown,
    StateShown,
    WatchPeriod,
    WatchShown,
    quick_shown,
)
from watchbell.web.listing import Cursor, Limit, Page
from watchbell.web.services import Asked, actor_of, audited, services_of

MOST_LISTED = 10_000
Id = Annotated[str, PathParameter(max_length=100, description="A snapshot's id.")]
ServerId = Annotated[str, PathParameter(max_length=100, description="A server's id.")]
GroupId = Annotated[str, PathParameter(max_length=100, description="A group's id.")]
PluginId = Annotated[str, PathParameter(max_length=100, description="A plugin's id.")]
One = Annotated[str, QueryParameter(max_length=100, description="A snapshot's id.")]
Only = Annotated[str, QueryParameter(max_length=100, description="Only of this one, by its id.")]


@get("/snapshots", opt=needs("read"))
async def list_snapshots(
    request: Asked,
    server: Only = "",
    group: Only = "",
    source: Annotated[
        SnapshotSource | None, QueryParameter(description="Only those taken for this.")
    ] = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Page[SnapshotHead]:
    """List snapshots, newest first. With `server` or `group`, those of it alone."""
    found = await snapshots.heads(services_of(request).store, MOST_LISTED)
    wanted = [
        one
        for one in permissions.readable_snapshots(actor_of(request), found)
        if (not server or one.server == server)
        and (not group or (one.type == "group" and group in one.groups))
        and source in (None, one.source)
    ]
    rest = sorted((one for one in wanted if not cursor or one.id < cursor), key=_id, reverse=True)
    page = rest[:limit]
    return Page(page, page[-1].id if len(rest) > limit else None)


def _id(head: SnapshotHead) -> str:
    """It begins with the time."""
    return head.id


@get("/snapshots/{id:str}", opt=needs("read"))
async def one_snapshot(request: Asked, id: Id) -> SnapshotShown:  # noqa: A002
    """Get a snapshot with everything in it."""
    return _shown(await _readable(request, id))


@get("/snapshots/compare", opt=needs("read"))
async def compare_snapshots(request: Asked, before: One, after: One) -> Comparison:
    """Get what changed between two snapshots: figures, file systems, connections, processes, jobs
    and alerts. The older one counts as the first."""
    return snapshot_comparison.compare(
        await _readable(request, before), await _readable(request, after)
    )


@delete("/snapshots/{id:str}", opt=needs("delete_snapshots"))
async def remove_snapshot(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete a snapshot."""
    store = services_of(request).store
    head = await snapshots.head(store, id)
    permissions.check_snapshot(actor_of(request), "delete_snapshots", head)
    await snapshots.delete(store, [id])
    await audited(request, "snapshot.delete", id)


@post("/servers/{id:str}/snapshots", opt=needs("create_snapshots"))
async def snapshot_server(request: Asked, id: ServerId) -> SnapshotHead:  # noqa: A002
    """Take a snapshot of a server: its last full sample and the last minute of its quick values."""
    await _server(request, id)
    return await _taken(request, "server", id)


@post("/groups/{id:str}/snapshots", opt=needs("create_snapshots"))
async def snapshot_group(request: Asked, id: GroupId) -> SnapshotHead:  # noqa: A002
    """Take a snapshot of all servers of a group that were connected within an hour."""
    await _group(request, id)
    return await _taken(request, "group", id)


@get("/watches", opt=needs("read"))
async def list_watches(request: Asked) -> list[WatchShown]:
    """List the servers and groups of which a snapshot is taken each minute."""
    store, now = services_of(request).store, services_of(request).clock.now()
    readable = permissions.readable_groups(actor_of(request))
    known_servers = {one.id: one for one in await servers.every(store)}
    known_groups = {one.id: one for one in await groups.every(store)}
    shown = []
    for watched in await watches.every(store):
        watch = watched.watch
        server, group = known_servers.get(watch.target), known_groups.get(watch.target)
        about = server if watch.type == "server" else group
        own = server.groups if watch.type == "server" and server else (watch.target,)
        if about is None or now >= watch.until:
            continue
        if readable is None or not readable.isdisjoint(own):
            shown.append(_watch_shown(watch, about))
    return shown


@put("/servers/{id:str}/watch", opt=needs("create_snapshots"))
async def watch_server(
    request: Asked,
    id: ServerId,  # noqa: A002
    data: JSONBody[WatchPeriod],
) -> WatchShown:
    """Take a snapshot of a server each minute from now on, for so many seconds."""
    return await _watched(request, "server", await _server(request, id), data.seconds)


@delete("/servers/{id:str}/watch", opt=needs("create_snapshots"))
async def unwatch_server(request: Asked, id: ServerId) -> None:  # noqa: A002
    """End the watch of a server. Its snapshots are kept."""
    await _unwatched(request, "server", (await _server(request, id)).id)


@put("/groups/{id:str}/watch", opt=needs("create_snapshots"))
async def watch_group(
    request: Asked,
    id: GroupId,  # noqa: A002
    data: JSONBody[WatchPeriod],
) -> WatchShown:
    """Take a snapshot of a group each minute from now on, for so many seconds."""
    return await _watched(request, "group", await _group(request, id), data.seconds)


@delete("/groups/{id:str}/watch", opt=needs("create_snapshots"))
async def unwatch_group(request: Asked, id: GroupId) -> None:  # noqa: A002
    """End the watch of a group. Its snapshots are kept."""
    await _unwatched(request, "group", (await _group(request, id)).id)


@get("/servers/{id:str}/machine", opt=needs("read"))
async def server_machine(request: Asked, id: ServerId) -> MachineShown:  # noqa: A002
    """Get the last full sample of a server, and eight values of each of its last 60 seconds."""
    store = services_of(request).store
    permissions.check_readable(actor_of(request), await servers.get(store, id))
    newest = (await samples.newest(store, [id]))[id]
    return MachineShown(data=newest.data, quick=quick_shown(newest.quick))


@post("/servers/{id:str}/commands/{plugin:str}", opt=needs("edit_plugins"), status_code=200)
async def run_command(request: Asked, id: ServerId, plugin: PluginId) -> Ran:  # noqa: A002
    """Run the command of a monitor plugin on a server now, to see what it gives."""
    found = await command_tries.saved(services_of(request).store, plugin)
    return await _ran(request, id, found)


@post("/servers/{id:str}/commands", opt=needs("edit_plugins"), status_code=200)
async def run_unsaved_command(
    request: Asked,
    id: ServerId,  # noqa: A002
    data: JSONBody[dict[str, Any]],
) -> Ran:
    """Run a command that is not saved yet: properties of a monitor plugin (`command`, `script`,
    `format`, `timeout`, `uid`, `gid`, `cwd`, `env`)."""
    return await _ran(request, id, command_tries.unsaved(data))


async def _readable(request: Asked, id_: str) -> Snapshot:
    found = await snapshots.get(services_of(request).store, id_)
    permissions.check_snapshot(actor_of(request), "read", found.head)
    return found


async def _server(request: Asked, id_: str, privilege: Privilege = "create_snapshots") -> Server:
    server = await servers.get(services_of(request).store, id_)
    permissions.check_server(actor_of(request), privilege, server)
    return server


async def _group(request: Asked, id_: str) -> Group:
    group = await groups.get(services_of(request).store, id_)
    permissions.check_groups(actor_of(request), "create_snapshots", [id_])
    return group


async def _taken(request: Asked, kind: Target, target: str) -> SnapshotHead:
    services = services_of(request)
    head, _ = await snapshot_taker.take(
        services.store,
        kind,
        target,
        source="user",
        now=services.clock.now(),
        username=actor_of(request).display_name,
    )
    await audited(request, "snapshot.create", head.id, f"{kind} {target}")
    return head


async def _watched(request: Asked, kind: Target, about: Server | Group, seconds: int) -> WatchShown:
    services = services_of(request)
    now = services.clock.now()
    watch = Watch(
        type=kind,
        target=about.id,
        until=now + seconds,
        username=actor_of(request).display_name,
        created=now,
    )
    await watches.begin(services.store, watch)
    await audited(request, f"{kind}.watch", about.id, f"{seconds} s")
    return _watch_shown(watch, about)


async def _unwatched(request: Asked, kind: Target, target: str) -> None:
    if not await watches.end(services_of(request).store, kind, target):
        raise NotFound(f"the {kind} {target} is not watched")
    await audited(request, f"{kind}.unwatch", target)


async def _ran(request: Asked, id_: str, plugin: Plugin) -> Ran:
    services = services_of(request)
    server = await _server(request, id_, "edit_plugins")
    after = services.settings.jobs.down_after
    command = await command_tries.ready(services.store, server, plugin, after)
    await audited(request, "server.command", server.hostname, plugin.id)
    found = await command_requests.run(services.store, server.id, command, services.clock)
    return Ran(output=found.output, text=found.text, error=found.error, elapsed=found.elapsed)


def _shown(found: Snapshot) -> SnapshotShown:
    return SnapshotShown(
        snapshot=found.head,
        states=[_state(one) for one in found.states],
        group_title=found.group.title if found.group else "",
    )


def _state(one: ServerState) -> StateShown:
    server = one.server
    return StateShown(
        server=server.id,
        hostname=server.hostname,
        title=server.title,
        ip=server.ip,
        groups=server.groups,
        data=one.data,
        quick=quick_shown(one.quickmon),
    )


def _watch_shown(watch: Watch, about: Server | Group) -> WatchShown:
    return WatchShown(
        type=watch.type,
        target=watch.target,
        name=servers.label(about) if isinstance(about, Server) else about.title,
        until=watch.until,
        username=watch.username,
        created=watch.created,
    )


ROUTES = Router(
    "/",
    tags=["Snapshots"],
    route_handlers=[
        *(list_snapshots, compare_snapshots, one_snapshot, remove_snapshot),
        *(snapshot_server, snapshot_group, list_watches, watch_server, unwatch_server),
        *(watch_group, unwatch_group, server_machine, run_command, run_unsaved_command),
    ],
)
