"""The pages for signing in and for one's password. They work without scripts."""

from typing import Annotated, Any

from litestar import MediaType, Response, Router, get, post
from litestar.params import FromQuery, PathParameter

from watchbell.errors import Refused
from watchbell.web.access import PUBLIC, needs
from watchbell.web.guard import is_secure
from watchbell.web.page_templates import page
from watchbell.web.pages.paths import local
from watchbell.web.people import passwords, sign_in, sign_in_links
from watchbell.web.people.users import User
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, identity_of, services_of, stamp_of

_HTML: dict[str, Any] = {"media_type": MediaType.HTML, "include_in_schema": False}
_BODY = 64 << 10

Token = Annotated[str, PathParameter(max_length=100)]


def _page(name: str, status: int = 200, **content: Any) -> Response[bytes]:
    return Response(page(name, **content), status_code=status, media_type=MediaType.HTML)


def _onwards(path: str, **more: Any) -> Response[bytes]:
    return Response(b"", status_code=303, headers={"Location": path}, **more)


async def _form(request: Asked) -> dict[str, str]:
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


@get("/sign-in", opt=PUBLIC, **_HTML)
async def door(next: FromQuery[str] = "/") -> Response[bytes]:  # noqa: A002
    return _page("sign_in.html", problem="", user="", next=local(next))


@post("/sign-in", opt=PUBLIC, request_max_body_size=_BODY, **_HTML)
async def submit_sign_in(request: Asked) -> Response[bytes]:
    form = await _form(request)
    onwards = local(form.get("next", "/"))
    try:
        user = await sign_in.by_password(request, form.get("user", ""), form.get("password", ""))
    except HttpProblem as error:
        response = _page("sign_in.html", error.status, problem=error.detail, user="", next=onwards)
        response.headers.update(error.headers)
        return response
    return await _let_in(request, user, "password", onwards)


@get("/sign-in/{token:str}", opt=PUBLIC, **_HTML)
async def link(request: Asked, token: Token) -> Response[bytes]:
    user = await sign_in_links.peek(services_of(request).store, token)
    if user is None:
        raise HttpProblem(410, sign_in_links.OVER)
    return _page("sign_in.html", problem="", user=user.name, next="/")


@post("/sign-in/{token:str}", opt=PUBLIC, request_max_body_size=_BODY, **_HTML)
async def use_link(request: Asked, token: Token) -> Response[bytes]:
    user = await sign_in.by_link(request, token)
    return await _let_in(request, user, "link", "/account/password")


async def _let_in(request: Asked, user: User, how: str, onwards: str) -> Response[bytes]:
    cookie, _ = await sign_in.admitted(request, user, how)
    return _onwards(onwards, cookies=[cookie])


@post("/sign-out", opt=needs("read"), request_max_body_size=_BODY, **_HTML)
async def sign_out(request: Asked) -> Response[bytes]:
    await sign_in.leave(request)
    return _onwards("/sign-in", cookies=[sign_in.no_cookie(is_secure(request))])


@get("/account/password", opt=needs("read"), **_HTML)
async def ask_password(request: Asked) -> Response[bytes]:
    return await _password(request)


@post("/account/password", opt=needs("read"), request_max_body_size=_BODY, **_HTML)
async def set_password(request: Asked) -> Response[bytes]:
    form = await _form(request)
    try:
        old, new = form.get("old", ""), form.get("new", "")
        await sign_in.change_password(request, old, new, stamp_of(request))
    except Refused as error:
        return await _password(request, 422, str(error))
    except HttpProblem as error:
        return await _password(request, error.status, error.detail)
    return _onwards("/")


async def _password(request: Asked, status: int = 200, problem: str = "") -> Response[bytes]:
    identity = identity_of(request)
    if not identity.session:
        raise HttpProblem(403, "an API key has no password")
    user = await services_of(request).users.get(identity.name)
    content = {"user": user, "csrf": identity.csrf, "shortest": passwords.SHORTEST}
    content["asks_old"] = bool(user.password) and not identity.may_forget
    return _page("password.html", status, problem=problem, **content)


ROUTES = Router(
    "/",
    route_handlers=[
        *(door, submit_sign_in, link, use_link, sign_out),
        *(ask_password, set_password),
    ],
)
