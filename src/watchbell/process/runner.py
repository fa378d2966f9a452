"""Runs commands, any number at the same time, and leaves no process behind."""

import asyncio
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from watchbell import logs
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import Refused
from watchbell.probes import probe
from watchbell.process.adoption import AdoptionSocket, Kept, adoption_sockets, meet
from watchbell.process.command import Command, Ending, Terms, check
from watchbell.process.orphans import marked, signal_safely
from watchbell.process.output import Output, Volume
from watchbell.process.output_chunks import ChunkFile, ChunkReader
from watchbell.process.output_file import OutputFile
from watchbell.process.output_reader import OutputReader
from watchbell.process.run import Run
from watchbell.process.warden_handle import (
    WardenHandle,
    clear,
    most_kept,
    raise_open_files,
    started,
    taken_over,
)

# Starts that the warden has not answered yet. More would only wait there, each with descriptors
# under way, of which a system allows no more than a process may have open.
_WINDOW = 16
_PASSES = 3  # over all processes: one may start another while it is being killed
_AS_USUAL = Ending()
_AS_MUCH_AS_USUAL = Volume()
_AT_ONCE = Terms()


class Memo(msgspec.Struct, frozen=True, kw_only=True):
    """What an adopter needs to know of a run."""

    run: str
    ending: Ending
    volume: Volume | None
    note: str


class Adopted(NamedTuple):
    run: Run
    note: str


