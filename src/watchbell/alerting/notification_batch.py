"""Turns a batch of notifications into alerts and the commands that go with them."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from watchbell import ids, logs
from watchbell.alerting.alert_writes import AlertWrites, Ends, Fated
from watchbell.alerting.decide.routing import (
    Addressee,
    Alerting,
    Settled,
    Standing,
    refresh,
    route,
    rule_records,
    settle,
)
from watchbell.alerting.model import Alert, Contact, ContactDecision, Notification
from watchbell.alerting.routing_facts import Loaded, Pair, Subject
from watchbell.alerting.summaries import Summary
from watchbell.store.effects import Word, flat


class BatchEffects(Struct, gc=False):
    """What follows from one or more notifications."""

    words: list[Word] = []
    """The commands, flat."""
    ends: Ends = {}
    alerts: list[Alert] = []
    summaries: list[Summary] = []
    """The alerts that still need their list of failing checks."""

    def add(self, other: "BatchEffects") -> None:
        self.words += other.words
        self.ends |= other.ends
        self.alerts += other.alerts
        self.summaries += other.summaries


class NotificationBatch:
    """Decides on a batch, piece by piece, and remembers what the store may not have yet."""

    def __init__(self, alert_writes: AlertWrites, now: int) -> None:
        self._alert_writes, self._now = alert_writes, now
        self._standings: dict[Pair, Standing] = {}
        self._alerting: dict[Subject, Alerting] = {}
        self._changed: dict[Pair, dict[str, bool]] = {}
        """Checks that this batch adds to a medium's failing checks, or removes from them."""

    def settle(self, notification: Notification, addressees: Sequence[Addressee]) -> BatchEffects:
        try:
            return self._settled(notification, addressees)
        except Exception as error:  # noqa: BLE001 one notification stops none of the others
            name = notification.event_id
            logs.get(role="notifier").exception("notification failed", check=name)
            item = msgspec.json.encode(notification)
            reason = f"the notifier failed on it: {error!r}"
            return BatchEffects(words=flat([self._alert_writes.parked(item, reason, self._now)]))

    def remember(self, loaded: Loaded) -> None:
        """Adds what was read; values that this batch changed are kept."""
        for pair, standing in loaded.standings.items():
            self._standings.setdefault(pair, standing)
        for subject, read in loaded.alerting.items():
            known = self._alerting.setdefault(subject, read)
            if known is not read:
                refresh(known, read)

    def _settled(self, notification: Notification, addressees: Sequence[Addressee]) -> BatchEffects:
        found = BatchEffects()
        decisions: list[ContactDecision] = []
        fated: list[Fated] = []
        for to in addressees:
            way, contact = route(to, notification, self._now), to.contact
            decision = ContactDecision(
                contact=contact.id, reason=way.reason, rules=rule_records(to, way)
            )
            for medium in way.media:
                settled = self._fate(found, notification, contact, medium)
                decision.media[medium] = _words(settled)
                fated.append(Fated(contact.id, medium, contact.media[medium].interval, settled))
            decisions.append(decision)
        found.words += flat(self._alert_writes.settled(notification, fated, found.ends, self._now))
        found.words += flat([self._alert_writes.decision(notification, decisions, self._now)])
        return found

    def _fate(
        self, found: BatchEffects, notification: Notification, contact: Contact, medium: str
    ) -> Settled:
        pair, event_id, settings = (
            (contact.id, medium),
            notification.event_id,
            contact.media[medium],
        )
        standing, alerting = self._standings[pair], self._alerting[(*pair, event_id)]
        settled = settle(medium, settings, standing, alerting, notification, self._now)
        changed = self._changed.setdefault(pair, {})
        if settled.counted is not None:
            changed[event_id] = settled.counted
        if settled.is_sent:
            alert = _alert(notification, contact, medium, settled)
            found.alerts.append(alert)
            if settled.rollup is not None:
                found.summaries.append(Summary(alert, dict(changed), standing.failing))
        return settled


def _alert(notification: Notification, contact: Contact, medium: str, settled: Settled) -> Alert:
    settings = contact.media[medium]
    return Alert(
        id=ids.token(),
        media=medium,
        address=settings.address,
        rollup=settled.rollup,
        contact_id=contact.id,
        contact_first_name=contact.first_name,
        contact_last_name=contact.last_name,
        event_id=notification.event_id,
        event_hash=notification.event_hash,
        state=notification.state,
        summary=notification.summary,
        duration=notification.duration,
        last_state=notification.last_state,
        last_summary=notification.last_summary,
        state_duration=notification.state_duration,
        details=notification.details,
        time=notification.time,
        notification_type=notification.type,
        event_count=notification.count,
        tags=notification.tags,
        rollup_threshold=settings.rollup_threshold if settled.rollup else None,
    )


def _words(settled: Settled) -> str:
    return settled.fate.name if not settled.until else f"{settled.fate.name}:{settled.until}"
