"""Endpoints for the system: processes, queues, the store, settings and the audit log."""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from litestar import Router, get
from litestar.params import QueryParameter

import watchbell
from watchbell import settings
from watchbell.alerting.keys import Alerting
from watchbell.cron import instances as cron_instances
from watchbell.errors import StoreUnavailable
from watchbell.gateways import catalogue, overview
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.overview import MediumStatus
from watchbell.settings import Settings
from watchbell.store import health, processes
from watchbell.store.keys import StoreKeys, tagged
from watchbell.units import counted
from watchbell.web import audit
from watchbell.web.access import PUBLIC, needs
from watchbell.web.audit import AuditFilter, Logged
from watchbell.web.listing import Cursor, Limit, Page
from watchbell.web.problems import wrong_cursor
from watchbell.web.services import Asked, Services, services_of
from watchbell.web.system import setting_descriptions
from watchbell.web.system.key_sizes import FamilyView
from watchbell.web.system.shapes import (
    AuditEntry,
    Finding,
    Health,
    Instance,
    QueueView,
    SettingView,
    StoreServer,
    System,
)

_HEALTH_SECONDS = 1.5
_STREAM_ID = re.compile("[0-9]{1,15}-[0-9]{1,15}")

Who = Annotated[str, QueryParameter(max_length=200, description="The user or key that acted.")]
Action = Annotated[
    str, QueryParameter(max_length=200, description="For example `user.add`, or `user` for all.")
]
Text = Annotated[
    str, QueryParameter(max_length=200, description="A text anywhere in the entry, in any case.")
]
Since = Annotated[
    int | None, QueryParameter(ge=0, le=1 << 53, description="At this time or later.")
]
Until = Annotated[int | None, QueryParameter(ge=0, le=1 << 53, description="Before this time.")]


@get("/healthz", opt=PUBLIC)
async def healthz(request: Asked) -> Health:
    """Check that this server works.

    The answer is 503, within two seconds, if the store is unavailable or refuses writes.
    """
    try:
        async with asyncio.timeout(_HEALTH_SECONDS):
            await health.check_writable(services_of(request).store)
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer in {_HEALTH_SECONDS:g} s") from None
    return Health("ok")


@get("/api/v1/system", opt=needs("read"))
async def system(request: Asked) -> System:
    """Show the version, store, queues and processes."""
    services = services_of(request)
    media = [one.name for one in catalogue.configured(services.settings)]
    statuses = await overview.statuses(services.store, media)
    findings, servers = await _store(services)
    return System(
        version=watchbell.__version__,
        store=findings,
        servers=servers,
        queues=[*await _queues(services), *(QueueView(f.medium, f.queued, []) for f in statuses)],
        instances=await _instances(services, statuses),
        processes=await processes.processes(services.store),
    )


async def _store(services: Services) -> tuple[list[Finding], list[StoreServer]]:
    findings: list[Finding] = []
    servers = []
    for primary in await services.store.primaries():
        facts = await health.facts(primary)
        found = health.judge(primary.name, facts)
        findings += [Finding(one.level, one.subject, one.text, one.advice) for one in found]
        servers.append(_server(primary.name, facts))
    return findings, servers


def _server(name: str, facts: Mapping[str, Any]) -> StoreServer:
    return StoreServer(
        name=name,
        memory=int(facts.get("used_memory", 0)),
        memory_peak=int(facts.get("used_memory_peak", 0)),
        memory_limit=int(facts.get("maxmemory", 0)),
        clients=int(facts.get("connected_clients", 0)),
        commands=int(facts.get("instantaneous_ops_per_sec", 0)),
        uptime=int(facts.get("uptime_in_seconds", 0)),
    )


async def _queues(services: Services) -> list[QueueView]:
    keys, own = Alerting(services.store.prefix), StoreKeys()
    views = []
    for name, key in (("events", keys.events()), ("notifications", keys.notifications())):
        takers = await services.store.call("ZRANGE", own.takers(tagged(key)), 0, -1)
        length = await services.store.call("LLEN", key)
        views.append(QueueView(name, length, [one.decode(errors="replace") for one in takers]))
    return views


async def _instances(services: Services, statuses: list[MediumStatus]) -> list[Instance]:
    beats = await cron_instances.instances(services.store)
    cron = [
        Instance(name=beat.name, role="cron", seen=beat.seen, words=counted(beat.running, "run"))
        for beat in beats
        if not beat.is_silent
    ]
    media = [
        Instance(
            name=medium_status.medium,
            role="gateway",
            seen=medium_status.seen,
            words=medium_status.state,
        )
        for medium_status in statuses
        if medium_status.is_alive(services.clock.now())
    ]
    return [*cron, *media]


@get("/api/v1/system/settings", opt=needs("admin"))
async def shown_settings(request: Asked) -> list[SettingView]:
    """List the settings of this server, without secrets."""
    services = services_of(request)
    chosen, defaults = services.settings, settings.as_shown(_untouched())
    rows = [
        SettingView(
            name=name,
            value=value,
            default=defaults[name],
            is_default=value == defaults[name],
            origin=services.origins.get(name, ""),
            words=setting_descriptions.descriptions().get(name, ""),
        )
        for name, value in settings.as_shown(chosen).items()
        if name != "gateways"  # their fields follow
    ]
    of_media = services.origins.get("gateways", "")
    return rows + [
        _of_medium(of_media, one, *pair)
        for one in catalogue.configured(chosen)
        for pair in one.shown()
    ]


def _untouched() -> Settings:
    """The defaults on this machine."""
    environment = settings.environment().items()
    plain = {name: value for name, value in environment if not name.startswith(settings.PREFIX)}
    return settings.load(Path(os.devnull), plain, {}).settings


def _of_medium(origin: str, medium: Configured, name: str, value: str | int) -> SettingView:
    return SettingView(
        name=f"gateways.{medium.name}.{name}",
        value=value,
        default=None,
        is_default=name not in medium.given,
        origin=origin if name in medium.given else "default",
        words="",
    )


@get("/api/v1/system/families", opt=needs("admin"))
async def families(request: Asked) -> list[FamilyView]:
    """List key families with the number and size of their keys.

    The numbers are at most a minute old.
    """
    return await services_of(request).key_sizes.families()


@get("/api/v1/audit", opt=needs("admin"))
async def audit_log(
    request: Asked,
    who: Who = "",
    action: Action = "",
    text: Text = "",
    since: Since = None,
    until: Until = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Page[AuditEntry]:
    """List the audit log, newest first."""
    if cursor and not _STREAM_ID.fullmatch(cursor):
        raise wrong_cursor()
    wanted = AuditFilter(who=who, action=action, text=text, since=since, until=until)
    chosen = None if wanted == AuditFilter() else wanted
    found = await audit.read(services_of(request).store, cursor, limit + 1, chosen)
    views = [_entry(one) for one in found[:limit]]
    return Page(views, views[-1].id if len(found) > limit else None)


def _entry(one: Logged) -> AuditEntry:
    entry = one.entry
    return AuditEntry(
        id=one.id,
        time=entry.time,
        who=entry.who,
        action=entry.action,
        subject=entry.subject,
        details=entry.details,
        address=entry.address,
    )


ROUTES = Router(
    "/",
    tags=["System"],
    route_handlers=[healthz, system, shown_settings, families, audit_log],
)
