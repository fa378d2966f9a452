"""The sandbox of people's templates: a process of its own that can be killed."""

import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from watchbell.alerting.model import Alert
from watchbell.http.client import encoded
from watchbell.settings import environment

if TYPE_CHECKING:
    from io import BufferedRWPair

    Stream = BufferedRWPair[Any, Any]

SECONDS = 0.5
"""Processor time that one rendering may take."""
MEMORY = 256 << 20
"""Bytes that the process may use."""
OUTPUT = 256 << 10
"""Characters that a template may write."""
TOO_MUCH = f"it takes more than {SECONDS:g} s or {MEMORY >> 20} MiB; does it loop without end?"
_PATIENCE = 10.0
"""Seconds after which a process that does not even use its processor time is killed."""
_LONGEST_REPLY = 8 * OUTPUT
_INHERITED = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TZ")
"""The variables that the process inherits: no other, since they may hold secrets."""


class Job(Struct, frozen=True):
    kind: str
    part: str
    alert: Alert | None = None
    """Without one the template is only compiled."""
    ack_url: str = ""
    now: float = 0


class Result(Struct, frozen=True):
    text: str = ""
    reason: str = ""
    """Why there is no text."""
    file: str = ""
    line: int = 0
    is_costly: bool = False
    """Whether it used up what it may use, and would do so again."""


class Sandbox:
    """Renders the templates of one medium. The process is started when it is needed, and again
    after it was killed by its limits. Threads may share it; each waits for its turn."""

    def __init__(self, medium: str, style: str, folder: str) -> None:
        program = [sys.executable, "-P", "-m", "watchbell.gateways.template_process"]
        self._command = [*program, medium, style, folder]
        self._turn = threading.Lock()
        self._stream: Stream | None = None
        self._end: Callable[[], object] = lambda: None

    def run(self, job: Job) -> Result:
        with self._turn:
            return self._run(job)

    def _run(self, job: Job) -> Result:
        is_fresh = self._stream is None
        try:
            result = self._answer(job)
            if result is None and not is_fresh:  # it may have been killed for another reason
                result = self._answer(job)
        except OSError as error:
            return Result(reason=f"the process that renders templates can't be started: {error}")
        return result or Result(reason=TOO_MUCH, is_costly=True)

    def _answer(self, job: Job) -> Result | None:
        """None if the process was killed, or is stuck."""
        stream = self._stream or self._start()
        try:
            stream.write(encoded(job) + b"\n")
            stream.flush()
            return msgspec.json.decode(stream.readline(_LONGEST_REPLY), type=Result)
        except (OSError, msgspec.DecodeError):
            self.close()
            return None

    def close(self) -> None:
        self._end()
        self._stream = None

    def _start(self) -> "Stream":
        ours, theirs = socket.socketpair()
        inherited = {name: value for name, value in environment().items() if name in _INHERITED}
        with theirs:
            process = subprocess.Popen(
                self._command, env=inherited, stdin=theirs.fileno(), stdout=subprocess.DEVNULL
            )
        ours.settimeout(_PATIENCE)
        self._stream = stream = ours.makefile("rwb")
        self._end = weakref.finalize(self, _end, process, ours, stream)
        return stream


def _end(process: "subprocess.Popen[bytes]", ours: socket.socket, stream: "Stream") -> None:
    process.kill()
    process.wait()
    ours.close()
    with suppress(OSError):  # what the process had not read yet is of no use
        stream.close()
