"""Handlers for servers and their groups."""

from collections import Counter
from typing import Any

from watchbell.actors import Privilege, Subject
from watchbell.errors import NotFound, Refused
from watchbell.fleet import groups, samples, servers
from watchbell.fleet import permissions as fleet_permissions
from watchbell.jobs import group_actions, permissions, server_status
from watchbell.jobs.server_status import ServerStatus
from watchbell.web.app_api import records
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.app_api.definitions import sort_orders

SERVERS = Group("server")
GROUPS = Group("group")
_SUMMARIES = (
    *("os_platform", "os_distro", "os_release", "os_arch", "cpu_virt", "cpu_brand", "cpu_cores"),
)
_SENT_BACK = ("id", "ip", "info", "created", "modified", "revision", "keywords", "socket_id")
"""Properties of a server that clients send back as they were."""
_GROUP_EXTRAS = ("id", "username", "created", "modified", "revision")


async def readable_servers(call: Call) -> list[ServerStatus]:
    """Those that the caller may read."""
    found = await server_status.every(call.store, call.services.settings.jobs.down_after)
    readable = fleet_permissions.readable(call.actor, [one.server for one in found])
    ids = {one.id for one in readable}
    return [one for one in found if one.server.id in ids]


async def _one(call: Call) -> ServerStatus:
    down_after = call.services.settings.jobs.down_after
    found = await server_status.one(call.store, call.text("id"), down_after)
    fleet_permissions.check_readable(call.actor, found.server)
    return found


@SERVERS.reads(takes="offset limit", gives="rows list")
async def get_active_servers(call: Call) -> Answer:
    return call.listed(
        [records.server(one) for one in await readable_servers(call) if one.is_online]
    )


@SERVERS.reads(takes="id", gives="server")
async def get_active_server(call: Call) -> Answer:
    found = await _one(call)
    if not found.is_online:
        raise NotFound(f"the server {servers.label(found.server)!r} is offline")
    return {"server": records.server(found)}


@SERVERS.reads(takes="id", gives="server data online")
async def get_server(call: Call) -> Answer:
    found = await _one(call)
    data = await samples.machine(call.store, found.server.id)
    return {
        "server": records.server(found),
        "data": records.sample(found) if data is None else samples.expression_values(data),
        "online": found.is_online,
    }


@SERVERS.reads(gives="servers masters", needs="admin")
async def get_servers(call: Call) -> Answer:
    online = [one for one in await readable_servers(call) if one.is_online]
    return {"servers": {one.server.id: records.server(one) for one in online}, "masters": {}}


@SERVERS.reads(gives="summaries")
async def get_server_summaries(call: Call) -> Answer:
    found = {name: Counter[str]() for name in _SUMMARIES}
    for one in await readable_servers(call):
        for name, value in _summarized(one).items():
            if value:
                found[name][str(value)] += 1
    return {"summaries": found}


def _summarized(status: ServerStatus) -> dict[str, Any]:
    info = status.server.info
    return {
        "os_platform": info.platform,
        "os_distro": info.os.get("distro"),
        "os_release": info.os.get("release") or info.release,
        "os_arch": info.arch,
        "cpu_virt": info.virt,
        "cpu_brand": info.cpu.get("brand"),
        "cpu_cores": info.cpu.get("cores"),
    }


async def _changed(call: Call) -> ServerStatus:
    """The server, if its groups are among those that the caller may change."""
    found = await _one(call)
    about = Subject(groups=frozenset(found.server.groups))
    permissions.check(call.actor, "update_servers", about)
    return found


@SERVERS.changes("update_servers", takes="id *")
async def update_server(call: Call) -> Answer:
    server = (await _changed(call)).server
    given = call.record(*_SENT_BACK)
    if given.get("autoGroup"):
        given.pop("groups", None)
    fleet_permissions.check_change(call.actor, server, given)
    await servers.update(call.store, server.id, given, int(call.now))
    await call.audit("server.change", server.hostname, ", ".join(given))
    return {}


@SERVERS.changes("update_servers", takes="id data")
async def update_server_data(call: Call) -> Answer:
    """Merges properties into the data that people have given a server."""
    server, data = (await _changed(call)).server, call.value("data")
    if not isinstance(data, dict):
        raise Refused("expected an object", field="data")
    merged = {**server.user_data, **data}
    await servers.update(call.store, server.id, {"userData": merged}, int(call.now))
    await call.audit("server.change", server.hostname, "userData")
    return {}


@SERVERS.changes("update_servers", takes="id history")
async def delete_server(call: Call) -> Answer:
    """Removes a server and its tokens. Its jobs are kept."""
    found = await _changed(call)
    await server_status.remove(call.store, found.server.id)
    await call.audit("server.remove", found.server.hostname)
    return {}


@GROUPS.reads(takes="offset limit", gives="rows list")
async def get_groups(call: Call) -> Answer:
    return call.listed([records.group(one) for one in await groups.every(call.store)])


@GROUPS.reads(takes="id", gives="group")
async def get_group(call: Call) -> Answer:
    return {"group": records.group(await groups.get(call.store, call.text("id")))}


def _check(call: Call, privilege: Privilege, id: str) -> None:  # noqa: A002
    permissions.check(call.actor, privilege, Subject(groups=frozenset({id})))


@GROUPS.changes("create_groups", takes="*", gives="group")
async def create_group(call: Call) -> Answer:
    id, given = str(call.given.get("id") or ""), call.record(*_GROUP_EXTRAS)  # noqa: A001
    _check(call, "create_groups", id)
    if "sort_order" not in given:
        known = await groups.every(call.store)
        given["sort_order"] = max((one.sort_order for one in known), default=-1) + 1
    name = call.actor.display_name
    given = await group_actions.checked(call.store, call.actor, given)
    group = await groups.create(call.store, given, name, int(call.now), id)
    await call.audit("group.create", group.id, group.title)
    return {"group": records.group(group)}


@GROUPS.changes("edit_groups", takes="id *")
async def update_group(call: Call) -> Answer:
    id, given = call.text("id"), call.record(*_GROUP_EXTRAS)  # noqa: A001
    old = (await groups.get(call.store, id)).hostname_match
    _check(call, "edit_groups", id)
    if given.get("hostname_match", old) != old:
        reason = "any server could get into the group"
        fleet_permissions.check_any_group(call.actor, "edit_groups", reason)
    given = await group_actions.checked(call.store, call.actor, given)
    await groups.update(call.store, id, given, int(call.now))
    await call.audit("group.change", id, ", ".join(given))
    return {}


@GROUPS.changes("delete_groups", takes="id")
async def delete_group(call: Call) -> Answer:
    id = call.text("id")  # noqa: A001
    _check(call, "delete_groups", id)
    await groups.remove(call.store, id)
    await call.audit("group.remove", id)
    return {}


@GROUPS.changes("edit_groups", takes="items")
async def multi_update_group(call: Call) -> Answer:
    """Orders groups."""
    for id, order in sort_orders(call):  # noqa: A001
        _check(call, "edit_groups", id)
        group = await groups.get(call.store, id)
        if group.sort_order != order:
            await groups.update(call.store, id, {"sort_order": order}, int(call.now))
            await call.audit("group.change", id, "sort_order")
    return {}
