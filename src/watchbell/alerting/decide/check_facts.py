"""The facts of a check before an event, and how the event changes them."""

import enum
from typing import NamedTuple

from msgspec import Struct

from watchbell.alerting.decide.maintenance import Maintenance
from watchbell.alerting.model import CheckEvent, Notification

OPTIONAL = (
    "details",
    "perfdata",
    "initial_failure_delay",
    "repeat_failure_delay",
    "initial_recovery_delay",
)
"""Fields of a report that are stored with its check while the latest report has them."""


class Delays(Struct, frozen=True):
    initial_failure: int = 30
    repeat_failure: int = 60
    initial_recovery: int = 0


class Policy(Struct, frozen=True, kw_only=True):
    delays: Delays = Delays()
    new_check_maintenance: int = 0
    new_check_ignore_tags: frozenset[str] = frozenset()


class Window(NamedTuple):
    start: int
    end: int


class Facts(Struct, kw_only=True):
    """One check as it is before an event; `follow` brings it up to date for the next one."""

    entity: str
    check: str
    entity_known: bool = True
    is_quiet: bool = False
    """Whether it is ok, no problem was notified, and no maintenance is scheduled or open."""
    state: str | None = None
    last_change: int = 0
    summary: str | None = None
    """The summary that came with the present state, when it began."""
    latest_summary: str | None = None
    last_state: str | None = None
    """The state before the present one, and the summary that came with it."""
    last_summary: str | None = None
    scheduled: Window | None = None
    unscheduled: Window | None = None
    windows: list[Window] = []
    notified: dict[str, int] = {}
    """When a notification of each kind was last created."""
    delays: dict[str, int] = {}
    """The delays that were set for this check."""
    ttl: int | None = None
    is_awaited: bool = False
    """Whether the latest report promised another one."""
    tags: tuple[str, ...] = ()
    """Those of the latest report, without those that its names imply."""
    has_fields: frozenset[str] = frozenset()
    """Optional fields of the stored check; an event without them removes them."""
    last_decision: bytes = b""
    """The latest record of a decision, as it is stored."""


class Verdict(enum.Enum):
    """Why a notification is created or not; people read the values, the names are stored."""

    TELL = "no reason to hold it back"
    FIRST_OK = "the first report of the check is ok"
    NEVER_TOLD = "it is ok, and nobody was notified of a problem"
    RECOVERY_TOLD = "it is ok, and contacts were already notified of the recovery"
    SCHEDULED = Maintenance.SCHEDULED.value
    UNSCHEDULED = Maintenance.UNSCHEDULED.value
    RECOVERY_DELAY = "it has not been ok for long enough"
    FAILURE_DELAY = "it has not failed for long enough"
    REPEAT_DELAY = "contacts were notified of this state a moment ago"
    NOT_FAILING = "there is no failure to acknowledge"


class Outcome(Struct, kw_only=True):
    """What follows from one event."""

    changed: bool = False
    timestamp: int = 0
    """The second that the change of state is recorded under."""
    notified_at: int = 0
    """The second that the notification is recorded under, later than that of the last one."""
    verdict: Verdict = Verdict.TELL
    until: int | None = None
    opened: Window | None = None
    """Unscheduled maintenance that begins, after `ended` if both."""
    ended: int | None = None
    """When the unscheduled maintenance that was open ended."""
    entered: Window | None = None
    """The scheduled window that has begun."""
    planned: Window | None = None
    """Scheduled maintenance that a new check begins with."""
    notification: Notification | None = None
    decision: bytes = b""
    """The record of the decision, as it is stored; empty where none is kept."""


QUIET = Outcome(verdict=Verdict.NEVER_TOLD)
"""What follows from a report that a quiet check is ok: nothing."""


def follow(facts: Facts, event: CheckEvent, outcome: Outcome, now: int) -> None:
    """Brings the facts up to date with the event and what follows from it."""
    if event.type == "service":
        _follow_report(facts, event)
    if outcome is not QUIET:
        _follow_outcome(facts, event, outcome, now)


def _follow_report(facts: Facts, event: CheckEvent) -> None:
    facts.latest_summary, facts.tags = event.summary, event.tags
    facts.has_fields = frozenset(name for name in OPTIONAL if getattr(event, name) is not None)
    facts.is_awaited = bool(promised(facts, event))


def _follow_outcome(facts: Facts, event: CheckEvent, outcome: Outcome, now: int) -> None:
    facts.entity_known, facts.is_quiet = True, False
    if outcome.changed:
        facts.last_state, facts.last_summary = facts.state, facts.summary
        facts.state, facts.last_change = event.state, outcome.timestamp
        facts.summary = event.summary
    if outcome.ended is not None:
        facts.unscheduled = None
    if outcome.opened:
        facts.unscheduled = outcome.opened
    facts.windows = windows_after(facts, outcome)
    if outcome.entered:
        facts.scheduled = outcome.entered
    if outcome.decision:
        facts.last_decision = outcome.decision
    notification = outcome.notification
    if notification is not None:
        facts.notified = {
            **facts.notified,
            **dict.fromkeys(kinds(notification), max(now, outcome.notified_at)),
        }


def kinds(notification: Notification) -> tuple[str, ...]:
    """Under which names a notification is recorded: a failure under its state, too."""
    if notification.type == "problem":
        return "problem", notification.state
    return (notification.type,)


def promised(facts: Facts, event: CheckEvent) -> int | None:
    """Seconds within which a report promises the next one; the event's own, else the check's."""
    return event.ttl if event.ttl is not None else facts.ttl


def says_more(facts: Facts, event: CheckEvent) -> bool:
    """Whether a report that a quiet check is ok differs from the last one."""
    return event.summary != facts.latest_summary or bool(facts.has_fields) or has_more(event)


def has_more(event: CheckEvent) -> bool:
    """Whether it has more than a state and a summary."""
    return event.details is not None or event.perfdata is not None or has_delays(event)


def has_delays(event: CheckEvent) -> bool:
    return (
        event.initial_failure_delay is not None
        or event.repeat_failure_delay is not None
        or event.initial_recovery_delay is not None
    )


def is_repeated(facts: Facts, event: CheckEvent, outcome: Outcome) -> bool:
    """Whether the decision repeats the last record, which it then replaces."""
    if outcome.verdict is Verdict.TELL:
        return False
    same = f'{{"verdict":"{outcome.verdict.name}","state":"{event.state}"'
    return facts.last_decision.startswith(same.encode())


def windows_after(facts: Facts, outcome: Outcome) -> list[Window]:
    """A window that is planned takes the place of one that begins in the same second."""
    if outcome.planned is None:
        return facts.windows
    others = [window for window in facts.windows if window.start != outcome.planned.start]
    return [*others, outcome.planned]
