"""The warden's end of the line: requests and descriptors come in, answers go out."""

import array
import contextlib
import json
import os
import select
import signal
import socket
from collections import deque
from collections.abc import Iterator
from typing import Any


class Desk:
    """The socket to the supervisor, and what else there is to wait for."""

    def __init__(self, connection: socket.socket, supervisor: int) -> None:
        self._socket = connection
        self._socket.settimeout(0)
        self._received = b""
        self._descriptors: deque[int] = deque()
        self._outbox = b""
        self._woken, waking = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._supervisor = -1
        if hasattr(os, "pidfd_open"):  # the socket may live on in a fork of the supervisor
            with contextlib.suppress(OSError):
                self._supervisor = os.pidfd_open(supervisor)
                self._poll.register(self._supervisor, select.POLLIN)
        self.is_cut = os.getppid() != supervisor
        """Whether the supervisor is dead, or has closed the line."""

    def requests(self, timeout: float | None) -> Iterator[Any]:
        writes = select.POLLOUT if self._outbox else 0
        self._poll.register(self._socket, select.POLLIN | writes)
        for descriptor, _ in self._poll.poll(None if timeout is None else timeout * 1000):
            if descriptor == self._woken:
                self._wake()
            elif descriptor == self._supervisor:
                self.is_cut = True
            else:
                yield from self._read()

    def _read(self) -> Iterator[Any]:
        space = socket.CMSG_SPACE(253 * array.array("i").itemsize)  # the most that Linux passes
        try:
            received, extras, _, _ = self._socket.recvmsg(1 << 16, space)
        except BlockingIOError:
            return
        except ConnectionError:
            received, extras = b"", []
        self.is_cut = self.is_cut or not received
        for _, _, passed in extras:
            descriptors = array.array("i", passed)
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)  # noqa: FBT003
            self._descriptors.extend(descriptors)
        *lines, self._received = (self._received + received).split(b"\n")
        yield from map(json.loads, lines)

    def descriptor(self) -> int:
        return self._descriptors.popleft()

    def say(self, *answer: object) -> None:
        if not self.is_cut:
            self._outbox += json.dumps(answer).encode() + b"\n"

    def flush(self) -> None:
        """As much as the supervisor takes: one that is stopped must not stop the warden too."""
        if self._outbox and not self.is_cut:
            try:
                self._outbox = self._outbox[self._socket.send(self._outbox) :]
            except BlockingIOError:
                pass
            except ConnectionError:
                self.is_cut = True

    def nap(self, seconds: float) -> None:
        """Until a child ends, or for so long."""
        if select.select([self._woken], [], [], seconds)[0]:
            self._wake()

    def _wake(self) -> None:
        os.read(self._woken, 1 << 16)
