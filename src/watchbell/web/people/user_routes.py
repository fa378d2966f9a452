"""Endpoints for users: who may sign in, and with which role."""

from collections.abc import Mapping
from typing import Annotated

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter

from watchbell.web.access import needs
from watchbell.web.listing import Cursor, Limit, Page, paged
from watchbell.web.people import sign_in_links
from watchbell.web.people.rights import CustomRole, Rights
from watchbell.web.people.shapes import NewUser, SignInLink, UserChange, UserView, given_of
from watchbell.web.people.users import User
from watchbell.web.server_url import server_url
from watchbell.web.services import Asked, services_of, stamp_of

Name = Annotated[str, PathParameter(max_length=64, description="A user's name.")]


@get("/users", opt=needs("admin"))
async def users(request: Asked, cursor: Cursor = "", limit: Limit = 100) -> Page[UserView]:
    """List users."""
    services = services_of(request)
    seen = await services.users.sign_ins()
    roles = {role.id: role for role in await services.roles.all()}
    views = [_view(user, seen, roles) for user in await services.users.all()]
    return paged(views, lambda user: user.name, cursor, limit)


@post("/users", opt=needs("admin"))
async def add_user(request: Asked, data: JSONBody[NewUser]) -> SignInLink:
    """Add a user.

    The answer has a link by which the user signs in and sets a password.
    """
    given = Rights(
        privileges=data.privileges,
        roles=data.roles,
        categories=data.categories,
        groups=data.groups,
    )
    users = services_of(request).users
    user = await users.add(data.name, data.role, stamp_of(request), given)
    return await _link(request, user)


@patch("/users/{name:str}", opt=needs("admin"))
async def change_user(request: Asked, name: Name, data: JSONBody[UserChange]) -> UserView:
    """Change what a user may do.

    It applies at once to their sessions and API keys.
    """
    services = services_of(request)
    user = await services.users.update(name, given_of(data), stamp_of(request))
    return _view(user, await services.users.sign_ins(), await services.roles.of(user))


@delete("/users/{name:str}", opt=needs("admin"))
async def remove_user(request: Asked, name: Name) -> None:
    """Delete a user.

    Their sessions and API keys stop working.
    """
    await services_of(request).users.remove(name, stamp_of(request))


@post("/users/{name:str}/link", opt=needs("admin"))
async def make_link(request: Asked, name: Name) -> SignInLink:
    """Create a sign-in link for a user.

    It works once, within a day, and replaces an earlier link.
    """
    return await _link(request, await services_of(request).users.get(name))


async def _link(request: Asked, user: User) -> SignInLink:
    services = services_of(request)
    path = await sign_in_links.make(services.store, user, stamp_of(request))
    return SignInLink(user=user.name, link=server_url(services.settings) + path)


def _view(user: User, seen: dict[str, int], roles: Mapping[str, CustomRole]) -> UserView:
    return UserView(
        name=user.name,
        role=user.role,
        privileges=user.privileges,
        roles=user.roles,
        categories=user.categories,
        groups=user.groups,
        effective=sorted(user.actor(roles).privileges),
        created=user.created,
        has_password=bool(user.password),
        last_sign_in=seen.get(user.name),
    )


ROUTES = Router(
    "/", tags=["Users"], route_handlers=[users, add_user, change_user, remove_user, make_link]
)
