"""The commands that write what follows from an event."""

import uuid
from collections.abc import Iterable, Sequence

import msgspec

from watchbell import ids
from watchbell.alerting import change_feed
from watchbell.alerting.decide.check import latest_notified
from watchbell.alerting.decide.check_facts import (
    QUIET,
    Facts,
    Outcome,
    has_more,
    is_repeated,
    kinds,
)
from watchbell.alerting.event import perfdata_items
from watchbell.alerting.keys import NOTIFICATIONS, Alerting, AlertingOwn
from watchbell.alerting.model import FAILING, CheckEvent, Notification, short_id
from watchbell.alerting.windows import (
    Window,
    commands_for_create_unscheduled,
    commands_for_current,
    commands_for_end_unscheduled,
    commands_for_scheduled,
)
from watchbell.store.effects import Command, verbatim
from watchbell.store.families import Named

DECISIONS_KEPT = 50
DECISIONS_SECONDS = 30 * 86_400


class CheckWrites:
    """Commands for the checks of one namespace."""

    def __init__(self, prefix: str = "") -> None:
        self.keys = Alerting(prefix)
        self.own = AlertingOwn(prefix)

    def commands(
        self, facts: Facts, event: CheckEvent, outcome: Outcome, count: int, now: int
    ) -> list[Command]:
        """All writes for one event, except those that a batch shares."""
        keys, entity, check = self.keys, event.entity, event.check
        if outcome is QUIET:
            return self._reported_ok(facts, event, now)
        found: list[Command] = []
        if not facts.entity_known:
            found.append(self.new_entity(entity))
        if event.type == "service":
            found += self._state(facts, event, outcome, count, now)
        else:
            found.append(["RECORD_ACTION", keys.actions(entity, check), now, event.state])
        if outcome.planned or outcome.entered or outcome.ended is not None or outcome.opened:
            found += self._maintenance(facts, event, outcome, now)
        ends = outcome.entered or outcome.opened or (outcome.changed and event.state == "ok")
        if ends and outcome.notification is None:
            # With a notification, the notifier does so in its turn: many recoveries at once are
            # then summarised, as many failures were.
            found.append(self.stop_alerting(entity, check))
        if outcome.notification is not None:
            found += self._notification(event, outcome.notification, outcome.notified_at)
        if outcome.decision:
            found += self._decision(facts, event, outcome)
        return [*found, *_mirrored(facts, event, outcome, count)]

    def set_tags(self, event_id: str, tags: Sequence[str]) -> Iterable[Command]:
        """Stores the changed tags of a check and publishes the check to open pages."""
        key = self.own.event_tags()
        if tags:
            yield ["HSET", key, event_id, verbatim(msgspec.json.encode(tags))]
        else:
            yield ["HDEL", key, event_id]
        yield change_feed.of_checks(self.own, [event_id])

    def mark_reported(self, unchanged: Iterable[str], now: int) -> Command:
        """Marks checks, given by their keys, as reported unchanged: the only write of most
        events."""
        return ["REPORTED", self.keys.current.literals[0], now, *unchanged]

    def _reported_ok(self, facts: Facts, event: CheckEvent, now: int) -> list[Command]:
        """Stores a new summary or other fields of a quiet check that is still ok."""
        mirror: Command = ["MIRROR", "check", event.id]
        if facts.has_fields or has_more(event) or event.summary is None:
            return [*self._state(facts, event, QUIET, 0, now), mirror]
        key = self.keys.current(event.entity, event.check)
        return [["HSET", key, "last_update", now, "summary", event.summary], mirror]

    def _state(
        self, facts: Facts, event: CheckEvent, outcome: Outcome, count: int, now: int
    ) -> Iterable[Command]:
        keys, entity, check = self.keys, event.entity, event.check
        fields: list[str | int] = ["last_update", now]
        if outcome.changed:
            fields += ["state", event.state, "last_change", outcome.timestamp]
        given = {
            "summary": event.summary,
            "details": event.details,
            "perfdata": _perfdata(event.perfdata),
            "initial_failure_delay": event.initial_failure_delay,
            "repeat_failure_delay": event.repeat_failure_delay,
            "initial_recovery_delay": event.initial_recovery_delay,
        }
        if event.summary == facts.latest_summary and not outcome.changed:
            del given["summary"]
        for name, value in given.items():
            if value is not None:
                fields += [name, value]
        held = facts.has_fields | ({"summary"} if facts.latest_summary is not None else set())
        gone = [name for name, value in given.items() if value is None and name in held]
        if facts.state is None:
            yield from self._first_report(facts, event, now)
        current = keys.current(entity, check)
        yield ["HSET", current, *fields]
        if gone:
            yield ["HDEL", current, *gone]
        if outcome.changed:
            yield from self._history(event, outcome.timestamp, count)

    def _first_report(self, facts: Facts, event: CheckEvent, now: int) -> Iterable[Command]:
        yield ["ZADD", self.keys.all_checks(), now, event.id]
        yield ["ZADD", self.keys.entity_checks(event.entity), now, event.check]
        if latest_notified(facts.notified) not in (None, "recovery"):
            # By an action; but indexes are built of checks that have reported.
            yield ["SADD", self.own.open_problems(), event.id]

    def _history(self, event: CheckEvent, stamp: int, count: int) -> Iterable[Command]:
        keys, entity, check = self.keys, event.entity, event.check
        yield ["RPUSH", keys.states(entity, check), stamp]
        yield ["ZADD", keys.state_times(entity, check), stamp, stamp]
        yield ["SET", keys.state(entity, check, stamp), event.state]
        yield ["SET", keys.count(entity, check, stamp), count]
        if event.summary is not None:
            yield ["SET", keys.summary(entity, check, stamp), event.summary]
        if event.details is not None:
            yield ["SET", keys.details(entity, check, stamp), event.details]
        if event.check_latency is not None:
            yield ["SET", keys.latency(entity, check, stamp), str(event.check_latency)]
        if event.state in FAILING:
            yield ["ZADD", keys.failed_checks(), stamp, event.id]
            yield ["HSET", keys.checks_by_hash(), short_id(event.id), event.id]
            yield ["HSET", keys.hashes_by_check(), event.id, short_id(event.id)]
        else:
            yield ["ZREM", keys.failed_checks(), event.id]

    def _notification(
        self, event: CheckEvent, notification: Notification, notified_at: int
    ) -> Iterable[Command]:
        if notification.type == "recovery":
            yield ["SREM", self.own.open_problems(), event.id]
        elif notification.type != "test":
            yield ["SADD", self.own.open_problems(), event.id]
        for kind in kinds(notification):
            yield ["SET", _last(self.keys, kind)(event.entity, event.check), notified_at]
            yield ["RPUSH", _all(self.keys, kind)(event.entity, event.check), notified_at]
        record = ids.token()
        yield [
            *("NOTIFY", self.keys.notifications(), self.keys.states(event.entity, event.check)),
            *(self.own.payload(record), record, verbatim(msgspec.json.encode(notification))),
        ]

    def _maintenance(
        self, facts: Facts, event: CheckEvent, outcome: Outcome, now: int
    ) -> Iterable[Command]:
        keys, windows = self.keys, [Window(w.start, w.end - w.start) for w in facts.windows]
        current = facts.unscheduled.start if facts.unscheduled else None
        if outcome.opened is not None:
            start, end = outcome.opened
            yield from commands_for_create_unscheduled(
                keys, event.id, current, start, end - start, event.summary or "", now
            )
        elif outcome.ended is not None and current is not None:
            yield from commands_for_end_unscheduled(keys, event.id, current, outcome.ended)
        if outcome.planned is not None:
            start, end = outcome.planned
            words = "Automatically created for new check"
            yield from commands_for_scheduled(
                keys, event.id, windows, start, end - start, words, now
            )
        elif outcome.entered is not None:
            yield from commands_for_current(keys, event.id, "scheduled", windows, now)

    def no_longer_alerting(self, event_id: str, media: Iterable[str]) -> Iterable[Command]:
        """Removes the check from the rollups of all contacts that were alerted about it."""
        for member in media:
            contact, _, medium = member.rpartition(":media:")
            yield ["ZREM", self.keys.alerting_checks(contact, medium), event_id]
        entity, _, check = event_id.partition(":")
        yield ["DEL", self.own.alerting_media(entity, check)]

    def stop_alerting(self, entity: str, check: str) -> Command:
        """The same for all contacts that are alerted about it at the time of the write."""
        begin = self.keys.alerting_checks.literals[0]
        return ["STOP_ALERTING", self.own.alerting_media(entity, check), begin, f"{entity}:{check}"]

    def new_entity(self, entity: str) -> Command:
        """Gives the entity an id, unless it got one meanwhile."""
        keys = self.keys
        return [
            *("NAME_ENTITY", keys.entity_ids(), keys.entity_names()),
            *(keys.entity_id(entity), keys.entity(""), entity, str(uuid.uuid4())),
        ]

    def _decision(self, facts: Facts, event: CheckEvent, outcome: Outcome) -> Iterable[Command]:
        """Newest first; a decision that repeats the last one replaces it."""
        key = self.own.decisions(event.entity, event.check)
        if is_repeated(facts, event, outcome):
            # By its content: the notifier may have put one of its own in front meanwhile.
            yield ["LREM", key, 1, verbatim(facts.last_decision)]
        decision = verbatim(outcome.decision)
        yield ["LPUSH_CAPPED", key, DECISIONS_KEPT, DECISIONS_SECONDS, decision]


