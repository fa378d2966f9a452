"""The notifier: turns notifications into alerts for the right people by the right media."""

import msgspec
from msgspec import Struct

from watchbell import logs
from watchbell.alerting import foreign, priority, queued_records
from watchbell.alerting.alert_writes import AlertWrites
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.model import Notification
from watchbell.alerting.notification_batch import BatchEffects, NotificationBatch
from watchbell.alerting.processor import DEADLY
from watchbell.alerting.routing_facts import Loaded, Person, RoutingFacts
from watchbell.alerting.summaries import Summaries
from watchbell.errors import LeaseLost
from watchbell.probes import probe
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.effects import flat, packed
from watchbell.store.pipelining import pipelined, yielding
from watchbell.store.queue import Batch, Queue, Taker

# All notifications have one key, so that one notifier works at a time and another takes over when
# it dies: the latest alerts of a contact and its failing checks are read and written back.
_ONE_AT_A_TIME = ("",)

_MOST = 5_000
"""Notifications that are taken at once. A contact is read once for all of them, which is
expensive. With more, changes of contacts would take effect later, and more would come back one
by one after a crash."""

_MOST_ALERTS = 10_000
"""Alerts of one batch after which the rest goes back to the queue, so that urgent notifications
need not wait for it."""


class Tally(Struct):
    notifications: int = 0
    alerts: int = 0


class Opened(Struct):
    """The notifications of a piece, its invalid items with their reasons, and the ids among its
    items."""

    ids: list[str]
    notifications: list[Notification] = []
    unreadable: list[tuple[bytes, str]] = []


class Notifier:
    piece = 200
    """Notifications of a batch that are decided on at once."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._alert_writes = AlertWrites(store.prefix, settings.alert_days)
        self._addressees = RoutingFacts(store.prefix, settings.timezone)
        self._summaries = Summaries(store.prefix)
        key = self._alert_writes.keys.notifications()
        queue = Queue(key=key, side="LEFT", order_by=_ONE_AT_A_TIME)
        urgent = priority.notifications(store.prefix)
        self.taker = Taker(store, queue, most=_MOST, urgent=urgent)

    async def process(self, batch: Batch, now: int) -> Tally:
        """Loads, decides and applies a batch as of `now`, and acknowledges it."""
        notification_batch, tally = NotificationBatch(self._alert_writes, now), Tally()
        known: dict[str, Person] = {}
        switch = [self._alert_writes.own.records()]

        async def load(piece: Batch) -> tuple[Opened, Loaded]:
            texts = await patiently(lambda: queued_records.notifications(self._store, piece.items))
            opened = _opened(piece, texts)
            loaded = await patiently(
                lambda: self._addressees.load(
                    self._store, opened.notifications, known, len(batch.items), now
                )
            )
            probe("notifier.loaded")
            return opened, loaded

        async def decide(_: Batch, found: tuple[Opened, Loaded]) -> BatchEffects | bytes:
            opened, loaded = found
            notification_batch.remember(loaded)
            settlement = BatchEffects(words=flat([self._alert_writes.end_suppressed(now)]))
            for pair, strays in loaded.strays.items():
                settlement.words += flat(self._alert_writes.remove_strays(*pair, strays))
            pairs = zip(opened.notifications, loaded.addressees, strict=True)
            async for notification, addressees in yielding(pairs, 20):
                settlement.add(notification_batch.settle(notification, addressees))
            parked = (self._alert_writes.parked(*bad, now) for bad in opened.unreadable)
            settlement.words += flat(parked)
            settlement.words += flat(self._alert_writes.counted(opened.notifications))
            settlement.words += flat(self._alert_writes.consumed(opened.ids))
            tally.notifications += len(opened.notifications)
            tally.alerts += len(settlement.alerts)
            # What needs no summary is packed while the store still applies the piece before.
            return settlement if settlement.summaries else self._packed(settlement, now)

        async def apply(piece: Batch, settled: BatchEffects | bytes) -> None:
            packed = settled if isinstance(settled, bytes) else await self._filled(settled, now)
            probe("notifier.decided")
            refused = await self.taker.acknowledge(piece, EFFECTS.acknowledging, switch, [packed])
            probe("notifier.applied")
            for words in refused or ():
                logs.get(role="notifier").error("the store refused", command=words)

        pieces = batch.pieces(self.piece)
        done = await pipelined(pieces, load, decide, apply, lambda: tally.alerts >= _MOST_ALERTS)
        if done < len(pieces):
            await patiently(self.taker.release)
        return tally

    async def _filled(self, settlement: BatchEffects, now: int) -> bytes:
        """Adds the lists of summaries, once the store has all earlier decisions."""
        await patiently(lambda: self._summaries.fill(self._store, settlement.summaries, now))
        return self._packed(settlement, now)

    def _packed(self, settlement: BatchEffects, now: int) -> bytes:
        words = settlement.words
        words += flat(self._alert_writes.suppressed(settlement.ends, now))
        words += flat(self._alert_writes.alerts(settlement.alerts, now))
        return packed(words)


def _opened(piece: Batch, texts: list[bytes]) -> Opened:
    opened = Opened(queued_records.ids(piece.items))
    for item in texts:
        if piece.attempts >= DEADLY:
            reason = f"{piece.attempts} notifiers died with it in hand"
            opened.unreadable.append((item, reason))
            continue
        try:
            opened.notifications.append(foreign.notification(item))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            opened.unreadable.append((item, f"not a notification: {error}"))
    return opened


async def step(notifier: Notifier, now: int) -> Tally | None:
    """Processes one batch; None if nothing waits. Items that went back to the queue are not
    counted."""
    batch = await notifier.taker.take()
    if batch is None:
        return None
    try:
        return await notifier.process(batch, now)
    except LeaseLost:
        return Tally()
