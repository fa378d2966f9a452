"""The roles of alerting: the processor, the notifier, and the one that reports silent checks."""

import asyncio
import os
from functools import partial

from watchbell import logs
from watchbell.alerting import indexes, record_keeping
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.processor import Processor
from watchbell.alerting.record_watch import RecordWatch
from watchbell.alerting.silence import Silence
from watchbell.cron.reading import reading
from watchbell.cron.unattended_jobs import UnattendedJobs
from watchbell.errors import LockLost, Refused
from watchbell.roles import gc_tuning
from watchbell.roles.role import Context, Role
from watchbell.store.client import patiently
from watchbell.store.enduring import enduring
from watchbell.store.queue import Batch

_EVERY = 1.0
_LOOK_EVERY = 10.0


async def process(context: Context) -> None:
    processor = Processor(context.store, context.settings.alerting, os.getpid())
    await processor.boot(int(context.clock.now()))
    keep = partial(indexes.keep, context.store)
    async with asyncio.TaskGroup() as group:
        group.create_task(enduring(partial(patiently, keep), "processor", "indexes"))
        follow = partial(_follow_records, context)
        group.create_task(enduring(follow, "processor", "records"))
        await _work(processor, context, "events")


async def _follow_records(context: Context) -> None:
    await _keep_records(context)
    await RecordWatch(context.store, context.clock).run()


async def _keep_records(context: Context) -> None:
    """Begins or ends to keep records, as the settings say; other processes follow."""
    wanted, log = context.settings.alerting.records, logs.get(role="processor")
    if not wanted and await patiently(lambda: record_keeping.keeping(context.store)) == "on":
        await record_keeping.stop(context.store)
        log.warning("records are no longer kept; `watchbell records drop` removes them")
    while wanted and await patiently(lambda: record_keeping.kept(context.store)) != "all":
        try:
            built = await record_keeping.build(context.store, lambda _: None)
            log.info("records built", parts=built.units, refused=len(built.refused))
        except LockLost:
            continue
        except Refused as error:
            if error.code:
                log.warning("records are not kept", reason=str(error))
                return
            await asyncio.sleep(_EVERY)  # another process builds them


async def notify(context: Context) -> None:
    await _work(Notifier(context.store, context.settings.alerting), context, "notifications")


async def _work(worker: Processor | Notifier, context: Context, what: str) -> None:
    done = 0
    gc_tuning.collect_seldom()

    async def handle(batch: Batch) -> None:
        nonlocal done
        await worker.process(batch, int(context.clock.now()))
        done += len(batch.items)
        context.show_status(f"{what} so far: {done:,}")

    await worker.taker.work(handle)


async def report_silence(context: Context) -> None:
    silence = Silence(context.store)
    cron = context.settings.cron
    absence = UnattendedJobs(context.store, cron, reading(cron), context.clock)
    reported, look = 0, 0.0
    while True:
        if not await silence.unread():
            reported += await silence.report(int(context.clock.now()))
        if context.clock.monotonic() >= look:
            look = context.clock.monotonic() + _LOOK_EVERY
            reported += await absence.report()
        context.show_status(f"silent checks and jobs reported: {reported:,}" if reported else "")
        await asyncio.sleep(_EVERY)


PROCESSOR = Role("processor", "turns check events into states and notifications", process)
NOTIFIER = Role("notifier", "turns notifications into alerts", notify)
SILENCE = Role("silence", "reports checks that stopped reporting", report_silence)
