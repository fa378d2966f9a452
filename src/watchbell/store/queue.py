"""Work queues over plain lists: what is taken is held under a lease until it is acknowledged.

Producers push to the list as they always did. A taker moves up to N items in one round trip into a
list of its own; effects and acknowledgement are one script; what a dead taker held goes back to the
front of the queue in its order. Where items of one key must stay in order (`order_by`), an item
whose key another taker holds is handed to that taker, or left in the queue where it has plenty.
What is urgent (`urgent`) is moved to the front of a long queue before more is taken from it.
A batch may be acknowledged piece by piece, in order: what is left of it stays in hand.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

from msgspec import Struct

from watchbell import ids, logs
from watchbell.errors import LeaseLost
from watchbell.probes import probe
from watchbell.store.client import BLOCK, Argument, Store, patiently
from watchbell.store.effects import NOTHING, Effects
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.lease import kept
from watchbell.store.queue_scripts import EXTEND, RELEASE, TAKE
from watchbell.store.script import Script
from watchbell.store.urgent import Urgency

_keys = StoreKeys()

# Seconds before a taker looks again at a queue whose items all belong to what others hold.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1


class Queue(Struct, frozen=True, kw_only=True):
    key: str
    side: Literal["LEFT", "RIGHT"] = "RIGHT"
    """The end that is taken from: RIGHT where producers LPUSH, LEFT where they RPUSH."""
    order_by: tuple[str, ...] = ()
    """The JSON fields whose values together are the key within which order is kept."""
    payloads: str = ""
    """What the keys begin with that hold the JSON of items which are ids; none if no item is."""


class Batch(Struct, frozen=True):
    """The items of one take, or a piece of them."""

    seq: int
    items: list[bytes]
    attempts: int
    """How many processes died holding it; above 0 only for an item that comes alone."""
    left: int
    """Items in hand when its turn comes, its own included."""
    facts: Any = None
    """What was read together with the items, where the taker does so; pieces have none."""

    def pieces(self, most: int) -> "list[Batch]":
        """The same in pieces of so many items, to be acknowledged one by one, in order."""
        return [
            Batch(self.seq, self.items[at : at + most], self.attempts, self.left - at)
            for at in range(0, len(self.items), most)
        ]


class Taker:
    """One worker at a queue, with at most one batch in hand. Every call may be repeated."""

    def __init__(
        self,
        store: Store,
        queue: Queue,
        *,
        lease: float = 15,
        most: int = 500,
        most_bytes: int = 4 << 20,
        urgent: Urgency | None = None,
        script: Script = TAKE,
    ) -> None:
        """`script` is one made by `queue_scripts.taking`."""
        self.name = ids.process_name()
        self._store, self._queue = store, queue
        self._lease, self._most, self._most_bytes = lease, most, most_bytes
        base = tagged(queue.key)
        self._keys = [
            queue.key,
            _keys.takers(base),
            _keys.batches(base),
            _keys.attempts(base),
            _keys.taken(base, self.name),
            _keys.held(base, self.name),
        ]
        self._begin = [_keys.taken(base, ""), _keys.held(base, "")]
        self._urgent, self._resting = urgent, _keys.resting(base)
        self._script = script
        self._crowded = self._has_nothing = self._is_behind = False

    @property
    def _milliseconds(self) -> int:
        return round(self._lease * 1000)

    async def take(self) -> Batch | None:
        """Up to `most` items, or None where there is nothing for us."""
        if self._urgent is not None and self._is_behind:
            keys = [self._queue.key, self._resting]
            await self._urgent.lift(self._store, keys, self._queue.side)
        args: list[Argument] = [
            self.name,
            self._milliseconds,
            self._most,
            self._most_bytes,
            self._queue.side,
        ]
        seq, attempts, items, facts = await self._script(
            self._store,
            self._keys,
            [*args, *self._begin, self._queue.payloads, *self._queue.order_by],
        )
        probe("queue.taken")
        self._crowded = int(seq) < 0
        self._is_behind = len(items) == self._most
        return Batch(int(seq), items, int(attempts), len(items), facts) if items else None

    async def acknowledge(
        self,
        batch: Batch,
        effects: Effects = NOTHING,
        keys: Sequence[str] = (),
        args: Sequence[Argument] = (),
    ) -> Any:
        """The effects' answer, once they and the acknowledgement are done; None if they had been.

        `batch` is what was taken, or the next piece of it. Raises LeaseLost where it went back to
        the queue in the meantime.
        """
        probe("queue.before_acknowledge")
        all_keys = [*self._keys, *keys]
        all_args = [
            *(self.name, batch.seq, self._milliseconds, batch.left, len(batch.items)),
            *args,
        ]
        outcome, left, answer = await patiently(lambda: effects(self._store, all_keys, all_args))
        probe("queue.acknowledged")
        self._has_nothing = left == 0
        if outcome == b"lost":
            raise LeaseLost(f"batch {batch.seq} of {self._queue.key} went back to the queue")
        return answer

    def holding(self) -> AbstractAsyncContextManager[None]:
        """The lease is extended while the body works; raises LeaseLost in its place once lost."""
        lost = LeaseLost(f"what was taken from {self._queue.key} went back to the queue")
        return kept(self._extend, self._lease, lost)

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """Batch after batch for ever; the one before has to be acknowledged, or it comes again."""
        pause = _SHORTEST_PAUSE
        while True:
            batch = await patiently(self.take)
            if batch is not None:
                pause = _SHORTEST_PAUSE
                self._has_nothing = False
                yield batch
                if self._has_nothing and len(batch.items) < self._most:
                    await patiently(self._wait)  # most likely there is nothing to take
            elif self._crowded:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                await patiently(self._wait)

    async def work(self, handle: Callable[[Batch], Awaitable[None]], **names: str) -> None:
        """Has each batch handled under its lease; gives back what is in hand at the end.

        `names` go into the log, next to the reason for which a batch was lost.
        """
        try:
            async for batch in self.batches():
                try:
                    async with self.holding():
                        await handle(batch)
                except LeaseLost as error:
                    logs.get(**names).warning("batch lost", reason=str(error))
        finally:
            await self.release()

    async def release(self) -> None:
        """Gives back what is in hand, at once, in its order."""
        self._is_behind = True
        await RELEASE(self._store, self._keys, [self.name, self._queue.side])

    async def _extend(self) -> bool:
        return bool(await EXTEND(self._store, self._keys, [self.name, self._milliseconds]))

    async def _wait(self) -> None:
        # Moves the next item onto its own place: a look that blocks until there is one.
        side, key = self._queue.side, self._queue.key
        await self._store.call("BLMOVE", key, key, side, side, min(BLOCK, self._lease / 3))
