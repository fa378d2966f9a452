"""The API's description as OpenAPI, of which the page about the API is made."""

from typing import Any

from litestar import Response, Router, get

from watchbell.web.access import needs
from watchbell.web.services import Asked


@get("/api/v1/openapi.json", opt=needs("read"), include_in_schema=False)
async def openapi(request: Asked) -> Response[dict[str, Any]]:
    described: dict[str, Any] = request.app.state["describe"]()
    return Response(described)


ROUTES = Router("/", route_handlers=[openapi])
