"""What a process tree uses now: CPU time, memory, disk, connections. Needs Linux' /proc.

A sample reads a few small files for each process of the tree and nothing for others, so its cost
does not depend on how many processes the machine has. Connections cost more: ask for them apart.
"""

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from watchbell.process.procfs import PROC

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATES = {1: "established", 2: "connecting", 10: "listening"}
_MOST = 10_000
"""The most processes of a tree that are read: a fork bomb must not stop us."""
_AT_ONCE = 64 << 10


class ProcessUsage(Struct, frozen=True, kw_only=True):
    """One process."""

    pid: int
    parent: int
    name: str
    command: str
    """Its arguments, as far as they can be read; a process may have changed them."""
    state: str
    """The letter of proc(5): R for running, S for sleeping, Z for dead and not waited for."""
    started: float
    """Seconds from the boot of the machine to its start; with the pid it names the process."""
    threads: int
    cpu: float
    """Seconds of CPU time, including dead children that were waited for."""
    memory: int
    """Resident bytes; those that several processes share count for each."""
    disk_read: int
    disk_written: int
    """Bytes that came from, or will go to, a disk; 0 where we may not read that."""


class Connection(Struct, frozen=True):
    pid: int
    protocol: Literal["tcp", "tcp6", "udp", "udp6"]
    local: str
    """ADDRESS:PORT, an IPv6 address in brackets."""
    remote: str
    """Likewise; empty where there is none."""
    state: str


def tree(roots: Iterable[int], most: int = _MOST) -> list[ProcessUsage]:
    """All processes that descend from the roots, these first; parents before their children.

    A process that has ended, or another user's with hidden files, is left out. One whose parent
    has ended belongs to whoever adopted it.
    """
    found: list[ProcessUsage] = []
    seen: set[int] = set()
    waiting = list(roots)
    while waiting and len(found) < most:
        pid = waiting.pop(0)
        if pid in seen:
            continue
        seen.add(pid)
        usage = process(pid)
        if usage is not None:
            found.append(usage)
            waiting += children(pid, usage.threads)
    return found


def process(pid: int) -> ProcessUsage | None:
    stat = _read(pid, "stat")
    if stat is None:
        return None
    # The name stands in brackets and may itself contain brackets and spaces.
    before, _, after = stat.rpartition(b")")
    fields = after.split()
    read, written = _disk(pid)
    return ProcessUsage(
        pid=pid,
        parent=int(fields[1]),
        name=before.partition(b"(")[2].decode(errors="replace"),
        command=_command(pid),
        state=fields[0].decode(),
        started=int(fields[19]) * _TICK,
        threads=int(fields[17]),
        cpu=sum(map(int, fields[11:15])) * _TICK,
        memory=int(fields[21]) * _PAGE,
        disk_read=read,
        disk_written=written,
    )


def children(pid: int, threads: int = 1) -> list[int]:
    """A child belongs to the thread that started it, so each thread is asked."""
    tasks = [str(pid)] if threads == 1 else _names(PROC / str(pid) / "task")
    return [
        int(child)
        for task in tasks
        for child in (_read(pid, f"task/{task}/children") or b"").split()
    ]


def connections(pids: Iterable[int]) -> list[Connection]:
    """The open connections and listening ports of processes."""
    owners = {inode: pid for pid in pids for inode in _sockets(pid)}
    if not owners:
        return []
    return [
        Connection(owners[inode], protocol, local, remote, state)
        for inode, protocol, local, remote, state in _table(next(iter(owners.values())))
        if inode in owners
    ]


def _command(pid: int) -> str:
    words = (_read(pid, "cmdline") or b"").rstrip(b"\0").split(b"\0")
    return b" ".join(words).decode(errors="replace")[:1_000]


def _disk(pid: int) -> tuple[int, int]:
    lines = (_read(pid, "io") or b"").splitlines()
    counts = dict(line.split(b": ") for line in lines)
    return int(counts.get(b"read_bytes", 0)), int(counts.get(b"write_bytes", 0))


def _sockets(pid: int) -> Iterator[bytes]:
    folder = PROC / str(pid) / "fd"
    for name in _names(folder):
        try:
            target = os.readlink(f"{folder}/{name}")  # noqa: PTH115 there may be thousands
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1].encode()


def _table(
    pid: int,
) -> Iterator[tuple[bytes, Literal["tcp", "tcp6", "udp", "udp6"], str, str, str]]:
    """The sockets of the network that a process is in: inode, protocol, both ends, state."""
    protocols: tuple[Literal["tcp", "tcp6", "udp", "udp6"], ...] = ("tcp", "tcp6", "udp", "udp6")
    for protocol in protocols:
        for line in (_read(pid, f"net/{protocol}") or b"").splitlines()[1:]:
            fields = line.split()
            state = "" if protocol.startswith("udp") else _STATES.get(int(fields[3], 16), "closing")
            remote = "" if fields[2].endswith(b":0000") else endpoint(fields[2])
            yield fields[9], protocol, endpoint(fields[1]), remote, state


def endpoint(text: bytes) -> str:
    """An end of a connection: /proc writes each 32-bit word of an address in the host's order."""
    digits, _, port = text.partition(b":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    if len(words) == 1:
        return f"{socket.inet_ntop(socket.AF_INET, packed)}:{int(port, 16)}"
    return f"[{socket.inet_ntop(socket.AF_INET6, packed)}]:{int(port, 16)}"


def _read(pid: int, name: str) -> bytes | None:
    """By system calls of our own: a file object makes more than twice as many."""
    try:
        file = os.open(f"{PROC}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = b""
        while part := os.read(file, _AT_ONCE):  # /proc may give less than there is
            found += part
    except OSError:  # it ended meanwhile
        return None
    finally:
        os.close(file)
    return found


def _names(folder: os.PathLike[str]) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 names, not paths
    except OSError:
        return []
