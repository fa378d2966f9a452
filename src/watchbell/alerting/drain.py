"""Processes everything that is queued, as of a given time, for a replay."""

from msgspec import Struct

from watchbell.alerting import notifier, processor
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.processor import Processor
from watchbell.alerting.silence import Silence


class Drained(Struct):
    events: int = 0
    notifications: int = 0
    alerts: int = 0
    rejected: int = 0


async def _processed(processing: Processor, done: Drained, now: int) -> None:
    while (events := await processor.step(processing, now)) is not None:
        done.events += events.events
        done.notifications += events.notifications
        done.rejected += events.rejected


async def process_all(silence: Silence, processing: Processor, now: int) -> Drained:
    """Processes the events, and those about checks that are silent then."""
    done = Drained()
    await _processed(processing, done, now)
    if await silence.report(now):  # after queued events: their checks are not silent
        await _processed(processing, done, now)
    return done


async def notify_all(notifying: Notifier, done: Drained, now: int) -> None:
    while (alert_writes := await notifier.step(notifying, now)) is not None:
        done.alerts += alert_writes.alerts


async def drain(silence: Silence, processing: Processor, notifying: Notifier, now: int) -> Drained:
    done = await process_all(silence, processing, now)
    await notify_all(notifying, done, now)
    return done
