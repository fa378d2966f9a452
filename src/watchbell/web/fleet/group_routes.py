"""Endpoints for groups of servers."""

from collections import Counter
from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.actors import Privilege
from watchbell.errors import Changed
from watchbell.fleet import groups, permissions
from watchbell.fleet.model import Group
from watchbell.jobs import group_actions, server_status
from watchbell.web.access import needs
from watchbell.web.fleet.server_shapes import (
    GroupChange,
    Groups,
    GroupShown,
    MatchingServers,
    NewGroup,
)
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, IfMatch, revision_of

Id = Annotated[str, PathParameter(max_length=100, description="A group's id.")]
MOST_NAMED = 100


@get("/groups", opt=needs("read"))
async def list_groups(request: Asked) -> Groups:
    """List groups, with the number of their servers."""
    found = await groups.every(services_of(request).store)
    return Groups(await _shown(request, found))


@get("/groups/matching", opt=needs("read"))
async def matching_servers(
    request: Asked,
    hostname_match: Annotated[
        str,
        QueryParameter(min_length=1, max_length=500, description="A regular expression (RE2)."),
    ],
) -> MatchingServers:
    """List the servers whose hostname an expression matches, to try it before it is saved."""
    every = await groups.matching(services_of(request).store, hostname_match)
    found = permissions.readable(actor_of(request), every)
    return MatchingServers(hostnames=[one.hostname for one in found[:MOST_NAMED]], count=len(found))


@get("/groups/{id:str}", opt=needs("read"))
async def one_group(request: Asked, id: Id) -> GroupShown:  # noqa: A002
    """Get a group."""
    return (await _shown(request, [await groups.get(services_of(request).store, id)]))[0]


@post("/groups", opt=needs("create_groups"))
async def create_group(request: Asked, data: JSONBody[NewGroup]) -> GroupShown:
    """Add a group. Servers whose hostname matches belong to it at once."""
    services, fields = services_of(request), msgspec.to_builtins(data)
    id_ = fields.pop("id", "")
    _check(request, "create_groups", id_, fields["hostname_match"])
    name = actor_of(request).display_name
    fields = await group_actions.checked(services.store, actor_of(request), fields)
    group = await groups.create(services.store, fields, name, services.now(), id_)
    await audited(request, "group.create", group.id, group.title)
    return (await _shown(request, [group]))[0]


@patch("/groups/{id:str}", opt=needs("edit_groups"), responses=STALE)
async def change_group(
    request: Asked,
    id: Id,  # noqa: A002
    data: JSONBody[GroupChange],
    if_match: IfMatch = "",
) -> GroupShown:
    """Change a group. Servers are assigned anew by their hostnames."""
    services, given = services_of(request), msgspec.to_builtins(data)
    before = (await groups.get(services.store, id)).hostname_match
    pattern = given.get("hostname_match", before)
    _check(request, "edit_groups", id, pattern if pattern != before else "")
    given = await group_actions.checked(services.store, actor_of(request), given)
    try:
        group = await groups.update(
            services.store, id, given, services.now(), revision_of(if_match)
        )
    except Changed as error:
        raise HttpProblem(412, str(error)) from None
    await audited(request, "group.change", id, ", ".join(given))
    return (await _shown(request, [group]))[0]


@delete("/groups/{id:str}", opt=needs("delete_groups"))
async def remove_group(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete a group. Its servers stay; those in no other group are assigned by their hostnames."""
    _check(request, "delete_groups", id)
    await groups.remove(services_of(request).store, id)
    await audited(request, "group.remove", id)


def _check(request: Asked, privilege: Privilege, id: str, pattern: str = "") -> None:  # noqa: A002
    """`pattern` is new: of hostnames that will belong to the group."""
    actor = actor_of(request)
    permissions.check_groups(actor, privilege, [id])
    if pattern:
        permissions.check_any_group(actor, privilege, "any server could get into the group")


async def _shown(request: Asked, found: list[Group]) -> list[GroupShown]:
    services = services_of(request)
    known = await server_status.every(services.store, services.settings.jobs.down_after)
    count = Counter(id_ for one in known for id_ in one.server.groups)
    online = Counter(id_ for one in known if one.is_online for id_ in one.server.groups)
    return [
        GroupShown(
            id=group.id,
            title=group.title,
            icon=group.icon,
            notes=group.notes,
            hostname_match=group.hostname_match,
            max_jobs_per_server=group.max_jobs_per_server,
            alert_actions=group.alert_actions,
            sort_order=group.sort_order,
            servers=count[group.id],
            online=online[group.id],
            username=group.username,
            created=group.created,
            modified=group.modified,
            revision=group.revision,
        )
        for group in found
    ]


ROUTES = Router(
    "/",
    tags=["Server groups"],
    route_handlers=[
        *(list_groups, matching_servers, one_group, create_group, change_group, remove_group)
    ],
)
