"""Endpoints for servers and the tokens with which they join."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Literal

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import permissions, presence, samples, servers, tokens
from watchbell.fleet.model import AgentToken, Server
from watchbell.jobs import server_status
from watchbell.jobs.server_status import ServerStatus
from watchbell.web.access import needs
from watchbell.web.fleet.server_shapes import (
    CreatedToken,
    NewToken,
    Samples,
    ServerChange,
    ServerShown,
    ServersPage,
    Tokens,
    TokenShown,
)
from watchbell.web.fleet.server_table import (
    ServerFilter,
    Sort,
    active_alerts,
    changes,
    row_of,
)
from watchbell.web.listing import Cursor, Limit, Page, paged
from watchbell.web.live.cursors import cursor_of, key_of
from watchbell.web.live.sse import EVENT_STREAM, EventStream, LastEvent, Resume, streamed
from watchbell.web.problems import HttpProblem
from watchbell.web.server_url import server_url
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, IfMatch, revision_of

Id = Annotated[str, PathParameter(max_length=100, description="A server's id.")]
TokenId = Annotated[str, PathParameter(max_length=64, description="A token's id.")]
Order = Annotated[Sort, QueryParameter(description="Sort by this.")]
Reversed = Annotated[bool, QueryParameter(description="Whether to reverse the order.")]
Yes = bool | None


async def wanted_of(
    request: Asked,
    text: Annotated[
        str,
        QueryParameter(
            max_length=200,
            description="Words that the title, hostname, address or groups contain, all of them.",
        ),
    ] = "",
    groups: Annotated[
        list[str] | None,
        QueryParameter(name="group", max_items=100, description="Servers of any of these groups."),
    ] = None,
    online: Annotated[
        Yes, QueryParameter(description="Only servers that are connected, or all but those.")
    ] = None,
    enabled: Annotated[
        Yes, QueryParameter(description="Only servers that are enabled, or all but those.")
    ] = None,
) -> ServerFilter:
    return ServerFilter(
        text=text,
        group=tuple(groups or ()),
        online=online,
        enabled=enabled,
        readable=permissions.readable_groups(actor_of(request)),
    )


Wanted = NamedDependency[ServerFilter]


@get("/servers", opt=needs("read"))
async def list_servers(
    request: Asked,
    wanted: Wanted,
    sort: Order = "name",
    reverse: Reversed = False,
    cursor: Annotated[
        str, QueryParameter(max_length=2_000, description="`next` of the previous page.")
    ] = "",
    limit: Limit = 100,
) -> ServersPage:
    """List servers, with counts by state."""
    table, after = services_of(request).server_table, key_of(cursor) if cursor else None
    store, view = await table.view(wanted, sort)
    rows, last = view.page(after, limit, is_reversed=reverse)
    return ServersPage(
        items=list(rows),
        next=cursor_of(last) if last else None,
        count=len(view.order),
        counts=view.counts,
        moment=store.moment,
    )


@get("/servers/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(
    request: Asked, wanted: Wanted, last: LastEvent = "", resume: Resume = ""
) -> EventStream:
    """Follow a list of servers as server-sent events.

    At most four times a second, `changed` has the rows that changed, the ids that no longer match,
    the rows in which only figures changed, and counts. After `reset`, read the list again.
    """
    return streamed(request, changes(services_of(request).server_table, wanted, last or resume))


@get("/servers/{id:str}", opt=needs("read"))
async def one_server(request: Asked, id: Id) -> ServerShown:  # noqa: A002
    """Get a server with everything that is known of it."""
    status = await _status(request, id)
    permissions.check_readable(actor_of(request), status.server)
    return await _shown(request, status)


async def _status(request: Asked, id_: str) -> ServerStatus:
    services = services_of(request)
    return await server_status.one(services.store, id_, services.settings.jobs.down_after)


async def _shown(request: Asked, status: ServerStatus) -> ServerShown:
    server = status.server
    return ServerShown(
        row=row_of(status, await active_alerts(services_of(request).store)),
        auto_group=server.auto_group,
        user_data=server.user_data,
        max_jobs=server.max_jobs,
        notes=server.notes,
        info=server.info,
        sample=status.sample,
        created=server.created,
        modified=server.modified,
        revision=server.revision,
    )


@patch("/servers/{id:str}", opt=needs("update_servers"), responses=STALE)
async def change_server(
    request: Asked,
    id: Id,  # noqa: A002
    data: JSONBody[ServerChange],
    if_match: IfMatch = "",
) -> ServerShown:
    """Change a server. Groups that you set stay, whatever its hostname is."""
    services = services_of(request)
    given = msgspec.to_builtins(data)
    permissions.check_change(actor_of(request), await servers.get(services.store, id), given)
    try:
        server = await servers.update(
            services.store, id, given, services.now(), revision_of(if_match)
        )
    except Changed as error:
        raise HttpProblem(412, str(error)) from None
    await audited(request, "server.change", server.hostname, ", ".join(given))
    return await _shown(request, await _status(request, id))


async def _allowed(request: Asked, id_: str) -> Server:
    """The server, if the groups of it are among those that the actor may change."""
    server = await servers.get(services_of(request).store, id_)
    permissions.check_server(actor_of(request), "update_servers", server)
    return server


@delete("/servers/{id:str}", opt=needs("update_servers"))
async def remove_server(request: Asked, id: Id) -> None:  # noqa: A002
    """Remove a server and its tokens. One that runs jobs is refused."""
    server = await _allowed(request, id)
    await server_status.remove(services_of(request).store, id)
    await audited(request, "server.remove", server.hostname)


@post("/servers/{id:str}/revoke", status_code=204, opt=needs("update_servers"))
async def revoke_server(request: Asked, id: Id) -> None:  # noqa: A002
    """Revoke the tokens of a server. Its agent is disconnected, and can't come back without a new
    token."""
    server = await _allowed(request, id)
    await tokens.revoke_of(services_of(request).store, id)
    await audited(request, "server.revoke", server.hostname)


@post("/servers/{id:str}/rotate", status_code=204, opt=needs("update_servers"))
async def rotate_server(request: Asked, id: Id) -> None:  # noqa: A002
    """Replace the token of a server. Its agent connects again and gets a new one; the present one
    is valid until then. An agent that is not connected gets it when it comes."""
    server, store = await _allowed(request, id), services_of(request).store
    if not await tokens.request_rotation(store, id):
        raise Refused("the server has no token; create one with which it joins again")
    await presence.reconnect(store, id)
    await audited(request, "server.rotate", server.hostname)


@get("/servers/{id:str}/tokens", opt=needs("update_servers"))
async def server_tokens(request: Asked, id: Id) -> Tokens:  # noqa: A002
    """List the tokens of a server: one, or two while it is replaced."""
    await _allowed(request, id)
    found = await tokens.of_server(services_of(request).store, id)
    return Tokens([_token(one) for one in found])


@get("/servers/{id:str}/samples", opt=needs("read"))
async def server_samples(
    request: Asked,
    id: Id,  # noqa: A002
    resolution: Annotated[
        Literal["minute", "hour"],
        QueryParameter(description="One of each minute of a day, or of each hour of a month."),
    ] = "minute",
    limit: Annotated[int, QueryParameter(ge=1, le=1_440, description="The most samples.")] = 1_440,
) -> Samples:
    """Get what a server used."""
    store = services_of(request).store
    permissions.check_readable(actor_of(request), await servers.get(store, id))
    read = samples.minutes if resolution == "minute" else samples.hours
    return Samples(await read(store, id, limit))


@get("/servers/tokens", opt=needs("add_servers"))
async def list_tokens(request: Asked, cursor: Cursor = "", limit: Limit = 100) -> Page[TokenShown]:
    """List the tokens that no server has joined with yet."""
    found = [_token(one) for one in await tokens.joining(services_of(request).store)]
    return paged(sorted(found, key=lambda one: one.id), lambda one: one.id, cursor, limit)


@post("/servers/tokens", opt=needs("add_servers"))
async def create_token(request: Asked, data: JSONBody[NewToken]) -> CreatedToken:
    """Create a token with which a server joins.

    The token is shown in this answer and never again.
    """
    services, now = services_of(request), services_of(request).now()
    await _check_token(request, data.groups, data.hostname)
    text, token = await tokens.create_join(
        services.store,
        actor_of(request).display_name,
        now,
        hostname=data.hostname,
        groups=data.groups,
        expires=now + data.hours * 3600,
    )
    await audited(request, "server.token", token.id, token.hostname)
    command = f"watchbell agent --join {server_url(services.settings)} --token {text}"
    return CreatedToken(token=_token(token), secret=text, command=command)


@get("/servers/tokens/{id:str}", opt=needs("add_servers"))
async def one_token(request: Asked, id: TokenId) -> TokenShown:  # noqa: A002
    """Get a token, or the one that has replaced it. It names the server once that has joined."""
    return _token(await tokens.current(services_of(request).store, id))


async def _check_token(request: Asked, groups: Sequence[str], hostname: str) -> None:
    """A token decides about the groups of a server, or replaces the server of its hostname."""
    actor, name = actor_of(request), hostname.strip().rstrip(".").lower()
    permissions.check_groups(actor, "add_servers", groups)
    if not groups:
        permissions.check_any_group(actor, "add_servers", "name the groups of the server")
    for server in await servers.every(services_of(request).store) if name else ():
        if server.hostname == name:
            permissions.check_server(actor, "add_servers", server)


@delete("/servers/tokens/{id:str}", opt=needs("add_servers"))
async def revoke_token(request: Asked, id: TokenId) -> None:  # noqa: A002
    """Revoke a token. An agent that uses it is disconnected."""
    store = services_of(request).store
    for token in await tokens.every(store):
        if token.id == id:
            await _check_revocation(request, token)
    token = await tokens.revoke(store, id)
    await audited(request, "server.token_revoke", token.id, token.hostname)


async def _check_revocation(request: Asked, token: AgentToken) -> None:
    actor = actor_of(request)
    if token.server:
        with suppress(NotFound):
            server = await servers.get(services_of(request).store, token.server)
            permissions.check_server(actor, "add_servers", server)
    elif token.groups:
        permissions.check_groups(actor, "add_servers", token.groups)
    else:
        permissions.check_any_group(actor, "add_servers", "the token is for all of them")


def _token(token: AgentToken) -> TokenShown:
    return TokenShown(
        id=token.id,
        server=token.server,
        hostname=token.hostname,
        groups=token.groups,
        created=token.created,
        created_by=token.created_by,
        expires=token.expires or None,
        last_used=token.last_used or None,
    )


ROUTES = Router(
    "/",
    tags=["Servers"],
    dependencies={"wanted": Provide(wanted_of)},
    route_handlers=[
        *(list_servers, live, one_server, change_server, remove_server, revoke_server),
        *(rotate_server, server_tokens, server_samples),
        *(list_tokens, one_token, create_token, revoke_token),
    ],
)
