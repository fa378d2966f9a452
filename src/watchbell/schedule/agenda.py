"""The scheduled entries of one process, ordered by when they are due next."""

import heapq
from collections.abc import Iterator
from typing import Generic, TypeVar

from watchbell.schedule.due import delay
from watchbell.schedule.firing import Schedule

_TIDY = 1_000


class Entry:
    """A name, a schedule, and the last of its fires that was handled."""

    __slots__ = ("at", "fire", "mark", "name", "schedule", "ticket")

    def __init__(self, name: str, schedule: Schedule, mark: int) -> None:
        self.name, self.schedule = name, schedule
        self.mark = mark
        """The last fire that any process handled, as far as we know."""
        self.fire: int | None = None
        """The next fire."""
        self.at = 0.0
        """When the next fire is due, jitter included."""
        self.ticket = 0
        """Its place in the agenda; 0 while it has none."""

    @property
    def is_idle(self) -> bool:
        """Whether it is paused, and does not fire for now."""
        return False


E = TypeVar("E", bound=Entry)


class Agenda(Generic[E]):
    """Adding, moving or removing an entry takes logarithmic time."""

    def __init__(self) -> None:
        self._entries: dict[str, E] = {}
        self._heap: list[tuple[float, int, E]] = []
        self._tickets = 0
        self._stale = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[E]:
        return iter(list(self._entries.values()))

    def get(self, name: str) -> E | None:
        return self._entries.get(name)

    def add(self, entry: E) -> None:
        """Replaces an entry of the same name."""
        self.remove(entry.name)
        self._entries[entry.name] = entry
        self.plan(entry)

    def remove(self, name: str) -> E | None:
        entry = self._entries.pop(name, None)
        if entry:
            self._unplan(entry)
        return entry

    def plan(self, entry: E) -> None:
        """Computes the entry's next fire from its mark, and moves it there; a removed entry stays
        out."""
        self.plan_for(entry, entry.schedule.next_after(entry.mark))

    def plan_for(self, entry: E, fire: int | None) -> None:
        """As `plan`, for a caller that knows the fire after the mark."""
        self._unplan(entry)
        entry.fire = fire
        if fire is None or entry.is_idle or self._entries.get(entry.name) is not entry:
            return
        self._tickets += 1
        entry.ticket = self._tickets
        entry.at = fire + delay(entry.name, fire, entry.schedule.jitter)
        heapq.heappush(self._heap, (entry.at, entry.ticket, entry))

    def take_due(self, now: float, most: int) -> list[E]:
        """Takes out the entries that are due, the earliest first; `plan` puts them back."""
        found: list[E] = []
        while len(found) < most and (at := self.next_at()) is not None and at <= now:
            entry = heapq.heappop(self._heap)[2]
            entry.ticket = 0
            found.append(entry)
        return found

    def take_few(self, until: float, most: int) -> list[E]:
        """As `take_due`, but none if more than `most` are due."""
        found = self.take_due(until, most + 1)
        if len(found) <= most:
            return found
        for entry in found:
            self.put_back(entry)
        return []

    def put_back(self, entry: E) -> None:
        """Puts back an entry that was taken out, for the same fire."""
        self.plan_for(entry, entry.fire)

    def next_at(self) -> float | None:
        while self._heap and self._heap[0][1] != self._heap[0][2].ticket:
            heapq.heappop(self._heap)
            self._stale -= 1
        return self._heap[0][0] if self._heap else None

    def _unplan(self, entry: E) -> None:
        if not entry.ticket:
            return
        entry.ticket = 0
        self._stale += 1
        if self._stale > _TIDY + len(self._heap) // 2:
            self._heap = [item for item in self._heap if item[1] == item[2].ticket]
            heapq.heapify(self._heap)
            self._stale = 0
