"""Commands of Watchbell run to their end, each in a process that is forked off a warm one.

As real as a fresh process, at a fraction of its price: see `forker.py`.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread

from tests.conftest import bare_environment

SECONDS = 150
"""After which a command hangs; less than a test may take in all."""


class Forker:
    """Lives as long as this process; forks for one command after another."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.settimeout(SECONDS)
        command = [sys.executable, "-P", str(Path(__file__).with_name("forker.py"))]
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                env=bare_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        atexit.register(self.end)

    def run(self, *descriptors: int) -> int:
        """The exit code of a command, whose words and standard streams these are."""
        socket.send_fds(self._link, [b"."], descriptors)
        try:
            return int(self._link.recv(16))
        except BaseException:  # nobody would wait for what is still running
            os.killpg(self._process.pid, signal.SIGKILL)
            raise

    def end(self) -> None:
        self._link.close()
        self._process.wait()


_idle: list[Forker] = []


def run(
    arguments: Sequence[str | bytes], environment: Mapping[str, str], given: bytes | None = None
) -> subprocess.CompletedProcess[str]:
    """`given` comes by a pipe; without it there is nothing to read."""
    forker = _idle.pop() if _idle else Forker()
    with TemporaryFile() as words, TemporaryFile() as out, TemporaryFile() as err:
        told = [os.fsdecode(one) for one in arguments], dict(environment)
        words.write(json.dumps(told).encode())
        words.seek(0)
        with _reading(given) as stdin:
            code = forker.run(words.fileno(), stdin, out.fileno(), err.fileno())
        _idle.append(forker)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            arguments, code, out.read().decode(), err.read().decode()
        )


@contextmanager
def _reading(given: bytes | None) -> Iterator[int]:
    if given is None:
        with Path(os.devnull).open("rb") as nothing:
            yield nothing.fileno()
        return
    reader, writer = os.pipe()
    feeder = Thread(target=_feed, args=(writer, given))
    feeder.start()
    try:
        yield reader
    finally:
        os.close(reader)
        feeder.join()


def _feed(writer: int, given: bytes) -> None:
    with suppress(BrokenPipeError), open(writer, "wb") as pipe:
        pipe.write(given)
