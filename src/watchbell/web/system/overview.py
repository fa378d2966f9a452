"""The overview of everything, by a bounded number of reads."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from watchbell.actors import Actor
from watchbell.alerting import contacts
from watchbell.alerting.decide.maintenance import Maintenance
from watchbell.alerting.hours import hours_back
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import KNOWN_MEDIA
from watchbell.cron import history
from watchbell.cron.job_filter import Orders
from watchbell.gateways import alert_log, catalogue
from watchbell.gateways import overview as gateways
from watchbell.gateways.overview import MediumStatus
from watchbell.store import health, processes
from watchbell.store.processes import Process
from watchbell.store.replies import number, text
from watchbell.web.alerting.alert_shapes import AlertRow
from watchbell.web.alerting.check_filter import KEYS, CheckFilter
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow
from watchbell.web.cron import run_view
from watchbell.web.services import Services
from watchbell.web.system import overview_jobs
from watchbell.web.system.overview_crawls import crawls_seen
from watchbell.web.system.overview_shapes import (
    FailingView,
    FireAhead,
    Overview,
    QueueLength,
    RunsView,
    Severity,
    SystemProblem,
)

FEW = 5_000
"""Up to so many checks are loaded for the overview; of more, the latest failures are read
meanwhile."""
LATEST = 1_000
MOST_OPEN, MOST_HANDLED = 25, 10
MOST_ALERTS, MOST_RUNS = 40, 6
OURS = "watchbell"
"""The entity of the checks that Watchbell reports about itself."""


class CheckFacts(NamedTuple):
    failing: Sequence[CheckRow]
    """Enabled ones, the worst first."""
    is_complete: bool = True
    counts: CheckCounts | None = None
    latest_change: int | None = None


async def overview(services: Services, actor: Actor) -> Overview:
    keys = Alerting(services.store.prefix)
    checks = int(await services.store.call("ZCARD", keys.all_checks()))
    facts = await _check_facts(services, checks)
    media = [one.name for one in catalogue.configured(services.settings)]
    statuses = await gateways.statuses(services.store, media)
    alerts = await _alerts(services)
    unserved = _other_media(media, alerts)
    events = await services.store.call("HGET", keys.counters(), "all")
    return Overview(
        checks=checks,
        counts=facts.counts,
        failing=parted(facts.failing),
        is_complete=facts.is_complete,
        latest_change=facts.latest_change,
        alerts=alerts,
        runs=await _runs(services),
        jobs=await overview_jobs.jobs(services, actor),
        crawls=await crawls_seen(services.store, services.clock.now()),
        queues=[*await _queues(services), *(QueueLength(f.medium, f.queued) for f in statuses)],
        events=number(events) or 0,
        troubles=[
            *of_checks(facts.failing),
            *of_gateways(statuses, services.clock.now()),
            *of_media(await gateways.statuses(services.store, unserved), services.clock.now()),
            *of_processes(await processes.processes(services.store)),
            *await _of_store(services),
            *await _of_events(services, services.now()),
        ],
    )


async def _check_facts(services: Services, checks: int) -> CheckFacts:
    if services.check_table.is_loaded or checks <= FEW:
        _, failing = await services.check_table.view(CheckFilter(failing=True), "severity")
        _, everything = await services.check_table.view(CheckFilter(), "age")
        latest = everything.order[0].since if everything.order else None
        return CheckFacts(failing.order, counts=everything.counts, latest_change=latest)
    failed = Alerting(services.store.prefix).failed_checks()
    names = await services.store.call("ZREVRANGE", failed, 0, LATEST - 1)
    rows = (await services.check_table.read([text(name) for name in names])).values()
    found = [row for row in rows if row.enabled and row.is_failing]
    return CheckFacts(sorted(found, key=KEYS["severity"]), is_complete=len(names) < LATEST)


def parted(failing: Sequence[CheckRow]) -> FailingView:
    """Grouped by what is done about them."""
    open_, acknowledged, maintenance = list[CheckRow](), list[CheckRow](), list[CheckRow]()
    for row in failing:
        if row.in_maintenance is Maintenance.SCHEDULED:
            maintenance.append(row)
        else:
            (acknowledged if row.acknowledged else open_).append(row)
    return FailingView(
        open=open_[:MOST_OPEN],
        open_count=len(open_),
        acknowledged=acknowledged[:MOST_HANDLED],
        acknowledged_count=len(acknowledged),
        maintenance=maintenance[:MOST_HANDLED],
        maintenance_count=len(maintenance),
    )


async def _alerts(services: Services) -> list[AlertRow]:
    found, _ = await alert_log.find(services.store, alert_log.AlertFilter(), None, MOST_ALERTS)
    people = await contacts.load(services.store, [one.contact for one in found])
    names = {one.id: f"{one.first_name} {one.last_name}".strip() for one in people.values()}
    return [AlertRow(sent=one, contact_name=names.get(one.contact, "")) for one in found]


async def _runs(services: Services) -> RunsView:
    jobs, now = await services.cron_jobs.jobs(), services.clock.now()
    running = await history.active(services.store, MOST_RUNS)
    last = await history.ended(services.store, most=MOST_RUNS)
    return RunsView(
        jobs=jobs.counts.all,
        failing=jobs.counts.failing,
        paused=jobs.counts.paused,
        running=[run_view.shown(one) for one in running],
        last=[run_view.shown(one) for one in last],
        next=_ahead(jobs, now),
    )


def _ahead(jobs: Orders, now: float) -> list[FireAhead]:
    """The jobs that are due next, each once. Some of the first may have fired a moment ago."""
    some = [job for _, job in jobs.of("next")[: 10 * MOST_RUNS]]
    fires = [FireAhead(job.name, fire) for job in some if (fire := job.next_fire(now)) is not None]
    return sorted(fires, key=lambda one: (one.at, one.job))[:MOST_RUNS]


async def _queues(services: Services) -> list[QueueLength]:
    keys = Alerting(services.store.prefix)
    named = (("events", keys.events()), ("notifications", keys.notifications()))
    return [QueueLength(name, await services.store.call("LLEN", key)) for name, key in named]


def of_gateways(statuses: Sequence[MediumStatus], now: float) -> Iterator[SystemProblem]:
    for medium_status in statuses:
        health = gateways.health(medium_status, now)
        if health.level != "ok":
            state: Severity = "critical" if health.level == "critical" else "warning"
            yield SystemProblem("gateway", medium_status.medium, health.words, state)


def _other_media(configured: Sequence[str], alerts: Sequence[AlertRow]) -> list[str]:
    """Media without a gateway in the settings that alerts may wait for."""
    names = dict.fromkeys((*KNOWN_MEDIA, *(one.sent.media for one in alerts)))
    return [name for name in names if name not in configured]


def of_media(statuses: Sequence[MediumStatus], now: float) -> Iterator[SystemProblem]:
    """Alerts that wait for a gateway that these settings do not have, and that runs nowhere."""
    for one in statuses:
        if one.queued and not one.is_alive(now):
            waiting = f"{one.queued:,} alert{' is' if one.queued == 1 else 's are'} waiting"
            advice = f"add [gateways.{one.medium}] to watchbell.toml"
            text = f"{waiting}: no gateway is configured; {advice}"
            yield SystemProblem("gateway", one.medium, text, "critical")


def of_checks(failing: Sequence[CheckRow]) -> Iterator[SystemProblem]:
    """Watchbell's own checks, which its roles report."""
    for row in failing:
        if row.entity == OURS and row.in_maintenance is None:
            yield SystemProblem("check", row.id, row.summary, _severity(row.state))


