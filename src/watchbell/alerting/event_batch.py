"""Judges a batch of check events, one after the other, and collects the commands that follow."""

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
    """Judges the events of a batch and remembers what the store may not have yet.

    A check is read once, before its first event of the batch.
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
        """The checks to read before these events can be judged."""
        wanted = {
            event_id: (event.entity, event.check, event_id in self._in_depth)
            for event in events
            if (event_id := event.id) not in self._asked
        }
        self._asked.update(wanted)
        return list(wanted.values())

    def remember(self, read: Iterable[Facts], count: int) -> None:
        """Adds facts that were read, and the number of events until then."""
        if self._count is None:
            self._count = count
        for facts in read:
            self._facts[f"{facts.entity}:{facts.check}"] = facts

    def numbered(self, count: int) -> range:
        """The numbers of the next `count` events among all events ever."""
        first = (self._count or 0) + 1
        self._count = first + count - 1
        return range(first, first + count)

    def judged(self, event: CheckEvent, number: int) -> tuple[list[Word], Outcome]:
        """The commands that follow, as words, and the outcome."""
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
        """The command for all checks that did not change since the last call."""
        unchanged, self._unchanged = self._unchanged, {}
        return flat([self._checks.mark_reported(unchanged, self._now)]) if unchanged else []

    def _silence(self, event_id: str, ttl: int | None) -> Command:
        """Records by when the next report is due, or that none is."""
        silence = self._checks.own.silence()
        if ttl:
            return ["ZADD", silence, self._now + ttl, event_id]
        return ["ZREM", silence, event_id]


def _is_well(event: CheckEvent) -> bool:
    """Whether the event reports ok, for which few facts are read."""
    return event.state == "ok" and event.type == "service"
