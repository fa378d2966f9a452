"""What the API returns for one check."""

from typing import Literal

from msgspec import Struct

from watchbell.alerting.records import Counts
from watchbell.alerting.timeline import Segment
from watchbell.alerting.windows import Kind


class Measurement(Struct, frozen=True):
    key: str
    value: str


class DelayView(Struct, frozen=True):
    seconds: int
    source: Literal["event", "check", "settings"]
    """Where it comes from: the check's latest report, a setting of this check, or the settings for
    all."""


class WindowView(Struct, frozen=True, kw_only=True):
    id: str
    """By which it is ended or changed, for this check or for all that have such a window."""
    kind: Kind
    start: int
    end: int
    summary: str = ""
    is_open: bool = False


class Acknowledged(Struct, frozen=True):
    since: int
    until: int
    words: str
    """The comment of the person who acknowledged it."""


class CheckView(Struct, frozen=True, kw_only=True):
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
    """When it entered its state."""
    last_update: int | None = None
    """When it last reported."""
    silent_at: int | None = None
    """When it becomes `unknown` unless it reports again; null where it has no ttl."""
    ttl: int | None = None
    """What was set for the check; its reports can override it."""
    delays: dict[str, DelayView] = {}
    tags: list[str] = []
    """Tags from its name."""
    event_tags: list[str] = []
    """Tags from its latest report."""
    short_id: str
    """The id by which it is acknowledged in chats and on the command line."""
    acknowledged: Acknowledged | None = None
    """Null where it does not fail, or nobody acknowledged it."""
    maintenance: list[WindowView] = []
    """In progress, or planned."""
    last_notifications: dict[str, int] = {}
    """The time of the latest, by kind."""
    counts: Counts


class ChangeView(Struct, frozen=True, kw_only=True):
    timestamp: int
    state: str
    until: int | None = None
    """When the next change came; null for the latest."""
    summary: str = ""
    details: str = ""
    latency: float | None = None


class TimelineView(Struct, frozen=True, kw_only=True):
    """A range of a check's past, and of its planned maintenance."""

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
    maintenance: list[WindowView]
    seconds: dict[str, int]
    """By state, outside scheduled maintenance; the rest is ok."""
    percentages: dict[str, float | None]
    outages: int
    """How often it failed."""
