"""Who is signed in, from utmp(5)."""

import struct

from watchbell.fleet.agent.machine.files import read
from watchbell.fleet.machine_sample import MOST_USERS, User

_FILES = ("/run/utmp", "/var/run/utmp")
_RECORD = struct.Struct("hi32s4s32s256shhiii4i20s")
_USER_PROCESS = 7


def signed_in() -> tuple[User, ...]:
    for path in _FILES:
        if content := read(path):
            return parsed(content)
    return ()


def parsed(content: bytes) -> tuple[User, ...]:
    found: list[User] = []
    for at in range(0, len(content) - _RECORD.size + 1, _RECORD.size):
        kind, _, line, _, user, host, _, _, _, seconds, *_ = _RECORD.unpack_from(content, at)
        if kind == _USER_PROCESS and len(found) < MOST_USERS:
            found.append(
                User(user=_text(user), tty=_text(line), origin=_text(host), since=max(seconds, 0))
            )
    return tuple(found)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")
