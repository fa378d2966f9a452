"""Endpoints for signing in and out, and for one's own account."""

from litestar import Response, Router, delete, get, post, put
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from watchbell.actors import Actor, scopes_of
from watchbell.web.access import PUBLIC, needs
from watchbell.web.guard import is_secure
from watchbell.web.people import sign_in
from watchbell.web.people.shapes import Credentials, Me, NewPassword
from watchbell.web.people.users import User
from watchbell.web.problems import HttpProblem
from watchbell.web.refused import RefusedField
from watchbell.web.services import Asked, identity_of, services_of, stamp_of


def _me(user: User, actor: Actor, csrf: str) -> Me:
    return Me(
        user=user.name,
        role=user.role,
        scopes=scopes_of(actor),
        privileges=sorted(actor.privileges),
        csrf=csrf,
        has_password=bool(user.password),
        asks_old=bool(user.password),
    )


@post("/session", opt=PUBLIC)
async def create_session(request: Asked, data: JSONBody[Credentials]) -> Response[Me]:
    """Sign in with a password."""
    user = await sign_in.by_password(request, data.user, data.password)
    cookie, session = await sign_in.admitted(request, user, "password")
    actor = user.actor(await services_of(request).roles.of(user))
    return _admitted(_me(user, actor, session.csrf), cookie)


def _admitted(me: Me, cookie: Cookie) -> Response[Me]:
    return Response(me, cookies=[cookie])


@get("/session", opt=needs("read"))
async def who_am_i(request: Asked) -> Me:
    """Show who you are and what you may do."""
    identity, services = identity_of(request), services_of(request)
    user = await services.users.find(identity.name)
    return Me(
        user=identity.name,
        role=identity.role,
        scopes=scopes_of(identity.actor),
        privileges=sorted(identity.actor.privileges),
        csrf=identity.csrf,
        has_password=bool(user and user.password),
        asks_old=bool(user and user.password) and not identity.may_forget,
    )


@delete("/session", opt=needs("read"))
async def sign_out(request: Asked) -> Response[None]:
    """Sign out.

    Ends this session.
    """
    await sign_in.leave(request)
    return Response(None, status_code=204, cookies=[sign_in.no_cookie(is_secure(request))])


@put("/session/password", status_code=204, opt=needs("read"))
async def set_password(request: Asked, data: JSONBody[NewPassword]) -> None:
    """Set your password.

    All your other sessions end.
    """
    if not identity_of(request).session:
        raise HttpProblem(403, "an API key can't set a password; sign in first")
    with RefusedField("new"):
        await sign_in.change_password(request, data.old, data.new, stamp_of(request))


ROUTES = Router(
    "/", tags=["Session"], route_handlers=[create_session, who_am_i, sign_out, set_password]
)
