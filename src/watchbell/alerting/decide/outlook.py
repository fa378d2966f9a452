"""What would follow if a check went into a state and stayed there: when it would be told."""

from msgspec import Struct

from watchbell.alerting.decide.check import judge
from watchbell.alerting.decide.check_facts import Facts, Policy, Verdict, follow
from watchbell.alerting.model import CheckEvent, Notification

MOST_STEPS = 20
"""Times that one thing after the other holds it back; then nobody looks any further."""


class Step(Struct, frozen=True):
    """What a report would come to."""

    time: int
    verdict: Verdict
    until: int | None = None


class Outlook(Struct, frozen=True):
    steps: list[Step]
    """In their order: each report comes when what held back the one before it is over."""
    notification: Notification | None = None
    """What would be told at the time of the last step; None for nothing."""


def outlook(
    facts: Facts, event: CheckEvent, tags: frozenset[str], policy: Policy, now: int
) -> Outlook:
    """By the rules that decide on real events. The facts are brought up to date on the way."""
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
