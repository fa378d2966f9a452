"""The application: all endpoints behind one gate, one frame, one way to tell of problems."""

from functools import cache
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from watchbell.clock import Clock
from watchbell.gateways import links as message_links
from watchbell.gateways.answers import Answers
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import description, problems
from watchbell.web.api import api_keys, session, sessions, system, users
from watchbell.web.api_keys import ApiKeys
from watchbell.web.desk import Desk
from watchbell.web.etags import tagged
from watchbell.web.frame import Frame
from watchbell.web.guard import guard
from watchbell.web.intake import routes as intake
from watchbell.web.intake.writing import Intake
from watchbell.web.pages import acknowledging, documentation, people, static
from watchbell.web.sessions import Sessions
from watchbell.web.users import Users
from watchbell.web.weights import Weights

MOST_BYTES = 1 << 20
"""Of a request's body, where an endpoint does not say otherwise."""

API = Router(
    "/api/v1", route_handlers=[session.ROUTES, users.ROUTES, sessions.ROUTES, api_keys.ROUTES]
)
HANDLERS: list[Router] = [
    *(API, system.ROUTES, intake.ROUTES),
    *(people.ROUTES, acknowledging.ROUTES, documentation.ROUTES, static.ROUTES),
]


async def open_desk(settings: Settings, store: Store, clock: Clock) -> Desk:
    return Desk(
        settings=settings,
        store=store,
        clock=clock,
        users=Users(store),
        sessions=Sessions(store, settings.web),
        api_keys=ApiKeys(store, clock),
        answers=Answers(store, await message_links.signer(store), clock),
        weights=Weights(store, clock),
        intake=Intake(store, settings.web.intake_rate),
    )


def application(desk: Desk) -> Litestar:
    """Without its frame, for what looks at its routes."""
    return Litestar(
        HANDLERS,
        guards=[guard],
        middleware=[tagged],
        exception_handlers={Exception: problems.answer, HTTPException: problems.answer},
        openapi_config=None,
        request_max_body_size=MOST_BYTES,
        state=State({"desk": desk, "describe": _describe}),
        logging_config=None,
    )


@cache
def _describe() -> dict[str, Any]:
    return description.of(HANDLERS)


def framed(desk: Desk) -> ASGIApp:
    return Frame(application(desk))
