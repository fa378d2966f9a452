"""The writer of outcomes: while some are being written, others gather for the next time."""

import asyncio

from watchbell import logs
from watchbell.clock import Clock
from watchbell.gateways import outcomes
from watchbell.gateways.outcomes import Outcome
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store


class OutcomeWriter:
    def __init__(self, store: Store, medium: str, settings: Settings, clock: Clock) -> None:
        self._store, self._medium, self._settings, self._clock = store, medium, settings, clock
        self._outcomes: list[Outcome] = []
        self._written: asyncio.Future[None] | None = None
        self._added = asyncio.Event()
        self._log = logs.get(role="gateways", medium=medium)

    async def add(self, outcome: Outcome) -> None:
        """Returns once the outcome is in the store."""
        self._outcomes.append(outcome)
        self._added.set()
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._written)  # others wait for it, too

    async def run(self) -> None:
        while True:
            await self._added.wait()
            self._added.clear()
            some, self._outcomes = self._outcomes, []
            written, self._written = self._written, None
            now = int(self._clock.now())
            forget = now - self._settings.failed_days * 86_400
            for refused in await outcomes.settle(self._store, self._medium, some, now, forget):
                self._log.error("the store refused", command=refused)
            if written is not None and not written.done():
                written.set_result(None)
