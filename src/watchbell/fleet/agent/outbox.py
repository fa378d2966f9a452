"""Which reports are sent next, and how many may be under way without an acknowledgement."""

import asyncio
from collections import deque

from msgspec import Raw

from watchbell.fleet.agent.journal import Journal

_WINDOW = 8 << 20
"""Bytes under way; more would only wait in buffers."""
_AT_ONCE = 512 << 10
_FROM_ONE = 256 << 10
"""Bytes that are sent of one job before it is another's turn."""


class Outbox:
    def __init__(self) -> None:
        self._journals: dict[str, Journal] = {}
        self._ready: dict[str, None] = {}
        self._under_way: dict[str, deque[tuple[int, int]]] = {}
        self._bytes = 0
        self._changed = asyncio.Event()

    def add(self, job: str, journal: Journal) -> None:
        self._journals[job] = journal
        self.announce(job)

    def announce(self, job: str) -> None:
        """The job has new reports."""
        journal = self._journals.get(job)
        if journal and journal.has_unsent:
            self._ready[job] = None
            self._changed.set()

    def remove(self, job: str) -> None:
        self._journals.pop(job, None)
        self._ready.pop(job, None)
        for _, size in self._under_way.pop(job, ()):
            self._bytes -= size
        self._changed.set()

    def acknowledge(self, job: str, number: int) -> None:
        journal = self._journals.get(job)
        if journal is None:
            return
        journal.acknowledge(number)
        waiting = self._under_way.get(job, deque())
        while waiting and waiting[0][0] <= number:
            self._bytes -= waiting.popleft()[1]
        if not waiting:
            self._under_way.pop(job, None)
        self._changed.set()

    def rewind(self) -> None:
        """A new connection: everything that is not acknowledged is sent again."""
        self._under_way.clear()
        self._bytes = 0
        for job, journal in self._journals.items():
            journal.rewind()
            self.announce(job)

    async def take(self) -> list[Raw]:
        """The next reports, once there are any and so much may be under way."""
        while not (self._ready and self._bytes < _WINDOW):
            self._changed.clear()
            await self._changed.wait()
        reports: list[Raw] = []
        size = 0
        while self._ready and size < _AT_ONCE:
            job = next(iter(self._ready))
            del self._ready[job]
            taken = self._journals[job].unsent(_FROM_ONE)
            waiting = self._under_way.setdefault(job, deque())
            for number, report, length in taken:
                reports.append(report)
                waiting.append((number, length))
                size += length
            self.announce(job)
        self._bytes += size
        return reports
