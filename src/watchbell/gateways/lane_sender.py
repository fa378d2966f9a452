"""The sender: sends what waits in a claimed lane, within the medium's limits, and records it."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from watchbell import logs
from watchbell.alerting.model import Alert, CheckEvent
from watchbell.clock import Clock
from watchbell.errors import DeliveryFailed
from watchbell.gateways import outcomes
from watchbell.gateways.lanes import Claim
from watchbell.gateways.medium import Medium
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import Item
from watchbell.gateways.outcome_writer import OutcomeWriter
from watchbell.gateways.retries import Bucket, Circuit, backoff
from watchbell.probes import probe
from watchbell.settings import Delivery as Settings

_FAILURES = 3
"""After so many failures in a row the rest of a lane waits, too."""
_AT_MOST = 1.0
"""Seconds of work on one claim, after which the lane is claimed anew with what is urgent first."""
_ADDRESSES = 10_000
"""Addresses whose rate is remembered."""


class Tally(Struct):
    delivered: int = 0
    failed: int = 0
    given_up: int = 0


class LaneSender:
    def __init__(
        self,
        name: str,
        medium: Medium,
        render: Callable[[Alert], Awaitable[Message]],
        writer: OutcomeWriter,
        settings: Settings,
        clock: Clock,
        woken: asyncio.Event,
    ) -> None:
        self._name, self._medium, self._render, self._writer = name, medium, render, writer
        self._settings, self._clock = settings, clock
        self._woken = woken
        """Set when a server that was away is back."""
        self._rate = Bucket(medium.limits.rate)
        self._address_rates: dict[str, Bucket] = {}
        self._room = asyncio.Semaphore(medium.limits.concurrency)
        self._log = logs.get(role="gateways", medium=name)
        self.circuit = Circuit()
        self.tally = Tally()
        self.is_stopping = False
        """Once set, no further message is begun."""

    async def send(self, claim: Claim) -> float:
        """Sends the items of one address, those on one topic in order; returns the seconds before
        the lane may be claimed again."""
        work = Work(claim, self._clock.now(), self._clock.monotonic() + _AT_MOST)
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._medium.limits.per_address, len(work.topics))):
                workers.create_task(self._work(work))
        return work.pause

    async def _work(self, work: "Work") -> None:
        while work.topics:
            for item in work.topics.popleft():
                pause = self._address_pause(item.address)
                if pause:
                    work.stop(pause)
                if work.stopped or self.is_stopping or not await self._try(item, work):
                    break
                if self._clock.monotonic() > work.until:
                    work.stop(0)
            if work.stopped or self.is_stopping:
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

    async def _try(self, item: Item, work: "Work") -> bool:
        """Whether the item was delivered."""
        async with self._room:
            await asyncio.sleep(self._rate.wait(self._clock.monotonic()))
            try:
                message = await self._message(item)
                probe("gateway.rendered")
                if self._clock.monotonic() >= work.claim.until:
                    work.stop(0)  # another process may send it by now
                    return False
                answer = await self._medium.send(message)
            except DeliveryFailed as error:
                failure = error
            except Exception as error:  # noqa: BLE001 recorded with the item, which is tried again
                self._log.exception("a gateway failed over a message", id=item.id)
                failure = DeliveryFailed(f"the gateway failed over it: {error!r}")
            else:
                probe("gateway.sent")
                await self._succeeded(item, message, answer, work)
                return True
            await self._failed(item, failure, work)
            return False

    async def _message(self, item: Item) -> Message:
        content = item.content
        return await self._render(content) if isinstance(content, Alert) else content

    async def _succeeded(self, item: Item, message: Message, answer: str, work: "Work") -> None:
        self.tally.delivered += 1
        work.failures = 0
        if self.circuit.succeeded():
            self._log.info("the server is back")
            self._woken.set()
        outcome = outcomes.delivered(item, message, answer, int(self._clock.now()))
        await self._writer.add(outcome)
        probe("gateway.recorded")

    async def _failed(self, item: Item, failure: DeliveryFailed, work: "Work") -> None:
        now = self._clock.now()
        item.tries, item.error = item.tries + 1, str(failure)
        self.tally.failed += 1
        self._log.warning("not delivered", id=item.id, tries=item.tries, reason=item.error)
        if failure.permanent or now - item.since > self._settings.give_up_hours * 3600:
            self.tally.given_up += 1
            await self._writer.add(outcomes.given_up(item, self._event(item, int(now))))
            return
        pause = backoff(item.tries, random.random(), failure.retry_after)
        if failure.unreachable:
            # The circuit decides when the server is asked again, and then all may go.
            pause = max(1.0, failure.retry_after)
            if self.circuit.failed(self._clock.monotonic()):
                self._log.error("no more messages for a while", reason=item.error)
        else:
            item.due = now + pause
        work.fail(pause, unreachable=failure.unreachable)
        await self._writer.add(outcomes.again(item))

    def _event(self, item: Item, now: int) -> CheckEvent | None:
        """Reports an item that was given up, except an alert about the gateway itself."""
        tries = f"{item.tries} {'try' if item.tries == 1 else 'tries'}"
        summary = f"given up after {tries}: {item.topic}: {item.error}"
        event = outcomes.gateway_event(self._name, "critical", summary, now)
        return None if item.topic == event.id else event


class Work:
    """The items of one claim that are being sent, and when to come back for the rest."""

    def __init__(self, claim: Claim, now: float, until: float) -> None:
        self.claim, self.until = claim, until
        by_topic: dict[str, list[Item]] = {}
        waiting: set[str] = set()
        dues = []
        for item in claim.items:
            topic = item.topic
            if item.due > now:
                waiting.add(topic)
                dues.append(item.due - now)
            elif topic not in waiting:
                by_topic.setdefault(topic, []).append(item)
        self.topics = deque(by_topic.values())
        self.pause = 0.0 if by_topic else min(dues, default=0.0)
        self.failures = 0
        self.stopped = False
        # An address that failed lately is tried with one message, not with several.
        self._most = 1 if waiting else _FAILURES
        self._longest = max(dues, default=0.0)

    def fail(self, pause: float, *, unreachable: bool) -> None:
        self.failures += 1
        if unreachable or self.failures >= self._most:
            self.stop(max(pause, self._longest))

    def stop(self, pause: float) -> None:
        self.stopped = True
        self.pause = max(self.pause, pause)
