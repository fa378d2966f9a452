"""The endpoint for the overview."""

from litestar import Router, get

from watchbell.web.access import needs
from watchbell.web.services import Asked, actor_of, services_of
from watchbell.web.system import overview
from watchbell.web.system.overview_shapes import Overview


@get("/overview", opt=needs("read"))
async def at_a_glance(request: Asked) -> Overview:
    """Summarize the current status.

    What is failing, what is being done about it, and which jobs run, failed and come next.
    """
    return await overview.overview(services_of(request), actor_of(request))


ROUTES = Router("/", tags=["Overview"], route_handlers=[at_a_glance])
