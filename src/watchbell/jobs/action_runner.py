"""Takes actions from their queue and has each carried out once, with its result in the record of
its job or alert."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from watchbell import logs
from watchbell.clock import Clock
from watchbell.jobs import action_results, alert_results
from watchbell.jobs.action_results import Recorded
from watchbell.jobs.decide.actions import ActionItem
from watchbell.jobs.keys import Jobs
from watchbell.probes import probe
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.effects import Effects
from watchbell.store.enduring import enduring
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.script import RAISE_NOT_NOW, Script

_BATCH, _AT_ONCE = 50, 10
_MOST_TRIES = 5
_FIRST_PAUSE, _NOT_YET = 5.0, 1.0
"""Seconds before an action that failed is tried again, which double each time; and before a result
is written that a job's record is not ready for."""
_EVERY = 1.0
_LONGEST = 500
"""Characters of an error that are kept."""

# KEYS[1] later, KEYS[2] actions; ARGV pairs of when an item is due, and the item. It is queued at
# once where `later` has a wrong type.
_DEFER = Effects(
    RAISE_NOT_NOW
    + """
for i = 1, #ARGV, 2 do
  local reply = redis.pcall('ZADD', KEYS[1], ARGV[i], ARGV[i + 1])
  if type(reply) == 'table' and reply.err then
    raise_not_now(reply)
    redis.call('RPUSH', KEYS[2], ARGV[i + 1])
  end
end
"""
)

# KEYS[1] later, KEYS[2] actions; ARGV[1] now. Returns how many items were due.
_RETURN = Script("""
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 500)
if #due > 0 then
  redis.call('RPUSH', KEYS[2], unpack(due))
  redis.call('ZREM', KEYS[1], unpack(due))
end
return #due
""")

Deferred = tuple[float, ActionItem]
"""When an item is due again."""


class Work(Protocol):
    async def carried_out(self, item: ActionItem) -> ActionItem | None: ...
    async def given_up(self, item: ActionItem) -> ActionItem | None: ...


class ActionRunner:
    def __init__(
        self, store: Store, of_jobs: Work, of_alerts: Work, clock: Clock, lease: float = 30
    ) -> None:
        self._store, self._clock = store, clock
        self._of_jobs, self._of_alerts = of_jobs, of_alerts
        keys = Jobs(store.prefix)
        self._actions, self._later = keys.actions(), keys.actions_later()
        queue = Queue(key=self._actions, side="LEFT")
        self._taker = Taker(store, queue, most=_BATCH, lease=lease)
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._return_due())
            group.create_task(enduring(self._take, "conductor", "actions"))

    async def _take(self) -> None:
        await self._taker.work(self.handle, role="conductor")

    async def once(self) -> bool:
        """Handles what is queued now. Whether there was anything."""
        batch = await self._taker.take()
        if batch is not None:
            await self.handle(batch)
        return batch is not None

    async def handle(self, batch: Batch) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._attempt(raw, batch.attempts)) for raw in batch.items]
        deferred = [later for task in tasks if (later := task.result()) is not None]
        probe("actions.done")
        await self._acknowledge(batch, deferred)

    async def _acknowledge(self, batch: Batch, deferred: Sequence[Deferred]) -> None:
        args: list[Argument] = []
        for due, item in deferred:
            args += [f"{due:.3f}", msgspec.json.encode(item)]
        await self._taker.acknowledge(batch, _DEFER, [self._later, self._actions], args)

    async def _attempt(self, raw: bytes, deaths: int) -> Deferred | None:
        """Carries one item out; what is left to do of it later, if anything is."""
        try:
            item = msgspec.json.decode(raw, type=ActionItem)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._log.error("an action can't be read and is dropped", reason=str(error))
            return None
        try:
            async with self._room:
                return await patiently(partial(self._carry_out, item, deaths))
        except Exception as error:  # noqa: BLE001 one action must not stop the others
            self._log.exception("an action failed", **_named(item), tries=item.tries)
            return self._again(item, str(error))

    def _again(self, item: ActionItem, reason: str) -> Deferred | None:
        tries = item.tries + 1
        if tries > _MOST_TRIES:
            self._log.error("an action is given up", **_named(item), reason=reason)
            return None
        pause = _FIRST_PAUSE * 2**item.tries
        return self._clock.now() + pause, replace(item, tries=tries, error=reason[:_LONGEST])

    async def _carry_out(self, item: ActionItem, deaths: int) -> Deferred | None:
        """May be repeated: everything is named after the item."""
        if not item.results:
            given_up = deaths + item.tries >= _MOST_TRIES
            work = self._of_alerts if item.alert else self._of_jobs
            found = await (work.given_up if given_up else work.carried_out)(item)
            if found is None:
                return None
            item = found
            probe("actions.carried_out")
        results = alert_results if item.alert else action_results
        written = await results.record(self._store, item)
        probe("actions.recorded")
        if written is Recorded.LATER:
            return self._clock.now() + _NOT_YET, item
        return None

    async def _return_due(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            await enduring(lambda: patiently(self.return_due), "conductor", "actions that wait")

    async def return_due(self) -> int:
        """Queues items again that are due. Returns how many."""
        keys = [self._later, self._actions]
        return int(await _RETURN(self._store, keys, [f"{self._clock.now():.3f}"]))


def _named(item: ActionItem) -> dict[str, Any]:
    """What a log entry says about an item."""
    if item.alert:
        return {"alert": item.alert, "trigger": item.trigger}
    return {"job": item.job, "action": item.n}
