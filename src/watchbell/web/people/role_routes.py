"""Endpoints for custom roles."""

from typing import Annotated

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter
from msgspec.structs import asdict

from watchbell.web.access import needs
from watchbell.web.listing import Cursor, Limit, Page, paged
from watchbell.web.people.rights import CustomRole
from watchbell.web.people.shapes import NewRole, RoleChange, RoleView, given_of
from watchbell.web.services import Asked, services_of, stamp_of

Id = Annotated[str, PathParameter(max_length=64, description="A role's id.")]


@get("/roles", opt=needs("read"))
async def roles(request: Asked, cursor: Cursor = "", limit: Limit = 100) -> Page[RoleView]:
    """List custom roles.

    The four roles `viewer`, `operator`, `editor` and `administrator` always exist and are not in
    this list.
    """
    views = [_view(role) for role in await services_of(request).roles.all()]
    return paged(views, lambda role: role.id, cursor, limit)


@get("/roles/{id:str}", opt=needs("read"))
async def role(request: Asked, id: Id) -> RoleView:  # noqa: A002
    """Show a custom role."""
    return _view(await services_of(request).roles.get(id))


@post("/roles", opt=needs("create_roles"))
async def add_role(request: Asked, data: JSONBody[NewRole]) -> RoleView:
    """Add a custom role.

    It can have only privileges that you have.
    """
    made = CustomRole(**asdict(data))
    return _view(await services_of(request).roles.add(made, stamp_of(request)))


@patch("/roles/{id:str}", opt=needs("edit_roles"))
async def change_role(request: Asked, id: Id, data: JSONBody[RoleChange]) -> RoleView:  # noqa: A002
    """Change a custom role.

    It applies at once to everybody who has it. You need all privileges that it has and gets.
    """
    roles = services_of(request).roles
    return _view(await roles.update(id, given_of(data), stamp_of(request)))


@delete("/roles/{id:str}", opt=needs("delete_roles"))
async def remove_role(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete a custom role.

    Take it from all users and API keys first.
    """
    await services_of(request).roles.remove(id, stamp_of(request))


def _view(role: CustomRole) -> RoleView:
    return RoleView(**asdict(role))


ROUTES = Router(
    "/", tags=["Roles"], route_handlers=[roles, role, add_role, change_role, remove_role]
)
