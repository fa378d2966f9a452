"""Runs commands, any number at once, and leaves nothing behind."""

import asyncio
import itertools
import os
import signal
import tempfile
from functools import partial
from typing import Any, Self

import msgspec

from watchbell import logs
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import Refused
from watchbell.probes import probe
from watchbell.process.command import Command, Ending, check
from watchbell.process.family import own_mark
from watchbell.process.link import Link, raise_open_files
from watchbell.process.orphans import marked, signal_safely
from watchbell.process.output import Output, Volume
from watchbell.process.pump import Pump
from watchbell.process.run import Run

# Starts that the warden has not answered yet. More would only wait there, each with descriptors
# under way, of which a system allows no more than a process may have open.
_WINDOW = 16
_PASSES = 3  # over all processes: one may start another while it is being killed
_AS_USUAL = Ending()
_AS_MUCH_AS_USUAL = Volume()


class Runner:
    """`async with Runner(owner) as runner: run = await runner.start(…)`. Leaving ends all runs.

    Every process of a run carries WB_RUN, the run, and WB_OWNER, the owner, in its environment."""

    def __init__(self, owner: str, *, grace: float = 1.0, clock: Clock = SYSTEM) -> None:
        """`grace`: seconds from SIGTERM to SIGKILL for runs whose supervisor has died."""
        self._owner, self._grace, self._clock = owner, grace, clock
        self._runs: dict[int, Run] = {}
        self._numbers = itertools.count(1)
        self._window = asyncio.Semaphore(_WINDOW)
        self._link: Link | None = None
        self._is_closing = False
        self._log = logs.get(owner=owner)

    async def __aenter__(self) -> Self:
        raise_open_files()
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closing = True
        try:
            await self._end_all()
        finally:
            if self._link:
                await self._link.close()
            for run in self.runs:
                run.lose()
            self._runs.clear()
            os.close(self._nothing)

    @property
    def runs(self) -> list[Run]:
        """Those that are not over."""
        return list(self._runs.values())

    async def start(
        self,
        run: str,
        command: Command,
        ending: Ending = _AS_USUAL,
        volume: Volume = _AS_MUCH_AS_USUAL,
    ) -> Run:
        """Returns when the command runs; raises Refused, in words, when it can't be started.
        `run` is to be unique among all runs that there ever are."""
        check(command)
        async with self._window:
            started = self._ask(run, command, ending, volume)
            probe("process.asked")
            try:
                refusal = await started.refusal()
            except asyncio.CancelledError:
                started.kill()
                raise
        probe("process.started")
        if refusal:
            raise Refused(f"{command.argv[0]!r} can't be started: {refusal}")
        return started

    def _ask(self, run: str, command: Command, ending: Ending, volume: Volume) -> Run:
        if self._is_closing:
            raise Refused(f"{command.argv[0]!r} can't be started: all runs are being ended")
        number = next(self._numbers)
        reading, writing, given = self._descriptors(command)
        output = Output(volume)
        pump = Pump(reading, output, self._clock)
        started = Run(run, output, pump, ending, partial(self._tell, number))
        self._runs[number] = started
        wish = msgspec.structs.asdict(command) | {
            "environment": dict(command.environment),
            "limits": dict(command.limits),
            "stdin": None,  # it has a descriptor
            "run": run,
            "escaped": ending.escaped,
        }
        link = self._link or self._connect()
        link.send("start", number, wish, descriptors=(writing, given))
        return started

    def _descriptors(self, command: Command) -> tuple[int, int, int]:
        """The two ends of the output, and the input."""
        given = -1
        try:
            given = _file_of(command.stdin) if command.stdin else os.dup(self._nothing)
            reading, writing = os.pipe()
        except OSError as error:
            if given >= 0:
                os.close(given)
            raise Refused(f"{command.argv[0]!r} can't be started: {error.strerror}") from error
        os.set_blocking(reading, False)
        return reading, writing, given

    def _tell(self, number: int, name: str, *details: object) -> None:
        if self._link and number in self._runs:
            self._link.send(name, number, *details)

    def _connect(self) -> Link:
        self._link = Link(self._owner, self._grace, self._hear, self._cut)
        return self._link

    def _hear(self, answer: list[Any]) -> None:
        name, number, *details = answer
        if self._runs[number].hear(name, *details):
            del self._runs[number]

    def _cut(self) -> None:
        """The warden died, and with it all that could be known of the runs: they are killed, since
        nobody could tell their end, and the next start makes a new warden."""
        self._link = None
        lost = self.runs
        self._runs.clear()
        self._log.error("the warden died; its runs are lost", runs=len(lost))
        names = {run.id for run in lost}
        for _ in range(_PASSES):
            for orphan in marked():
                if orphan.run in names and orphan.supervisor == own_mark():
                    signal_safely(orphan, signal.SIGKILL)
        for run in lost:
            run.lose()

    async def _end_all(self) -> None:
        for run in self.runs:
            run.terminate()
        for run in self.runs:
            await run.ended()


def _file_of(content: bytes) -> int:
    """A nameless file to read it from: unlike a pipe, it needs nobody to write."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        return os.dup(file.fileno())
