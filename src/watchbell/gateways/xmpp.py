"""A Jabber connection that is opened when needed, and again after it was lost."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from watchbell import logs
from watchbell.clock import SYSTEM
from watchbell.errors import DeliveryFailed
from watchbell.gateways.xmpp_client import Account, Received
from watchbell.gateways.xmpp_connection import Connection

KEEP_ALIVE = 60.0
_STEADY = 60.0
"""After a connection that lasted so many seconds the next one is opened at once."""


def pause(tries: int) -> float:
    """Seconds before the next attempt, after so many that failed."""
    return 2.0 if tries < 10 else 10.0 if tries < 60 else 60.0


class Reconnecting:
    def __init__(
        self,
        account: Account,
        receive: Callable[[Received], None],
        pause: Callable[[int], float] = pause,
    ) -> None:
        self._account, self._receive, self._pause = account, receive, pause
        self._making = asyncio.Lock()
        self._connection: Connection | None = None
        self._tries = 0
        self._made = self._next = 0.0
        self.why = ""
        """Why there is no connection."""

    async def connection(self) -> Connection:
        """The open connection; DeliveryFailed where there is none and none can be opened now."""
        async with self._making:
            if self._connection is not None and not self._is_lost():
                return self._connection
            left = self._next - SYSTEM.monotonic()
            if left > 0:
                raise DeliveryFailed(f"{self.why}; again in {left:.0f} s", unreachable=True)
            connection = Connection(self._account, self._receive)
            try:
                await connection.open()
            except DeliveryFailed as error:
                self._lost(str(error))
                raise
            self._connection, self._made, self.why = connection, SYSTEM.monotonic(), ""
            return connection

    def _is_lost(self) -> bool:
        if self._connection is not None and self._connection.ended.is_set():
            self._lost(str(self._connection.loss()))
        return self._connection is None

    def _lost(self, why: str) -> None:
        now = SYSTEM.monotonic()
        steady = self._connection is not None and now - self._made > _STEADY
        self._connection, self.why = None, why
        self._tries = 0 if steady else self._tries + 1
        self._next = now + (0 if steady else self._pause(self._tries))

    async def keep(self, rooms: Sequence[str]) -> None:
        """Keeps a connection open, alive and in the rooms, until cancelled."""
        reported = ""
        while True:
            with suppress(DeliveryFailed):
                connection = await self.connection()
                reported = ""
                await self._tend(connection, rooms)
            if self._is_lost() and self.why != reported:
                reported = self.why
                logs.get().warning("not connected", reason=reported)
            await asyncio.sleep(max(self._next - SYSTEM.monotonic(), 0.01))

    async def _tend(self, connection: Connection, rooms: Sequence[str]) -> None:
        logs.get().info("connected", server=str(self._account))
        shut: dict[str, str] = {}
        tries = 0
        while not connection.ended.is_set():
            for room in rooms:
                await self._enter(connection, room, shut)
            tries = tries + 1 if shut else 0
            try:
                async with asyncio.timeout(self._pause(tries) if shut else KEEP_ALIVE):
                    await connection.ended.wait()
            except TimeoutError:
                await connection.ping()

    async def _enter(self, connection: Connection, room: str, shut: dict[str, str]) -> None:
        """Updates `shut`: the rooms that refuse us, and why."""
        try:
            await connection.enter(room)
        except DeliveryFailed as error:
            if shut.get(room) != str(error) and not connection.ended.is_set():
                logs.get().warning("not in the room", room=room, reason=str(error))
            shut[room] = str(error)
        else:
            shut.pop(room, None)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
