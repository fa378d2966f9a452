"""How somebody comes in: by password or by link; and how they leave."""

from litestar.datastructures import Cookie

from watchbell.web import audit, links, passwords
from watchbell.web.desk import Asked, actor_of, address_of, desk_of, identity_of, spend
from watchbell.web.guard import cookie_name, is_secure
from watchbell.web.limits import BY_ADDRESS, BY_LINK, BY_USER, sender
from watchbell.web.problems import Trouble
from watchbell.web.sessions import Session
from watchbell.web.users import Actor, User


async def by_password(request: Asked, name: str, password: str) -> User:
    """The user whose password it is. Nobody learns which of the two was wrong."""
    desk, address = desk_of(request), address_of(request)
    name = name.strip().lower()
    await spend(request, BY_ADDRESS, sender(address))
    await spend(request, BY_USER, name)
    user = await desk.users.find(name)
    if not await passwords.matches(password, user.password if user else "") or user is None:
        await _record_refusal(request, name[:64], "password")
        raise Trouble(401, "user or password is wrong")
    await BY_USER.forgive(desk.store, name)
    return user


async def by_link(request: Asked, token: str) -> User:
    desk = desk_of(request)
    await spend(request, BY_LINK, sender(address_of(request)))
    user = await links.use(desk.store, token)
    if user is None:
        await _record_refusal(request, "", "link")
        raise Trouble(410, links.OVER)
    return user


async def _record_refusal(request: Asked, name: str, how: str) -> None:
    desk = desk_of(request)
    actor = Actor("", desk.now(), address_of(request))
    await audit.record(desk.store, actor.entry("session.refused", name, how))


async def admitted(request: Asked, user: User, how: str) -> tuple[Cookie, Session]:
    """A session of its own: what the browser had before is ended."""
    desk = desk_of(request)
    await _leave_behind(request)
    actor = Actor(user.name, desk.now(), address_of(request))
    agent = request.headers.get("user-agent", "")
    entry = actor.entry("session.begin", user.name, how)
    given, session = await desk.sessions.begin(user, agent, entry, by_link=how == "link")
    secure = is_secure(request)
    return _cookie(given, secure, desk.settings.web.session_days * 86_400), session


async def leave(request: Asked) -> None:
    desk, identity = desk_of(request), identity_of(request)
    if not identity.session:
        raise Trouble(403, "an API key has no session to end")
    entry = actor_of(request).entry("session.end", identity.name)
    await desk.sessions.end(identity.session, entry)


async def change_password(request: Asked, old: str, new: str, by: Actor) -> None:
    """Sets the password of who asks, and ends their other sessions."""
    desk, identity = desk_of(request), identity_of(request)
    user = await desk.users.get(identity.name)
    if user.password and not identity.may_forget:
        await spend(request, BY_USER, user.name)
        if not await passwords.matches(old, user.password):
            raise Trouble(403, "the old password is wrong", field="old")
        await BY_USER.forgive(desk.store, user.name)
    await desk.users.set_password(user.name, new, by)
    await desk.sessions.remember(identity.session)
    await desk.sessions.end_all(user.name, by, "password changed", besides=identity.session)


def no_cookie(secure: bool) -> Cookie:
    return _cookie("", secure, 0)


async def _leave_behind(request: Asked) -> None:
    desk = desk_of(request)
    given = request.cookies.get(cookie_name(is_secure(request)))
    found = await desk.sessions.find(given, desk.now()) if given else None
    if found is not None:
        name, session, _ = found
        actor = Actor(session.user, desk.now(), address_of(request))
        await desk.sessions.end(name, actor.entry("session.end", session.user, "signed in anew"))


def _cookie(value: str, secure: bool, seconds: int) -> Cookie:
    return Cookie(
        key=cookie_name(secure),
        value=value,
        max_age=seconds,
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )
