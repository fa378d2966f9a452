"""What the API returns for rejected events."""

from msgspec import Struct


class RejectedView(Struct, frozen=True, kw_only=True):
    id: str
    time: int
    reason: str
    """What was wrong with it, and what was expected."""
    size: int | None
    """Bytes; null where they are no longer stored."""
    text: str
    """Its beginning; what can't be shown is written as an escape, as `\\\\x00`."""


class RejectedDetails(Struct, frozen=True, kw_only=True):
    id: str
    time: int
    reason: str
    size: int | None
    bytes: str
    """Its bytes, as base64; the first 256 KiB."""
    is_whole: bool
    """Whether these are all of them."""
    reason_now: str
    """Why it would be rejected now; empty where it would be accepted."""


class Reason(Struct, frozen=True):
    reason: str
    """Without what differs from one event to the next."""
    count: int


class RejectedHour(Struct, frozen=True):
    start: int
    count: int


class RejectedCounts(Struct, frozen=True, kw_only=True):
    total: int
    hours: list[RejectedHour]
    """Hours in which there were any, the newest first."""
    reasons: list[Reason]
    """The most frequent ones first."""
    counted: int
    """How many of the newest the reasons are of."""
