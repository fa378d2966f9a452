"""What the API accepts and returns for crawls."""

from typing import Annotated

from msgspec import Meta, Struct

from watchbell.archive.model import CrawlOptions, CrawlState, Depth, Grabber
from watchbell.archive.options import LONGEST_DELAY, MOST_CONCURRENCY

Url = Annotated[str, Meta(min_length=1, max_length=8_192)]
Note = Annotated[str, Meta(max_length=1_000)]
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.:-]+$")]
Names = Annotated[tuple[Name, ...], Meta(max_length=50)]
Pattern = Annotated[str, Meta(min_length=1, max_length=2_000)]
Patterns = Annotated[tuple[Pattern, ...], Meta(max_length=1_000)]
Delay = Annotated[int, Meta(ge=0, le=LONGEST_DELAY)]
Concurrency = Annotated[int, Meta(ge=1, le=MOST_CONCURRENCY)]


class CrawlRow(Struct, frozen=True, kw_only=True):
    """A crawl in a list."""

    id: str
    """Its ident."""
    url: str
    is_list: bool
    """Whether the URL is that of a list of URLs."""
    fetch_depth: Depth
    """`inf` for a site, `shallow` for a page with its images, styles and scripts."""
    state: CrawlState
    is_aborting: bool
    """Whether its pipeline is asked to end it."""
    reason: str
    """Why it is in its state; often empty."""
    note: str
    started_by: str
    queue: str
    pipeline: str
    """The id of the pipeline that has it; empty if it waits."""
    nickname: str
    """Of the pipeline."""
    queued_at: float | None
    started_at: float | None
    finished_at: float | None
    items_downloaded: int
    urls_left: int
    """URLs that were found and not fetched yet."""
    error_count: int
    """Responses with a code of 400 or more."""
    responses: int
    bytes_downloaded: int
    warc_size: int
    rate: float | None
    """Responses per second, over the last ten seconds; null if not known yet."""
    byte_rate: float | None
    delay_min: int
    delay_max: int
    """Milliseconds between two requests of one downloader."""
    concurrency: int


class CrawlCounts(Struct):
    running: int = 0
    queued: int = 0
    paused: int = 0
    completed: int = 0
    aborted: int = 0
    failed: int = 0

    def add(self, row: CrawlRow, sign: int, /) -> None:
        setattr(self, row.state, getattr(self, row.state) + sign)


class CrawlsPage(Struct, frozen=True, kw_only=True):
    items: list[CrawlRow]
    next: str | None
    """Where the next page begins; null on the last one."""
    count: int
    """The number of crawls on all pages."""
    counts: CrawlCounts
    moment: str
    """From which `/archive/crawls/live` can go on."""


class ChangedCrawls(Struct, frozen=True, kw_only=True):
    rows: list[CrawlRow]
    gone: list[str]
    refreshed: list[CrawlRow]
    """Crawls of which only figures have changed."""
    counts: CrawlCounts


class CrawlAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new crawl. What is left out is as usual."""

    url: Url
    fetch_depth: Depth = "inf"
    is_list: bool = False
    """Whether the URL is that of a list of URLs, one per line."""
    note: Note = ""
    ignore_sets: Names = ()
    """Beside `global`, which every crawl has."""
    no_offsite_links: bool = False
    user_agent: Annotated[str, Meta(max_length=100)] = ""
    """The alias of a user agent; see `/archive/options`."""
    pipeline: Annotated[str, Meta(max_length=100)] = ""
    """A tag: only pipelines that have it in their nickname run the crawl."""
    is_large: bool = False
    """Only pipelines for large crawls run it."""
    delay: Delay | None = None
    concurrency: Concurrency | None = None
    with_browser: bool = False
    browser_wait: Annotated[float, Meta(ge=0, le=3_600)] | None = None
    """Seconds to wait on each page, and after each scroll; 1 by default."""
    browser_scroll: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    """Times to scroll down each page, at most; 10 by default."""
    obeys_robots: bool = False
    has_cookies: bool = True
    dedups_before: bool = False
    """Whether payloads that earlier crawls of the site have are not written again."""
    makes_wacz: bool = False
    most_bytes: Annotated[int, Meta(ge=0, le=1 << 50)] = 0
    """Bytes after which the crawl ends; 0 for no limit."""
    most_urls: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    offsite_depth: Annotated[int, Meta(ge=0, le=100)] = 1


class CrawlAdded(Struct, frozen=True, kw_only=True):
    ident: str
    ahead: int
    """How many crawls are before it in its queue."""
    notices: tuple[str, ...]
    """Parts of the request that were left out, in words."""


class CrawlShown(Struct, frozen=True, kw_only=True):
    """A crawl with everything that is known of it."""

    row: CrawlRow
    explanation: str
    """Why it waits, runs, is paused or is over."""
    expires_in: int | None
    """Seconds until the record of an ended crawl is forgotten; null for others. From then on the
    URL can be archived again."""
    is_past: bool
    """Whether only the history has it."""
    url_file: str
    started_in: str
    slug: str
    user_agent: str
    no_offsite_links: bool
    grabber: Grabber
    phantomjs_wait: float
    phantomjs_scroll: int
    options: CrawlOptions
    r1xx: int
    r2xx: int
    r3xx: int
    r4xx: int
    r5xx: int
    runk: int
    """Requests without a response."""
    settings_age: int
    reports_ignores: bool
    """Whether URLs that are ignored are logged."""
    ignores: int
    """How many ignore patterns it has."""


class CrawlChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; what is left out stays as it is."""

    delay_min: Delay | None = None
    delay_max: Delay | None = None
    """Milliseconds; both are changed together."""
    concurrency: Concurrency | None = None
    note: Note | None = None
    ignore: Patterns = ()
    """Regular expressions to add."""
    ignore_sets: Names = ()
    """Sets whose patterns are added."""
    unignore: Patterns = ()
    reports_ignores: bool | None = None


class CrawlChanged(Struct, frozen=True, kw_only=True):
    settings_age: int
    ignored: int
    """How many patterns were added."""
    unignored: int


class PastCrawl(Struct, frozen=True, kw_only=True):
    """A crawl that has ended, in the history."""

    id: str
    ident: str
    url: str
    state: CrawlState
    fetch_depth: Depth
    note: str
    reason: str
    started_by: str
    nickname: str
    queued_at: float | None
    started_at: float | None
    finished_at: float | None
    items_downloaded: int
    error_count: int
    bytes_downloaded: int
    warc_size: int
    files: int


class UserAgentShown(Struct, frozen=True):
    alias: str
    text: str


class IgnoreSetChoice(Struct, frozen=True):
    name: str
    patterns: int


class CrawlChoices(Struct, frozen=True, kw_only=True):
    """What a new crawl can ask for."""

    ignore_sets: list[IgnoreSetChoice]
    user_agents: list[UserAgentShown]
    pipelines: list[str]
    """Nicknames of pipelines that run now."""
    has_large: bool
    """Whether a pipeline for large crawls runs now."""
