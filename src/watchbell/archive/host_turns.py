"""Which host is next: one after the other, and none before its time."""

from collections import deque
from heapq import heappop, heappush


class HostTurns:
    def __init__(self) -> None:
        self._queue: deque[str] = deque()
        self._queued: set[str] = set()
        self._later: list[tuple[float, str]] = []
        self._until: dict[str, float] = {}

    def add(self, host: str) -> None:
        """The host has URLs to be fetched."""
        if host not in self._queued and host not in self._until:
            self._queued.add(host)
            self._queue.append(host)

    def defer(self, host: str, until: float) -> None:
        """Nothing is fetched from the host before this time."""
        if until > self._until.get(host, 0.0):
            self._until[host] = until
            heappush(self._later, (until, host))

    def take(self, now: float) -> str | None:
        """The next host. Add it again while it has more."""
        while self._later and self._later[0][0] <= now:
            until, host = heappop(self._later)
            if self._until.get(host) == until:
                del self._until[host]
                self.add(host)
        while self._queue:
            host = self._queue.popleft()
            self._queued.discard(host)
            if host not in self._until:
                return host
        return None

    def next_at(self) -> float | None:
        """When the first host that was deferred is ready."""
        return min(self._until.values(), default=None)
