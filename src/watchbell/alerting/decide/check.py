"""Decides what an event changes: the check's state, and whether to notify, with the reason."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from watchbell.alerting.decide.check_facts import (
    QUIET,
    Delays,
    Facts,
    Outcome,
    Policy,
    Verdict,
    Window,
    has_delays,
    windows_after,
)
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

ACKNOWLEDGED_FOR = 14_400
"""Seconds of unscheduled maintenance where an acknowledgement names none."""

NOTIFIED = ("unknown", "warning", "critical", "acknowledgement", "recovery")
"""Kinds of notification; of two in one second, the later in this list is the latest."""


class Held(NamedTuple):
    verdict: Verdict
    until: int | None = None


class Situation(NamedTuple):
    """The input of a filter: the check with the event's state."""

    event: CheckEvent
    facts: Facts
    last_change: int
    scheduled: Window | None
    unscheduled: Window | None
    delays: Delays
    now: int


def latest_notified(notified: dict[str, int]) -> str | None:
    """The kind of the latest notification; None if there was none."""
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
    """An acknowledgement passes during unscheduled maintenance: it may follow another one."""
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


def _notified_at(notification: Notification, notified: dict[str, int], now: int) -> int:
    """Two notifications of a check never share a second, or it would be lost which came last."""
    if notification.type == "test":
        return now
    return max([now, *(notified[kind] + 1 for kind in NOTIFIED if kind in notified)])


def delays(event: CheckEvent, facts: Facts, default: Delays) -> Delays:
    """The event's own delays, else the check's, else the default."""
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


def _first_maintenance(tags: frozenset[str], policy: Policy, now: int) -> Window | None:
    if not policy.new_check_maintenance or tags & policy.new_check_ignore_tags:
        return None
    return Window(now, now + policy.new_check_maintenance)


def _maintain(outcome: Outcome, facts: Facts, event: CheckEvent, now: int) -> None:
    """A recovery ends unscheduled maintenance; a report enters a scheduled window that has
    begun."""
    if event.state == "ok" and facts.unscheduled is not None:
        outcome.ended = now
    windows = windows_after(facts, outcome)
    if event.type == "service" and windows:
        window = current_window(windows, now)
        if window is not None and window != facts.scheduled:
            outcome.entered = window


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
