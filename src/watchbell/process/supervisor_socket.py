"""The warden's end of the connection: requests and descriptors come in, answers go out."""

import array
import contextlib
import json
import os
import select
import signal
import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import Any

from watchbell.process.procfs import mark_of

_CREDENTIALS = struct.Struct("3i")  # of who is at the other end of a socket: pid, user and group


class SupervisorSocket:
    """The socket to the supervisor, and everything else to wait for."""

    def __init__(self, connection: socket.socket, supervisor: int, door: int | None) -> None:
        """`door` listens for other supervisors."""
        self._woken, waking = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._door = None if door is None else socket.socket(fileno=door)
        if self._door:
            self._door.set_inheritable(False)
            self._door.settimeout(0)
            self._poll.register(self._door, select.POLLIN)
        self._attach(connection, supervisor)
        self.is_cut = os.getppid() != supervisor
        """Whether the supervisor is dead or has closed the connection."""

    def _attach(self, connection: socket.socket, supervisor: int) -> None:
        self._socket = connection
        self._socket.settimeout(0)
        self._received = self._outbox = b""
        self._descriptors: deque[int] = deque()
        self._pid, self._mark = supervisor, mark_of(supervisor)
        self._supervisor = -1
        if hasattr(os, "pidfd_open"):  # the socket may live on in a fork of the supervisor
            with contextlib.suppress(OSError):
                self._supervisor = os.pidfd_open(supervisor)
                self._poll.register(self._supervisor, select.POLLIN)

    def _detach(self) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it may be detached already
            self._poll.unregister(self._socket)
        self._socket.close()
        if self._supervisor >= 0:
            self._poll.unregister(self._supervisor)
            os.close(self._supervisor)
            self._supervisor = -1
        while self._descriptors:
            os.close(self._descriptors.popleft())

    @property
    def has_door(self) -> bool:
        return self._door is not None

    def is_alone(self) -> bool:
        """Whether there is no supervisor, also if that was not noticed yet."""
        return self.is_cut or mark_of(self._pid) != self._mark

    def turn_to(self, connection: socket.socket, supervisor: int) -> None:
        """Connects to a new supervisor."""
        self._detach()
        self._attach(connection, supervisor)
        self.is_cut = False

    def turn_away(self, connection: socket.socket, *answer: object) -> None:
        with connection, contextlib.suppress(OSError):
            connection.sendall(json.dumps(answer).encode() + b"\n")

    def requests(self, timeout: float | None) -> Iterator[Any]:
        if self.is_cut:
            self._detach()
        else:
            writes = select.POLLOUT if self._outbox else 0
            self._poll.register(self._socket, select.POLLIN | writes)
        for descriptor, _ in self._poll.poll(None if timeout is None else timeout * 1000):
            if descriptor == self._woken:
                self._wake()
            elif descriptor == self._supervisor:
                self.is_cut = True
            elif self._door and descriptor == self._door.fileno():
                yield from self._visits(self._door)
                return  # descriptors may have got new meanings
            else:
                yield from self._read()

    def _visits(self, door: socket.socket) -> Iterator[Any]:
        """Whether the peer belongs to our own user or to root."""
        with contextlib.suppress(OSError):
            visitor, _ = door.accept()
            peer = visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            pid, user, _ = _CREDENTIALS.unpack(peer)
            if user in (os.geteuid(), 0):
                yield "visit", visitor, pid
            else:
                visitor.close()

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
        """Sends what the supervisor accepts: one that is stopped must not block the warden."""
        if self._outbox and not self.is_cut:
            try:
                self._outbox = self._outbox[self._socket.send(self._outbox) :]
            except BlockingIOError:
                pass
            except ConnectionError:
                self.is_cut = True

    def nap(self, seconds: float) -> None:
        """Sleeps until a child ends, at most for so many seconds."""
        if select.select([self._woken], [], [], seconds)[0]:
            self._wake()

    def _wake(self) -> None:
        os.read(self._woken, 1 << 16)
