"""A run as its warden sees it. Used by the warden, so it needs only the standard library."""

import os
import re
import resource
import signal
import sys
from math import inf
from typing import Any, NamedTuple

from watchbell.process.procfs import group_of, name_of, sent, session_of

_SLACK = 512
"""KiB by which the kernel's counters of the same memory may differ."""


def high_water(pid: int | str) -> int:
    """KiB of memory that a process has used at most since it became its command; 0 if unknown."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:  # noqa: PTH123 quicker
            found = re.search(rb"^VmHWM:\s+(\d+)", status.read(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


class Order(NamedTuple):
    """What to start, and the descriptors that came with it."""

    wish: dict[str, Any]
    output: int
    given: int
    pipe: int
    """The other end of the output, where it is kept for an adopter; else -1."""

    @property
    def lapses(self) -> float:
        until = self.wish["lease_until"]
        return inf if until is None else float(until)

    @property
    def not_before(self) -> float:
        return float(self.wish["not_before"])

    def close_theirs(self) -> None:
        """What the process has used so far."""
        os.close(self.output)
        os.close(self.given)

    def close(self) -> None:
        self.close_theirs()
        if self.pipe >= 0:
            os.close(self.pipe)


class Child:
    """A run: its main process, which leads a session and a group, and all its descendants."""

    def __init__(self, number: int, order: Order, pid: int, begun: float) -> None:
        wish = order.wish
        self.number = number
        self.run = wish["run"]
        self.memo = wish["memo"]
        """What an adopter gets to know; empty where the run can't be adopted."""
        self.pipe = order.pipe
        self.messages: list[list[Any]] = []
        """What was reported to the supervisor, for an adopter."""
        self.may_leave = wish["escaped"] == "leave"
        self.pid = pid
        self.begun = begun
        self.lapses = order.lapses
        """When it is killed, unless its lease is extended."""
        self.keeps_until = wish["keep_until"] or 0.0
        """Until when it may go on without a supervisor."""
        self.orphans: set[int] = set()
        self.has_exited = False
        """Whether the main process has ended; what is left are processes that it left behind."""
        self.ended: dict[int, str] = {}
        """Those of them that were ended by a signal, by name."""
        self.signalled = 0
        """The last signal."""
        self._has_group = True
        self._user = self._system = 0.0
        self._peak = self._sampled = 0
        self._inherited = high_water("self") + _SLACK
        """Memory that the kernel counts for every child, because it shared the warden's memory
        until it became its command."""

    def lease(self, until: float | None, keep_until: float | None) -> None:
        self.lapses = inf if until is None else until
        self.keeps_until = keep_until or 0.0

    def sample(self) -> None:
        """Measures the main process now, in case it uses less memory than the warden."""
        self._sampled = max(self._sampled, high_water(self.pid))

    def count(self, usage: resource.struct_rusage) -> None:
        self._user += usage.ru_utime
        self._system += usage.ru_stime
        self._peak = max(self._peak, usage.ru_maxrss)

    def usage(self) -> tuple[float, float, int]:
        """CPU seconds of user and system, and bytes of memory at most; 0 where that is unknown."""
        if sys.platform == "darwin":
            return self._user, self._system, self._peak
        peak = self._peak if self._peak > self._inherited else self._sampled
        return self._user, self._system, peak * 1024

    def signal(self, number: int) -> None:
        if self.signalled != signal.SIGKILL:
            self.signalled = number
        if self._has_group:
            sent(os.killpg, self.pid, number)
            sent(os.killpg, self.pid, signal.SIGCONT)  # one that is stopped can't end
        self._look_over()
        for pid in self.orphans:
            self.pass_on(pid)
            self._note(pid)

    def signal_main(self, number: int) -> None:
        """To the main process alone, which is ours until we have waited for it."""
        sent(os.kill, self.pid, number)
        sent(os.kill, self.pid, signal.SIGCONT)

    def pass_on(self, orphan: int) -> None:
        if self.signalled and group_of(orphan) != self.pid:
            sent(os.kill, orphan, self.signalled)
            sent(os.kill, orphan, signal.SIGCONT)

    def found(self, orphan: int) -> None:
        """A process that has lost its parent; it gets the signal that the others got."""
        self.orphans.add(orphan)
        self.pass_on(orphan)
        self._note(orphan)

    def _note(self, orphan: int) -> None:
        if self.signalled and self.has_exited and orphan not in self.ended:
            self.ended[orphan] = name_of(orphan)

    def is_alive(self) -> bool:
        """Whether processes that we can end are left after the main process has ended."""
        self._look_over()
        # Once there is no such group, its number may become that of another.
        self._has_group = self._has_group and sent(os.killpg, self.pid, 0)
        return self._has_group or bool(self.orphans)

    def _look_over(self) -> None:
        """Drops orphans that have another parent now, or that may leave the run and did."""
        self.orphans = {pid for pid in self.orphans if sent(os.kill, pid, 0)}
        if self.may_leave:
            self.orphans = {pid for pid in self.orphans if session_of(pid) == self.pid}
