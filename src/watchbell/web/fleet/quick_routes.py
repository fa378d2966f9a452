"""The quick values of a server, which its page reads every other second."""

from typing import Annotated

from litestar import Router, get
from litestar.params import PathParameter, QueryParameter
from msgspec import Struct

from watchbell.fleet import permissions, samples, servers
from watchbell.web.access import needs
from watchbell.web.fleet.snapshot_shapes import QuickShown, quick_shown
from watchbell.web.services import Asked, actor_of, services_of

Id = Annotated[str, PathParameter(max_length=100, description="A server's id.")]
Since = Annotated[
    float, QueryParameter(ge=0, description="Only values after this, in seconds since 1970.")
]


class QuickValues(Struct, frozen=True):
    items: list[QuickShown]
    """Oldest first."""


@get("/servers/{id:str}/quick", opt=needs("read"))
async def quick_values(request: Asked, id: Id, since: Since = 0) -> QuickValues:  # noqa: A002
    """Get eight values of each of the last 60 seconds of a server."""
    store = services_of(request).store
    permissions.check_readable(actor_of(request), await servers.get(store, id))
    found = (await samples.quick(store, [id]))[id]
    return QuickValues(quick_shown(tuple(one for one in found if one.date > since)))


ROUTES = Router("/", tags=["Servers"], route_handlers=[quick_values])
