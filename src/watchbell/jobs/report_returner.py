"""Queues check events of jobs and servers that were held back, once alerting has room for them."""

import asyncio

from watchbell import logs
from watchbell.alerting import bounded_reports
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring

_EVERY = 5.0


class ReportReturner:
    def __init__(self, store: Store, most_events: int) -> None:
        self._store, self._most = store, most_events
        self._unreported = Jobs(store.prefix).unreported()
        self._is_holding = False
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            await asyncio.sleep(_EVERY)
            await enduring(lambda: patiently(self.look), "conductor", "held check events")

    async def look(self) -> None:
        waiting, held = await bounded_reports.return_held(self._store, self._unreported, self._most)
        if held and not self._is_holding:
            self._log.warning(
                "alerting does not process its events: only the latest of each check is kept",
                waiting=waiting,
                most=self._most,
                advice="run a processor: `watchbell run processor`, or `watchbell up`",
            )
        elif self._is_holding and not held:
            self._log.info("alerting processes events again; events that were kept back are added")
        self._is_holding = bool(held)