def _mirrored(facts: Facts, event: CheckEvent, outcome: Outcome, count: int) -> Iterable[Command]:
    """The units of the records that the event changes."""
    notified = outcome.notification.type if outcome.notification is not None else None
    number, notified_at = str(count), str(outcome.notified_at)
    if event.type == "service" or notified == "problem":  # an action may name a state
        yield ["MIRROR", "check", event.id]
    if notified in ("problem", "recovery"):
        yield ["MIRROR", "latest", event.id, notified_at, number]
    elif outcome.changed:
        yield ["MIRROR", "latest", event.id, str(outcome.timestamp)]
    if outcome.opened is not None:
        start = str(outcome.opened.start)
        yield ["MIRROR", "windows", event.id, "unscheduled", start, notified_at, number]
    elif outcome.ended is not None and facts.unscheduled is not None:
        yield ["MIRROR", "windows", event.id, "unscheduled", str(facts.unscheduled.start)]
    if outcome.planned is not None:
        yield ["MIRROR", "windows", event.id, "scheduled", str(outcome.planned.start)]


def _last(keys: Alerting, kind: str) -> Named:
    named: Named = getattr(keys, f"last_{kind}")
    return named


def _all(keys: Alerting, kind: str) -> Named:
    named: Named = getattr(keys, NOTIFICATIONS[kind])
    return named


def _perfdata(text: str | None) -> str | None:
    return None if text is None else msgspec.json.encode(perfdata_items(text)).decode()
