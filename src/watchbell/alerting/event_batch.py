"""A batch of check events, judged one after the other: outcomes, and the commands that follow."""

from collections.abc import Iterable

from watchbell.alerting.check_writes import CheckWrites
from watchbell.alerting.decide.check import judge
from watchbell.alerting.decide.check_facts import (
    QUIET,
    Facts,
    Outcome,
    Policy,
    follow,
    promised,
    says_more,
)
from watchbell.alerting.event import ephemeral_tags
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.store.effects import Command, Word, flat

Wanted = tuple[str, str, bool]
"""A check to be read: entity, check, and whether in depth."""


class EventBatch:
    """Judges the events of a batch, piece by piece, and remembers what the store may not have yet.

    A check is read once, before its first event of the batch, and from then on known here.
    """

    def __init__(
        self,
        checks: CheckWrites,
        policy: Policy,
        parsed: Iterable[CheckEvent | Rejection],
        now: int,
    ) -> None:
        self._checks, self._policy, self._now = checks, policy, now
        self._in_depth = {
            one.id for one in parsed if isinstance(one, CheckEvent) and not _is_well(one)
        }
        self._asked: set[str] = set()
        self._facts: dict[str, Facts] = {}
        self._count: int | None = None
        self._current, self._unchanged = checks.keys.current, dict[str, None]()

    def unread(self, events: Iterable[CheckEvent]) -> list[Wanted]:
        """What has to be read before these can be judged."""
        wanted = {
            event_id: (event.entity, event.check, event_id in self._in_depth)
            for event in events
            if (event_id := event.id) not in self._asked
        }
        self._asked.update(wanted)
        return list(wanted.values())

    def remember(self, read: Iterable[Facts], count: int) -> None:
        """Facts that were read, and how many events there had been by then."""
        if self._count is None:
            self._count = count
        for facts in read:
            self._facts[f"{facts.entity}:{facts.check}"] = facts

    def numbered(self, count: int) -> range:
        """The numbers of so many further events, among all that there ever were."""
        first = (self._count or 0) + 1
        self._count = first + count - 1
        return range(first, first + count)

    def judged(self, event: CheckEvent, number: int) -> tuple[list[Word], Outcome]:
        """The words of the commands that follow, and the outcome."""
        event_id = event.id
        facts, now, words = self._facts[event_id], self._now, list[Word]()
        if facts.is_quiet and _is_well(event) and not says_more(facts, event):
            outcome = QUIET
            self._unchanged[self._current(event.entity, event.check)] = None
            if event.tags == facts.tags and not facts.is_awaited and not promised(facts, event):
                return words, outcome
        else:
            tags = frozenset(event.tags) | ephemeral_tags(event.entity, event.check)
            outcome = judge(facts, event, tags, self._policy, number, now)
            words = flat(self._checks.commands(facts, event, outcome, number, now))
        if event.type == "service":
            ttl = promised(facts, event)
            if ttl or facts.is_awaited:
                words += flat([self._silence(event_id, ttl)])
            if event.tags != facts.tags:
                words += flat(self._checks.set_tags(event_id, event.tags))
        follow(facts, event, outcome, now)
        return words, outcome

    def unchanged_commands(self) -> list[Word]:
        """The words of the command for all checks that stayed as they were since the last call."""
        unchanged, self._unchanged = self._unchanged, {}
        return flat([self._checks.mark_reported(unchanged, self._now)]) if unchanged else []

    def _silence(self, event_id: str, ttl: int | None) -> Command:
        """A report promises the next one, or takes back what the one before it promised."""
        silence = self._checks.own.silence()
        if ttl:
            return ["ZADD", silence, self._now + ttl, event_id]
        return ["ZREM", silence, event_id]


def _is_well(event: CheckEvent) -> bool:
    """Whether it is a report that the check is ok, for which few facts need to be read."""
    return event.state == "ok" and event.type == "service"
