"""What the API returns for the log of a crawl, and what is counted of it."""

from typing import Literal

from msgspec import Struct

Kind = Literal["download", "ignore", "stdout"]


class LogLine(Struct, frozen=True, kw_only=True):
    """A line of a log."""

    index: int
    type: Kind
    """A response, a URL that was ignored, or a message."""
    ts: float
    url: str = ""
    response_code: int | None = None
    wget_code: str = ""
    """What went wrong where there was no response."""
    is_error: bool = False
    is_warning: bool = False
    pattern: str = ""
    """What an ignored URL matched."""
    message: str = ""


class LogLines(Struct, frozen=True, kw_only=True):
    items: list[LogLine]
    """The oldest first."""
    left_out: int = 0
    """Lines between these and the ones before that were not sent, because there were too many."""


class HostShown(Struct, frozen=True):
    host: str
    """`(others)` for all that are beyond the number that is counted."""
    responses: int
    bytes: int


class CrawlHosts(Struct, frozen=True):
    items: list[HostShown]
    """The one with the most responses first."""


class ResponsePoint(Struct, frozen=True, kw_only=True):
    at: int
    r1xx: int = 0
    r2xx: int = 0
    r3xx: int = 0
    r4xx: int = 0
    r5xx: int = 0
    runk: int = 0


class Responses(Struct, frozen=True, kw_only=True):
    step: int
    """Seconds between two points. It grows as the crawl gets older."""
    items: list[ResponsePoint]
    """Responses in each step by the class of their code, the oldest first. Steps without any are
    left out."""


class IgnoreShown(Struct, frozen=True):
    pattern: str
    matches: int
    """URLs that it has matched. A URL counts for the first pattern that matches."""


class Ignores(Struct, frozen=True):
    items: list[IgnoreShown]
    """The one with the most matches first."""
