"""Claims fires when they are due, and takes pending ones when places are free."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from math import ceil, inf

from watchbell import ids, logs
from watchbell.cron.claims import GONE, PAUSED, TOO_EARLY, Claims
from watchbell.cron.executor import Executor
from watchbell.cron.fires import Claim, JobEntry, Left, due_claims, is_held_back
from watchbell.cron.places import ReservedPlaces, Start
from watchbell.errors import StoreUnavailable
from watchbell.probes import probe
from watchbell.schedule.agenda import Agenda
from watchbell.store import health, outage
from watchbell.store.client import Backoff, patiently
from watchbell.store.store_clock import StoreClock

_BATCH = 500
_TIMER = 0.0015
"""Seconds by which the event loop's timer may be late."""
_TAKEN_AT_ONCE = 64
_AHEAD = 0.05
"""Seconds by which a fire is claimed before its instant, so that only the process is left to start
then; longer than a claim takes on a busy machine."""
_FEW = 8
"""The most fires that are claimed ahead. If more are due, processes wait for each other anyway."""

_LONGEST_PAUSE = 5.0
"""The most seconds between two claims while the store refuses claims but accepts other writes."""
_HEAD_START = 0.05
"""Seconds for which pending fires are left to other instances after we began our share."""

Drop = Callable[[Sequence[str]], Awaitable[None]]
"""Drops jobs that are no longer in the store."""
_Intent = tuple[JobEntry, Sequence[Claim | Left]]


