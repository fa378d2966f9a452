"""The jobs of an instance, by when they are due next."""

import heapq
from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from watchbell.cron.due import delay
from watchbell.cron.model import Fire, Job, Why, lock_of

_TIDY = 1_000


class Entry:
    """A job and where it stands."""

    __slots__ = (
        *("_items", "at", "digest", "fire", "is_elsewhere", "is_kept", "is_paused", "job"),
        *("mark", "ticket"),
    )

    def __init__(self, job: Job, *, mark: int, digest: int = 0, is_kept: bool = True) -> None:
        self.job = job
        self.mark = mark
        """The last fire that was handled by whomever, as far as we know."""
        self.digest = digest
        """Of the definition's text, by which a change is told."""
        self.is_kept = is_kept
        """Whether the job is in the store; others were only announced on the channel."""
        self.is_paused = job.is_paused
        self.is_elsewhere = False
        """Whether only other instances may run it."""
        self.fire: int | None = None
        """The next one."""
        self.at = 0.0
        """When that is due, jitter included."""
        self.ticket = 0
        self._items: dict[Why, str] = {}

    def item(self, fire: int, why: Why, trigger: str = "") -> str:
        """A fire of the job as the store has it. All but its time is made once, unless the sender
        of a trigger waits for an answer."""
        if trigger:
            made = fire_of(self.job, fire, why, is_kept=self.is_kept)
            return msgspec.json.encode(msgspec.structs.replace(made, trigger=trigger)).decode()
        end = self._items.get(why)
        if end is None:
            made = fire_of(self.job, 0, why, is_kept=self.is_kept)
            end = self._items[why] = msgspec.json.encode(made).decode().removeprefix('{"fire":0')
        return f'{{"fire":{fire}{end}'


def fire_of(job: Job, fire: int, why: Why, *, is_kept: bool = True) -> Fire:
    is_made_up_for = why == "late" and job.options.missed == "all" and job.overlap != "allow"
    attempts, placement = job.options.retrying.attempts, job.options.placement
    return Fire(
        fire=fire,
        why=why,
        job=job.name,
        lock=lock_of(job.lock),
        ttl=job.ttl * 1000 if job.lock else 0,
        overlap="each" if is_made_up_for else job.overlap,
        is_kept=is_kept,
        attempt=1 if attempts > 1 else UNSET,
        attempts=attempts if attempts > 1 else UNSET,
        pool=msgspec.json.encode(placement).decode() if placement else UNSET,
    )


class Agenda:
    """To add, move or remove one job costs the logarithm of their number."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._heap: list[tuple[float, int, Entry]] = []
        self._tickets = 0
        self._stale = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    def get(self, name: str) -> Entry | None:
        return self._entries.get(name)

    def add(self, entry: Entry) -> None:
        """In place of the one of its name, where there is one."""
        self.remove(entry.job.name)
        self._entries[entry.job.name] = entry
        self.plan(entry)

    def remove(self, name: str) -> Entry | None:
        entry = self._entries.pop(name, None)
        if entry:
            self._unplan(entry)
        return entry

    def plan(self, entry: Entry) -> None:
        """Puts the entry where its mark has it now; one that was removed stays away."""
        self.plan_for(entry, entry.job.schedule.next_after(entry.mark))

    def plan_for(self, entry: Entry, fire: int | None) -> None:
        """As `plan`, by one who knows which fire comes after the mark."""
        self._unplan(entry)
        entry.fire = fire
        name = entry.job.name
        is_idle = entry.is_paused or entry.is_elsewhere
        if fire is None or is_idle or self._entries.get(name) is not entry:
            return
        self._tickets += 1
        entry.at, entry.ticket = fire + delay(name, fire, entry.job.schedule.jitter), self._tickets
        heapq.heappush(self._heap, (entry.at, entry.ticket, entry))

    def take_due(self, now: float, most: int) -> list[Entry]:
        """Takes those out that are due, the earliest first; `plan` puts them back."""
        found: list[Entry] = []
        while len(found) < most and (at := self.next_at()) is not None and at <= now:
            entry = heapq.heappop(self._heap)[2]
            entry.ticket = 0
            found.append(entry)
        return found

    def take_few(self, until: float, most: int) -> list[Entry]:
        """As `take_due`, or none where there are more than so many."""
        found = self.take_due(until, most + 1)
        if len(found) <= most:
            return found
        for entry in found:
            self.put_back(entry)
        return []

    def put_back(self, entry: Entry) -> None:
        """One that was taken out, for the same fire."""
        self.plan_for(entry, entry.fire)

    def next_at(self) -> float | None:
        while self._heap and self._heap[0][1] != self._heap[0][2].ticket:
            heapq.heappop(self._heap)
            self._stale -= 1
        return self._heap[0][0] if self._heap else None

    def _unplan(self, entry: Entry) -> None:
        if not entry.ticket:
            return
        entry.ticket = 0
        self._stale += 1
        if self._stale > _TIDY + len(self._heap) // 2:
            self._heap = [item for item in self._heap if item[1] == item[2].ticket]
            heapq.heapify(self._heap)
            self._stale = 0
