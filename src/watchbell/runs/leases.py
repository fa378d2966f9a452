"""Renews the heartbeats and locks of runs, and stops runs whose lock can't be renewed.

Such a run is asked to end, and killed if it does not, before another run can begin under the lock.
The warden ensures that even while this process is suspended. A store whose disk or memory is full
still answers for how long no other run begins; for that long the run continues.

The caller passes `renew`: cron a script of the store, an agent a message to its server.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import NamedTuple

from watchbell import logs
from watchbell.clock import Clock
from watchbell.errors import StoreUnavailable
from watchbell.runs.running import Running

OVER = "it was declared over by another instance"
LOCK_LOST = "its lock is held by another run"
NOT_RENEWED = "its lock could not be renewed: the store was away"

_LONGEST_PAUSE = 1.0


class Verdict(Enum):
    RENEWED = auto()
    OVER = auto()
    """Another instance ended the run."""
    LOCK_LOST = auto()
    REFUSED = auto()
    """The store accepts no writes."""


class Renewal(NamedTuple):
    verdict: Verdict
    left: float = 0
    """After a refusal: seconds for which no other run begins under the lock."""


Renew = Callable[[Sequence[Running]], Awaitable[Sequence[Renewal]]]
"""Renews the heartbeat and the lock of each run; raises StoreUnavailable if nobody answers."""


class RunLeases:
    def __init__(self, renew: Renew, heartbeat: float, clock: Clock, *, role: str) -> None:
        self._renew, self._heartbeat, self._clock = renew, heartbeat, clock
        self.runs: dict[str, Running] = {}
        """Runs of this process, by id, until their results are written."""
        self._wake = asyncio.Event()
        self._pause = _LONGEST_PAUSE
        self._log = logs.get(role=role)

    def begin(self, run: Running, asked: float) -> None:
        """Adds a run that a request recorded, sent at `asked` by the monotonic clock. The request
        may have been repeated, so the lease may be over already."""
        self.runs[run.id] = run
        run.renewed(asked, self._heartbeat)
        now = self._clock.monotonic()
        if run.gives_up <= now:
            run.renew_at(now)
        if run.next_renewal - now < self._pause:
            self._wake.set()

    def adopt(self, run: Running) -> None:
        """Adds a run of a process that is gone, and renews it at once."""
        self.runs[run.id] = run
        run.renew_at(self._clock.monotonic())
        self._wake.set()

    def end(self, run: Running) -> None:
        del self.runs[run.id]

    async def run(self) -> None:
        while True:
            now = self._clock.monotonic()
            due = [run for run in self.runs.values() if run.next_renewal <= now]
            if due:
                await self._renew_due(due, now)
            self._give_up_late()
            await self._sleep()

    async def _sleep(self) -> None:
        now = self._clock.monotonic()
        nexts = (min(run.next_renewal, run.gives_up) for run in self.runs.values())
        self._pause = min(max(min(nexts, default=now + _LONGEST_PAUSE) - now, 0.02), _LONGEST_PAUSE)
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._wake.wait()

    async def _renew_due(self, due: Sequence[Running], asked: float) -> None:
        try:
            async with asyncio.timeout(self._time_left(asked)):
                renewals = await self._renew(due)
        except (StoreUnavailable, TimeoutError):
            for run in due:
                run.not_renewed(asked)
            return
        for run, (verdict, left) in zip(due, renewals, strict=True):
            if verdict is Verdict.RENEWED:
                run.renewed(asked, self._heartbeat)
            elif verdict is Verdict.REFUSED:
                run.not_renewed(asked, left)
            else:
                self._lose(run, LOCK_LOST if verdict is Verdict.LOCK_LOST else OVER)

    def _time_left(self, now: float) -> float:
        """Seconds until the first run has to be given up."""
        return max(min([now + 20, *(run.gives_up for run in self.runs.values())]) - now, 0.05)

    def _give_up_late(self) -> None:
        now = self._clock.monotonic()
        for run in self.runs.values():
            if run.gives_up <= now:
                self._lose(run, NOT_RENEWED)

    def _lose(self, run: Running, reason: str) -> None:
        if run.id in self.runs and not run.reason:
            self._log.warning("run stopped", run=run.id, job=run.name, reason=reason)
        run.lose(reason)
