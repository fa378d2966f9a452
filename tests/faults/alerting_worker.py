"""Processors and notifiers to be killed.

`python -m tests.faults.alerting_worker URL ROLES CLOCK LEASE MOST [FAULT]`: runs the real loops of
ROLES (`processor`, `notifier` or both, by a comma). CLOCK is a file that holds what time it is, or
`-` for the machine's clock. An item in which the word `deadly` stands kills who looks at it.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from watchbell import logs, probes
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.notifier import Tally as Notified
from watchbell.alerting.processor import Processor
from watchbell.alerting.processor import Tally as Processed
from watchbell.clock import SYSTEM, Clock
from watchbell.roles import alerting
from watchbell.roles.role import Context, Role
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.queue import Batch

DEADLY = b"deadly"


class FileClock(Clock):
    """A clock that shows, to all processes, what was written into its file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def now(self) -> float:
        return float(self.file.read_text())

    def set(self, now: int) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(now))
        fresh.replace(self.file)


class MortalProcessor(Processor):
    async def process(self, batch: Batch, now: int) -> Processed:
        perish(batch)
        return await super().process(batch, now)


class MortalNotifier(Notifier):
    async def process(self, batch: Batch, now: int) -> Notified:
        perish(batch)
        return await super().process(batch, now)


def perish(batch: Batch) -> None:
    if batch.attempts < 3 and any(DEADLY in item for item in batch.items):
        os.kill(os.getpid(), signal.SIGKILL)


def hurry(worker: Processor | Notifier, lease: float, most: int) -> None:
    """Batches of a few, so that there are many, in several pieces, under leases that end soon."""
    worker.taker._lease, worker.taker._most, worker.piece = lease, most, -(-most // 3)


def role(name: str, lease: float, most: int) -> Role:
    async def process(context: Context) -> None:
        processor = MortalProcessor(context.store, context.settings.alerting, os.getpid())
        hurry(processor, lease, most)
        await processor.boot(int(context.clock.now()))
        await alerting._work(processor, context, "events")

    async def notify(context: Context) -> None:
        notifier = MortalNotifier(context.store, context.settings.alerting)
        hurry(notifier, lease, most)
        await alerting._work(notifier, context, "notifications")

    return Role(name, "", {"processor": process, "notifier": notify}[name])


async def main(url: str, names: str, clock: str, lease: float, most: int) -> None:
    roles = [role(name, lease, most) for name in names.split(",")]
    shown = SYSTEM if clock == "-" else FileClock(Path(clock))
    async with Store(store_url.parse(url)) as store:
        await Supervisor(roles, Settings(data=Path()), store, clock=shown).run()


if __name__ == "__main__":
    if len(sys.argv) > 6:
        probes.arm(sys.argv[6])
    logs.configure("error", "json")
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])))
