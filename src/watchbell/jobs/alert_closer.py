"""Ends alerts of servers whatever samples say: of definitions and servers that are gone. Also
limits how many alerts are kept."""

import asyncio
from functools import partial

from watchbell import logs
from watchbell.clock import Clock
from watchbell.fleet import records
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.fleet.monitoring import alerts, judgement, minute_scripts, transitions
from watchbell.fleet.monitoring.transitions import Active, Change
from watchbell.jobs import sample_evaluator
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.keys import Jobs
from watchbell.probes import probe
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring

_EVERY = 5.0
_LIMITED_EVERY = 60.0


class AlertCloser:
    def __init__(self, store: Store, catalogue: Catalogue, clock: Clock, most_events: int) -> None:
        self._store, self._catalogue, self._clock = store, catalogue, clock
        self._outlets = sample_evaluator.outlets(store, most_events)
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        async with asyncio.TaskGroup() as group:  # neither waits for a key that holds up the other
            group.create_task(self._close_often())
            group.create_task(self._limit_often())

    async def _close_often(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            await enduring(partial(patiently, self.close), "conductor", "alerts that are over")

    async def _limit_often(self) -> None:
        while True:
            await asyncio.sleep(_LIMITED_EVERY)
            limit = partial(alerts.limit, self._store, self._clock.now())
            while await enduring(partial(patiently, limit), "conductor", "old alerts"):
                pass

    async def close(self) -> int:
        """How many it has ended."""
        known = await alerts.active_texts(self._store)
        if not known:
            return 0
        fleet = await records.load(self._store)
        found = list[tuple[bytes, Change]]()
        for text, active in known:
            reason = judgement.unfounded(active, self._catalogue.alert_defs, fleet.servers)
            if reason and not await self._is_spoiled(active):
                over = transitions.ends(active, reason, self._clock.now(), silent=True)
                found.append((text, over))
                self._log.info("alert ended", alert=active.alert, server=active.server, why=reason)
        probe("alert_closer.decided")
        return await minute_scripts.close(self._store, found, self._outlets) if found else 0

    async def _is_spoiled(self, active: Active) -> bool:
        """Whether its definition or its server is there, but can't be read."""
        keys, fleet = Jobs(self._store.prefix), Fleet(self._store.prefix)
        for key, id_, known in (
            (keys.alert_defs(), active.alert, self._catalogue.alert_defs),
            (fleet.servers(), active.server, None),
        ):
            if known is not None and id_ in known:
                continue
            raw = await self._store.call("HGET", key, id_)
            if raw is not None and (known is not None or records.parsed(Server, raw) is None):
                return True
        return False
