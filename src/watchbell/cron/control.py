"""Carries out commands from the channel, and reads the jobs again whenever one may have been
missed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from watchbell import logs
from watchbell.cron import commands, definitions
from watchbell.cron.fires import JobEntry
from watchbell.cron.job_loader import JobLoader
from watchbell.cron.keys import Cron
from watchbell.cron.reading import Reading
from watchbell.cron.scheduler import Scheduler
from watchbell.cron.validation import EVERYBODY
from watchbell.errors import Refused
from watchbell.runs.running import Running
from watchbell.schedule.agenda import Agenda
from watchbell.store.client import Store, patiently
from watchbell.store.live import Gap, listen
from watchbell.store.store_clock import StoreClock

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds until jobs that could not be read are read again."""
_EARLIER = 1.0
"""Seconds by which a subscription may be older than we know."""


class Control:
    def __init__(
        self,
        store: Store,
        agenda: Agenda[JobEntry],
        loader: JobLoader,
        scheduler: Scheduler,
        runs: Mapping[str, Running],
        clock: StoreClock,
        reading: Reading,
        host: str,
        on_drained: Callable[[], None],
    ) -> None:
        """`on_drained` is called when this instance is drained or resumes work."""
        self._store, self._agenda, self._loader = store, agenda, loader
        self._scheduler, self._runs, self._clock = scheduler, runs, clock
        self._reading, self._host, self._on_drained = reading, host, on_drained
        self._listening_since = 0.0
        self._loading, self._is_unread, self._problem = asyncio.Lock(), asyncio.Event(), ""
        self._on_ready: Callable[[], None] = lambda: None
        self._triggers: dict[str, float] = {}
        """The latest trigger that we know, by job."""
        self._log = logs.get(role="cron")
        self._actions: dict[str, Callable[[Any], Awaitable[None]]] = {
            "pause": self._pause,
            "resume": self._resume,
            "terminate_run": self._terminate,
            "kill_run": self._kill,
            "add": self._add,
            "remove": self._remove,
            "reload": self._reload,
            "trigger": self._trigger,
            "validate": self._validate,
            "drain_nodes": self._drain,
        }

    async def run(self, ready: Callable[[], None]) -> None:
        """`ready` is called when the jobs have been read for the first time."""
        self._on_ready = ready
        async for item in listen(self._store, Cron(self._store.prefix).commands()):
            try:
                if isinstance(item, Gap):
                    self._listening_since = self._clock.now() - _EARLIER
                    await self._load(item.reason)
                else:
                    await self._obey(item.body)
            except Refused as error:
                self._log.warning("command ignored", reason=str(error))
            except Exception:  # noqa: BLE001 the next command may succeed
                self._log.exception("command failed")
            self._scheduler.wake()

    async def retry(self) -> None:
        """Reads the jobs again after they could not be read."""
        pause = _FIRST_PAUSE
        while True:
            await self._is_unread.wait()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            if self._is_unread.is_set():
                await self._load("they could not be read before")
            if not self._is_unread.is_set():
                pause = _FIRST_PAUSE
                self._scheduler.wake()

    @property
    def problem(self) -> str:
        """Why our jobs may be out of date; empty if they are not."""
        return self._problem

    async def _load(self, reason: str, *, keep_announced: bool = True) -> None:
        """After a failure, such as a key of the wrong type, `retry` reads them later."""
        async with self._loading:
            try:
                await patiently(lambda: self._loader.reload(keep_announced=keep_announced))
            except Exception as error:  # noqa: BLE001 the next attempt may succeed
                self._problem = f"the jobs can't be read: {error}"
                self._is_unread.set()
                self._log.exception("the jobs can't be read; retrying", jobs=len(self._agenda))
                return
            self._problem = ""
            self._is_unread.clear()
        self._on_ready()
        self._log.info("jobs read", jobs=len(self._agenda), reason=reason)

    async def _obey(self, raw: bytes) -> None:
        command = commands.parse(raw)
        await patiently(lambda: self._actions[command.action](command.args))

    async def _pause(self, name: str) -> None:
        await self._loader.set_paused(_names(name), paused=True)

    async def _resume(self, name: str) -> None:
        await self._loader.set_paused(_names(name), paused=False)

    async def _terminate(self, run: str) -> None:
        if run in self._runs:
            self._runs[run].cancel("it was terminated on request")

    async def _kill(self, run: str) -> None:
        if run in self._runs:
            self._runs[run].cancel("it was killed on request", kill=True)

    async def _add(self, job: tuple[str, bytes]) -> None:
        await self._loader.add(*job)

    async def _remove(self, name: str) -> None:
        self._agenda.remove(name)

    async def _reload(self, _: None) -> None:
        if self._scheduler.is_drained:
            self._scheduler.is_drained = False
            self._listening_since = self._clock.now()
            self._loader.skip()
            self._on_drained()
        await self._load("reload", keep_announced=False)

    async def _trigger(self, asked: tuple[str, str]) -> None:
        name, trigger = asked
        if self._scheduler.is_closed:
            return
        entry = self._agenda.get(name)
        if entry is None:
            raise Refused(f"there is no job {name!r} to trigger")
        if entry.is_elsewhere:
            return
        known = max(self._triggers.get(name, 0), self._listening_since)
        self._triggers[name] = await self._scheduler.trigger(entry, known, trigger)

    async def _validate(self, names: tuple[str, ...]) -> None:
        await definitions.validate(self._store, names, self._reading)

    async def _drain(self, hosts: tuple[str, ...]) -> None:
        if self._host in hosts:
            self._scheduler.is_drained = True
            self._on_drained()
            self._log.info("drained: this instance starts no new runs")


def _names(name: str) -> tuple[str, ...]:
    return () if name == EVERYBODY else (name,)
