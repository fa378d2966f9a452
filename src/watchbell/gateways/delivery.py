"""The delivery loop of one medium: takes its alerts, claims lanes, and has them sent."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from watchbell import logs
from watchbell.alerting.model import Alert
from watchbell.clock import Clock
from watchbell.errors import LeaseLost
from watchbell.gateways import outcomes
from watchbell.gateways.lane_sender import LaneSender, Tally
from watchbell.gateways.lanes import Claim, Lanes
from watchbell.gateways.medium import Medium
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import LEASE, Outbox
from watchbell.gateways.outcome_writer import OutcomeWriter
from watchbell.probes import probe
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.presence import Presence

_DEPTH = 50
"""Items of one address that are claimed together."""
_LOOK = 1.0
"""Seconds between two looks for lanes that are due."""
_REPORT_EVERY = 5.0


class Delivery:
    def __init__(
        self,
        store: Store,
        name: str,
        medium: Medium,
        render: Callable[[Alert], Awaitable[Message]],
        settings: Settings,
        clock: Clock,
        show_status: Callable[[str], None],
        lease: float = LEASE,
    ) -> None:
        self._store, self._medium, self._clock = store, medium, clock
        self._show_status = show_status
        self._lease = lease
        self._outbox, self._lanes = Outbox(store, name, lease), Lanes(store, name, lease, clock)
        self._woken = asyncio.Event()
        """Set when there may be a lane to claim."""
        self._writer = OutcomeWriter(store, name, settings, clock)
        self._sender = LaneSender(name, medium, render, self._writer, settings, clock, self._woken)
        self._active: dict[Claim, asyncio.Task[None]] = {}
        """Claims that are being worked on, oldest first."""
        self._struggling: set[Claim] = set()
        self._log = logs.get(role="gateways", medium=name)

    @property
    def tally(self) -> Tally:
        return self._sender.tally

    async def run(self) -> None:
        """Until cancelled; messages that are being sent are finished and recorded first.

        Raises what any of its tasks raised: none of them ends without the others.
        """
        async with asyncio.TaskGroup() as lanes:
            beside = [
                lanes.create_task(self._vital(self._writer.run)),
                lanes.create_task(self._vital(self._keep)),
            ]
            try:
                async with asyncio.TaskGroup() as loops:
                    loops.create_task(self._admit())
                    loops.create_task(self._deliver(lanes))
                    loops.create_task(Presence(self._report, _REPORT_EVERY).run())
                    loops.create_task(self._medium.attend(self._store))
                    await self._until_stopped()
            finally:
                try:
                    await self._finish()
                finally:
                    for task in beside:
                        task.cancel()

    async def _finish(self) -> None:
        """Waits for messages that are being sent, but no longer than their lanes can be ours: a
        store that stays away, or a server that hangs, must not keep us from ending."""
        self._sender.is_stopping = True
        seconds = self._medium.limits.timeout + self._lease
        if self._active:
            _, left = await asyncio.wait(self._active.values(), timeout=seconds)
            if left:
                raise TimeoutError(f"{len(left)} addresses are still busy after {seconds:g} s")
        await self._lanes.release()

    async def _vital(self, task: Callable[[], Awaitable[None]]) -> None:
        """Begins nothing more once the task failed, since its group refuses further tasks."""
        try:
            await task()
        except BaseException:
            self._sender.is_stopping = True
            raise

    async def _until_stopped(self) -> None:
        """From then on nothing more is begun, however long the loops need to end."""
        try:
            await asyncio.Event().wait()
        finally:
            self._sender.is_stopping = True

    async def _admit(self) -> None:
        taker = self._outbox.taker
        try:
            async for batch in taker.batches():
                try:
                    await self._outbox.admit(batch, self._clock.now())
                except LeaseLost as error:
                    self._log.warning("batch lost", reason=str(error))
                probe("gateway.admitted")
                self._woken.set()
        finally:
            await taker.release()

    async def _deliver(self, lanes: asyncio.TaskGroup) -> None:
        while True:
            self._woken.clear()
            now, circuit = self._clock.monotonic(), self._sender.circuit
            allowed = circuit.allows(now)
            most = self._medium.limits.concurrency if allowed is None else allowed
            room = most - len(self._active)
            wait = circuit.until - now if allowed == 0 else _LOOK
            if room > 0:
                claims, due = await self._lanes.claim(room, _DEPTH, self._active)
                probe("gateway.claimed")
                for claim in claims:
                    if self._sender.is_stopping:
                        return  # `_finish` frees them
                    self._active[claim] = lanes.create_task(self._vital(partial(self._work, claim)))
                if claims:
                    continue
                wait = min(_LOOK, _LOOK if due is None else due)
            await self._wait(wait)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _work(self, claim: Claim) -> None:
        """Works on a claim and releases it; one that is cancelled is released by `_finish`."""
        try:
            for one in claim.unreadable:
                self._log.error("an item of the outbox is unreadable", id=one.id, reason=one.error)
                kept = outcomes.unreadable(claim.lane, one, int(self._clock.now()))
                await self._writer.add(kept)
            pause = await self._sender.send(claim) if self._has_room(claim) else _LOOK
            await self._writer.add(outcomes.released(claim.lane, claim.name, pause))
        finally:
            del self._active[claim]
            self._struggling.discard(claim)
            self._woken.set()

    def _has_room(self, claim: Claim) -> bool:
        """Addresses that failed before get half of the room, so that others are never stuck behind
        those that hang."""
        if claim.failed_before:
            if len(self._struggling) >= max(1, self._medium.limits.concurrency // 2):
                return False
            self._struggling.add(claim)
        return True

    async def _keep(self) -> None:
        """Extends the leases of active claims."""
        while True:
            await asyncio.sleep(self._lease / 3)
            claims = list(self._active)
            for claim in await patiently(partial(self._lanes.extend, claims)) if claims else ():
                if claim in self._active:
                    self._log.warning("lane lost", lane=claim.lane)

    async def _report(self) -> None:
        words = self._words()
        self._show_status(words)
        await self._outbox.report(words, int(self._clock.now()))

    def _words(self) -> str:
        circuit = self._sender.circuit
        left = circuit.until - self._clock.monotonic()
        if circuit.until:
            return f"the server is away; asked again in {max(left, 0):.0f} s"
        return f"{self.tally.delivered:,} delivered"
