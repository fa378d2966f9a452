"""Keeps roles running: one that fails is started again, later each time, and says why."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from watchbell import logs
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import StoreUnavailable
from watchbell.roles.role import Context, Role
from watchbell.settings import Settings
from watchbell.store.client import Store, patiently

State = Literal["starting", "running", "waiting", "failed", "stopped"]

STEADY = 60.0
"""Seconds after which a role that failed again is treated as one that failed for the first time."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class Status(Struct):
    role: Role
    state: State = "starting"
    words: str = ""
    """What the role says of itself, or why it is not running."""
    since: float = 0
    failures: int = 0


class Supervisor:
    def __init__(
        self,
        roles: Sequence[Role],
        settings: Settings,
        store: Store,
        *,
        on_change: Callable[[], None] = lambda: None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.statuses = [Status(role) for role in roles]
        self._settings, self._store, self._clock = settings, store, clock
        self._on_change = on_change

    async def run(self) -> None:
        """Until cancelled; then every role ends in its own order before this returns."""
        async with asyncio.TaskGroup() as group:
            for status in self.statuses:
                group.create_task(self._keep(status), name=status.role.name)

    async def _keep(self, status: Status) -> None:
        pause = _FIRST_PAUSE
        try:
            while True:
                begun = self._clock.monotonic()
                self._set(status, "running")
                why = await self._ended(status)
                if self._clock.monotonic() - begun > STEADY:
                    pause = _FIRST_PAUSE
                status.failures += 1
                self._set(status, "failed", f"{why}; again in {pause:.0f} s")
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            self._set(status, "stopped")

    async def _ended(self, status: Status) -> str:
        """Runs the role, over every absence of the store, and says why it ended."""
        log = logs.get(role=status.role.name)
        context = Context(
            self._settings, self._store, self._clock, lambda words: self._say(status, words)
        )
        while True:
            try:
                await status.role.run(context)
            except StoreUnavailable as error:
                log.warning("waiting for the store", reason=str(error))
                self._set(status, "waiting", str(error))
                await patiently(lambda: self._store.call("PING"))
                log.info("the store is back")
                self._set(status, "running")
            except Exception as error:
                log.exception("role failed", reason=str(error))
                return f"{type(error).__name__}: {error}"
            else:
                return "it ended by itself"

    def _set(self, status: Status, state: State, words: str = "") -> None:
        status.state, status.words, status.since = state, words, self._clock.now()
        self._on_change()

    def _say(self, status: Status, words: str) -> None:
        if status.words != words:
            status.words = words
            self._on_change()
