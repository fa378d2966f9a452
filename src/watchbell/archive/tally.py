"""What a crawl has to report: log entries and counts since they were last committed."""

from collections import Counter
from collections.abc import Iterator

from watchbell.archive.model import Increments, LogEntry

_AT_ONCE = 200
"""Entries of one batch."""
_MOST_IGNORED = 2_000
"""Entries about ignored URLs between two commits: a page may have very many of them."""


class Tally:
    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._entries: list[LogEntry] = []
        self._ignored = 0
        self._bytes = self._items = self._queued = 0
        self._responses: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._matches: Counter[str] = Counter()

    def log(self, entry: LogEntry) -> None:
        self._entries.append(entry)

    def log_ignored(self, entry: LogEntry) -> None:
        self._ignored += 1
        if self._ignored <= _MOST_IGNORED:
            self._entries.append(entry)
        elif self._ignored == _MOST_IGNORED + 1:
            message = "More URLs were ignored than can be logged; they are counted by pattern."
            self._entries.append(LogEntry(type="stdout", ts=entry.ts, message=message))

    def count_response(self, host: str, status: int, size: int) -> None:
        self._bytes += size
        self._items += 200 <= status < 400
        self._responses[host] += 1
        self._sizes[host] += size

    def count_queued(self, number: int) -> None:
        self._queued += number

    def count_match(self, pattern: str) -> None:
        self._matches[pattern] += 1

    def take(self) -> Iterator[tuple[list[LogEntry], Increments]]:
        """Batches of what there is to report; the first one has the counts."""
        entries, increments = self._entries, self._increments()
        is_changed = increments != Increments()
        self._clear()
        if is_changed or entries:
            yield entries[:_AT_ONCE], increments
        for at in range(_AT_ONCE, len(entries), _AT_ONCE):
            yield entries[at : at + _AT_ONCE], Increments()

    def _increments(self) -> Increments:
        return Increments(
            bytes_downloaded=self._bytes,
            items_downloaded=self._items,
            items_queued=self._queued,
            hosts={host: (count, self._sizes[host]) for host, count in self._responses.items()},
            matches=dict(self._matches),
        )
