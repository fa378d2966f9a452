"""The delivery: takes the alerts of one medium and hands them over, over every failure."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct

from watchbell import logs
from watchbell.alerting.model import CheckEvent
from watchbell.clock import Clock
from watchbell.errors import DeliveryFailed, LeaseLost
from watchbell.gateways import outbox
from watchbell.gateways.lanes import Claim, Lanes
from watchbell.gateways.medium import Medium, Message
from watchbell.gateways.outbox import LEASE, Item, Outbox, Result
from watchbell.gateways.retries import Bucket, Circuit, backoff
from watchbell.probes import probe
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store, patiently

_DEPTH = 50
"""Alerts of one address that are taken in hand together."""
_FAILURES = 3
"""After so many of these have failed in a row the others wait, too."""
_LOOK = 1.0
_AT_MOST = 1.0
"""Seconds of work on one claim, after which the lane is claimed anew with what is urgent first."""
_BEAT = 5.0
_ADDRESSES = 10_000
"""Addresses whose rate is remembered."""


class Tally(Struct):
    delivered: int = 0
    failed: int = 0
    given_up: int = 0


class Delivery:
    def __init__(
        self,
        store: Store,
        name: str,
        medium: Medium,
        settings: Settings,
        clock: Clock,
        say: Callable[[str], None],
        lease: float = LEASE,
    ) -> None:
        self._store, self._name, self._medium, self._settings = store, name, medium, settings
        self._clock, self._say = clock, say
        self._lease = lease
        self._outbox, self._lanes = Outbox(store, name, lease), Lanes(store, name, lease, clock)
        self._circuit = Circuit()
        self._rate = Bucket(medium.limits.rate)
        self._address_rates: dict[str, Bucket] = {}
        self._room = asyncio.Semaphore(medium.limits.concurrency)
        self._active: dict[Claim, asyncio.Task[None]] = {}
        """What is being worked on, in the order in which it was claimed."""
        self._struggling: set[Claim] = set()
        self._records = Records(self._outbox, settings, clock)
        self._woken = asyncio.Event()
        self._stopping = False
        self._log = logs.get(role="gateways", medium=name)
        self.tally = Tally()

    async def run(self) -> None:
        """Until cancelled; then what is being handed over is finished and recorded first.

        Raises what any of its tasks raised: none of them ends without the others.
        """
        async with asyncio.TaskGroup() as lanes:
            beside = [
                lanes.create_task(self._vital(self._records.write)),
                lanes.create_task(self._vital(self._keep)),
            ]
            try:
                async with asyncio.TaskGroup() as loops:
                    loops.create_task(self._admit())
                    loops.create_task(self._deliver(lanes))
                    loops.create_task(self._beat())
                    loops.create_task(self._medium.attend(self._store))
                    await self._told_to_stop()
            finally:
                try:
                    await self._finish()
                finally:
                    for task in beside:
                        task.cancel()

    async def _finish(self) -> None:
        """Waits for what is being handed over, but no longer than its lanes can be ours: a store
        that stays away, or a server that hangs, must not keep us from ending."""
        self._stopping = True
        seconds = self._medium.limits.timeout + self._lease
        if self._active:
            _, left = await asyncio.wait(self._active.values(), timeout=seconds)
            if left:
                raise TimeoutError(f"{len(left)} addresses still under way after {seconds:g} s")
        await self._lanes.release()

    async def _vital(self, task: Callable[[], Awaitable[None]]) -> None:
        """Nothing more is begun once it failed, since its group refuses further tasks."""
        try:
            await task()
        except BaseException:
            self._stopping = True
            raise

    async def _told_to_stop(self) -> None:
        """From then on nothing more is taken in hand, however long the loops need to end."""
        try:
            await asyncio.Event().wait()
        finally:
            self._stopping = True

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
            now = self._clock.monotonic()
            allowed = self._circuit.allows(now)
            most = self._medium.limits.concurrency if allowed is None else allowed
            room = most - len(self._active)
            wait = self._circuit.until - now if allowed == 0 else _LOOK
            if room > 0:
                claims, due = await self._lanes.claim(room, _DEPTH, self._active)
                probe("gateway.claimed")
                for claim in claims:
                    if self._stopping:
                        return  # `_finish` frees them
                    self._active[claim] = lanes.create_task(self._vital(partial(self._lane, claim)))
                if claims:
                    continue
                wait = min(_LOOK, _LOOK if due is None else due)
            await self._wait(wait)

    def _fits(self, claim: Claim) -> bool:
        """Addresses that failed before get half of the room, so that others are never stuck behind
        those that hang."""
        if claim.failed_before:
            if len(self._struggling) >= max(1, self._medium.limits.concurrency // 2):
                return False
            self._struggling.add(claim)
        return True

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _lane(self, claim: Claim) -> None:
        """Works on a claim and releases it; one that is cancelled is released by `_finish`."""
        try:
            for one in claim.unreadable:
                self._log.error("an alert of the outbox is unreadable", id=one.id, reason=one.error)
                await self._records.add(outbox.unreadable(claim.lane, one, int(self._clock.now())))
            pause = await self._sent(claim) if self._fits(claim) else _LOOK
            await self._records.add(outbox.released(claim.lane, claim.name, pause))
        finally:
            del self._active[claim]
            self._struggling.discard(claim)
            self._woken.set()

    async def _sent(self, claim: Claim) -> float:
        """Sends what waits for one address, each check's alerts in their order; the seconds before
        the lane may be claimed again."""
        work = Work(claim, self._clock.now(), self._clock.monotonic() + _AT_MOST)
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._medium.limits.per_address, len(work.checks))):
                workers.create_task(self._work(work))
        return work.pause

    async def _work(self, work: "Work") -> None:
        while work.checks:
            for item in work.checks.popleft():
                pause = self._address_pause(item.alert.address)
                if pause:
                    work.stop(pause)
                if work.stopped or self._stopping or not await self._handed_over(item, work):
                    break
                if self._clock.monotonic() > work.until:
                    work.stop(0)
            if work.stopped or self._stopping:
                return

    def _address_pause(self, address: str) -> float:
        if not self._medium.limits.address_rate:
            return 0
        rates = self._address_rates
        bucket = rates.pop(address, None) or Bucket(self._medium.limits.address_rate / 60)
        rates[address] = bucket
        if len(rates) > _ADDRESSES:
            del rates[next(iter(rates))]
        return bucket.pause(self._clock.monotonic())

    async def _handed_over(self, item: Item, work: "Work") -> bool:
        async with self._room:
            await asyncio.sleep(self._rate.wait(self._clock.monotonic()))
            if self._clock.monotonic() >= work.claim.until:
                work.stop(0)  # another process may send it by now
                return False
            try:
                message = self._medium.render(item.alert)
                probe("gateway.rendered")
                answer = await self._medium.send(message)
            except DeliveryFailed as error:
                failure = error
            except Exception as error:  # noqa: BLE001 told with the alert, which comes again
                self._log.exception("a gateway failed over an alert", alert=item.alert.id)
                failure = DeliveryFailed(f"we failed over it: {error!r}")
            else:
                probe("gateway.sent")
                await self._succeeded(item, message, answer, work)
                return True
            await self._failed(item, failure, work)
            return False

    async def _succeeded(self, item: Item, message: Message, answer: str, work: "Work") -> None:
        now = int(self._clock.now())
        self.tally.delivered += 1
        work.failures = 0
        if self._circuit.succeeded():
            self._log.info("the server is back")
            self._woken.set()
        result = outbox.delivered(item, answer, message.subject, message.text, now)
        await self._records.add(result)
        probe("gateway.recorded")

    async def _failed(self, item: Item, failure: DeliveryFailed, work: "Work") -> None:
        now, alert = self._clock.now(), item.alert
        item.tries, item.error = item.tries + 1, str(failure)
        self.tally.failed += 1
        self._log.warning("not delivered", alert=alert.id, tries=item.tries, reason=item.error)
        if failure.permanent or now - item.since > self._settings.give_up_hours * 3600:
            self.tally.given_up += 1
            await self._records.add(outbox.given_up(item, self._event(item, int(now))))
            return
        pause = backoff(item.tries, random.random(), failure.retry_after)
        if failure.unreachable:
            # The circuit says when the server is asked again, and then everybody may go.
            pause = max(1.0, failure.retry_after)
            if self._circuit.failed(self._clock.monotonic()):
                self._log.error("the server is left alone for a while", reason=item.error)
        else:
            item.due = now + pause
        work.fail(pause, unreachable=failure.unreachable)
        await self._records.add(outbox.again(item))

    def _event(self, item: Item, now: int) -> CheckEvent | None:
        """Tells of an alert that was given up, except of one about that very thing."""
        event = outbox.told(self._name, "critical", "", now)
        if item.alert.event_id == event.id:
            return None
        tries = f"{item.tries} {'try' if item.tries == 1 else 'tries'}"
        summary = f"given up after {tries}: {item.alert.event_id}: {item.error}"
        return outbox.told(self._name, "critical", summary, now)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            claims = list(self._active)
            for claim in await patiently(partial(self._lanes.extend, claims)) if claims else ():
                if claim in self._active:
                    self._log.warning("lane lost", lane=claim.lane)

    async def _beat(self) -> None:
        while True:
            words = self._words()
            self._say(words)
            await patiently(partial(self._outbox.beat, words, int(self._clock.now())))
            await asyncio.sleep(_BEAT)

    def _words(self) -> str:
        left = self._circuit.until - self._clock.monotonic()
        if self._circuit.until:
            return f"the server is away; asked again in {max(left, 0):.0f} s"
        return f"{self.tally.delivered:,} delivered"


class Work:
    """The alerts of one address that are in hand, and when to come back for what is left."""

    def __init__(self, claim: Claim, now: float, until: float) -> None:
        self.claim, self.until = claim, until
        by_check: dict[str, list[Item]] = {}
        waiting: set[str] = set()
        dues = []
        for item in claim.items:
            check = item.alert.event_id
            if item.due > now:
                waiting.add(check)
                dues.append(item.due - now)
            elif check not in waiting:
                by_check.setdefault(check, []).append(item)
        self.checks = deque(by_check.values())
        self.pause = 0.0 if by_check else min(dues, default=0.0)
        self.failures = 0
        self.stopped = False
        # An address that failed lately is asked with one message, not with several.
        self._most = 1 if waiting else _FAILURES
        self._longest = max(dues, default=0.0)

    def fail(self, pause: float, *, unreachable: bool) -> None:
        self.failures += 1
        if unreachable or self.failures >= self._most:
            self.stop(max(pause, self._longest))

    def stop(self, pause: float) -> None:
        self.stopped = True
        self.pause = max(self.pause, pause)


class Records:
    """Writes results together: while some are being written, others gather for the next time."""

    def __init__(self, box: Outbox, settings: Settings, clock: Clock) -> None:
        self._box, self._settings, self._clock = box, settings, clock
        self._results: list[Result] = []
        self._written: asyncio.Future[None] | None = None
        self._added = asyncio.Event()
        self._log = logs.get(role="gateways", medium=box.medium)

    async def add(self, result: Result) -> None:
        """Returns once the result is in the store."""
        self._results.append(result)
        self._added.set()
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._written)  # one who is cancelled does not end it for others

    async def write(self) -> None:
        while True:
            await self._added.wait()
            self._added.clear()
            results, self._results = self._results, []
            written, self._written = self._written, None
            now = int(self._clock.now())
            forget = now - self._settings.failed_days * 86_400
            for refused in await self._box.settle(results, now, forget):
                self._log.error("the store refused", command=refused)
            if written is not None and not written.done():
                written.set_result(None)
