"""Keeps roles running: restarts one that fails, later each time, and shows the reason."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, cast

from msgspec import Struct

from watchbell import logs
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import StoreUnavailable
from watchbell.roles.role import Context, Role
from watchbell.settings import Settings
from watchbell.store import health
from watchbell.store.client import Store, patiently
from watchbell.store.outage import Outage, attached
from watchbell.store.processes import RoleState

STEADY = 60.0
"""Seconds after which a role that failed again is treated as one that failed for the first time."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0


class Status(Struct):
    role: Role
    state: RoleState = "starting"
    words: str = ""
    """The role's status text, or why it is not running."""
    since: float = 0
    failures: int = 0


class Supervisor:
    def __init__(
        self,
        roles: Sequence[Role],
        settings: Settings,
        store: Store,
        *,
        origins: Mapping[str, str] | None = None,
        is_alone: bool = False,
        on_change: Callable[[], None] = lambda: None,
        clock: Clock = SYSTEM,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self.statuses = [Status(role) for role in roles]
        self.stuck: list[str] = []
        """Roles that did not end in time."""
        self._settings, self._store, self._clock = settings, store, clock
        self._origins, self._is_alone = origins or {}, is_alone
        self._on_change = on_change
        self._first_pause, self._longest_pause = first_pause, longest_pause

    async def run(self) -> None:
        """Runs until cancelled; returns when every role has ended."""
        asyncio.get_running_loop().set_exception_handler(_log_stray)
        async with asyncio.TaskGroup() as group:
            for status in self.statuses:
                group.create_task(self._keep(status), name=status.role.name)

    async def _keep(self, status: Status) -> None:
        pause = self._first_pause
        try:
            while True:
                begun = self._clock.monotonic()
                self._set(status, "running")
                why = await self._ended(status)
                if self._clock.monotonic() - begun > STEADY:
                    pause = self._first_pause
                status.failures += 1
                self._set(status, "failed", f"{why}; again in {pause:g} s")
                await asyncio.sleep(pause)
                pause = min(pause * 2, self._longest_pause)
        finally:
            self._set(status, "stopped")

    async def _ended(self, status: Status) -> str:
        """Runs the role, also across outages of the store; returns why it ended."""
        name, wait = status.role.name, _FIRST_WAIT
        outage = Outage(name)
        while True:
            begun = self._clock.monotonic()
            # A store may accept our probe and still not serve the role, as in a failover: the
            # outage is over when the role has run for as long as it was last made to wait.
            over = asyncio.get_running_loop().call_later(wait, outage.end)
            with attached(outage):
                error = await self._outcome(status)
            over.cancel()
            if error is None:
                return "it ended by itself"
            if not all(isinstance(cause, StoreUnavailable) for cause in _causes(error)):
                why = "; ".join(map(_reason, _causes(error)))
                logs.get(role=name).error("role failed", reason=why, exc_info=error)
                return why
            if self._clock.monotonic() - begun > _LONGEST_WAIT:
                wait = _FIRST_WAIT
            unavailable = next(_causes(error))
            assert isinstance(unavailable, StoreUnavailable)
            outage.begin(unavailable)
            self._set(status, "waiting", str(unavailable))
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
            await patiently(partial(health.check_writable, self._store))
            self._set(status, "running")

    async def _outcome(self, status: Status) -> BaseException | None:
        """What the role raised. A cancellation is passed on, whatever the role does with it."""
        context = Context(
            self._settings,
            self._store,
            self._clock,
            lambda words: self._show_status(status, words),
            self._origins,
            is_alone=self._is_alone,
        )
        error: BaseException | None = None

        async def run() -> None:
            nonlocal error
            try:
                await status.role.run(context)
            except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 shown by the status
                error = raised

        # A task of its own: before Python 3.13 a group that failed within the role leaves its task
        # marked as cancelled.
        task = asyncio.create_task(  # noqa: TID251 a group waits for ever, and this for `_stopped`
            run(), name=status.role.name
        )
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            await self._stopped(status.role, task)
            if isinstance(error, Exception):
                logs.get(role=status.role.name).error("failed while it stopped", exc_info=error)
            raise
        return error

    async def _stopped(self, role: Role, task: asyncio.Task[None]) -> None:
        """Waits a limited time for a role to end: a fault in it must not keep the process."""
        task.cancel()
        seconds = role.stop_seconds(self._settings)
        _, left = await asyncio.wait([task], timeout=None if seconds == inf else seconds)
        if left:
            logs.get(role=role.name).error(
                "role did not end in time", seconds=seconds, where=where(task)
            )
            self.stuck.append(role.name)

    def exit_if_stuck(self) -> None:
        """Ends the process if a role did not end: the event loop would wait for it for ever."""
        if self.stuck:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    def _set(self, status: Status, state: RoleState, words: str = "") -> None:
        status.state, status.words, status.since = state, words, self._clock.now()
        self._on_change()

    def _show_status(self, status: Status, words: str) -> None:
        if status.words != words:
            status.words = words
            self._on_change()


def where(task: asyncio.Task[Any]) -> str:
    """The lines at which the task waits, outermost first."""
    lines, waits = [], cast("Any", task.get_coro())
    while frame := getattr(waits, "cr_frame", None):
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}")
        waits = waits.cr_await
    return "\n".join(lines)


def _log_stray(_: asyncio.AbstractEventLoop, found: dict[str, Any]) -> None:
    """Logs failures of callbacks, and of tasks of libraries that nothing waits for."""
    error = found.get("exception")
    logs.get().error("a task or callback failed", reason=found.get("message"), exc_info=error)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error itself, or all errors of a group."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _causes(one)
    else:
        yield error
