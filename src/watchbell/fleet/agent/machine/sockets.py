"""The TCP sockets of the machine: how many in each state, and some of them.

A table of 100,000 sockets is 15 MB of text. It is read piece by piece, its states are counted by
one expression for each piece, and what lies beyond a limit is only counted by the kernel's sum.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from watchbell.fleet.agent.machine.files import PROC, names, number, read
from watchbell.fleet.machine_sample import MOST_CONNECTIONS, Connections, Socket
from watchbell.process.usage import endpoint

_PIECE = 256 << 10
_MOST_BYTES = 32 << 20
"""Of both tables: 200,000 sockets."""
_MOST_LINKS = 5_000
"""Open files of processes that are looked at to find out whose a socket is."""
_STATE = re.compile(rb":[0-9A-F]{4} ([0-9A-F]{2}) [0-9A-F]{8}:")
_STATES = {
    b"01": "ESTABLISHED",
    b"02": "SYN_SENT",
    b"03": "SYN_RECV",
    b"04": "FIN_WAIT1",
    b"05": "FIN_WAIT2",
    b"06": "TIME_WAIT",
    b"07": "CLOSE",
    b"08": "CLOSE_WAIT",
    b"09": "LAST_ACK",
    b"0A": "LISTEN",
    b"0B": "CLOSING",
    b"0C": "SYN_RECV",
}
_KINDS = ("tcp", "tcp6")


class SocketTable:
    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self.counts: Counter[bytes] = Counter()
        self._first: dict[str, list[bytes]] = {kind: [] for kind in _KINDS}
        self._is_whole = True

    def pieces(self) -> Iterator[None]:
        """Reads the tables piece by piece."""
        left = _MOST_BYTES
        for kind in _KINDS:
            for piece in _pieces(f"{self._proc}/net/{kind}"):
                left -= len(piece)
                if left < 0:
                    self._is_whole = False
                    break
                self.counts.update(_STATE.findall(piece))
                first = self._first[kind]
                if len(first) < MOST_CONNECTIONS:
                    first += piece.splitlines()[: MOST_CONNECTIONS + 1]
                yield

    def summary(self, pids: Iterable[int]) -> Connections:
        """`pids`: the processes that are asked first whose sockets are listed."""
        listed = self._listed()
        owners = self._owners({inode for _, inode in listed if inode != b"0"}, pids)
        counted = sum(self.counts.values())
        states: Counter[str] = Counter()
        for code, count in self.counts.items():
            states[_STATES.get(code, "UNKNOWN").lower()] += count
        return Connections(
            all=counted if self._is_whole else max(counted, self._kernels_sum()),
            states=dict(states),
            list=tuple(_socket(words, kind, owners) for (kind, words), _ in listed),
        )

    def _listed(self) -> list[tuple[tuple[str, list[bytes]], bytes]]:
        """Kind, columns and inode. Listening sockets stand first in the kernel's tables."""
        found = [
            ((kind, words), words[9])
            for kind in _KINDS
            for line in self._first[kind]
            if len(words := line.split()) > 9 and words[0] != b"sl"
        ]
        found.sort(key=lambda one: one[0][1][3] != b"0A")
        return found[:MOST_CONNECTIONS]

    def _owners(self, wanted: set[bytes], pids: Iterable[int]) -> dict[bytes, int]:
        """By inode, as far as we may look and as the limit allows."""
        found: dict[bytes, int] = {}
        left = _MOST_LINKS
        for pid in pids:
            folder = f"{self._proc}/{pid}/fd"
            for name in names(folder):
                left -= 1
                if left < 0 or len(found) == len(wanted):
                    return found
                try:
                    target = os.readlink(f"{folder}/{name}")  # noqa: PTH115 there are many
                except OSError:
                    continue
                if target.startswith("socket:["):
                    inode = target[8:-1].encode()
                    if inode in wanted:
                        found[inode] = pid
        return found

    def _kernels_sum(self) -> int:
        total = 0
        for name in ("sockstat", "sockstat6"):
            for line in read(f"{self._proc}/net/{name}").split(b"\n"):
                words = line.split()
                if words[:1] in ([b"TCP:"], [b"TCP6:"]):
                    figures = dict(zip(words[1::2], words[2::2], strict=False))
                    total += number(figures.get(b"inuse", b"0")) + number(figures.get(b"tw", b"0"))
        return total


def _pieces(path: str) -> Iterator[bytes]:
    """Whole lines."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rest, size = b"", 0
        parts: list[bytes] = []
        while part := os.read(file, _PIECE):
            parts.append(part)
            size += len(part)
            if size >= _PIECE:
                head, _, tail = b"".join(parts).rpartition(b"\n")
                yield rest + head + b"\n"
                rest, parts, size = tail, [], 0
        yield rest + b"".join(parts)
    except OSError:
        return
    finally:
        os.close(file)


def _socket(words: list[bytes], kind: str, owners: dict[bytes, int]) -> Socket:
    return Socket(
        type=kind,
        state=_STATES.get(words[3], "UNKNOWN"),
        local=endpoint(words[1]),
        remote=endpoint(words[2]),
        pid=owners.get(words[9], 0),
    )
