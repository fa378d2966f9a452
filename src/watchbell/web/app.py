"""The application: all endpoints behind one guard, with one form of errors."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache, partial
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from watchbell.clock import Clock
from watchbell.cron.job_cache import JobCache
from watchbell.cron.reading import reading
from watchbell.files import objects
from watchbell.gateways import catalogue
from watchbell.gateways import links as message_links
from watchbell.gateways.ack_page import AckPage
from watchbell.jobs import job_defaults
from watchbell.jobs.agent_hub import AgentHub
from watchbell.jobs.sample_evaluator import SampleEvaluator
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import description, problems
from watchbell.web.alerting import (
    ack_page,
    alert_routes,
    check_list_routes,
    check_routes,
    contact_routes,
    entity_routes,
    maintenance_routes,
    rejected_routes,
    rule_routes,
)
from watchbell.web.alerting.ack_links import LinkUses
from watchbell.web.alerting.check_table import CheckTable
from watchbell.web.alerting.directory_cache import DirectoryCache
from watchbell.web.alerting.intake import broker
from watchbell.web.alerting.intake import routes as intake
from watchbell.web.alerting.intake.writing import Intake
from watchbell.web.alerting.maintenance_calendar import Calendar
from watchbell.web.alerting.topics import AlertTopics, CheckTopics
from watchbell.web.app_api import endpoint as app_api
from watchbell.web.archive import (
    capture_routes,
    crawl_routes,
    history_routes,
    ignore_set_routes,
    log_routes,
    queue_routes,
    view_pages,
)
from watchbell.web.archive import file_routes as crawl_file_routes
from watchbell.web.archive.crawl_table import CrawlTable
from watchbell.web.archive.log_feed import LogFeed
from watchbell.web.archive.topics import ArchiveTopics
from watchbell.web.cron import file_routes, instance_routes, job_routes, run_routes
from watchbell.web.cron.topics import CronTopics
from watchbell.web.etags import tagged
from watchbell.web.fleet import (
    agent_routes,
    expression_routes,
    group_routes,
    monitoring_routes,
    quick_routes,
    server_alert_routes,
    server_routes,
    snapshot_routes,
)
from watchbell.web.fleet.server_table import ServerTable
from watchbell.web.guard import guard
from watchbell.web.jobs import (
    check_subject_routes,
    definition_routes,
    event_editor_routes,
    event_revision_routes,
    event_routes,
    output_routes,
    transfer_routes,
    workflow_routes,
)
from watchbell.web.jobs import job_routes as fleet_job_routes
from watchbell.web.jobs.definition_cache import DefinitionCache
from watchbell.web.jobs.topics import JobTopics
from watchbell.web.latency import Latency, measured
from watchbell.web.live import topic_routes
from watchbell.web.live.background import Background
from watchbell.web.live.streams import Streams
from watchbell.web.live.topics import Topics
from watchbell.web.pages import documentation, shell, static
from watchbell.web.people import (
    account_routes,
    api_key_routes,
    role_routes,
    session_routes,
    sign_in_pages,
    user_routes,
)
from watchbell.web.people.api_keys import ApiKeys
from watchbell.web.people.roles import Roles
from watchbell.web.people.sessions import Sessions
from watchbell.web.people.users import Users
from watchbell.web.request_envelope import RequestEnvelope
from watchbell.web.server_url import server_url
from watchbell.web.services import Services
from watchbell.web.system import (
    gateway_routes,
    metrics_routes,
    overview_routes,
    run_list_routes,
    system_routes,
)
from watchbell.web.system.key_sizes import KeySizes

MOST_BYTES = 1 << 20
"""The largest body of a request, unless an endpoint says otherwise."""
_VIEWS_AT_ONCE = 4

ALERTING = (
    *(check_routes, check_list_routes, alert_routes, contact_routes, rule_routes),
    *(maintenance_routes, entity_routes, rejected_routes),
)
FLEET = (
    *(snapshot_routes, server_routes, group_routes),
    *(monitoring_routes, server_alert_routes, expression_routes, quick_routes),
)
CRON = (job_routes, file_routes, run_routes, instance_routes)
JOBS = (
    *(transfer_routes, event_editor_routes, event_routes, event_revision_routes),
    *(fleet_job_routes, workflow_routes, output_routes, definition_routes, check_subject_routes),
)
ARCHIVE = (
    *(crawl_routes, log_routes, queue_routes, ignore_set_routes, history_routes),
    *(crawl_file_routes, capture_routes),
)
PEOPLE = (account_routes, user_routes, role_routes, session_routes, api_key_routes)
SYSTEM = (overview_routes, run_list_routes, gateway_routes, topic_routes)
API = Router(
    "/api/v1",
    route_handlers=[
        part.ROUTES for part in (*PEOPLE, *SYSTEM, *ALERTING, *CRON, *JOBS, *FLEET, *ARCHIVE)
    ],
)
HANDLERS: list[Router] = [
    *(API, system_routes.ROUTES, metrics_routes.ROUTES, intake.ROUTES, broker.ROUTES),
    *(agent_routes.ROUTES, app_api.ROUTES, view_pages.ROUTES),
    *(sign_in_pages.ROUTES, ack_page.ROUTES, documentation.ROUTES, static.ROUTES, shell.ROUTES),
]


async def open_services(
    settings: Settings, store: Store, clock: Clock, origins: Mapping[str, str] | None = None
) -> Services:
    background = Background()
    table = CheckTable(store, clock, background)
    media = [medium.name for medium in catalogue.configured(settings)]
    alerts = AlertTopics(store, clock, media)
    jobs = JobTopics(store, background, settings.jobs.down_after)
    definitions = DefinitionCache(store, clock, background, settings.jobs.timezone)
    evaluator = SampleEvaluator(store, settings.jobs.most_events, definitions.catalogue)
    return Services(
        settings=settings,
        origins=origins or {},
        store=store,
        clock=clock,
        users=Users(store),
        roles=Roles(store),
        sessions=Sessions(store, settings.web),
        api_keys=ApiKeys(store, clock),
        answers=AckPage(store, await message_links.signer(store), clock, LinkUses(store)),
        key_sizes=KeySizes(store, clock),
        intake=Intake(store, settings.web, clock),
        streams=Streams(),
        background=background,
        check_table=table,
        topics=Topics(
            background,
            *(alerts, CronTopics(store), CheckTopics(table), jobs),
            ArchiveTopics(store, background),
        ),
        calendar=Calendar(store, clock, lambda: table.windows_changed),
        directory_cache=DirectoryCache(store, clock),
        cron_jobs=JobCache(store, reading(settings.cron), clock),
        job_defaults=job_defaults.of(settings),
        definitions=definitions,
        latency=Latency(clock),
        agents=AgentHub(store, settings.jobs, clock, server_url(settings), evaluator),
        server_table=ServerTable(store, clock, background, settings.jobs.down_after),
        crawl_table=CrawlTable(store, clock, background),
        log_feed=LogFeed(store, background),
        view_turns=asyncio.Semaphore(_VIEWS_AT_ONCE),
        files=cache(partial(objects.opened, settings.files, settings.data)),
    )


def application(services: Services) -> Litestar:
    """The application without the request envelope."""
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
