"""What an event means for its check: the new state, and whether a notification is due, and why."""

import enum
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from watchbell.alerting.decide.maintenance import Maintenance, maintenance
from watchbell.alerting.model import (
    FAILING,
    SEVERITY,
    CheckEvent,
    Decision,
    Notification,
    NotificationType,
    State,
    short_id,
)
from watchbell.alerting.windows import current_window

OPTIONAL = (
    "details",
    "perfdata",
    "initial_failure_delay",
    "repeat_failure_delay",
    "initial_recovery_delay",
)
"""Fields of a report that are stored with its check while the latest report has them."""

ACKNOWLEDGED_FOR = 14_400
"""Seconds of unscheduled maintenance where an acknowledgement names none."""

NOTIFIED = ("unknown", "warning", "critical", "acknowledgement", "recovery")
"""What the latest notification can have been; of two in one second, the later in this list."""


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
    """When a notification of each kind was last made."""
    delays: dict[str, int] = {}
    """What was set for this check."""
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
    """Why a notification is made, or not; the values are what people read, the names are stored."""

    TELL = "nothing holds it back"
    FIRST_OK = "the first report about the check is ok"
    NEVER_TOLD = "it is ok, and nobody was notified of a problem"
    RECOVERY_TOLD = "it is ok, and the recovery was notified already"
    SCHEDULED = Maintenance.SCHEDULED.value
    UNSCHEDULED = Maintenance.UNSCHEDULED.value
    RECOVERY_DELAY = "it has not been ok for long enough"
    FAILURE_DELAY = "it has not failed for long enough"
    REPEAT_DELAY = "the same was notified a moment ago"
    NOT_FAILING = "there is no failure to acknowledge"


class Held(NamedTuple):
    verdict: Verdict
    until: int | None = None


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
    """The scheduled window that the check is found to be in."""
    planned: Window | None = None
    """Scheduled maintenance that a new check begins with."""
    notification: Notification | None = None
    decision: bytes = b""
    """The record of the decision, as it is stored; empty where none is worth one."""


QUIET = Outcome(verdict=Verdict.NEVER_TOLD)
"""What follows from a report that a quiet check is ok: nothing."""


class Situation(NamedTuple):
    """What a filter looks at: the check as it is with the event's state."""

    event: CheckEvent
    facts: Facts
    last_change: int
    scheduled: Window | None
    unscheduled: Window | None
    delays: Delays
    now: int


def latest_notified(notified: dict[str, int]) -> str | None:
    """What the latest notification was; None where there was none."""
    kinds = [kind for kind in NOTIFIED if kind in notified]
    return max(kinds, key=lambda kind: (notified[kind], NOTIFIED.index(kind)), default=None)


def ok_without_problem(at: Situation) -> Held | None:
    if at.event.state != "ok":
        return None
    latest = latest_notified(at.facts.notified)
    if latest is None:
        return Held(Verdict.NEVER_TOLD)
    return Held(Verdict.RECOVERY_TOLD) if latest == "recovery" else None


def in_maintenance(at: Situation) -> Held | None:
    """An acknowledgement is one more reason to stay silent, and may follow another one."""
    found = maintenance(at.scheduled, at.unscheduled)
    if found is None or (found is Maintenance.UNSCHEDULED and at.event.state == "acknowledgement"):
        return None
    window = at.scheduled or at.unscheduled
    return Held(Verdict[found.name], window.end if window else None)


def too_early(at: Situation) -> Held | None:
    if at.event.type != "service":
        return None
    if at.event.state == "ok":
        delay = at.delays.initial_recovery
        return _waits(Verdict.RECOVERY_DELAY, at.last_change, delay, at.now)
    held = _waits(Verdict.FAILURE_DELAY, at.last_change, at.delays.initial_failure, at.now)
    problem = at.facts.notified.get("problem")
    if held or problem is None or latest_notified(at.facts.notified) != at.event.state:
        return held
    return _waits(Verdict.REPEAT_DELAY, problem, at.delays.repeat_failure, at.now)


def _waits(verdict: Verdict, since: int, delay: int, now: int) -> Held | None:
    """A change stamped in the future has lasted 0 s, never less."""
    return Held(verdict, since + delay) if max(now - since, 0) < delay else None


def nothing_to_acknowledge(at: Situation) -> Held | None:
    if at.event.state == "acknowledgement" and at.facts.state not in FAILING:
        return Held(Verdict.NOT_FAILING)
    return None


FILTERS: list[Callable[[Situation], Held | None]] = [
    ok_without_problem,
    in_maintenance,
    too_early,
    nothing_to_acknowledge,
]


def judge(
    facts: Facts, event: CheckEvent, tags: frozenset[str], policy: Policy, count: int, now: int
) -> Outcome:
    """What follows from `event`, the `count`-th of all, with its `tags`, for the check as it is."""
    if facts.is_quiet and event.state == "ok" and event.type == "service":
        return QUIET
    outcome = _decided(facts, event, tags, policy, count, now)
    if event.state != "ok" or outcome.changed or outcome.notification is not None:
        outcome.decision = _record(event, outcome, now)
    return outcome


