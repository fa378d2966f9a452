"""What the API returns for the overview."""

from typing import Literal

from msgspec import Struct

from watchbell.web.alerting.alert_shapes import AlertRow
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow
from watchbell.web.archive.crawl_shapes import CrawlRow, PastCrawl
from watchbell.web.cron.run_shapes import RunShown
from watchbell.web.jobs.job_shapes import JobRow


class FailingView(Struct, frozen=True, kw_only=True):
    """Checks that fail; the worst first, and of these the latest."""

    open: list[CheckRow]
    """Those that nobody acknowledged, outside scheduled maintenance."""
    open_count: int
    acknowledged: list[CheckRow]
    acknowledged_count: int
    maintenance: list[CheckRow]
    """Those in scheduled maintenance, whether acknowledged or not."""
    maintenance_count: int


class FireAhead(Struct, frozen=True):
    job: str
    at: int


class RunsView(Struct, frozen=True, kw_only=True):
    jobs: int
    failing: int
    """Jobs whose last run failed."""
    paused: int
    running: list[RunShown]
    last: list[RunShown]
    next: list[FireAhead]


class ServerDown(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    seen: float | None
    """When its agent last sent a heartbeat; null if that is not known."""


class JobsView(Struct, frozen=True, kw_only=True):
    events: int
    active: int
    """Jobs that run."""
    waiting: int
    """Jobs that are queued or delayed."""
    finished: int
    running: list[JobRow]
    failed: list[JobRow]
    """Of the last 24 hours, the newest first."""
    servers: int
    down: list[ServerDown]
    """Enabled servers whose agents are not connected."""
    down_count: int


class CrawlsView(Struct, frozen=True, kw_only=True):
    running: int
    queued: int
    ended: int
    """Since the beginning."""
    items: list[CrawlRow]
    """Those that run, the newest first."""
    failed: list[PastCrawl]
    """Of the last 24 hours, the newest first."""


class QueueLength(Struct, frozen=True):
    name: str
    length: int


Severity = Literal["critical", "warning", "unknown"]


class SystemProblem(Struct, frozen=True):
    """A problem of Watchbell itself."""

    kind: Literal["check", "gateway", "process", "role", "store", "rejected"]
    subject: str
    words: str
    state: Severity = "warning"


class Overview(Struct, frozen=True, kw_only=True):
    checks: int
    """Checks that have reported at least once."""
    counts: CheckCounts | None
    """Of enabled checks; null where there are many and they are still being counted."""
    failing: FailingView
    is_complete: bool
    """False where so many fail, and are not counted yet, that only the latest were looked at."""
    latest_change: int | None
    """When a check last changed its state, where they are counted: all is well since then if none
    fails."""
    alerts: list[AlertRow]
    runs: RunsView
    jobs: JobsView
    crawls: CrawlsView
    queues: list[QueueLength]
    events: int
    """The total processed so far; two answers give a rate."""
    troubles: list[SystemProblem]
