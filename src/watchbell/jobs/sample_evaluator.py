"""Evaluates the minute samples that come to a web server: monitors, series and alerts.

Each server's newest sample waits for its turn. One that is lost with its process is followed by
another a minute later.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.fleet.monitoring import compiled, evaluator
from watchbell.fleet.monitoring.compiled import Definitions
from watchbell.fleet.monitoring.judgement import Reading
from watchbell.fleet.monitoring.minute_scripts import Outlets
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store, patiently

ROUND = 1.0
"""Seconds between two batches."""

_MONITORING = ("monitor", "alert")


def outlets(store: Store, most_events: int) -> Outlets:
    keys = Jobs(store.prefix)
    return Outlets(keys.actions(), keys.unreported(), most_events)


class SampleEvaluator:
    def __init__(
        self, store: Store, most_events: int, catalogue: Callable[[], Awaitable[Catalogue]]
    ) -> None:
        """`catalogue` loads all definitions when it is first called, and keeps them current."""
        self._store, self._catalogue_of = store, catalogue
        self._outlets = outlets(store, most_events)
        self._catalogue: Catalogue | None = None
        self._definitions: Definitions | None = None
        self._waiting: dict[str, Reading] = {}
        self._log = logs.get(role="web")

    def add(self, server: str, at: float, data: dict[str, Any]) -> None:
        """A sample that came at this time. It replaces one of the same server that still waits."""
        self._waiting[server] = Reading(server, at, data)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            await self.evaluate()

    async def evaluate(self) -> None:
        """What waits now."""
        readings, self._waiting = list(self._waiting.values()), {}
        if not readings:
            return
        known = await patiently(self._compiled)
        try:
            await patiently(
                partial(evaluator.evaluate, self._store, readings, known, self._outlets)
            )
        except ResponseError as error:  # a key that another program spoiled; others come soon
            self._log.error("samples can't be evaluated", count=len(readings), exc_info=error)

    async def _compiled(self) -> Definitions:
        if self._catalogue is None:
            self._catalogue = await self._catalogue_of()
            self._catalogue.subscribe(self._changed)
        if self._definitions is None:
            known = self._catalogue
            self._definitions = compiled.definitions(
                known.monitors.values(), known.alert_defs.values()
            )
        return self._definitions

    def _changed(self, kind: str, _: str) -> None:
        if kind in _MONITORING:
            self._definitions = None
