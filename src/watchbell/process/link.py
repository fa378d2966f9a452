"""The line to a warden: starts it, and carries messages and descriptors."""

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from watchbell.process.family import own_mark

# Isolated and without site-packages, the interpreter starts in a third of the time.
_PYTHON = (sys.executable, "-I", "-S", "-c")
_WARDEN = """
import json, sys
sys.path.append(sys.argv[1])
from watchbell.process.warden import main
main(int(sys.argv[2]), json.loads(sys.argv[3]))
"""
_OURS = Path(__file__).parents[2]

# Each child takes a descriptor here, and the usual limit of 1,024 leaves no room for a thousand.
# Children get the limit as this process got it.
_OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
_WANTED_OPEN_FILES = 10_240
_PAUSE, _LATEST = 0.01, 10.0
"""Seconds between looks at a warden that is to end, and beyond its grace until it is killed."""


def raise_open_files() -> None:
    soft, hard = _OPEN_FILES
    wanted = _WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Link:
    def __init__(
        self, owner: str, grace: float, hear: Callable[[list[Any]], None], cut: Callable[[], None]
    ) -> None:
        """`hear` is given each answer, `cut` is called when the warden died."""
        self._hear, self._cut, self._grace = hear, cut, grace
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._outbox: deque[tuple[bytes, Sequence[int]]] = deque()
        configuration = {
            "owner": owner,
            "supervisor": os.getpid(),
            "mark": own_mark(),
            "grace": grace,
            "open_files": _OPEN_FILES,
        }
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(0)
        with theirs:
            self._process = subprocess.Popen(
                [*_PYTHON, _WARDEN, str(_OURS), str(theirs.fileno()), json.dumps(configuration)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # a Ctrl-C is for us
            )
        self._loop.add_reader(self._socket, self._readable)

    def send(self, *message: object, descriptors: Sequence[int] = ()) -> None:
        """Sent in order, and as soon as the warden takes it. The descriptors are given away."""
        self._outbox.append((json.dumps(message).encode() + b"\n", descriptors))
        if len(self._outbox) == 1:
            self._flush()
            if self._outbox:
                self._loop.add_writer(self._socket, self._writable)

    def _writable(self) -> None:
        self._flush()
        if not self._outbox:
            self._loop.remove_writer(self._socket)

    def _flush(self) -> None:
        while self._outbox:
            content, descriptors = self._outbox[0]
            try:
                sent = socket.send_fds(self._socket, [content], descriptors)
            except (BlockingIOError, ConnectionError):  # a dead warden is noticed in reading
                return
            for descriptor in descriptors:
                os.close(descriptor)
            if sent < len(content):
                self._outbox[0] = (content[sent:], ())
            else:
                self._outbox.popleft()

    def _readable(self) -> None:
        try:
            received = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except ConnectionError:
            received = b""
        if not received:
            self._hang_up()
            self._process.wait()
            self._cut()
            return
        *lines, self._received = (self._received + received).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def _hang_up(self) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for _, descriptors in self._outbox:
            for descriptor in descriptors:
                os.close(descriptor)
        self._outbox.clear()

    async def close(self) -> None:
        """The warden ends all that is left, and itself; one that does not is killed."""
        if self._process.returncode is not None:
            return
        self._hang_up()
        ends = self._loop.time() + self._grace + _LATEST
        while self._process.poll() is None:
            if self._loop.time() > ends:
                self._process.kill()
            await asyncio.sleep(_PAUSE)
