"""One run of a command, as its supervisor sees it: state, output, end."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct

from watchbell.process.command import Ending
from watchbell.process.output import Batch, Output
from watchbell.process.output_chunks import ChunkFile, ChunkReader
from watchbell.process.output_file import OutputFile
from watchbell.process.output_reader import OutputReader


class Cause(Enum):
    ITSELF = "it ended by itself"
    TIME_LIMIT = "it ran into its time limit"
    TERMINATED = "it was told to end"
    KILLED = "it was killed on request"
    LAPSED = "its lease was not renewed in time"
    UNKEPT = "the process that ran it was killed, and no other took it over in time"
    LOST = "the process that watched over it died"
    RELEASED = "it was left to itself"


class Ended(Struct, frozen=True, kw_only=True):
    cause: Cause
    """Why it ended, whatever its code: a program that gets SIGTERM may well exit with 0."""
    code: int | None = None
    """Exit code of the main process; None where a signal ended it, or it is unknown."""
    signal: int | None = None
    seconds: float = 0.0
    """From the start of the main process to its end."""
    user: float = 0.0
    system: float = 0.0
    """Seconds of CPU time of the main process, all that it waited for, and what it left behind."""
    peak: int = 0
    """Bytes of memory of the largest of these; at least what the warden itself uses."""
    left_behind: bool = False
    """Whether processes outlived the main one."""
    leftovers: tuple[str, ...] = ()
    """Those of them that were ended by a signal, each with its name and pid."""

    @property
    def returncode(self) -> int | None:
        """Code and signal in one number, negative for a signal."""
        return self.code if self.signal is None else -self.signal


class Run:
    """Returned by `Runner.start`. Read its output with `batches`, then await `ended`."""

    def __init__(
        self,
        run: str,
        output_reader: OutputReader | ChunkReader,
        ending: Ending,
        send: Callable[..., None],
        output_file: OutputFile | ChunkFile | None = None,
    ) -> None:
        self.id = run
        self.pid = 0
        """Of the main process, which leads a session and a process group of that number."""
        self.started_ago = 0.0
        """Of an adopted run: seconds from its start to its adoption."""
        self.grace = ending.grace
        self._output_reader, self._ending, self._send = output_reader, ending, send
        self._output_file = output_file
        self._loop = asyncio.get_running_loop()
        self._refusal: asyncio.Future[str] = self._loop.create_future()
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._is_taken = False
        self._cause: Cause | None = None
        self._exit: dict[str, Any] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def output(self) -> Output:
        assert isinstance(self._output_reader, OutputReader)
        return self._output_reader.output

    @property
    def chunks(self) -> ChunkReader:
        """The output of a run that was started without a volume."""
        assert isinstance(self._output_reader, ChunkReader)
        self._is_taken = True
        return self._output_reader

    def batches(self, every: float = 0.0) -> AsyncGenerator[Batch, None]:
        """The output, to its end. With `every`, lines are gathered for that many seconds. While
        nobody reads, a child that has written much blocks, as with a full pipe."""
        assert isinstance(self._output_reader, OutputReader)
        self._is_taken = True
        return self._output_reader.batches(every)

    async def ended(self) -> Ended:
        """Returns when the run is over: its main process has ended and nothing is left of what
        that started. If nobody reads the output, its first and last lines are kept."""
        if not self._is_taken:
            self._output_reader.overlook()
        return await asyncio.shield(self._ended)

    def terminate(self) -> None:
        """SIGTERM to all processes of the run, or as its ending says; SIGKILL to those that are
        left after the grace."""
        self._end(Cause.TERMINATED)

    def kill(self) -> None:
        self._cause = self._cause or Cause.KILLED
        self._kill()

    def release(self) -> None:
        """Ends the run without a signal: its processes go on, and nobody watches over them."""
        self._send("release")

    def leave(self) -> None:
        """Leaves the run to its warden, and to another supervisor."""
        for timer in self._timers.values():
            timer.cancel()
        self._output_reader.close()

    def lease(self, until: float | None, keep_until: float | None = None) -> None:
        """The run is killed at `until`, monotonic time, unless a later call extends that, even if
        this process is stopped meanwhile: so no run outlives the lock it depends on. A moment and
        not a span, since a busy machine may take any time to bring this to the warden. Until
        `keep_until` the run may go on after this process's death, where runs are kept."""
        self._send("lease", until, keep_until)

    def forget(self) -> None:
        """Drops what is kept for adopters, once the end of the run is recorded."""
        if self._output_file:
            self._send("forget")
            self._output_file.remove()
        if isinstance(self._output_reader, ChunkReader):
            self._output_reader.close()

    def _end(self, cause: Cause) -> None:
        if self._cause is None:
            self._cause = cause
            self._terminate()

    def _terminate(self) -> None:
        self._send("signal", signal.SIGTERM, self._ending.first)
        self._later("kill", self._ending.grace, self._kill)

    def _kill(self) -> None:
        self._send("signal", signal.SIGKILL)

    def _later(self, name: str, seconds: float | None, step: Callable[[], None]) -> None:
        if seconds is not None and name not in self._timers:
            self._timers[name] = self._loop.call_later(seconds, step)

    async def refusal(self) -> str:
        """Why the command could not be started; empty once it was."""
        return await self._refusal

    def handle(self, name: str, *details: Any) -> bool:
        """Handles a message of the warden; returns whether it was the last one."""
        handlers: dict[str, Callable[..., bool]] = {
            "started": self._started,
            "failed": self._failed,
            "exited": self._exited,
            "gone": self._gone,
            "lapsed": lambda: self._ends_by(Cause.LAPSED),
            "released": self._released,
            "unkept": lambda: self._ends_by(Cause.UNKEPT),
        }
        return handlers[name](*details)

    def _started(self, pid: int, ago: float = 0.0) -> bool:
        self.pid, self.started_ago = pid, ago
        if self._ending.time_limit is not None:
            left = max(self._ending.time_limit - ago, 0)
            self._later("limit", left, lambda: self._end(Cause.TIME_LIMIT))
        self._answer("")
        return False

    def _failed(self, what: str, reason: str) -> bool:
        self._answer(f"{what}: {reason}" if what else reason)
        self.forget()
        self._finish(Ended(cause=self._cause or Cause.ITSELF))
        return True

    def _ends_by(self, cause: Cause) -> bool:
        """The warden ended it."""
        self._cause = self._cause or cause
        return False

    def _exited(
        self, status: int, seconds: float, user: float, system: float, peak: int, is_left: bool
    ) -> bool:
        code = os.waitstatus_to_exitcode(status)
        self._exit = {
            "code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "seconds": seconds,
            "left_behind": is_left,
        }
        if not is_left:
            return self._gone(user, system, peak)
        if self._cause is None and self._ending.linger is not None:
            self._later("linger", self._ending.linger, self._terminate)
        elif self._cause and self._ending.first == "main":
            self._send("signal", signal.SIGTERM, "all")
        return False

    def _gone(self, user: float, system: float, peak: int, ended: Sequence[str] = ()) -> bool:
        self._exit |= {"user": user, "system": system, "peak": peak, "leftovers": tuple(ended)}
        self._finish(Ended(cause=self._cause or Cause.ITSELF, **self._exit))
        return True

    def _released(self, seconds: float) -> bool:
        self._finish(Ended(cause=Cause.RELEASED, seconds=seconds))
        return True

    def lose(self) -> None:
        """The warden died: nothing more will be known of this run, not even whether it started."""
        self._answer("")
        self._finish(Ended(cause=Cause.LOST, **self._exit))

    def _answer(self, refusal: str) -> None:
        if not self._refusal.done():
            self._refusal.set_result(refusal)

    def _finish(self, ended: Ended) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._output_reader.finish()
        if not self._ended.done():
            self._ended.set_result(ended)
