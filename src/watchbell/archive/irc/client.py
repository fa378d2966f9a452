"""An IRC client that stays connected: it signs on again after every end, and never gives up."""

import asyncio
import random
from collections.abc import Callable

from watchbell import logs
from watchbell.archive.irc.connection import Account, Connection, IrcClosed, Said
from watchbell.archive.irc.outbox import Outbox, Pace
from watchbell.clock import Clock

_LONGEST_PAUSE = 300.0
_STEADY = 60.0
"""Seconds after which a connection counts as one that worked."""


def pause(tries: int) -> float:
    """Seconds before the next attempt, after so many that failed."""
    return float(min(_LONGEST_PAUSE, 2.0 ** min(tries, 10))) * random.uniform(0.7, 1)


class IrcClient:
    def __init__(
        self,
        account: Account,
        clock: Clock,
        hear: Callable[[Said], None],
        show: Callable[[str], None],
        pace: Pace | None = None,
        pause: Callable[[int], float] = pause,
    ) -> None:
        self._account, self._clock, self._hear, self._show = account, clock, hear, show
        self._pace, self._pause = pace or Pace(), pause
        self.connection: Connection | None = None
        """None while there is none."""
        self._log = logs.get(role="irc", server=f"{account.host}:{account.port}")

    async def run(self) -> None:
        """Runs until cancelled."""
        tries = 0
        while True:
            begun = self._clock.monotonic()
            try:
                reason = await self._connected()
            except IrcClosed as closed:
                reason = str(closed)
            tries = 1 if self._clock.monotonic() - begun > _STEADY else tries + 1
            self._log.warning("not connected", reason=reason)
            self._show(f"not connected: {reason}")
            await asyncio.sleep(self._pause(tries))

    async def _connected(self) -> str:
        outbox = Outbox(self._clock, self._pace)
        async with Connection(self._account, outbox) as connection:
            self.connection = connection
            self._log.info("connected", nick=connection.nick)
            self._show(f"connected as {connection.nick}")
            try:
                return await connection.run(self._hear)
            finally:
                self.connection = None
                outbox.close()
