"""What the archive knows: crawls, with their settings, progress and end, and pipelines."""

from typing import Literal

from msgspec import Struct

Depth = Literal["inf", "shallow"]
Grabber = Literal["", "phantomjs"]
CrawlState = Literal["queued", "running", "paused", "completed", "aborted", "failed"]
LogKind = Literal["download", "ignore", "stdout"]


class CrawlSettings(Struct, frozen=True, kw_only=True):
    """What may change while a crawl runs."""

    age: int = 0
    """The version, one more with each change."""
    delay_min: int = 250
    delay_max: int = 375
    """Milliseconds between two requests of one downloader."""
    concurrency: int = 3
    ignores: frozenset[str] = frozenset()
    suppress_ignore_reports: bool = True
    abort_requested: bool = False
    is_paused: bool = False


class CrawlOptions(Struct, frozen=True, kw_only=True):
    """What the document has no field for; it does not change while a crawl runs."""

    obeys_robots: bool = False
    dedups_before: bool = False
    """Whether payloads that earlier crawls of the site have are written as revisits."""
    makes_wacz: bool = False
    most_bytes: int = 0
    """Bytes after which the crawl ends. 0: no limit."""
    most_urls: int = 0
    has_cookies: bool = True
    list_name: str = ""
    """The object in `files` with the list of URLs, where somebody uploaded one."""
    offsite_depth: int = 1
    """How many links beyond the site are followed."""


class Crawl(Struct, frozen=True, kw_only=True):
    """The record of a crawl; fields with the document's names."""

    ident: str
    url: str
    url_file: str = ""
    """Where the list of URLs is, for a crawl of a list."""
    fetch_depth: Depth = "inf"
    slug: str = ""
    note: str = ""
    started_by: str = ""
    started_in: str = ""
    queued_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    ts: float | None = None
    pipeline_id: str = ""
    user_agent: str = ""
    no_offsite_links: bool = False
    grabber: Grabber = ""
    phantomjs_wait: float = 1
    phantomjs_scroll: int = 10
    no_phantomjs_smart_scroll: bool = False
    aborted: bool = False
    failed: bool = False
    bytes_downloaded: int = 0
    items_downloaded: int = 0
    items_queued: int = 0
    error_count: int = 0
    r1xx: int = 0
    r2xx: int = 0
    r3xx: int = 0
    r4xx: int = 0
    r5xx: int = 0
    runk: int = 0
    warc_size: int = 0
    heartbeat: int = 0
    log_score: int = 0
    last_analyzed_log_entry: int = 0
    last_broadcasted_log_entry: int = 0
    last_trimmed_log_entry: int = 0
    settings: CrawlSettings = CrawlSettings()
    options: CrawlOptions = CrawlOptions()
    queue: str = ""
    """The key of the queue that it was put in."""
    reason: str = ""
    """Why it is in its state, in words."""
    tried_before: int = 0
    """What `tried` was when a pipeline began the crawl, perhaps not for the first time."""

    @property
    def tried(self) -> int:
        """URLs that were fetched, whatever came of it."""
        return self.r1xx + self.r2xx + self.r3xx + self.r4xx + self.r5xx + self.runk

    @property
    def urls_left(self) -> int:
        """About how many URLs are to be fetched: one that was tried twice counts twice."""
        return max(0, self.items_queued - (self.tried - self.tried_before))


class LogEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a crawl's log, in the document's form. `index` tells equal ones apart."""

    type: LogKind
    ts: float
    url: str = ""
    response_code: int | None = None
    wget_code: str = ""
    is_error: bool | None = None
    is_warning: bool | None = None
    pattern: str = ""
    source: str = ""
    message: str = ""


class Increments(Struct, frozen=True, kw_only=True):
    """What a batch of log entries adds to the counters of its crawl."""

    bytes_downloaded: int = 0
    items_downloaded: int = 0
    items_queued: int = 0
    hosts: dict[str, tuple[int, int]] = {}
    """By host: responses and bytes."""
    matches: dict[str, int] = {}
    """By ignore pattern: URLs that it matched."""


class Ownership(Struct, frozen=True):
    """The right of a pipeline to work on a crawl. A newer fence invalidates an older one."""

    ident: str
    pipeline: str
    fence: int


class Pipeline(Struct, frozen=True, kw_only=True):
    """The record of a pipeline; fields with the document's names."""

    id: str
    nickname: str
    hostname: str
    fqdn: str
    pid: int
    version: str
    python: str
    status: Literal["Running", "Stopping"] = "Running"
    ts: float
    disk_usage: float
    disk_available: int
    mem_usage: float
    mem_available: int
    load_average_1m: float
    load_average_5m: float
    load_average_15m: float


class FinishedFile(Struct, frozen=True, omit_defaults=True):
    name: str
    size: int
    place: str = ""
    """Where it was uploaded to; empty if it was not."""
    sha256: str = ""
    """In hexadecimal; of a file that was uploaded."""


class Ending(Struct, frozen=True, kw_only=True):
    """How a crawl ended, as its pipeline reports it."""

    is_aborted: bool = False
    failure: str = ""
    """Why it failed; empty if it did not."""
    files: tuple[FinishedFile, ...] = ()
    warc_size: int = 0
    finished_at: float
