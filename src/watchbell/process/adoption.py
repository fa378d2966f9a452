"""Where a warden can be found by another supervisor once its own has died: a socket in a folder,
beside what it keeps there."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from watchbell import ids

_PATIENCE = 5.0


class AdoptionSocket:
    def __init__(self, parent: Path) -> None:
        """A new folder, which nobody sees before there is a door in it."""
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
        """On our side: the warden's stays open."""
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
    words: list[list[Any]]
    """What the warden has said of it."""


class Meeting(NamedTuple):
    """With a warden that was waiting; or, without a connection, with one that was not."""

    connection: socket.socket | None
    pid: int
    folder: Path
    kept: list[Kept]
    rest: bytes
    """What it said after that."""
    others: list[str]
    """Runs in the care of another supervisor."""


def adoption_sockets(parent: Path) -> list[Path]:
    return sorted(parent.glob("[!.]*")) if parent.is_dir() else []


def meet(folder: Path) -> Meeting | None:
    """None where nobody is behind the door any more."""
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
            received = line + _heard(connection)
            continue
        word, *details = json.loads(line)
        if word == "taken":
            connection.close()
            return Meeting(None, 0, folder, [], b"", details[0])
        if word == "ready":
            return Meeting(connection, details[0], folder, kept, received, [])
        kept.append(Kept(*details))


def _heard(connection: socket.socket) -> bytes:
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
