"""The one gate before every endpoint: who asks, from where, and whether they are allowed to."""

import base64
import binascii
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.exceptions import WebSocketException
from litestar.handlers import BaseRouteHandler

from watchbell.actors import may
from watchbell.errors import StoreUnavailable
from watchbell.fleet import tokens
from watchbell.fleet.model import AgentToken
from watchbell.web import call_parameters
from watchbell.web.access import SESSION_COOKIES, Access, AgentAccess, CallAccess, Identity
from watchbell.web.problems import HttpProblem
from watchbell.web.request_envelope import WEBSOCKET_CODES
from watchbell.web.secrets import same
from watchbell.web.services import Asked, Services, address_of, services_of

SAFE = ("GET", "HEAD", "OPTIONS")
CSRF_HEADER = "x-csrf-token"
_FORM = "application/x-www-form-urlencoded"
_ASK = {"WWW-Authenticate": 'Bearer realm="watchbell"'}


async def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuses everybody at an endpoint that does not say what it needs."""
    access = handler.opt.get("access")
    if isinstance(access, AgentAccess):
        connection.scope["user"] = await _agent(connection)
        return
    if isinstance(access, CallAccess) and isinstance(connection, Request):
        connection.scope["user"] = await _caller(connection)
        return
    if not isinstance(access, Access) or not isinstance(connection, Request):
        raise refusal(connection, 403, "this is for nobody")
    if connection.method not in SAFE:
        check_origin(connection)
    if access.scope is None:
        return
    identity = await identified(connection)
    if identity.session and connection.method not in SAFE:
        await _token_fits(connection, identity)
    permission = may(identity.actor, access.scope)
    if not permission:
        raise HttpProblem(403, permission.reason)
    connection.scope["user"] = identity


def refusal(connection: ASGIConnection[Any, Any, Any, Any], status: int, detail: str) -> Exception:
    """What to raise, also before a WebSocket is accepted."""
    if isinstance(connection, Request):
        return HttpProblem(status, detail, headers=_ASK if status == 401 else None)
    return WebSocketException(detail=detail, code=WEBSOCKET_CODES + status)


async def _agent(connection: ASGIConnection[Any, Any, Any, Any]) -> AgentToken:
    services: Services = connection.app.state["services"]
    try:
        token = await tokens.authenticate(
            services.store, _key_of(connection) or "", services.clock.now()
        )
    except StoreUnavailable as error:
        if isinstance(connection, Request):
            raise
        raise refusal(connection, 503, str(error)) from error
    if token is None:
        raise refusal(connection, 401, "this token is unknown, revoked or expired")
    return token


async def _caller(request: Asked) -> Identity:
    """Who calls the app API. Its handlers check what they may do."""
    if request.method not in SAFE:
        check_origin(request)
    given = await call_parameters.read(request)
    identity = await identified(request)
    if identity.session and request.method not in SAFE:
        token = request.headers.get(CSRF_HEADER) or given.csrf
        if not same(token, identity.csrf):
            raise wrong_csrf()
    return identity


async def identified(request: Asked, *, touch: bool = True) -> Identity:
    """Who asks, by key or by session; `touch` counts it as used. Raises HttpProblem."""
    given = _key_of(request)
    if given is not None:
        return await _by_key(request, given)
    return await _by_session(request, touch)


def cookie_name(secure: bool) -> str:
    return SESSION_COOKIES[secure]


def is_secure(request: Asked) -> bool:
    return request.scope["scheme"] == "https"


def _key_of(request: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The key of an `Authorization` header: a bearer token, or a basic password. Calls of the app
    API can also have it elsewhere."""
    header = request.headers.get("authorization")
    if header is None:
        return call_parameters.key_of(request)
    kind, _, value = header.partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        try:
            text = base64.b64decode(value.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""
        return text.partition(":")[2]
    return ""


async def _by_key(request: Asked, given: str) -> Identity:
    services = services_of(request)
    known = await services.api_keys.find(given, services.now())
    if known is None:
        raise HttpProblem(401, "this API key is unknown, revoked or expired", headers=_ASK)
    return Identity(actor=known.actor(address_of(request)), role=known.role)


async def _by_session(request: Asked, touch: bool) -> Identity:
    services = services_of(request)
    given = request.cookies.get(cookie_name(is_secure(request)))
    found = await services.sessions.find(given, services.now(), touch=touch) if given else None
    if found is None:
        raise HttpProblem(401, "sign in, or send an API key", headers=_ASK)
    return Identity(
        actor=found.user.actor(found.roles, address_of(request)),
        role=found.user.role,
        session=found.id,
        csrf=found.session.csrf,
        may_forget=found.session.may_forget(services.now()),
    )


async def _token_fits(request: Asked, identity: Identity) -> None:
    given = request.headers.get(CSRF_HEADER, "")
    if not given and request.headers.get("content-type", "").startswith(_FORM):
        form = await request.form()
        given = str(form.get("csrf", ""))
    if not same(given, identity.csrf):
        raise wrong_csrf()


def wrong_csrf() -> HttpProblem:
    return HttpProblem(403, "the CSRF token is missing or wrong; reload the page", code="csrf")


def check_origin(request: Asked) -> None:
    """Refuses requests that a page of another site makes a browser send."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    elif origin is not None:
        url = services_of(request).settings.web.url.rstrip("/")
        host = origin.partition("://")[2]
        is_ours = bool(host) and (host == request.headers.get("host") or origin == url)
    else:
        is_ours = True
    if not is_ours:
        raise HttpProblem(403, "this was sent by a page of another site")
