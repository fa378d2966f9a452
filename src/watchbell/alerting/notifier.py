"""The notifier: turns notifications into alerts for the right people by the right media."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import Struct

from watchbell import ids, logs
from watchbell.alerting import contacts as contact_store
from watchbell.alerting import effects, rules
from watchbell.alerting.decide.routing import (
    ENDING,
    Route,
    Settled,
    Standing,
    route,
    settle,
    zone_of,
)
from watchbell.alerting.decide.routing import Alerting as AlertingFacts
from watchbell.alerting.effects import Command
from watchbell.alerting.model import Alert, Contact, ContactDecision, Notification
from watchbell.alerting.notices import Notices, Question, Subject
from watchbell.alerting.processor import DEADLY
from watchbell.errors import LeaseLost
from watchbell.probes import probe
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.queue import Batch, Queue, Taker

# All notifications have one key, so that one notifier works at a time and another takes over when
# it dies: what a contact was told lately and how many of its checks fail is read and written back.
_ONE_AT_A_TIME = ("",)


class Tally(Struct):
    notifications: int = 0
    alerts: int = 0


class Notifier:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._notices = Notices(store.prefix, settings.alert_days)
        key = self._notices.keys.notifications()
        self.taker = Taker(store, Queue(key=key, side="LEFT", order_by=_ONE_AT_A_TIME), most=200)

    async def process(self, batch: Batch, now: int) -> Tally:
        """Load, decide, apply: the alerts of a batch as of `now`, and its acknowledgement."""
        settling = Settling(self._notices, now)
        if batch.attempts < DEADLY:
            notifications = [one for one in map(settling.decoded, batch.items) if one is not None]
        else:
            notifications = []
            settling.park(batch.items[0], f"{batch.attempts} notifiers died with it in hand")
        work = await patiently(lambda: self._routed(notifications, settling, now))
        questions = list(dict.fromkeys(question for one in work for question in one.questions()))
        await patiently(lambda: settling.load(self._store, questions))
        probe("notifier.loaded")
        for one in work:
            with settling.sparing(one.notification):
                settling.settle(one)
        for alert, changed in settling.summaries:
            await patiently(partial(settling.summarise, self._store, alert, changed))
        probe("notifier.decided")
        packed = effects.packed(settling.everything())
        refused = await self.taker.acknowledge(batch, effects.run, [], [packed])
        probe("notifier.applied")
        for words in refused or ():
            logs.get(role="notifier").error("the store refused", command=words)
        return Tally(len(notifications), len(settling.alerts))

    async def _routed(
        self, notifications: list[Notification], settling: "Settling", now: int
    ) -> list["Routed"]:
        interested = await self._notices.interested(self._store, notifications)
        wanted = list(dict.fromkeys(one for several in interested for one in several))
        known = await contact_store.load(self._store, wanted)
        for name, contact in known.items():
            if all(rule.is_specific for rule in contact.rules):
                known[name] = await rules.ensure_general(self._store, contact)
        work = []
        for notification, names in zip(notifications, interested, strict=True):
            with settling.sparing(notification):
                to = [known[name] for name in names if name in known]
                routes = [(one, self._route(one, notification, now)) for one in to]
                work.append(Routed(notification, routes))
        return work

    def _route(self, contact: Contact, notification: Notification, now: int) -> Route:
        return route(contact, notification, zone_of(contact, self._settings.timezone), now)


class Routed(NamedTuple):
    notification: Notification
    routes: list[tuple[Contact, Route]]

    def questions(self) -> Iterator[Question]:
        for contact, found in self.routes:
            for medium in found.media:
                yield self.question(contact, medium)

    def question(self, contact: Contact, medium: str) -> Question:
        return Question(contact.id, medium, self.notification.event_id, self.notification.state)


class Settling:
    """What becomes of the notifications of one batch, one after the other."""

    def __init__(self, notices: Notices, now: int) -> None:
        self._notices, self._now = notices, now
        self._commands: list[Command] = []
        self._standings: dict[tuple[str, str], Standing] = {}
        self._alerting: dict[Subject, AlertingFacts] = {}
        self._changed: dict[tuple[str, str], dict[str, bool]] = {}
        """Checks that this batch adds to, or takes from, those a contact is alerted about."""
        self.alerts: list[Alert] = []
        self.summaries: list[tuple[Alert, dict[str, bool]]] = []
        """Those of the alerts that list all that fails, with what had changed before them."""

    def decoded(self, item: bytes) -> Notification | None:
        try:
            return msgspec.json.decode(item, type=Notification)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.park(item, f"not a notification: {error}")
            return None

    def park(self, item: bytes, reason: str) -> None:
        self._commands += self._notices.parked(item, reason, self._now)

    @contextmanager
    def sparing(self, notification: Notification) -> Iterator[None]:
        """A notification over which the body fails is parked, and stops none of the others."""
        commands, alerts = len(self._commands), len(self.alerts)
        summaries = len(self.summaries)
        try:
            yield
        except Exception as error:  # noqa: BLE001 it is told with the notification
            logs.get(role="notifier").exception("notification failed", check=notification.event_id)
            del self._commands[commands:], self.alerts[alerts:], self.summaries[summaries:]
            self.park(msgspec.json.encode(notification), f"we failed over it: {error!r}")

    async def load(self, store: Store, questions: list[Question]) -> None:
        self._standings, self._alerting, ended = await self._notices.standings(
            store, questions, self._now
        )
        self._commands += self._notices.tidied(ended)

    def settle(self, routed: Routed) -> None:
        notification, now = routed.notification, self._now
        decisions = []
        for contact, found in routed.routes:
            decision = ContactDecision(contact=contact.id, reason=found.reason, rules=found.rules)
            for medium in found.media:
                settled = self._settled(routed, contact, medium)
                decision.media[medium] = _words(settled)
            decisions.append(decision)
        if notification.type in ENDING:
            self._commands.append(self._notices.forgotten(notification))
        self._commands += self._notices.decision(notification, decisions, now)

    def _settled(self, routed: Routed, contact: Contact, medium: str) -> Settled:
        notification, settings = routed.notification, contact.media[medium]
        question, pair = routed.question(contact, medium), (contact.id, medium)
        standing, alerting = self._standings[pair], self._alerting[question.subject]
        settled = settle(medium, settings, standing, alerting, notification, self._now)
        self._commands += self._notices.settled(
            question, settings, notification, settled, self._now
        )
        changed = self._changed.setdefault(pair, {})
        if settled.counted is not None:
            changed[notification.event_id] = settled.counted
        if settled.tells:
            alert = _alert(notification, contact, medium, settled)
            self.alerts.append(alert)
            if settled.rollup is not None:
                self.summaries.append((alert, dict(changed)))
        return settled

    async def summarise(self, store: Store, alert: Alert, changed: dict[str, bool]) -> None:
        """All that fails for the contact, with what this batch makes of it."""
        pair = (alert.contact_id, alert.media)
        added = [name for name, counted in changed.items() if counted]
        found = await self._notices.failing(store, *pair, added, self._now)
        alert.rollup_alerts = {
            name: entry for name, entry in found.items() if changed.get(name, True)
        }

    def everything(self) -> list[Command]:
        self._commands += self._notices.alerts(self.alerts, self._now)
        return self._notices.merged(self._commands)


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


async def step(notifier: Notifier, now: int) -> Tally | None:
    """One batch, or None where nothing waits; what went back to the queue counts for nothing."""
    batch = await notifier.taker.take()
    if batch is None:
        return None
    try:
        return await notifier.process(batch, now)
    except LeaseLost:
        return Tally()
