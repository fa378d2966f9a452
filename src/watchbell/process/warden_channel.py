"""The connection to a warden: sends messages and descriptors, and passes replies to runs."""

import asyncio
import json
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchbell.process.run import Run


class WardenChannel:
    def __init__(self, connection: socket.socket) -> None:
        self.runs: dict[int, Run] = {}
        """Runs that are not over, by the warden's numbers for them."""
        self.is_open = True
        self._socket = connection
        self._socket.settimeout(0)
        self._received = b""
        self._outbox: deque[tuple[bytes, Sequence[int]]] = deque()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._readable)

    def send_about(self, number: int, name: str, *details: object) -> None:
        """Sends a message about one run, unless the warden is gone."""
        if self.is_open:
            self.send(name, number, *details)

    def send(self, *message: object, descriptors: Sequence[int] = ()) -> None:
        """Sends in order, as soon as the warden accepts it. Takes ownership of the descriptors."""
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
            except (BlockingIOError, ConnectionError):  # a dead warden is noticed when reading
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
            self.hang_up()
            self.on_cut()
            return
        self.receive(received)

    def on_cut(self) -> None:
        """The warden closed the connection."""

    def receive(self, received: bytes) -> None:
        *lines, self._received = (self._received + received).split(b"\n")
        for line in lines:
            name, number, *details = json.loads(line)
            run = self.runs.get(number)
            if run and run.handle(name, *details):
                del self.runs[number]

    def hang_up(self) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for _, descriptors in self._outbox:
            for descriptor in descriptors:
                os.close(descriptor)
        self._outbox.clear()
