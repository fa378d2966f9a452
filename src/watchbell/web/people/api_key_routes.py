"""Endpoints for API keys: one's own, and for administrators everybody's."""

from typing import Annotated

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter, QueryParameter
from msgspec.structs import replace

from watchbell.actors import KeyScope, may, may_create_key, privileges_of
from watchbell.web.access import needs
from watchbell.web.limits import KEYS_MADE
from watchbell.web.listing import Cursor, Limit, Page, paged
from watchbell.web.people import rights
from watchbell.web.people.api_keys import ApiKey
from watchbell.web.people.rights import Rights
from watchbell.web.people.shapes import CreatedKey, KeyChange, KeyView, NewKey, NewPing, given_of
from watchbell.web.ping_check import Ping, ping_of
from watchbell.web.problems import HttpProblem
from watchbell.web.refused import RefusedField
from watchbell.web.server_url import server_url
from watchbell.web.services import (
    Asked,
    actor_of,
    identity_of,
    services_of,
    spend,
    stamp_of,
)

Id = Annotated[str, PathParameter(max_length=64, description="A key's id.")]
Owner = Annotated[
    str | None,
    QueryParameter(
        max_length=64, description="A user's name; empty for keys created on the command line."
    ),
]


@get("/api-keys", opt=needs("read"))
async def api_keys(
    request: Asked, owner: Owner = None, cursor: Cursor = "", limit: Limit = 100
) -> Page[KeyView]:
    """List your API keys.

    Administrators get the keys of all users, or those of one.
    """
    services = services_of(request)
    uses = await services.api_keys.uses()
    found = await services.api_keys.all(_owner(request))
    views = [_view(key, uses.get(key.id)) for key in found if owner in (None, key.owner)]
    return paged(views, lambda key: key.id, cursor, limit)


@post("/api-keys", opt=needs("read"))
async def make_key(request: Asked, data: JSONBody[NewKey]) -> CreatedKey:
    """Create an API key.

    It can have only scopes and privileges that you have. The key is shown in this answer
    and never again.
    """
    services, identity = services_of(request), identity_of(request)
    if not identity.session:
        raise HttpProblem(403, "an API key can't create keys; sign in first")
    if not may(identity.actor, "admin"):
        await spend(request, KEYS_MADE, identity.name)
    given = Rights(
        privileges=data.privileges,
        roles=data.roles,
        categories=data.categories,
        groups=data.groups,
    )
    await _must_have(request, data.scopes, given)
    now = services.now()
    secret, key = await services.api_keys.make(
        data.name,
        data.scopes,
        stamp_of(request),
        owner=await services.users.get(identity.name),
        expires=None if data.days is None else now + data.days * 86_400,
        ping=_ping(data.ping, now),
        given=given,
    )
    url = f"{server_url(services.settings)}/ping/{secret}" if key.ping else None
    return CreatedKey(key=_view(key, None), secret=secret, ping_url=url)


@patch("/api-keys/{id:str}", opt=needs("read"))
async def change_key(request: Asked, id: Id, data: JSONBody[KeyChange]) -> KeyView:  # noqa: A002
    """Change what an API key may do.

    It applies on every server within a second.
    """
    services = services_of(request)
    _by_a_person(request, "change")
    changes = given_of(data)
    changed = replace(await services.api_keys.get(id, _owner(request)), **changes)
    await _must_have(request, changed.scopes, changed)
    key = await services.api_keys.update(id, changes, stamp_of(request), _owner(request))
    return _view(key, (await services.api_keys.uses()).get(id))


@delete("/api-keys/{id:str}", opt=needs("read"))
async def revoke_key(request: Asked, id: Id) -> None:  # noqa: A002
    """Revoke an API key.

    It stops working on every server within a second.
    """
    _by_a_person(request, "revoke")
    await services_of(request).api_keys.revoke(id, stamp_of(request), _owner(request))


def _by_a_person(request: Asked, verb: str) -> None:
    identity = identity_of(request)
    if not identity.session and not may(identity.actor, "admin"):
        raise HttpProblem(403, f"an API key can't {verb} keys; sign in first")


async def _must_have(request: Asked, scopes: tuple[KeyScope, ...], given: Rights) -> None:
    roles = await services_of(request).roles.of(given)
    grants = rights.grants(privileges_of(scopes), given, roles)
    if not (permission := may_create_key(actor_of(request), scopes, grants)):
        raise HttpProblem(403, permission.reason, field="scopes")


def _ping(given: NewPing | None, now: int) -> Ping | None:
    with RefusedField("ping.check"):
        return ping_of(given.check, given.ttl, now) if given else None


def _owner(request: Asked) -> str | None:
    identity = identity_of(request)
    return None if may(identity.actor, "admin") else identity.name


def _view(key: ApiKey, used: int | None) -> KeyView:
    return KeyView(
        id=key.id,
        name=key.name,
        owner=key.owner,
        scopes=key.scopes,
        privileges=key.privileges,
        roles=key.roles,
        categories=key.categories,
        groups=key.groups,
        created=key.created,
        expires=key.expires,
        last_use=used,
        ping=key.ping,
    )


ROUTES = Router("/", tags=["API keys"], route_handlers=[api_keys, make_key, change_key, revoke_key])
