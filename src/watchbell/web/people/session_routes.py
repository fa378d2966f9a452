"""Endpoints for sessions: one's own, and for administrators everybody's."""

from contextlib import suppress
from typing import Annotated

from litestar import Router, delete, get
from litestar.params import PathParameter, QueryParameter

from watchbell.actors import may
from watchbell.errors import NotFound
from watchbell.web.access import needs
from watchbell.web.listing import Cursor, Limit, Page, paged
from watchbell.web.people.sessions import Session
from watchbell.web.people.shapes import SessionView
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, identity_of, services_of, stamp_of

Id = Annotated[str, PathParameter(max_length=64, description="A session's id.")]
Of = Annotated[str, QueryParameter(max_length=64, description="A user's name.")]


async def _visible(request: Asked) -> dict[str, Session]:
    identity, services = identity_of(request), services_of(request)
    return await services.sessions.all(
        services.now(), None if may(identity.actor, "admin") else identity.name
    )


@get("/sessions", opt=needs("read"))
async def sessions(
    request: Asked, user: Of = "", cursor: Cursor = "", limit: Limit = 100
) -> Page[SessionView]:
    """List your sessions.

    Administrators get the sessions of all users, or those of one.
    """
    this = identity_of(request).session
    found = sorted((await _visible(request)).items())
    views = [
        _shown(name, session, is_this=name == this)
        for name, session in found
        if user in ("", session.user)
    ]
    return paged(views, lambda one: one.id, cursor, limit)


@delete("/sessions", opt=needs("read"))
async def end_other_sessions(request: Asked) -> None:
    """End all your other sessions."""
    _by_a_person(request)
    services, identity = services_of(request), identity_of(request)
    entry = stamp_of(request).entry("session.end", identity.name)
    for name in await services.sessions.all(services.now(), identity.name):
        if name != identity.session:
            with suppress(NotFound):  # it has ended by itself
                await services.sessions.end(name, entry)


@delete("/sessions/{id:str}", opt=needs("read"))
async def end_session(request: Asked, id: Id) -> None:  # noqa: A002
    """End a session."""
    _by_a_person(request)
    session = (await _visible(request)).get(id)
    if session is None:
        raise NotFound("there is no such session")
    await services_of(request).sessions.end(
        id, stamp_of(request).entry("session.end", session.user)
    )


def _by_a_person(request: Asked) -> None:
    """A key that may only read must not sign its owner out."""
    identity = identity_of(request)
    if not identity.session and not may(identity.actor, "admin"):
        raise HttpProblem(403, "an API key can't end sessions; sign in first")


def _shown(name: str, session: Session, *, is_this: bool) -> SessionView:
    return SessionView(
        id=name,
        user=session.user,
        began=session.began,
        seen=session.seen,
        ends=session.ends,
        address=session.address,
        agent=session.agent,
        is_this=is_this,
    )


ROUTES = Router("/", tags=["Session"], route_handlers=[sessions, end_other_sessions, end_session])
