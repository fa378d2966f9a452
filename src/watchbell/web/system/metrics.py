"""The figures of the whole system as Prometheus' metric families."""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

import watchbell
from watchbell.alerting import figures as alerting
from watchbell.archive import pipelines, status
from watchbell.cron import figures as cron
from watchbell.gateways import catalogue, overview
from watchbell.gateways.overview import MediumStatus
from watchbell.jobs import figures as jobs
from watchbell.store import health, processes
from watchbell.store.processes import Process, RoleState
from watchbell.web.services import Services

EVENT_KINDS = ("ok", "failure", "action", "invalid")

Samples = Iterable[tuple[tuple[str, ...], float]]


class Collected(Collector):
    """Gathered families, and those of another collector."""

    def __init__(self, gathered: Sequence[Metric], other: Collector) -> None:
        self._gathered, self._other = gathered, other

    def collect(self) -> Iterator[Metric]:
        yield from self._gathered
        yield from self._other.collect()


async def gathered(services: Services) -> list[Metric]:
    """Metrics from the store, the same on every server."""
    now, media = services.clock.now(), [one.name for one in catalogue.configured(services.settings)]
    events = await alerting.figures(services.store)
    statuses = await overview.statuses(services.store, media)
    oldest = await overview.oldest(services.store, media)
    return [
        _gauge("build_info", "The version of this server.", ["version"], [_one_version()]),
        *_of_alerting(events),
        *_of_deliveries(statuses),
        *_of_queues(events, statuses, oldest, now),
        *_of_cron(await cron.figures(services.store)),
        *_of_jobs(await jobs.figures(services.store, services.settings.jobs.down_after)),
        *await _of_archive(services),
        *_of_roles(await processes.processes(services.store)),
        *await _of_store(services),
    ]


def _one_version() -> tuple[tuple[str], int]:
    return (watchbell.__version__,), 1


def _of_alerting(events: alerting.Figures) -> Iterator[Metric]:
    kinds = [((kind,), events.events.get(kind, 0)) for kind in EVENT_KINDS]
    yield _counter("events", "Check events that were processed.", ["kind"], kinds)
    yield _counter(
        "notifications",
        "Notifications that were processed.",
        ["type"],
        [((kind,), number) for kind, number in sorted(events.notifications.items())],
    )
    yield _gauge("checks", "Checks that are known.", [], [((), events.checks)])
    yield _gauge("checks_failing", "Checks that fail now.", [], [((), events.failing)])


def _of_deliveries(statuses: Sequence[MediumStatus]) -> Iterator[Metric]:
    outcomes = [
        ((medium_status.medium, outcome), number)
        for medium_status in statuses
        for outcome, number in (
            ("delivered", medium_status.delivered),
            ("retried", medium_status.retried),
            ("given_up", medium_status.given_up),
        )
    ]
    text = "Attempts to deliver a message, by how they ended."
    yield _counter("deliveries", text, ["medium", "outcome"], outcomes)


def _of_queues(
    events: alerting.Figures, statuses: Sequence[MediumStatus], oldest: dict[str, float], now: float
) -> Iterator[Metric]:
    lengths = [((name,), queue.length) for name, queue in events.queues.items()]
    lengths += [
        ((_queue(medium_status.medium),), medium_status.queued + medium_status.on_its_way)
        for medium_status in statuses
    ]
    yield _gauge("queue_length", "Items that wait in a queue.", ["queue"], lengths)
    since = {name: queue.oldest for name, queue in events.queues.items()}
    since |= {_queue(medium): time for medium, time in oldest.items()}
    ages = [((name,), max(0.0, now - time)) for name, time in since.items() if time is not None]
    text = "Age of the oldest item of a queue; absent if the queue is empty or the age unknown."
    yield _gauge("queue_oldest_seconds", text, ["queue"], ages)


def _queue(medium: str) -> str:
    return f"gateway {medium}"


