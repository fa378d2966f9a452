"""The socket at which another supervisor finds a warden whose own supervisor has died."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from watchbell import ids

_PATIENCE = 60.0
"""Seconds after which a warden that does not answer counts as gone, with all its runs: far more
than a busy machine takes."""


class AdoptionSocket:
    def __init__(self, parent: Path) -> None:
        """Makes a folder, visible to others only once there is a socket in it."""
        name = ids.token()
        fresh = parent / f".{name}"
        fresh.mkdir(0o700, parents=True)
        self._socket = socket.socket(socket.AF_UNIX)
        with _door(fresh) as path:
            self._socket.bind(path)
        self._socket.listen()
        self.folder = fresh.rename(parent / name)
        self.descriptor = self._socket.fileno()

    def close(self) -> None:
        """Closes our side; the warden's stays open."""
        self._socket.close()


class Kept(NamedTuple):
    """A run, as its warden describes it."""

    number: int
    memo: dict[str, Any]
    pid: int
    seconds: float
    """Since its start."""
    pipe: int
    """The warden's descriptor of its output."""
    messages: list[list[Any]]
    """What the warden has reported about it."""


class Meeting(NamedTuple):
    """The first contact with a warden; without a connection if another supervisor has it."""

    connection: socket.socket | None
    pid: int
    folder: Path
    kept: list[Kept]
    rest: bytes
    """What it sent after that."""
    others: list[str]
    """Runs that another supervisor has adopted."""


def adoption_sockets(parent: Path) -> list[Path]:
    return sorted(parent.glob("[!.]*")) if parent.is_dir() else []


def meet(folder: Path) -> Meeting | None:
    """None where the warden is gone."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_PATIENCE)
        with _door(folder) as path:
            connection.connect(path)
        return _met(connection, folder)
    except (ConnectionError, FileNotFoundError, NotADirectoryError, TimeoutError):
        connection.close()
        return None


def _met(connection: socket.socket, folder: Path) -> Meeting:
    kept: list[Kept] = []
    received = b""
    while True:
        line, end, received = received.partition(b"\n")
        if not end:
            received = line + _receive(connection)
            continue
        word, *details = json.loads(line)
        if word == "taken":
            connection.close()
            return Meeting(None, 0, folder, [], b"", details[0])
        if word == "ready":
            return Meeting(connection, details[0], folder, kept, received, [])
        kept.append(Kept(*details))


def _receive(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    if not received:
        raise ConnectionResetError
    return received


@contextmanager
def _door(folder: Path) -> Iterator[str]:
    """The socket's path, however long the folder's is: an address has 107 bytes."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/door"
    finally:
        os.close(descriptor)
