"""The pages of who signs in: the door, and their account."""

from datetime import UTC, datetime
from typing import Annotated, Any

from litestar import MediaType, Response, Router, get, post
from litestar.params import FromQuery, PathParameter

from watchbell.errors import NotFound, Refused
from watchbell.web import entrance, links, passwords
from watchbell.web.access import PUBLIC, needs
from watchbell.web.desk import Asked, actor_of, desk_of, identity_of
from watchbell.web.guard import is_secure
from watchbell.web.pages.paths import local
from watchbell.web.problems import Trouble
from watchbell.web.users import User
from watchbell.web.words import page

_HTML: dict[str, Any] = {"media_type": MediaType.HTML, "include_in_schema": False}
_BODY = 64 << 10

Token = Annotated[str, PathParameter(max_length=100)]


def _page(name: str, status: int = 200, **content: Any) -> Response[bytes]:
    return Response(page(name, **content), status_code=status, media_type=MediaType.HTML)


def _onwards(path: str, **more: Any) -> Response[bytes]:
    return Response(b"", status_code=303, headers={"Location": path}, **more)


async def _form(request: Asked) -> dict[str, str]:
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


@get("/", opt=needs("read"), **_HTML)
async def home() -> Response[bytes]:
    return _onwards("/account")


@get("/sign-in", opt=PUBLIC, **_HTML)
async def door(next: FromQuery[str] = "/") -> Response[bytes]:  # noqa: A002
    return _page("sign_in.html", problem="", user="", next=local(next))


@post("/sign-in", opt=PUBLIC, request_max_body_size=_BODY, **_HTML)
async def sign_in(request: Asked) -> Response[bytes]:
    form = await _form(request)
    onwards = local(form.get("next", "/"))
    try:
        user = await entrance.by_password(request, form.get("user", ""), form.get("password", ""))
    except Trouble as error:
        shown = _page("sign_in.html", error.status, problem=error.detail, user="", next=onwards)
        shown.headers.update(error.headers)
        return shown
    return await _let_in(request, user, "password", onwards)


@get("/sign-in/{token:str}", opt=PUBLIC, **_HTML)
async def link(request: Asked, token: Token) -> Response[bytes]:
    user = await links.peek(desk_of(request).store, token)
    if user is None:
        raise Trouble(410, links.OVER)
    return _page("sign_in.html", problem="", user=user.name, next="/")


@post("/sign-in/{token:str}", opt=PUBLIC, request_max_body_size=_BODY, **_HTML)
async def use_link(request: Asked, token: Token) -> Response[bytes]:
    user = await entrance.by_link(request, token)
    return await _let_in(request, user, "link", "/" if user.password else "/account")


async def _let_in(request: Asked, user: User, how: str, onwards: str) -> Response[bytes]:
    cookie, _ = await entrance.admitted(request, user, how)
    return _onwards(onwards, cookies=[cookie])


@post("/sign-out", opt=needs("read"), request_max_body_size=_BODY, **_HTML)
async def sign_out(request: Asked) -> Response[bytes]:
    await entrance.leave(request)
    return _onwards("/sign-in", cookies=[entrance.no_cookie(is_secure(request))])


@get("/account", opt=needs("read"), **_HTML)
async def account(request: Asked) -> Response[bytes]:
    return await _account(request)


@post("/account/password", opt=needs("read"), request_max_body_size=_BODY, **_HTML)
async def set_password(request: Asked) -> Response[bytes]:
    form = await _form(request)
    try:
        old, new = form.get("old", ""), form.get("new", "")
        await entrance.change_password(request, old, new, actor_of(request))
    except Refused as error:
        return await _account(request, 422, problem=str(error))
    except Trouble as error:
        return await _account(request, error.status, problem=error.detail)
    return await _account(request, said="Your password is set; your other sessions have ended.")


@post("/account/sessions/{id:str}/end", opt=needs("read"), request_max_body_size=_BODY, **_HTML)
async def end_session(request: Asked, id: Token) -> Response[bytes]:  # noqa: A002
    desk, identity = desk_of(request), identity_of(request)
    if id not in await desk.sessions.all(desk.now(), identity.name):
        raise NotFound("there is no such session")
    await desk.sessions.end(id, actor_of(request).entry("session.end", identity.name))
    return _onwards("/account")


async def _account(
    request: Asked, status: int = 200, *, problem: str = "", said: str = ""
) -> Response[bytes]:
    desk, identity = desk_of(request), identity_of(request)
    if not identity.session:
        raise Trouble(403, "an API key has no account")
    user = await desk.users.get(identity.name)
    sessions = sorted(
        (await desk.sessions.all(desk.now(), user.name)).items(), key=lambda one: -one[1].seen
    )
    return _page(
        "account.html",
        status,
        user=user,
        csrf=identity.csrf,
        this=identity.session,
        sessions=sessions,
        times={one.seen: f"{datetime.fromtimestamp(one.seen, UTC):%F %T}Z" for _, one in sessions},
        shortest=passwords.SHORTEST,
        problem=problem,
        said=said,
    )


ROUTES = Router(
    "/",
    route_handlers=[
        *(home, door, sign_in, link, use_link, sign_out),
        *(account, set_password, end_session),
    ],
)