class Scheduler:
    def __init__(
        self,
        claims: Claims,
        agenda: Agenda[JobEntry],
        executor: Executor,
        clock: StoreClock,
        grace: int,
        start: Start,
        drop: Drop,
    ) -> None:
        self._claims, self._agenda, self._executor = claims, agenda, executor
        self._clock, self._grace, self._start, self._drop = clock, grace, start, drop
        self.peers = 1
        """Instances that begin runs, this one included."""
        self._pending = 0
        self._shared_at = -inf
        """When we last began our share of fires that were due together."""
        self._unplanned: list[JobEntry] = []
        self._looked_ahead = 0.0
        self._asking: set[ReservedPlaces] = set()
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._recorded = asyncio.Event()
        self._backoff = Backoff(longest=_LONGEST_PAUSE)
        self._log = logs.get(role="cron")
        self.is_drained = self.is_stopping = False

    @property
    def is_closed(self) -> bool:
        """Whether this instance starts no new runs."""
        return self.is_drained or self.is_stopping

    def wake(self) -> None:
        """Looks again for due fires, because the agenda or the time has changed."""
        self._looked_ahead = 0.0
        self._changed.set()

    @property
    def is_asking(self) -> bool:
        """Whether a request for runs is under way in the store."""
        return bool(self._asking)

    def expect(self, pending: int) -> None:
        """Takes pending fires if there are any, and places for them."""
        self._pending = pending
        if pending and self._executor.free > 0:
            self._wanted.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            now = self._clock.now()
            due = [] if self.is_closed else self._take_due(now)
            if due:
                self._recorded.clear()
                self._unplanned += due
                await self._claim([self._intent(entry, now) for entry in due])
                continue
            self._recorded.set()
            if self._unplanned:
                await self._plan_some()
            else:
                await self._sleep(now)

    def _take_due(self, now: float) -> list[JobEntry]:
        return self._agenda.take_due(now, _BATCH) or self._ahead(now)

    def _ahead(self, now: float) -> list[JobEntry]:
        """Jobs that are due in a moment. A fire that can't be claimed ahead is claimed at its
        instant."""
        at = self._agenda.next_at()
        if at is None or not self._looked_ahead < at <= now + _AHEAD:
            return []
        self._looked_ahead = now + _AHEAD
        near = self._agenda.take_few(self._looked_ahead, _FEW)
        for entry in near:
            if is_held_back(entry.job, self._executor.of(entry.name)):
                self._agenda.put_back(entry)
        return [entry for entry in near if not entry.ticket]

    async def _plan_some(self) -> None:
        """Computes next fires. That takes longer than claiming, so all due fires are recorded
        first."""
        some, self._unplanned = self._unplanned[:_BATCH], self._unplanned[_BATCH:]
        for entry in some:
            self._agenda.plan(entry)
        await asyncio.sleep(0)

    async def _sleep(self, now: float) -> None:
        at = None if self.is_closed else self._agenda.next_at()
        if at is not None and at > self._looked_ahead:
            at -= _AHEAD
        with suppress(TimeoutError):
            async with asyncio.timeout(None if at is None else max(at - now - _TIMER, 0)):
                await self._changed.wait()
        while at is not None and not self._changed.is_set() and self._clock.now() < at:  # noqa: ASYNC110
            await asyncio.sleep(0)  # more exact than the loop's timer

    def _intent(self, entry: JobEntry, now: float) -> "_Intent":
        runs_here = self._executor.of(entry.name)
        claims = due_claims(entry, now, self._grace, runs_here=runs_here, new_run=ids.token)
        return entry, claims

    async def _claim(self, intents: Sequence[_Intent]) -> None:
        claims = [claim for _, some in intents for claim in some]
        names = [claim.run for claim in claims if claim.run]
        asked, failure = self._clock.monotonic(), None
        # Where many are due at once, all are recorded before the first is begun.
        limit = 0 if len(intents) == _BATCH else self._share(len(names))
        with self._places(limit) as places:
            try:
                answers, begun, pending = await self._claims.claim(claims, places.reserved)
                probe("cron.claimed")
            except StoreUnavailable as error:
                failure = error
                # Fires that were claimed before the reply was lost are ours; others are due again.
                begun, answers, pending = await patiently(lambda: self._claims.recall(names)), [], 0
            places.start(begun, asked)
        if failure:
            await self._wait_for_store(failure)
            return
        self._backoff.reset()
        if begun:
            self._shared_at = asked
        gone = self._settle(intents, iter(answers))
        if gone:
            await patiently(lambda: self._drop(gone))
        self.expect(pending)

    def _share(self, due: int) -> int:
        """How many of the fires that are due together we begin; our peers begin the others."""
        return ceil(due / self.peers)

    async def _wait_for_store(self, error: StoreUnavailable) -> None:
        """Waits until the store accepts writes; it accepts reads earlier."""
        outage.begin(error)
        await self._backoff.wait()
        await patiently(lambda: health.check_writable(self._claims.call.store))
        outage.end()

    def _settle(self, intents: Sequence[_Intent], answers: Iterator[int]) -> list[str]:
        """Returns the jobs that are no longer in the store."""
        gone = []
        for entry, claims in intents:
            for claim in claims:
                answer = next(answers)
                if answer == PAUSED:
                    entry.is_paused = True
                elif answer == GONE:
                    gone.append(claim.job)
                elif answer != TOO_EARLY:
                    entry.mark = max(entry.mark, answer if answer >= 0 else claim[1])
        return gone

    async def take(self) -> None:
        """Fills free places with pending fires."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while self._executor.free > 0:
                await self._recorded.wait()  # fires that are due come before those that wait
                await self._give_head_start()
                if self.is_closed or not await self._take_some():
                    break

    def _is_spread(self) -> bool:
        """Whether other instances should get a share of the pending fires."""
        return self.peers > 1 and self._pending < self._executor.free * self.peers

    async def _give_head_start(self) -> None:
        left = self._shared_at + _HEAD_START - self._clock.monotonic()
        if left > 0 and self._is_spread():
            await asyncio.sleep(left)

    async def _take_some(self) -> bool:
        """Returns whether more fires may be pending."""
        asked, failure = self._clock.monotonic(), None
        limit = _TAKEN_AT_ONCE
        if self._is_spread() and asked - self._shared_at > 1:
            limit = min(limit, self._share(self._pending))
            self._shared_at = asked
        with self._places(limit) as places:
            names = [ids.token() for _ in range(places.reserved)]
            try:
                begun, pending, bad = await self._claims.take(names)
            except StoreUnavailable as error:
                failure = error
                begun, pending, bad = await patiently(lambda: self._claims.recall(names)), 1, []
            places.start(begun, asked)
        if failure:
            await self._wait_for_store(failure)
        else:
            self._backoff.reset()
        self._pending = pending
        for text in bad:
            self._log.error("dropped an unreadable item of the pending runs", item=text)
        return pending > 0

    async def trigger(self, entry: JobEntry, known: float, trigger: str = "") -> float:
        """Runs the job now, unless another instance was faster. Returns the latest trigger of the
        job that we know."""
        job, run, fire = entry.job, ids.token(), int(self._clock.now())
        item = entry.item(fire, "trigger", trigger)
        claim = Claim(job.name, fire, "", run, item)
        asked = self._clock.monotonic()
        with self._places(1) as places:
            room = places.reserved
            if job.lock:
                known, _, begun = await patiently(
                    lambda: self._claims.trigger(job.name, run, item, known, room)
                )
            else:
                _, begun, _ = await patiently(lambda: self._claims.claim([claim], room))
            places.start(begun, asked)
        return known

    def _places(self, limit: int) -> ReservedPlaces:
        return ReservedPlaces(self._executor, self._start, limit, self._asking)
