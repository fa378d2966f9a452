"""The processes of the machine.

Only what changes is read of each process once a minute: one small file. Its command and owner are
read when it is seen first, or has exec'd, and kept by pid and start.
"""

import heapq
import os
from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct

from watchbell.fleet.agent.machine.files import PROC, names, number, read
from watchbell.fleet.machine_sample import MOST_PROCESSES, Process, Processes

SLICE = 100
"""Processes that are read before others get a turn."""
MOST_READ = 20_000
"""Of more processes, the others are only counted."""
LONGEST_COMMAND = 1_000
_MOST_COMMAND_READ = 4_096
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATES = {
    b"R": "Running",
    b"S": "Sleeping",
    b"D": "Blocked",
    b"Z": "Zombie",
    b"T": "Stopped",
    b"t": "Stopped",
    b"I": "Idle",
}


class _Facts(Struct, frozen=True):
    """What does not change while a process runs its program."""

    started: int
    """Ticks from the boot of the machine."""
    name: bytes
    command: str
    user: str


class _Seen(Struct, frozen=True):
    pid: int
    parent: int
    state: bytes
    ticks: int
    """Of CPU time."""
    passed: float
    """Seconds in which it used `spent` of them."""
    spent: int
    nice: int
    threads: int
    virtual: int
    resident: int


class ProcessTable:
    def __init__(self, booted: float, proc: str = PROC) -> None:
        """`booted`: when the machine was started."""
        self._booted, self._proc = booted, proc
        self._facts: dict[int, _Facts] = {}
        self._ticks: dict[int, int] = {}
        self._at = 0.0
        self._users: dict[int, str] = {}

    def slices(self, seen: "ProcessesSeen") -> Iterator[None]:
        """Reads the processes, some at a time."""
        pids = [int(name) for name in names(self._proc) if name.isdigit()]
        seen.total, uptime = len(pids), seen.uptime
        self._users = _accounts(read("/etc/passwd"))
        passed = uptime - self._at if self._at else 0.0
        facts: dict[int, _Facts] = {}
        for place, pid in enumerate(pids[:MOST_READ]):
            self._add(seen, facts, pid, uptime, passed)
            if place % SLICE == SLICE - 1:
                yield
        self._facts, self._ticks = facts, {one.pid: one.ticks for one in seen.all}
        self._at = uptime

    def _add(
        self,
        seen: "ProcessesSeen",
        facts: dict[int, _Facts],
        pid: int,
        uptime: float,
        passed: float,
    ) -> None:
        stat = read(f"{self._proc}/{pid}/stat")
        # The name stands in brackets and may itself contain brackets and spaces.
        before, _, after = stat.rpartition(b")")
        words = after.split()
        if len(words) < 22:  # it ended meanwhile
            return
        name, started = before.partition(b"(")[2], number(words[19])
        known = self._facts.get(pid)
        is_known = known is not None and known.started == started and known.name == name
        facts[pid] = known if known and is_known else self._read(pid, started, name)
        is_old = known is not None and known.started == started and pid in self._ticks
        ticks = number(words[11]) + number(words[12])
        one = _Seen(
            pid=pid,
            parent=number(words[1]),
            state=words[0],
            ticks=ticks,
            passed=passed if is_old else uptime - started / _TICK,
            spent=max(ticks - self._ticks[pid], 0) if is_old else ticks,
            nice=int(words[16]),
            threads=number(words[17]),
            virtual=number(words[20]),
            resident=number(words[21]) * _PAGE,
        )
        seen.all.append(one)

    def _read(self, pid: int, started: int, name: bytes) -> _Facts:
        folder = f"{self._proc}/{pid}"
        words = read(f"{folder}/cmdline", _MOST_COMMAND_READ).rstrip(b"\0").replace(b"\0", b" ")
        command = words.decode(errors="replace") or f"[{name.decode(errors='replace')}]"
        try:
            uid = os.stat(folder).st_uid  # noqa: PTH116 there may be thousands
        except OSError:
            uid = -1
        user = self._users.get(uid, str(uid) if uid >= 0 else "")
        return _Facts(started, name, command, user)

    def summary(self, seen: "ProcessesSeen", memory: int, mask: Callable[[str], str]) -> Processes:
        """`memory`: of the machine, in bytes; `mask` hides secrets in the text of all commands."""
        top = seen.top()
        # Commands contain no NUL, so that all can be masked at once.
        commands = mask("\0".join(self._facts[one.pid].command for one in top)).split("\0")
        if len(commands) != len(top):  # a secret has one
            commands = [mask(self._facts[one.pid].command) for one in top]
        listed = [
            self._process(one, command, seen.uptime, memory)
            for one, command in zip(top, commands, strict=True)
        ]
        counts = Counter(_STATES.get(one.state, "Sleeping") for one in seen.all)
        return Processes(
            all=seen.total,
            running=counts["Running"],
            sleeping=counts["Sleeping"] + counts["Idle"],
            blocked=counts["Blocked"],
            zombie=counts["Zombie"],
            stopped=counts["Stopped"],
            list=tuple(listed),
        )

    def _process(self, one: _Seen, command: str, uptime: float, memory: int) -> Process:
        facts = self._facts[one.pid]
        started = facts.started / _TICK
        return Process(
            pid=one.pid,
            parent=one.parent,
            user=facts.user,
            command=command[:LONGEST_COMMAND],
            cpu=round(one.spent / _TICK / one.passed * 100, 2) if one.passed > 0 else 0.0,
            mem=round(one.resident / memory * 100, 2) if memory else 0.0,
            resident=one.resident,
            virtual=one.virtual if one.virtual < 1 << 62 else 0,
            state=_STATES.get(one.state, one.state.decode(errors="replace")),
            started=round(max(self._booted + started, 0), 2),
            age=round(max(uptime - started, 0), 1),
            time=round(one.ticks / _TICK, 2),
            threads=one.threads,
            nice=max(min(one.nice, 19), -20),
        )


class ProcessesSeen:
    def __init__(self, uptime: float) -> None:
        """`uptime`: of the machine, which no change of its clock moves."""
        self.uptime, self.total = uptime, 0
        self.all: list[_Seen] = []

    def top(self) -> list[_Seen]:
        """Those that use the most CPU time, and those that use the most memory."""
        half = MOST_PROCESSES // 2
        by_cpu = heapq.nlargest(half, self.all, key=_share)
        by_memory = heapq.nlargest(half, self.all, key=lambda one: one.resident)
        return list({one.pid: one for one in (*by_cpu, *by_memory)}.values())


def _share(one: _Seen) -> float:
    return one.spent / one.passed if one.passed > 0 else 0.0


def _accounts(passwd: bytes) -> dict[int, str]:
    """By number. A directory service is not asked: it may take any time to answer."""
    found: dict[int, str] = {}
    for line in passwd.decode(errors="replace").splitlines():
        words = line.split(":")
        if len(words) >= 3 and words[2].isdecimal():
            found.setdefault(int(words[2]), words[0])
    return found
