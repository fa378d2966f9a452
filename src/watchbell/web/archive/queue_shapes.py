"""What the API accepts and returns for queues, pipelines and ignore sets."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from watchbell.archive.pipelines import UploadProgress
from watchbell.web.archive.crawl_shapes import CrawlRow, Name


class QueueShown(Struct, frozen=True, kw_only=True):
    name: str
    """`pending`, `pending-ao`, `pending-large` or `pending:TAG`."""
    words: str
    """Which crawls wait in it, and who takes them."""
    total: int
    crawls: list[CrawlRow]
    """The next one first; at most as many as you asked for."""


class Queues(Struct, frozen=True):
    items: list[QueueShown]


class MoveAsked(Struct, frozen=True, forbid_unknown_fields=True):
    where: Literal["front", "back"]


class PipelineShown(Struct, frozen=True, kw_only=True):
    id: str
    nickname: str
    hostname: str
    fqdn: str
    pid: int
    version: str
    python: str
    state: Literal["running", "stopping", "silent"]
    """`stopping`: it ends after the crawls that it runs. `silent`: no sign of life for long."""
    silent: float
    """Seconds since its last sign of life."""
    concurrent: int | None
    """How many crawls it runs at the same time; null if another program runs it."""
    only_pages: bool
    """Whether it takes only single pages."""
    large: bool
    """Whether it takes large crawls, too."""
    crawls: list[CrawlRow]
    """That it runs."""
    uploads: UploadProgress | None
    """What it uploads; null if it uploads nothing."""
    disk_usage: float
    """Percent."""
    disk_available: int
    mem_usage: float
    """Percent."""
    mem_available: int
    load_average_1m: float
    load_average_5m: float
    load_average_15m: float


class Pipelines(Struct, frozen=True):
    items: list[PipelineShown]


class IgnoreSetRow(Struct, frozen=True, kw_only=True):
    name: str
    patterns: int
    is_ours: bool
    """Whether it comes with Watchbell."""
    is_changed: bool
    """Whether people have made or changed it."""


class IgnoreSets(Struct, frozen=True):
    items: list[IgnoreSetRow]


class IgnoreSetShown(Struct, frozen=True, kw_only=True):
    name: str
    patterns: tuple[str, ...]
    is_ours: bool
    is_changed: bool


class IgnoreSetAsked(Struct, frozen=True, forbid_unknown_fields=True):
    patterns: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=2_000)], ...], Meta(max_length=5_000)
    ]


class TrialAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Patterns and URLs to try them on."""

    patterns: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=2_000)], ...], Meta(max_length=5_000)
    ] = ()
    ignore_sets: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()
    urls: Annotated[tuple[Annotated[str, Meta(max_length=8_192)], ...], Meta(max_length=500)]
    primary_url: Annotated[str, Meta(max_length=8_192)] = ""
    """The URL of the crawl, for `{primary_url}` and `{primary_netloc}` in patterns."""


class TriedUrl(Struct, frozen=True):
    url: str
    pattern: str | None
    """The first that matches; null if none does."""


class Trial(Struct, frozen=True):
    items: list[TriedUrl]
