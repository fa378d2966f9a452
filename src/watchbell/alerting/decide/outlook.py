"""Predicts when a notification would be created if a check entered a state and stayed there."""

from msgspec import Struct

from watchbell.alerting.decide.check import judge
from watchbell.alerting.decide.check_facts import Facts, Policy, Verdict, follow
from watchbell.alerting.model import CheckEvent, Notification

MOST_STEPS = 20
"""The most steps; then the search ends."""


class Step(Struct, frozen=True):
    """The verdict on a report."""

    time: int
    verdict: Verdict
    until: int | None = None


class Outlook(Struct, frozen=True):
    steps: list[Step]
    """In order: each report comes when the hold on the one before it ends."""
    notification: Notification | None = None
    """The notification of the last step; None if there would be none."""


def outlook(
    facts: Facts, event: CheckEvent, tags: frozenset[str], policy: Policy, now: int
) -> Outlook:
    """Decides as for real events. Changes the facts."""
    steps: list[Step] = []
    while len(steps) < MOST_STEPS:
        _elapse(facts, now)
        outcome = judge(facts, event, tags, policy, 0, now)
        steps.append(Step(now, outcome.verdict, outcome.until))
        if outcome.notification is not None:
            return Outlook(steps, outcome.notification)
        if outcome.until is None or outcome.until <= now:
            break
        follow(facts, event, outcome, now)
        now = outcome.until
    return Outlook(steps)


def _elapse(facts: Facts, now: int) -> None:
    """Maintenance ends by itself."""
    if facts.scheduled is not None and facts.scheduled.end <= now:
        facts.scheduled = None
    if facts.unscheduled is not None and facts.unscheduled.end <= now:
        facts.unscheduled = None
