"""The pages of the application: one frame for all, filled in the browser."""

from litestar import MediaType, Response, Router, get

from watchbell.web.access import needs
from watchbell.web.desk import Asked, desk_of
from watchbell.web.words import page

PATHS = [
    *("/", "/checks", "/check", "/alerts", "/maintenance"),
    *("/contacts", "/contact", "/entities"),
    *("/cron", "/cron/new", "/cron/job", "/cron/run"),
    *("/gateways", "/rejected", "/system", "/settings", "/audit"),
    *("/account", "/api-keys", "/users"),
]
_SHOW_CHECKS = ("/", "/checks")


@get(PATHS, opt=needs("read"), include_in_schema=False)
async def shell(request: Asked) -> Response[bytes]:
    """The checks are read while the browser reads the page's files."""
    if request.url.path in _SHOW_CHECKS:
        desk_of(request).board.begin()
    return Response(page("app.html"), media_type=MediaType.HTML)


ROUTES = Router("/", route_handlers=[shell])
