"""The system itself: what runs, what waits, what the store weighs, what was changed."""

import re

from litestar import Router, get

import watchbell
from watchbell import settings
from watchbell.alerting.keys import Alerting
from watchbell.cron import instances as cron_instances
from watchbell.gateways import catalogue, overview
from watchbell.gateways.overview import Fare
from watchbell.store import health
from watchbell.store.keys import StoreKeys, tagged
from watchbell.web import audit
from watchbell.web.access import PUBLIC, needs
from watchbell.web.api.shapes import (
    AuditEntry,
    Finding,
    Health,
    Instance,
    QueueShown,
    SettingShown,
    System,
)
from watchbell.web.audit import Logged
from watchbell.web.desk import Asked, Desk, desk_of
from watchbell.web.listing import Cursor, Limit, Page
from watchbell.web.problems import Trouble
from watchbell.web.weights import FamilyShown

_STREAM_ID = re.compile("[0-9]{1,15}-[0-9]{1,15}")


@get("/healthz", opt=PUBLIC)
async def healthz(request: Asked) -> Health:
    """Whether this server and its store answer."""
    await desk_of(request).store.call("PING")
    return Health("ok")


@get("/api/v1/system", opt=needs("read"))
async def system(request: Asked) -> System:
    """Version, store, queues, and the processes that we know of."""
    desk = desk_of(request)
    media = [one.name for one in catalogue.configured(desk.settings)]
    fares = await overview.fares(desk.store, media)
    return System(
        version=watchbell.__version__,
        store=await _findings(desk),
        queues=[*await _queues(desk), *(QueueShown(f.medium, f.queued, []) for f in fares)],
        instances=await _instances(desk, fares),
    )


async def _findings(desk: Desk) -> list[Finding]:
    found = []
    for primary in await desk.store.primaries():
        found += health.judge(primary.name, await health.facts(primary))
    return [Finding(one.level, one.subject, one.text, one.advice) for one in found]


async def _queues(desk: Desk) -> list[QueueShown]:
    keys, own = Alerting(desk.store.prefix), StoreKeys()
    shown = []
    for name, key in (("events", keys.events()), ("notifications", keys.notifications())):
        takers = await desk.store.call("ZRANGE", own.takers(tagged(key)), 0, -1)
        length = await desk.store.call("LLEN", key)
        shown.append(QueueShown(name, length, [one.decode(errors="replace") for one in takers]))
    return shown


async def _instances(desk: Desk, fares: list[Fare]) -> list[Instance]:
    beats = await cron_instances.instances(desk.store)
    cron = [
        Instance(name=beat.name, role="cron", seen=beat.seen, words=f"{beat.running} runs")
        for beat in beats
    ]
    media = [
        Instance(name=fare.medium, role="gateway", seen=fare.seen, words=fare.state)
        for fare in fares
        if fare.is_alive(desk.clock.now())
    ]
    return [*cron, *media]


@get("/api/v1/system/settings", opt=needs("admin"))
async def shown_settings(request: Asked) -> list[SettingShown]:
    """The settings of this server, without secrets."""
    chosen = desk_of(request).settings
    rows = [SettingShown(name, value) for name, value in settings.as_shown(chosen).items()]
    media = [
        SettingShown(f"gateways.{one.name}.{name}", value)
        for one in catalogue.configured(chosen)
        for name, value in one.shown()
    ]
    return rows + media


@get("/api/v1/system/families", opt=needs("admin"))
async def families(request: Asked) -> list[FamilyShown]:
    """Key families with how many keys they have and what they weigh, at most a minute old."""
    return await desk_of(request).weights.families()


@get("/api/v1/audit", opt=needs("admin"))
async def audit_log(request: Asked, cursor: Cursor = "", limit: Limit = 100) -> Page[AuditEntry]:
    """Who changed what, the newest first."""
    if cursor and not _STREAM_ID.fullmatch(cursor):
        raise Trouble(400, "cursor: expected `next` of the page before", field="cursor")
    found = await audit.read(desk_of(request).store, cursor, limit + 1)
    shown = [_entry(one) for one in found[:limit]]
    return Page(shown, shown[-1].id if len(found) > limit else None)


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
