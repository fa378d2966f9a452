"""What endpoints work with, created once for a server."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from litestar import Request
from msgspec import Struct

from watchbell.actors import Actor
from watchbell.clock import Clock
from watchbell.cron.job_cache import JobCache
from watchbell.files.objects import Files
from watchbell.gateways.ack_page import AckPage
from watchbell.jobs.agent_hub import AgentHub
from watchbell.jobs.decide.launch import Defaults
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.access import Identity
from watchbell.web.alerting.check_table import CheckTable
from watchbell.web.alerting.directory_cache import DirectoryCache
from watchbell.web.alerting.intake.writing import Intake
from watchbell.web.alerting.maintenance_calendar import Calendar
from watchbell.web.archive.crawl_table import CrawlTable
from watchbell.web.archive.log_feed import LogFeed
from watchbell.web.audit import Stamp
from watchbell.web.fleet.server_table import ServerTable
from watchbell.web.jobs.definition_cache import DefinitionCache
from watchbell.web.latency import Latency
from watchbell.web.limits import Limit
from watchbell.web.live.background import Background
from watchbell.web.live.streams import Streams
from watchbell.web.live.topics import Topics
from watchbell.web.people.api_keys import ApiKeys
from watchbell.web.people.roles import Roles
from watchbell.web.people.sessions import Sessions
from watchbell.web.people.users import Users
from watchbell.web.problems import too_often
from watchbell.web.system.key_sizes import KeySizes

Asked = Request[Any, Any, Any]


class Services(Struct, frozen=True):
    settings: Settings
    origins: Mapping[str, str]
    """Where the value of each setting comes from, if known."""
    store: Store
    clock: Clock
    users: Users
    roles: Roles
    sessions: Sessions
    api_keys: ApiKeys
    answers: AckPage
    key_sizes: KeySizes
    intake: Intake
    streams: Streams
    background: Background
    check_table: CheckTable
    topics: Topics
    calendar: Calendar
    directory_cache: DirectoryCache
    cron_jobs: JobCache
    definitions: DefinitionCache
    job_defaults: Defaults
    latency: Latency
    agents: AgentHub
    server_table: ServerTable
    crawl_table: CrawlTable
    log_feed: LogFeed
    view_turns: asyncio.Semaphore
    """For threads and processes that prepare archived pages."""
    files: Callable[[], Files]
    """Opens the place of files when it is first needed."""

    def now(self) -> int:
        return int(self.clock.now())


def services_of(request: Asked) -> Services:
    services: Services = request.app.state["services"]
    return services


def identity_of(request: Asked) -> Identity:
    """Who sends the request. Not available on public endpoints."""
    identity: Identity = request.scope["user"]
    return identity


def address_of(request: Asked) -> str:
    return request.client.host if request.client else ""


def actor_of(request: Asked) -> Actor:
    return identity_of(request).actor


def stamp_of(request: Asked) -> Stamp:
    """For an endpoint that changes a record of the web."""
    return Stamp(actor_of(request), services_of(request).now())


async def audited(request: Asked, action: str, subject: str = "", details: str = "") -> None:
    """Logs what a domain has changed, since domains know nothing of the audit log."""
    entry = stamp_of(request).entry(action, subject, details)
    await audit.record(services_of(request).store, entry)


async def spend(request: Asked, limit: Limit, name: str) -> None:
    """Counts an attempt, and refuses it where there were too many."""
    if wait := await limit.spend(services_of(request).store, name):
        raise too_often(wait)
