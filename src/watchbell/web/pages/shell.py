"""The pages of the application: one HTML shell, filled in the browser."""

from functools import cache

from litestar import MediaType, Response, Router, get

from watchbell.web.access import needs
from watchbell.web.page_templates import page
from watchbell.web.services import Asked, services_of

MODULES = {
    "/": "overview",
    "/checks": "checks",
    "/check": "check",
    "/alerts": "alerts",
    "/maintenance": "maintenance",
    "/contacts": "contacts",
    "/contact": "contact",
    "/entities": "entities",
    "/events": "events",
    "/events/new": "event",
    "/events/event": "event",
    "/categories": "categories",
    "/plugins": "plugins",
    "/channels": "channels",
    "/tags": "tags",
    "/jobs": "jobs",
    "/jobs/job": "job",
    "/timeline": "timeline",
    "/cron": "cron",
    "/cron/new": "cron_job",
    "/cron/job": "cron_job",
    "/cron/run": "cron_run",
    "/archive": "archive",
    "/archive/crawl": "crawl",
    "/archive/pages": "archive_pages",
    "/archive/page": "archive_page",
    "/archive/pending": "archive_pending",
    "/archive/history": "archive_history",
    "/archive/pipelines": "archive_pipelines",
    "/archive/ignore-sets": "ignore_sets",
    "/fleet": "fleet",
    "/servers": "servers",
    "/servers/server": "server",
    "/server-alerts": "server_alerts",
    "/alert-definitions": "alert_definitions",
    "/dashboards": "dashboards",
    "/dashboards/dashboard": "dashboard",
    "/monitors": "monitors",
    "/snapshots": "snapshots",
    "/snapshots/snapshot": "snapshot",
    "/snapshots/compare": "snapshot_comparison",
    "/expressions": "expressions",
    "/groups": "groups",
    "/gateways": "gateways",
    "/rejected": "rejected",
    "/system": "system",
    "/settings": "settings",
    "/audit": "audit",
    "/account": "account",
    "/api-keys": "api_keys",
    "/api": "api_docs",
    "/users": "users",
}
"""By path, the module that renders the page."""
_SHOW_CHECKS = ("/", "/checks")


@get(list(MODULES), opt=needs("read"), include_in_schema=False)
async def shell(request: Asked) -> Response[bytes]:
    """Loads the checks while the browser fetches the page's files."""
    path = request.url.path
    if path in _SHOW_CHECKS:
        services_of(request).check_table.begin()
    return Response(_page(MODULES[path]), media_type=MediaType.HTML)


@cache
def _page(module: str) -> bytes:
    return page("app.html", module=module)


ROUTES = Router("/", route_handlers=[shell])
