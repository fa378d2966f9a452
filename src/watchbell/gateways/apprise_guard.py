"""What a library that connects by itself may do in a stranger's name: every connection, file and
command of it passes here first, by an audit hook of the interpreter."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from watchbell.http.networks import Networks

_CONNECTS = frozenset(["socket.connect", "socket.sendto", "socket.sendmsg"])
_LOCAL = frozenset(
    (
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"),
        *("syslog.openlog", "syslog.syslog"),
    )
)
_WATCHED = _CONNECTS | _LOCAL | {"open"}
_HARMLESS = ("/dev/null", "/dev/urandom", "/usr/share/zoneinfo/")


class Guard:
    def __init__(self, networks: Networks) -> None:
        self._networks = networks
        self._files = (*_HARMLESS, *map(_within, (sys.prefix, sys.base_prefix)))
        self.refusal = ""
        """Why a connection or a command was refused, the first time."""

    def check(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if not self._is_harmless(arguments[0]):
                raise PermissionError("no file is opened in a stranger's name")
            return
        refusal = self._refusal(event, arguments)
        if refusal:
            self.refusal = self.refusal or refusal
            raise PermissionError(refusal)

    def _refusal(self, event: str, arguments: tuple[Any, ...]) -> str:
        if event in _LOCAL:
            return "the address leads to a program or log of this machine"
        address = arguments[1]
        if address is None:  # of a socket that is connected, which was checked
            return ""
        if not isinstance(address, tuple) or not isinstance(address[0], str):
            return "the address leads to a socket of this machine"
        return self._networks.refusal(address[0])

    def _is_harmless(self, path: Any) -> bool:
        """Of files, only Python's own, such as the library's modules when it imports them."""
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a descriptor, of what was opened before
        return os.path.realpath(os.fsdecode(path)).startswith(self._files)


@contextmanager
def guarded(networks: Networks) -> Iterator[Guard]:
    """Within this, in this thread, what a stranger may not do raises PermissionError."""
    _install()
    guard = Guard(networks)
    token = _guard.set(guard)
    try:
        yield guard
    finally:
        _guard.reset(token)


_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)
_installed: list[bool] = []


def _install() -> None:
    """Once: an interpreter never gives a hook up again."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _WATCHED and (guard := _guard.get()) is not None:
        guard.check(event, arguments)


def _within(folder: str) -> str:
    """What the paths of all that is in it begin with."""
    return os.path.realpath(folder) + os.sep