class Runner:
    """`async with Runner(owner) as runner: run = await runner.start(…)`. Leaving ends all runs.

    Every process of a run carries WB_RUN, the run, and WB_OWNER, the owner, in its environment."""

    def __init__(
        self,
        owner: str,
        *,
        grace: float = 1.0,
        clock: Clock = SYSTEM,
        keep: Path | None = None,
        secrets: Collection[str] = (),
    ) -> None:
        """`grace`: seconds from SIGTERM to SIGKILL for runs whose supervisor has died. `keep`: the
        folder in which such runs can be found, if they are to be adopted. `secrets`: variables that
        no run inherits, besides our own."""
        self._secrets = secrets
        self._owner, self._grace, self._clock, self._keep = owner, grace, clock, keep
        self._numbers = itertools.count(1)
        self._window = asyncio.Semaphore(_WINDOW)
        self._link: WardenHandle | None = None
        self._adopted: list[WardenHandle] = []
        self._is_closing = False
        self._log = logs.get(owner=owner)

    async def __aenter__(self) -> Self:
        if self._keep and sys.platform != "linux":
            raise Refused("runs can be adopted on Linux only")
        raise_open_files()
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closing = True
        try:
            await self._end_all()
        finally:
            for link in self._links:
                await link.close(self._grace)
                for run in link.runs.values():
                    run.lose()
                link.runs.clear()
            os.close(self._nothing)

    @property
    def _links(self) -> list[WardenHandle]:
        return [*([self._link] if self._link else []), *self._adopted]

    @property
    def runs(self) -> list[Run]:
        """The runs that are not over."""
        return [run for link in self._links for run in link.runs.values()]

    @property
    def wardens(self) -> list[int]:
        """The processes that start and adopt those of runs."""
        return [link.pid for link in self._links]

    async def leave(self) -> None:
        """Leaves all runs to their wardens, for a supervisor that adopts them."""
        self._is_closing = True
        for link in self._links:
            for run in link.runs.values():
                run.leave()
            link.leave()
        self._link = None
        self._adopted.clear()

    async def start(
        self,
        run: str,
        command: Command,
        ending: Ending = _AS_USUAL,
        volume: Volume | None = _AS_MUCH_AS_USUAL,
        terms: Terms = _AT_ONCE,
    ) -> Run:
        """Returns when the command runs; raises Refused when it can't be started.
        `run` must be unique among all runs, past and future. Without a `volume` the output is read
        from `Run.chunks`; only a runner that keeps runs can do that."""
        check(command)
        async with self._window:
            asked = self._ask(run, command, ending, volume, terms)
            probe("process.asked")
            try:
                refusal = await asked.refusal()
            except asyncio.CancelledError:
                asked.kill()
                raise
        probe("process.started")
        if refusal:
            raise _refused(command, refusal)
        return asked

    def _ask(
        self, run: str, command: Command, ending: Ending, volume: Volume | None, terms: Terms
    ) -> Run:
        if self._is_closing:
            raise _refused(command, "all runs are being ended")
        link = self._link or self._connect()
        if link.folder and len(link.runs) >= most_kept():
            raise _refused(command, "the limit of open files allows no more runs that are kept")
        number = next(self._numbers)
        reading, *theirs = self._descriptors(command, is_kept=link.folder is not None)
        memo = Memo(run=run, ending=ending, volume=volume, note=terms.note)
        asked = link.runs[number] = self._run(link, number, reading, memo)
        wish = msgspec.structs.asdict(command) | {
            "environment": dict(command.environment),
            "limits": dict(command.limits),
            "stdin": None,  # it has a descriptor
            "run": run,
            "escaped": ending.escaped,
            "not_before": terms.not_before,
            "lease_until": terms.lease_until,
            "keep_until": terms.keep_until,
            "memo": msgspec.to_builtins(memo) if link.folder else None,
        }
        link.send("start", number, wish, descriptors=theirs)
        return asked

    def _run(
        self, link: WardenHandle, number: int, reading: int, memo: Memo, *, is_new: bool = True
    ) -> Run:
        path = link.folder / str(number) if link.folder else None
        output_file: OutputFile | ChunkFile | None = None
        output_reader: OutputReader | ChunkReader
        if memo.volume is None:
            assert path
            assert link.spare
            output_file = ChunkFile(path, link.spare)
            if not is_new:
                output_file.reopen()
            output_reader = ChunkReader(reading, output_file)
        else:
            output_file = OutputFile(path, memo.volume.complete) if path else None
            output_reader = OutputReader(reading, Output(memo.volume), self._clock, output_file)
        send = partial(link.send_about, number)
        return Run(memo.run, output_reader, memo.ending, send, output_file)

    def _descriptors(self, command: Command, *, is_kept: bool) -> list[int]:
        """The output to be read; then for the warden its other end, the input, and the output
        again where it is to be kept."""
        opened: list[int] = []
        try:
            opened += os.pipe()
            opened.append(_file_of(command.stdin) if command.stdin else os.dup(self._nothing))
            if is_kept:
                opened.append(os.dup(opened[0]))
        except OSError as error:
            for descriptor in opened:
                os.close(descriptor)
            raise _refused(command, str(error.strerror)) from error
        os.set_blocking(opened[0], False)
        return opened

    async def adopt(self, folder: Path) -> tuple[list[Adopted], set[str]]:
        """Adopts the runs that dead supervisors left with their wardens. Returns these runs, and
        the names of those that another supervisor has adopted."""
        adopted: list[Adopted] = []
        others: set[str] = set()
        ours = [link.folder for link in self._links]
        for adoption_socket in (found for found in adoption_sockets(folder) if found not in ours):
            meeting = await asyncio.to_thread(meet, adoption_socket)
            if meeting is None:
                clear(adoption_socket)
            elif meeting.connection is None:
                others.update(meeting.others)
            else:
                link = taken_over(meeting.connection, meeting, self._cut)
                self._adopted.append(link)
                for kept in meeting.kept:
                    # Of a warden that died meanwhile, or hides from us, runs stay orphans.
                    with suppress(OSError):
                        adopted.append(self._taken(link, meeting.pid, kept))
                link.receive(meeting.rest)
        return adopted, others

    def _taken(self, link: WardenHandle, warden: int, kept: Kept) -> Adopted:
        memo = msgspec.convert(kept.memo, Memo)
        reading = os.open(f"/proc/{warden}/fd/{kept.pipe}", os.O_RDONLY | os.O_NONBLOCK)
        run = self._run(link, kept.number, reading, memo, is_new=False)
        run.handle("started", kept.pid, kept.seconds)
        is_over = [run.handle(*message) for message in kept.messages]
        if True not in is_over:
            link.runs[kept.number] = run
        return Adopted(run, memo.note)

    def _connect(self) -> WardenHandle:
        adoption_socket = AdoptionSocket(self._keep) if self._keep else None
        self._link = started(self._owner, self._grace, self._cut, adoption_socket, self._secrets)
        return self._link

    def _cut(self, link: WardenHandle) -> None:
        """The warden died, and with it all that could be known of the runs: they are killed, since
        nobody could tell their end, and the next start makes a new warden. One that was taken over
        ends with the last of its runs."""
        lost = list(link.runs.values())
        link.runs.clear()
        if link is self._link:
            self._link = None
        else:
            self._adopted.remove(link)
            if not lost:
                return
        self._log.error("the warden died; its runs are lost", runs=len(lost))
        names = {run.id for run in lost}
        for _ in range(_PASSES):
            for orphan in marked():
                if orphan.run in names:
                    signal_safely(orphan, signal.SIGKILL)
        for run in lost:
            run.lose()

    async def _end_all(self) -> None:
        for run in self.runs:
            run.terminate()
        for run in self.runs:
            await run.ended()


def _refused(command: Command, reason: str) -> Refused:
    return Refused(f"{command.argv[0]!r} can't be started: {reason}")


def _file_of(content: bytes) -> int:
    """A nameless file for the input: unlike a pipe, it needs no writer."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("stdin")
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        return os.dup(file.fileno())
