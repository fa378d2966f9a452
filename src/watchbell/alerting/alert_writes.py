"""The commands by which the notifier writes alerts, their suppression, and its decisions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from watchbell.alerting.check_writes import DECISIONS_KEPT, DECISIONS_SECONDS
from watchbell.alerting.decide.routing import ENDING, SENDING, Settled
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import (
    FAILING,
    Alert,
    ContactDecision,
    Decision,
    Notification,
    split_id,
)
from watchbell.store.effects import Command, Word, verbatim

PARKED_KEPT, PARKED_SHOWN = 1_000, 10_000
TAGS_KEPT = 50
"""The most tags that are kept with a decision."""
_SENDING = frozenset(fate.name for fate in SENDING)
_TIDIED = 1_000
_WORDS = 996
"""The most words that a script can pass to one command; a multiple of 2 and 3."""

Ends = dict[str, int | None]
"""When keys stop suppressing alerts; None for those that are removed."""


class Fated(NamedTuple):
    """What became of one medium of a contact."""

    contact: str
    medium: str
    interval: int
    settled: Settled

    @property
    def name(self) -> str:
        return f"{self.contact}:media:{self.medium}"


class AlertWrites:
    def __init__(self, prefix: str, alert_days: int) -> None:
        self.keys, self.own = Alerting(prefix), AlertingOwn(prefix)
        self._alert_seconds = alert_days * 86_400

    def settled(
        self, notification: Notification, fated: Sequence[Fated], ends: Ends, now: int
    ) -> Iterable[Command]:
        """The writes that follow from the fates of a notification's media, except alerts.
        Records of what suppresses further alerts are added to `ends`."""
        check = split_id(notification.event_id)
        yield from self._counted(check, notification, fated, now)
        yield from self._rolled_up(fated, ends, now)
        self._held_back(check, notification, fated, ends, now)

    def _counted(
        self, check: tuple[str, str], notification: Notification, fated: Sequence[Fated], now: int
    ) -> Iterable[Command]:
        """Updates for which contacts and media a check counts as failing."""
        keys, event_id, media = self.keys, notification.event_id, self.own.alerting_media(*check)
        words: list[Word] = []
        for one in fated:
            alerted = keys.alerting_checks(one.contact, one.medium)
            if one.settled.counted:
                words += (one.name, alerted)
            elif one.settled.counted is False:
                yield ["ZREM", alerted, event_id]
                yield ["SREM", media, one.name]
                yield ["MIRROR", "alerting", event_id]
        if notification.type in ENDING:  # also by media that no rule names now
            yield ["STOP_ALERTING", media, keys.alerting_checks.literals[0], event_id]
        if words:
            unless = (
                *(keys.failed_checks(), keys.current_checks(check[0]), check[1]),
                *(keys.scheduled(*check), keys.scheduled_windows(*check)),
                *(keys.unscheduled(*check), keys.unscheduled_windows(*check)),
            )
            yield from _pieces(("COUNT_FAILING", media, now, event_id, *unless), words)

    def remove_strays(
        self, contact: str, medium: str, strays: Sequence[bytes]
    ) -> Iterable[Command]:
        """Removes checks that do not belong to the failing ones of the contact's medium."""
        alerted = self.keys.alerting_checks(contact, medium)
        yield from _pieces(("ZREM", alerted), [verbatim(stray) for stray in strays])
        for stray in strays:
            event_id = stray.decode(errors="replace")
            media = self.own.alerting_media(*split_id(event_id))
            yield ["SREM", media, f"{contact}:media:{medium}"]
            yield ["MIRROR", "alerting", event_id]

    def _rolled_up(self, fated: Sequence[Fated], ends: Ends, now: int) -> Iterable[Command]:
        for one in fated:
            if one.settled.rollup is None:
                continue
            drop = self.keys.rollup_drop(one.contact, one.medium)
            if one.settled.rollup == "problem":
                yield ["SADD", self.own.rollups(), one.name]
                ends[drop] = now + one.interval
            else:
                yield ["SREM", self.own.rollups(), one.name]
                ends[drop] = None

    def _held_back(
        self,
        check: tuple[str, str],
        notification: Notification,
        fated: Sequence[Fated],
        ends: Ends,
        now: int,
    ) -> None:
        drop = self.keys.state_drop
        for one in fated:
            if notification.type in ENDING:
                for state in FAILING:
                    ends[drop(one.contact, one.medium, *check, state)] = None
            elif one.settled.is_sent:
                key = drop(one.contact, one.medium, *check, notification.state)
                ends[key] = now + one.interval

    def suppressed(self, ends: Ends, now: int) -> Iterable[Command]:
        """The keys that suppress alerts: by their expiry, as other programs read it, and by
        their end on our clock."""
        records = self.own.drops(), self.own.drop_expiries()
        gone = [key for key, end in ends.items() if end is None]
        held: list[Word] = []
        for key, end in ends.items():
            if end is not None:
                held += (end, max(end - now, 1) * 1000, key)
        yield from _pieces(("UNSUPPRESS", *records), gone)
        yield from _pieces(("SUPPRESS", *records), held)

    def counted(self, notifications: Iterable[Notification]) -> Iterable[Command]:
        """How many notifications of each type there were, for metrics."""
        for kind, number in Counter(one.type for one in notifications).items():
            yield ["HINCRBY", self.own.notification_counters(), kind, number]

    def end_suppressed(self, now: int) -> Command:
        """In a replay a suppressing key outlives its end, so it is removed with its record."""
        return ["END_SUPPRESSED", self.own.drops(), self.own.drop_expiries(), now, _TIDIED]

    def alerts(self, alerts: Sequence[Alert], now: int) -> Iterable[Command]:
        """Pushes alerts to their queues and records them for listings."""
        keys = self.keys
        by_date = keys.alerts_by_date(f"{datetime.fromtimestamp(now, UTC):%Y%m%d}")
        queues: dict[str, list[Word]] = {}
        scored: list[Word] = []
        indexes: dict[str, list[Word]] = {keys.alerts(): scored, by_date: scored}
        for alert in alerts:
            queue = queues.setdefault(keys.queue(alert.media), [])
            queue += (alert.id, verbatim(msgspec.json.encode(alert)))
            yield [
                *("HSET_EXPIRE", keys.alert(alert.id), self._alert_seconds),
                *("timestamp", now, "contact", alert.contact_id),
                *("media", alert.media, "address", alert.address, "check", alert.event_id),
                *("type", alert.notification_type, "rollup", alert.rollup or ""),
                *("state", alert.state),
            ]
            scored += (now, alert.id)
            for index in (
                keys.alerts_by_contact(alert.contact_id),
                keys.alerts_by_medium(alert.contact_id, alert.media),
                keys.alerts_by_check(*split_id(alert.event_id)),
            ):
                indexes.setdefault(index, []).extend((now, alert.id))
        for key, items in queues.items():
            yield from _pieces(("QUEUE_ALERTS", key, self.own.payload("")), items)
        for key, pairs in indexes.items():
            yield from _pieces(("ZADD", key), pairs)
        if alerts:
            yield ["EXPIRE", by_date, self._alert_seconds]

    def consumed(self, ids: Sequence[str]) -> Iterable[Command]:
        """Removes the records of notifications that were queued by their ids."""
        yield from _pieces(("CONSUME", "notifications"), ids)

    def parked(self, item: bytes, reason: str, now: int) -> Command:
        shown = item[:PARKED_SHOWN].decode(errors="replace")
        record = msgspec.json.encode({"time": now, "reason": reason, "notification": shown})
        kept = (self.own.parked(), PARKED_KEPT, self._alert_seconds)
        return ["LPUSH_CAPPED", *kept, verbatim(record)]

    def decision(
        self, notification: Notification, contacts: list[ContactDecision], now: int
    ) -> Command:
        fates = (fate for one in contacts for fate in one.media.values())
        verdict = "TOLD" if any(fate in _SENDING for fate in fates) else "NOBODY"
        decision = Decision(
            verdict=verdict,
            state=notification.state,
            by="notifier",
            time=now,
            summary=(notification.summary or "")[:200],
            tags=notification.tags[:TAGS_KEPT],
            contacts=contacts,
        )
        key = self.own.decisions(*split_id(notification.event_id))
        record = verbatim(msgspec.json.encode(decision))
        return ["LPUSH_CAPPED", key, DECISIONS_KEPT, DECISIONS_SECONDS, record]


def _pieces(head: Sequence[Word], words: Sequence[Word]) -> Iterable[Command]:
    """Splits a command into several that a script can pass on."""
    for first in range(0, len(words), _WORDS):
        yield [*head, *words[first : first + _WORDS]]
