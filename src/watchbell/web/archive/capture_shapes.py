"""What the API accepts and returns for archived pages."""

from typing import Annotated

from msgspec import Meta, Struct

Url = Annotated[str, Meta(min_length=1, max_length=8_192)]
Timestamp = Annotated[str, Meta(pattern="^[0-9]{4,14}$")]


class ArchivedPage(Struct, frozen=True, kw_only=True):
    url: str
    timestamp: str
    """When it was archived the last time, as in indexes: `20261116195051`, UTC."""
    at: float
    """The same, as seconds since 1970."""
    status: int
    media_type: str
    size: int
    """Bytes of its record in the WARC file."""
    captures: int
    """How many times it was archived."""


class ArchivedPages(Struct, frozen=True, kw_only=True):
    items: list[ArchivedPage]
    next: str | None = None
    """Where the next page of the list begins; null at the end. A page may be short and still have a
    next one."""
    problem: str = ""
    """Why pages can't be shown, or not all; empty if all can."""


class HeaderShown(Struct, frozen=True):
    name: str
    value: str


class CaptureTime(Struct, frozen=True, kw_only=True):
    timestamp: str
    at: float
    status: int
    """0 where a later record says only that nothing had changed."""
    media_type: str


class CaptureShown(Struct, frozen=True, kw_only=True):
    """One response, as it was archived."""

    url: str
    timestamp: str
    at: float
    status: int
    reason: str
    media_type: str
    headers: list[HeaderShown]
    """As they were sent."""
    captures: list[CaptureTime]
    """All captures of this URL, the oldest first."""


class ViewAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: Url
    timestamp: Timestamp


class ViewOpened(Struct, frozen=True, kw_only=True):
    id: str
    address: str
    """A path of this server. It needs no cookie or key; it is valid for an hour, as long as the
    session that opened it lasts, and only for this crawl."""
    expires_in: int
    """Seconds."""
    url: str
    """Of the capture that it shows first."""
    timestamp: str


class ViewPlace(Struct, frozen=True, kw_only=True):
    url: str
    timestamp: str
