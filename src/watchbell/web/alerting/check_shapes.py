"""What the API says of one check."""

from typing import Literal

from msgspec import Struct

from watchbell.alerting.records import Counts
from watchbell.alerting.timeline import Segment
from watchbell.alerting.windows import Kind


class Measurement(Struct, frozen=True):
    key: str
    value: str


class DelayShown(Struct, frozen=True):
    seconds: int
    source: Literal["event", "check", "settings"]
    """Who says so: the check's latest report, somebody for this check, or the settings for all."""


class WindowShown(Struct, frozen=True, kw_only=True):
    id: str
    """By which it is ended and changed, of this check or of all that have such a window."""
    kind: Kind
    start: int
    end: int
    summary: str = ""
    is_open: bool = False


class Acknowledged(Struct, frozen=True):
    since: int
    until: int
    words: str
    """What was said with it."""


class CheckShown(Struct, frozen=True, kw_only=True):
    """All that is known of a check as it is now."""

    check: str
    """`ENTITY:CHECK`."""
    entity: str
    name: str
    state: str | None
    """Null where it never reported."""
    enabled: bool
    summary: str = ""
    details: str = ""
    perfdata: list[Measurement] = []
    since: int | None = None
    """When it went into its state."""
    last_update: int | None = None
    """When it was last heard of."""
    silent_at: int | None = None
    """By when it has to report again, or it becomes `unknown`; null where it promised nothing."""
    ttl: int | None = None
    """What was set for the check; its reports may say otherwise."""
    delays: dict[str, DelayShown] = {}
    tags: list[str] = []
    """Those that all its reports have by its name."""
    event_tags: list[str] = []
    """Those that its latest report had besides."""
    short_id: str
    """By which it is acknowledged in chats and at the command line."""
    acknowledged: Acknowledged | None = None
    """Null where it does not fail, or nobody said that they know."""
    maintenance: list[WindowShown] = []
    """That is open, or is to come."""
    last_notifications: dict[str, int] = {}
    """Kind to when the latest was made."""
    counts: Counts


class ChangeShown(Struct, frozen=True, kw_only=True):
    timestamp: int
    state: str
    until: int | None = None
    """When the next change came; null where none did."""
    summary: str = ""
    details: str = ""
    latency: float | None = None


class TimelineShown(Struct, frozen=True, kw_only=True):
    """A range of a check's past, and of the maintenance to come."""

    start: int
    end: int
    now: int
    known_from: int | None
    """Since when a state is known, at the earliest `start`; percentages are of the time since."""
    is_complete: bool
    """False where there were more changes than are read, and only the latest are here."""
    segments: list[Segment]
    """Of states, without gaps, until `end` or now. Where there were too many changes to show,
    neighbours are one segment in which the worst state counts."""
    maintenance: list[WindowShown]
    seconds: dict[str, int]
    """By state, outside planned maintenance; what is left is ok."""
    percentages: dict[str, float | None]
    outages: int
    """Times that it failed."""