def _decided(
    facts: Facts, event: CheckEvent, tags: frozenset[str], policy: Policy, count: int, now: int
) -> Outcome:
    outcome = Outcome()
    if event.type == "service" and event.state != facts.state:
        outcome.changed = True
        outcome.timestamp = max(now, facts.last_change + 1) if facts.last_change else now
        if facts.state is None:
            outcome.planned = _first_maintenance(tags, policy, now)
    _maintain(outcome, facts, event, now)
    if outcome.changed and facts.state is None and event.state == "ok":
        outcome.verdict = Verdict.FIRST_OK
        return outcome
    last_change = outcome.timestamp if outcome.changed else facts.last_change
    situation = Situation(
        event,
        facts,
        last_change,
        outcome.entered or facts.scheduled,
        None if outcome.ended is not None else facts.unscheduled,
        delays(event, facts, policy.delays),
        now,
    )
    held = next((found for holds in FILTERS if (found := holds(situation))), None)
    if held is not None:
        outcome.verdict, outcome.until = held
        return outcome
    if event.state == "acknowledgement":
        outcome.ended = now if facts.unscheduled else None
        outcome.opened = Window(now, now + (event.duration or ACKNOWLEDGED_FOR))
    outcome.notification = _notification(facts, event, tags, outcome, last_change, count, now)
    outcome.notified_at = _notified_at(outcome.notification, facts.notified, now)
    return outcome


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
    facts.windows = _windows(facts, outcome)
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


def _notified_at(notification: Notification, notified: dict[str, int], now: int) -> int:
    """Two notifications of a check never share a second, or it would be lost which came last."""
    if notification.type == "test":
        return now
    return max([now, *(notified[kind] + 1 for kind in NOTIFIED if kind in notified)])


def kinds(notification: Notification) -> tuple[str, ...]:
    """Under which names a notification is recorded: a failure under its state, too."""
    if notification.type == "problem":
        return "problem", notification.state
    return (notification.type,)


def promised(facts: Facts, event: CheckEvent) -> int | None:
    """Seconds within which a report promises the next one; the event's own, else the check's."""
    return event.ttl if event.ttl is not None else facts.ttl


def says_more(facts: Facts, event: CheckEvent) -> bool:
    """Whether a report that a quiet check is ok says something that the last one did not."""
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


def delays(event: CheckEvent, facts: Facts, default: Delays) -> Delays:
    """The event's own, else what was set for the check, else everybody's."""
    if not facts.delays and not has_delays(event):
        return default
    own = (event.initial_failure_delay, event.repeat_failure_delay, event.initial_recovery_delay)
    names = ("initial_failure_delay", "repeat_failure_delay", "initial_recovery_delay")
    general = (default.initial_failure, default.repeat_failure, default.initial_recovery)
    return Delays(
        *(
            given if given is not None else facts.delays.get(name, usual)
            for given, name, usual in zip(own, names, general, strict=True)
        )
    )


def _record(event: CheckEvent, outcome: Outcome, now: int) -> bytes:
    return msgspec.json.encode(
        Decision(
            verdict=outcome.verdict.name,
            state=event.state,
            by="processor",
            time=now,
            until=outcome.until,
            summary=(event.summary or "")[:200],
        )
    )


def is_repeated(facts: Facts, event: CheckEvent, outcome: Outcome) -> bool:
    """Whether the last record says the same, and the new one takes its place."""
    if outcome.verdict is Verdict.TELL:
        return False
    same = f'{{"verdict":"{outcome.verdict.name}","state":"{event.state}"'
    return facts.last_decision.startswith(same.encode())


def _first_maintenance(tags: frozenset[str], policy: Policy, now: int) -> Window | None:
    if not policy.new_check_maintenance or tags & policy.new_check_ignore_tags:
        return None
    return Window(now, now + policy.new_check_maintenance)


def _maintain(outcome: Outcome, facts: Facts, event: CheckEvent, now: int) -> None:
    """A recovery ends unscheduled maintenance; a report finds a planned window to be open."""
    if event.state == "ok" and facts.unscheduled is not None:
        outcome.ended = now
    windows = _windows(facts, outcome)
    if event.type == "service" and windows:
        window = current_window(windows, now)
        if window is not None and window != facts.scheduled:
            outcome.entered = window


def _windows(facts: Facts, outcome: Outcome) -> list[Window]:
    """A window that is planned takes the place of one that begins in the same second."""
    if outcome.planned is None:
        return facts.windows
    others = [window for window in facts.windows if window.start != outcome.planned.start]
    return [*others, outcome.planned]


def _severity(facts: Facts, event: CheckEvent) -> State:
    """The worst of this state and of those notified since the last recovery."""
    if event.state == "test_notifications":
        return "critical"
    recovered = facts.notified.get("recovery", 0)
    states: list[State] = ["ok"]
    if event.state in ("warning", "critical", "unknown"):
        states.append(event.state)
    failing: tuple[State, ...] = ("warning", "critical", "unknown")
    states += [state for state in failing if facts.notified.get(state, 0) > recovered]
    return max(states, key=SEVERITY.__getitem__)


_TYPES: dict[str, NotificationType] = {
    "ok": "recovery",
    "acknowledgement": "acknowledgement",
    "test_notifications": "test",
}


def _notification(
    facts: Facts,
    event: CheckEvent,
    tags: frozenset[str],
    outcome: Outcome,
    last_change: int,
    count: int,
    now: int,
) -> Notification:
    changed = outcome.changed
    duration = event.duration
    if event.state == "acknowledgement":
        duration = duration or ACKNOWLEDGED_FOR
    return Notification(
        event_id=event.id,
        event_hash=short_id(event.id) if event.state in FAILING else None,
        state=event.state,
        summary=event.summary,
        details=event.details,
        time=event.time,
        duration=duration,
        count=count,
        last_state=facts.state if changed else facts.last_state,
        last_summary=facts.summary if changed else facts.last_summary,
        state_duration=max(now - last_change, 0) if last_change else None,
        type=_TYPES.get(event.state, "problem"),
        severity=_severity(facts, event),
        tags=sorted(tags),
    )
