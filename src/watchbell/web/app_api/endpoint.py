"""The endpoint of the app API: finds the handler of a call, and checks that it may be used."""

from typing import Annotated, Any

import msgspec
from litestar import HttpMethod, MediaType, Response, Router, route
from litestar.exceptions import HTTPException
from litestar.params import PathParameter

from watchbell.actors import may
from watchbell.web import call_parameters
from watchbell.web.access import CALLS
from watchbell.web.app_api import failures
from watchbell.web.app_api.calls import Call, Handler
from watchbell.web.app_api.table import HANDLERS
from watchbell.web.app_api.users import USERS
from watchbell.web.guard import SAFE, check_origin
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, identity_of

_METHODS = [HttpMethod.GET, HttpMethod.POST]

Name = Annotated[str, PathParameter(max_length=100)]


@route("/{name:str}/v1", http_method=_METHODS, status_code=200, opt=CALLS, sync_to_thread=None)
async def call(request: Asked, name: Name) -> Response[Any]:
    return await _answer(request, name, "")


@route("/{name:str}/v1/{suffix:str}", http_method=_METHODS, status_code=200, opt=CALLS)
async def call_with_suffix(request: Asked, name: Name, suffix: Name) -> Response[Any]:
    return await _answer(request, name, suffix)


@route(["/{name:str}", "/{name:str}/v1"], http_method=_METHODS, status_code=200, opt=CALLS)
async def user_call(request: Asked, name: Name) -> Response[Any]:
    """Handlers of users are also found where clients of xyOps look for them."""
    known = {one.name for one in USERS.handlers}
    return await _answer(request, name if name in known else f"user/{name}", "")


async def _answer(request: Asked, name: str, suffix: str) -> Response[Any]:
    handler = HANDLERS.get(name)
    if handler is None or suffix not in handler.suffixes:
        path = f"{name}/v1/{suffix}" if suffix else name
        raise HttpProblem(404, f"there is no API {path[:100]!r}", code="api")
    _check(request, handler)
    parameters = await call_parameters.read(request)
    answer = await handler.run(Call(request, handler, parameters, suffix))
    if isinstance(answer, Response):
        return answer
    return Response(msgspec.json.encode({"code": 0, **answer}), media_type=MediaType.JSON)


def _check(request: Asked, handler: Handler) -> None:
    identity = identity_of(request)
    permission = may(identity.actor, handler.needs)
    if not permission:
        raise HttpProblem(403, permission.reason)
    if handler.is_change and request.method in SAFE:
        # A link on a page of another site must change nothing: what a browser sends by itself, a
        # cookie or a password that it remembers, is not enough.
        check_origin(request)
        header = request.headers.get("authorization", "")
        if identity.session or header.lower().startswith("basic"):
            raise HttpProblem(405, f"{handler.name} changes something; send it as POST")


ROUTES = Router(
    "/api",
    route_handlers=[
        Router("/app", route_handlers=[call, call_with_suffix]),
        Router("/user", route_handlers=[user_call]),
    ],
    include_in_schema=False,
    request_max_body_size=None,
    exception_handlers={Exception: failures.answer, HTTPException: failures.answer},
)
