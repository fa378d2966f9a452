"""Signing in by password or link, signing out, and changing one's password."""

from litestar.datastructures import Cookie

from watchbell.actors import signed_in, visitor
from watchbell.web import audit
from watchbell.web.audit import Stamp
from watchbell.web.guard import cookie_name, is_secure
from watchbell.web.limits import BY_ADDRESS, BY_LINK, BY_USER, sender
from watchbell.web.people import passwords, sign_in_links
from watchbell.web.people.sessions import Session
from watchbell.web.people.users import User
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, address_of, identity_of, services_of, spend, stamp_of


async def by_password(request: Asked, name: str, password: str) -> User:
    """The user with this password. The error does not say which of the two was wrong."""
    services, address = services_of(request), address_of(request)
    name = name.strip().lower()
    await spend(request, BY_ADDRESS, sender(address))
    await spend(request, BY_USER, name)
    user = await services.users.find(name)
    if not await passwords.matches(password, user.password if user else "") or user is None:
        await _record_refusal(request, name[:64], "password")
        raise HttpProblem(401, "user or password is wrong")
    await BY_USER.forgive(services.store, name)
    return user


async def by_link(request: Asked, token: str) -> User:
    services = services_of(request)
    await spend(request, BY_LINK, sender(address_of(request)))
    user = await sign_in_links.use(services.store, token)
    if user is None:
        await _record_refusal(request, "", "link")
        raise HttpProblem(410, sign_in_links.OVER)
    return user


async def _record_refusal(request: Asked, name: str, how: str) -> None:
    services = services_of(request)
    stamp = Stamp(visitor(address_of(request)), services.now())
    await audit.record(services.store, stamp.entry("session.refused", name, how))


async def admitted(request: Asked, user: User, how: str) -> tuple[Cookie, Session]:
    """Begins a new session; the browser's previous one ends."""
    services = services_of(request)
    await _leave_behind(request)
    stamp = Stamp(signed_in(user.name, user.role, address_of(request)), services.now())
    agent = request.headers.get("user-agent", "")
    entry = stamp.entry("session.begin", user.name, how)
    given, session = await services.sessions.begin(user, agent, entry, by_link=how == "link")
    secure = is_secure(request)
    return _cookie(given, secure, services.settings.web.session_days * 86_400), session


async def leave(request: Asked) -> None:
    services, identity = services_of(request), identity_of(request)
    if not identity.session:
        raise HttpProblem(403, "an API key has no session to end")
    entry = stamp_of(request).entry("session.end", identity.name)
    await services.sessions.end(identity.session, entry)


async def change_password(request: Asked, old: str, new: str, by: Stamp) -> None:
    """Sets one's own password, and ends one's other sessions."""
    services, identity = services_of(request), identity_of(request)
    user = await services.users.get(identity.name)
    if user.password and not identity.may_forget:
        await spend(request, BY_USER, user.name)
        if not await passwords.matches(old, user.password):
            raise HttpProblem(403, "the old password is wrong", field="old")
        await BY_USER.forgive(services.store, user.name)
    await services.users.set_password(user.name, new, by)
    await services.sessions.remember(identity.session)
    await services.sessions.end_all(user.name, by, "password changed", keep=identity.session)


def no_cookie(secure: bool) -> Cookie:
    return _cookie("", secure, 0)


async def _leave_behind(request: Asked) -> None:
    services = services_of(request)
    given = request.cookies.get(cookie_name(is_secure(request)))
    found = await services.sessions.find(given, services.now()) if given else None
    if found is not None:
        actor = found.user.actor(found.roles, address_of(request))
        entry = Stamp(actor, services.now()).entry("session.end", actor.name, "signed in anew")
        await services.sessions.end(found.id, entry)


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
