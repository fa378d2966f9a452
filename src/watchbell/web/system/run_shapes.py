"""What the API returns for jobs, cron runs and crawls in one list, and for the timeline."""

from typing import Literal

from msgspec import Struct

Kind = Literal["job", "cron", "archive"]
Verdict = Literal["", "success", "error", "warning", "critical", "abort"]


class RunOrJob(Struct, frozen=True, kw_only=True):
    """A job, a run of a cron job, or a crawl."""

    kind: Kind
    id: str
    name: str
    """The id of the event, the name of the cron job, or the ident of the crawl."""
    title: str
    category: str
    """Empty for a cron run or a crawl."""
    verdict: Verdict
    """How it ended; empty if it is in progress. A cron run that failed or froze is an `error`."""
    words: str
    """What it does, or how it ended."""
    start: float
    ended: float | None
    """Null if it is in progress."""
    duration: float | None
    """Seconds; null if it is in progress."""
    where: str
    """The server, host or pipeline."""
    source: str
    """What started it."""
    username: str
    progress: float
    """From 0 to 1; 0 if it reports none."""
    cpu: float | None
    """Percent of one core, now or on average; null if not known."""
    memory: float | None
    """Bytes: of a job now or on average, of a cron run its peak; null if not known."""
    tags: tuple[str, ...]


class ActiveRuns(Struct, frozen=True, kw_only=True):
    items: list[RunOrJob]
    total: int


class PlannedFire(Struct, frozen=True, kw_only=True):
    kind: Kind
    name: str
    title: str
    at: int


class FrequentFires(Struct, frozen=True, kw_only=True):
    """An event or a cron job that runs too often to list each run."""

    kind: Kind
    name: str
    title: str
    words: str


class Timeline(Struct, frozen=True, kw_only=True):
    start: float
    end: float
    now: float
    past: list[RunOrJob]
    """What ran or runs in this time, the newest first. Jobs that waited are listed from the time
    at which they began to run."""
    ahead: list[PlannedFire]
    """What will run, the earliest first."""
    frequent: list[FrequentFires]
    is_past_complete: bool
    """False where so much ran that only the newest is listed."""
    is_ahead_complete: bool
