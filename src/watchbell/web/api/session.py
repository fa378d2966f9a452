"""Signing in and out, and who is asking."""

from litestar import Response, Router, delete, get, post, put
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from watchbell.errors import Refused
from watchbell.web import entrance
from watchbell.web.access import COVERS, PUBLIC, ROLE_SCOPE, needs
from watchbell.web.api.shapes import Credentials, Me, NewPassword
from watchbell.web.desk import Asked, actor_of, desk_of, identity_of
from watchbell.web.guard import is_secure
from watchbell.web.problems import Trouble
from watchbell.web.sessions import Session
from watchbell.web.users import User


def _me(user: User, csrf: str) -> Me:
    scopes = sorted(COVERS[ROLE_SCOPE[user.role]])
    return Me(
        user=user.name,
        role=user.role,
        scopes=scopes,
        csrf=csrf,
        has_password=bool(user.password),
        asks_old=bool(user.password),
    )


@post("/session", opt=PUBLIC)
async def sign_in(request: Asked, data: JSONBody[Credentials]) -> Response[Me]:
    """Sign in with a password."""
    user = await entrance.by_password(request, data.user, data.password)
    cookie, session = await entrance.admitted(request, user, "password")
    return _admitted(user, session, cookie)


def _admitted(user: User, session: Session, cookie: Cookie) -> Response[Me]:
    return Response(_me(user, session.csrf), cookies=[cookie])


@get("/session", opt=needs("read"))
async def who_am_i(request: Asked) -> Me:
    """Who you are, and what you may do."""
    identity, desk = identity_of(request), desk_of(request)
    user = await desk.users.find(identity.name)
    return Me(
        user=identity.name,
        role=identity.role,
        scopes=sorted(identity.grants),
        csrf=identity.csrf,
        has_password=bool(user and user.password),
        asks_old=bool(user and user.password) and not identity.may_forget,
    )


@delete("/session", opt=needs("read"))
async def sign_out(request: Asked) -> Response[None]:
    """End this session."""
    await entrance.leave(request)
    return Response(None, status_code=204, cookies=[entrance.no_cookie(is_secure(request))])


@put("/session/password", status_code=204, opt=needs("read"))
async def set_password(request: Asked, data: JSONBody[NewPassword]) -> None:
    """Set your password. All your other sessions end."""
    if not identity_of(request).session:
        raise Trouble(403, "a password is set by who has signed in, not by an API key")
    try:
        await entrance.change_password(request, data.old, data.new, actor_of(request))
    except Refused as error:
        raise Trouble(422, str(error), field="new") from None


ROUTES = Router("/", tags=["Session"], route_handlers=[sign_in, who_am_i, sign_out, set_password])