def _of_cron(figures: cron.Figures) -> Iterator[Metric]:
    ended = [(("success",), figures.succeeded), (("failure",), figures.failed)]
    yield _counter("cron_runs", "Cron runs that have ended.", ["result"], ended)
    for name, text, number in (
        ("cron_jobs", "Cron jobs that are defined.", figures.jobs),
        ("cron_jobs_paused", "Cron jobs that are paused.", figures.paused),
        ("cron_runs_active", "Cron runs in progress.", figures.active),
        ("cron_runs_pending", "Cron runs that wait for a free instance.", figures.pending),
    ):
        yield _gauge(name, text, [], [((), number)])


def _of_jobs(figures: jobs.Figures) -> Iterator[Metric]:
    ended = [(("success",), figures.succeeded), (("failure",), figures.failed)]
    yield _counter("jobs", "Jobs that have ended.", ["result"], ended)
    states = [
        (("active",), figures.active),
        (("waiting",), figures.waiting),
        (("delayed",), figures.delayed),
    ]
    yield _gauge("jobs_in_progress", "Jobs in progress, by their state.", ["state"], states)
    for name, text, number in (
        ("job_events", "Events that are defined.", figures.events),
        ("jobs_kept", "Finished jobs in the store.", figures.kept),
        ("servers", "Servers of the fleet.", figures.servers),
        ("servers_online", "Servers whose agent is connected.", figures.online),
    ):
        yield _gauge(name, text, [], [((), number)])


async def _of_archive(services: Services) -> list[Metric]:
    store, lease = services.store, services.settings.archive.lease
    counts = await status.counts(store)
    waiting = counts.pending + counts.pending_ao + counts.pending_large + counts.pending_other
    saved = await status.progress(store)
    alive = [one for one in await pipelines.every(store) if one.silent < lease]
    ended = [
        (("completed",), counts.completed),
        (("aborted",), counts.aborted),
        (("failed",), counts.failed),
    ]
    states = [(("running",), counts.working), (("queued",), waiting)]
    return [
        _counter("crawls", "Crawls that have ended.", ["result"], ended),
        _gauge("crawls_in_progress", "Crawls that run or wait.", ["state"], states),
        _gauge("crawl_responses", "Responses saved by running crawls.", [], [((), saved.items)]),
        _gauge("crawl_bytes", "Bytes downloaded by running crawls.", [], [((), saved.bytes)]),
        _gauge("pipelines", "Pipelines that report.", [], [((), len(alive))]),
    ]


def _of_roles(processes: Sequence[Process]) -> Iterator[Metric]:
    living = [
        (process, role) for process in processes if process.is_alive for role in process.roles
    ]
    states = [
        ((process.name, process.host, role.name, state), role.state == state)
        for process, role in living
        for state in get_args(RoleState)
    ]
    labels = ["process", "host", "role"]
    yield _gauge("role_state", "1 for the state that a role is in.", [*labels, "state"], states)
    failures = [
        ((process.name, process.host, role.name), role.failures) for process, role in living
    ]
    yield _counter("role_failures", "Times that a role failed and was restarted.", labels, failures)
    text = "Processes that stopped reporting without a regular end within the last day."
    yield _gauge("processes_lost", text, [], [((), sum(not one.is_alive for one in processes))])


async def _of_store(services: Services) -> list[Metric]:
    facts = {one.name: await health.facts(one) for one in await services.store.primaries()}

    def family(name: str, text: str, fact: str) -> Metric:
        samples = [((server,), float(known.get(fact, 0))) for server, known in facts.items()]
        return _gauge(name, text, ["server"], samples)

    return [
        family("store_memory_bytes", "Memory that the store uses.", "used_memory"),
        family("store_memory_limit_bytes", "The store's maxmemory; 0 for none.", "maxmemory"),
        family("store_clients", "Connections to the store.", "connected_clients"),
    ]


def _counter(name: str, text: str, labels: Sequence[str], samples: Samples) -> Metric:
    family = CounterMetricFamily(f"watchbell_{name}", text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def _gauge(name: str, text: str, labels: Sequence[str], samples: Samples) -> Metric:
    family = GaugeMetricFamily(f"watchbell_{name}", text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family
