"""The socket that accepts connections: bound where the settings say, with a limit per address."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from watchbell.errors import Refused
from watchbell.web.connections import Sockets


class _Accepted(socket.socket):
    """A socket that reports when it is closed."""

    on_close: Callable[[], None] | None = None

    def close(self) -> None:
        super().close()
        if self.on_close is not None:
            self.on_close()
            self.on_close = None


class _Listener(socket.socket):
    """Closes connections from an address that has too many, before TLS begins."""

    sockets: Sockets

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            plain, place = super().accept()
            if self.sockets.admit(place[0]):
                accepted = _Accepted(self.family, self.type, self.proto, plain.detach())
                accepted.on_close = partial(self.sockets.remove, place[0])
                return accepted, place
            plain.close()


@contextmanager
def bound(
    host: str, port: int, section: str, name: str, sockets: Sockets
) -> Iterator[socket.socket]:
    """`section` and `name` of the setting that has the port, for errors."""
    try:
        listener = _listener(host, port)
    except OSError as error:
        reason = error.strerror or error
        place = f"port {port} of {host} ({section}.{name})"
        raise Refused(f"{place} can't be used: {reason}") from error
    listener.sockets = sockets
    with listener:
        yield listener


def _listener(host: str, port: int) -> _Listener:
    """Of the protocol TCP by name: to others the loop gives no TCP_NODELAY."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, _, _, place = found[0]
    listener = _Listener(family, kind, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError:
        listener.close()
        raise
    return listener
