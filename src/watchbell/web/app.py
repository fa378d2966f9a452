"""The application: all endpoints behind one gate, one frame, one way to tell of problems."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from watchbell.clock import Clock
from watchbell.cron.job_cache import JobCache
from watchbell.cron.reading import reading
from watchbell.gateways import catalogue
from watchbell.gateways import links as message_links
from watchbell.gateways.ack_page import AckPage
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import description, problems
from watchbell.web.ack_links import LinkUses
from watchbell.web.api import (
    alerts,
    api_keys,
    check,
    checks,
    contacts,
    cron_files,
    cron_instances,
    cron_jobs,
    cron_runs,
    entities,
    gateways,
    live,
    maintenance,
    metrics,
    overview,
    rejected,
    rules,
    session,
    sessions,
    system,
    users,
)
from watchbell.web.api_keys import ApiKeys
from watchbell.web.calendar import Calendar
from watchbell.web.directory_cache import DirectoryCache
from watchbell.web.etags import tagged
from watchbell.web.guard import guard
from watchbell.web.intake import broker
from watchbell.web.intake import routes as intake
from watchbell.web.intake.writing import Intake
from watchbell.web.key_sizes import KeySizes
from watchbell.web.latency import Latency, measured
from watchbell.web.live.background import Background
from watchbell.web.live.check_table import CheckTable
from watchbell.web.live.streams import Streams
from watchbell.web.live.topics import Topics
from watchbell.web.pages import acknowledging, documentation, people, shell, static
from watchbell.web.request_envelope import RequestEnvelope
from watchbell.web.services import Services
from watchbell.web.sessions import Sessions
from watchbell.web.users import Users

MOST_BYTES = 1 << 20
"""Of a request's body, where an endpoint does not say otherwise."""

API = Router(
    "/api/v1",
    route_handlers=[
        *(session.ROUTES, users.ROUTES, sessions.ROUTES, api_keys.ROUTES),
        *(overview.ROUTES, check.ROUTES, checks.ROUTES, live.ROUTES),
        *(maintenance.ROUTES, gateways.ROUTES, rejected.ROUTES),
        *(contacts.ROUTES, rules.ROUTES, entities.ROUTES, alerts.ROUTES),
        *(cron_jobs.ROUTES, cron_files.ROUTES, cron_runs.ROUTES, cron_instances.ROUTES),
    ],
)
HANDLERS: list[Router] = [
    *(API, system.ROUTES, metrics.ROUTES, intake.ROUTES, broker.ROUTES),
    *(people.ROUTES, acknowledging.ROUTES, documentation.ROUTES, static.ROUTES, shell.ROUTES),
]


async def open_services(
    settings: Settings, store: Store, clock: Clock, origins: Mapping[str, str] | None = None
) -> Services:
    background = Background()
    board = CheckTable(store, clock, background)
    media = [medium.name for medium in catalogue.configured(settings)]
    return Services(
        settings=settings,
        origins=origins or {},
        store=store,
        clock=clock,
        users=Users(store),
        sessions=Sessions(store, settings.web),
        api_keys=ApiKeys(store, clock),
        answers=AckPage(store, await message_links.signer(store), clock, LinkUses(store)),
        key_sizes=KeySizes(store, clock),
        intake=Intake(store, settings.web, clock),
        streams=Streams(),
        background=background,
        board=board,
        topics=Topics(store, clock, background, board, media),
        calendar=Calendar(store, clock, lambda: board.windows_changed),
        directory_cache=DirectoryCache(store, clock),
        jobs=JobCache(store, reading(settings.cron), clock),
        latency=Latency(clock),
    )


def application(services: Services) -> Litestar:
    """Without its frame, for what looks at its routes."""
    return Litestar(
        HANDLERS,
        guards=[guard],
        lifespan=[_lifespan],
        middleware=[measured, tagged],
        exception_handlers={Exception: problems.answer, HTTPException: problems.answer},
        openapi_config=None,
        request_max_body_size=MOST_BYTES,
        state=State({"services": services, "describe": _describe}),
        logging_config=None,
    )


def _lifespan(app: Litestar) -> AbstractAsyncContextManager[None]:
    services: Services = app.state["services"]
    return services.background.running()


@cache
def _describe() -> dict[str, Any]:
    return description.of(HANDLERS)


def framed(services: Services) -> ASGIApp:
    return RequestEnvelope(application(services))