def _severity(state: str) -> Severity:
    known: dict[str, Severity] = {"critical": "critical", "unknown": "unknown"}
    return known.get(state, "warning")


def of_processes(processes: Sequence[Process]) -> Iterator[SystemProblem]:
    for process in processes:
        if not process.is_alive:
            text = f"process {process.pid} has stopped reporting"
            yield SystemProblem("process", process.host, text, "critical")
            continue
        for role in process.roles:
            if role.state in ("failed", "waiting"):
                state: Severity = "critical" if role.state == "failed" else "warning"
                yield SystemProblem("role", f"{role.name} on {process.host}", role.words, state)


async def _of_store(services: Services) -> list[SystemProblem]:
    found = []
    for primary in await services.store.primaries():
        for one in health.judge(primary.name, await health.facts(primary)):
            if one.level != "ok":
                text = f"{one.text}; {one.advice}" if one.advice else one.text
                found.append(SystemProblem("store", one.subject, text))
    return found


async def _of_events(services: Services, now: int) -> list[SystemProblem]:
    """What was rejected in this hour and the one before it."""
    family = AlertingOwn(services.store.prefix).rejections
    counts = [int(await services.store.call("LLEN", family(hour))) for hour in hours_back(now, 2)]
    if not sum(counts):
        return []
    text = f"{sum(counts):,} since the start of the previous hour"
    return [SystemProblem("rejected", "Rejected events", text)]
