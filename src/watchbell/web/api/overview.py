"""Everything at a glance."""

from litestar import Router, get

from watchbell.web import overview
from watchbell.web.access import needs
from watchbell.web.api.overview_shapes import Overview
from watchbell.web.services import Asked, services_of


@get("/overview", opt=needs("read"))
async def at_a_glance(request: Asked) -> Overview:
    """What is wrong now, what is done about it, what will run next."""
    return await overview.overview(services_of(request))


ROUTES = Router("/", tags=["Overview"], route_handlers=[at_a_glance])
