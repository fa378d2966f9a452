"""Numbers the lines that a run prints, gives each a unique time, and decides which older lines to
drop."""

from collections import deque
from typing import NamedTuple

from watchbell.process.output import Batch, Part

SECOND = 1_000_000
"""Scores are times in whole microseconds, each larger than the one before."""
_LONGEST_TAIL = 64 << 10
_LIGHTEST = 10
"""The least bytes that a line counts as, so that a limit on bytes also limits lines."""


class Lines(NamedTuple):
    """Lines to add, and the scores between which to drop older ones."""

    before: int
    """How many lines were added before these."""
    scored: list[tuple[int, bytes]]
    drop: tuple[int, int] | None = None


class OutputLines:
    """The lines of one run on their way to where they are stored.

    In a sorted set, a line that is no longer among the newest is removed again. Nothing can be
    removed from the middle of a list, so there the newest lines are held back until the end.
    """

    def __init__(self, last: int, *, as_list: bool, stored: int = 0) -> None:
        """`stored` is the number of the last line that is in the store already."""
        self._last: deque[bytes] = deque(maxlen=last)
        self._as_list, self._stored = as_list, stored
        self._shift = 0
        self.weight = 0
        """Bytes of all lines so far, as limits count them."""
        self._index = 0
        self._score = 0
        self._marker: int | None = None
        self._newest: deque[tuple[int, int]] = deque()  # first number and score of each part
        self._held: deque[tuple[int, int, bytes]] = deque()

    def add(self, batch: Batch) -> Lines:
        scored = []
        for part in batch.parts:
            scored += self._scored(part, batch.newest_from)
            self.weight += sum(max(len(text), _LIGHTEST) for text in part.texts)
        return self._lines(scored, self._passed(batch.newest_from))

    def rest(self) -> Lines:
        """The lines that were held back, once the run prints no more."""
        scored = [(score, text) for _, score, text in self._held]
        self._held.clear()
        return self._lines(scored, None)

    def tail(self) -> str:
        """The last lines, as the record of a run contains them, with undecodable bytes replaced."""
        return b"".join(self._last)[-_LONGEST_TAIL:].decode(errors="replace")

    def _lines(self, scored: list[tuple[int, bytes]], drop: tuple[int, int] | None) -> Lines:
        index, self._index = self._index, self._index + len(scored)
        return Lines(index, scored, drop)

    def _scored(self, part: Part, newest_from: int) -> list[tuple[int, bytes]]:
        scores = self._scores(part)
        if part.is_marker:
            self._marker = scores[-1]
            # Of the stored lines after the marker, only the last number is known.
            self._shift = max(self._stored - part.first - len(part.texts), 0)
        else:
            self._last.extend(part.texts)
        if self._marker is None or part.is_marker:
            return self._new(part, scores)
        self._newest.append((part.first, scores[0]))
        if not self._as_list:
            return list(zip(scores, self._members(part), strict=True))
        numbers = range(part.first, part.first + len(part.texts))
        self._held.extend(zip(numbers, scores, part.texts, strict=True))
        while self._held and self._held[0][0] < newest_from:
            self._held.popleft()
        return []

    def _new(self, part: Part, scores: range) -> list[tuple[int, bytes]]:
        """Lines that are not stored yet. For a list, the script that writes them compares."""
        scored = list(zip(scores, self._members(part), strict=True))
        return scored if self._as_list else scored[max(self._stored - part.first, 0) :]

    def _members(self, part: Part) -> list[bytes]:
        if self._as_list:
            return part.texts
        first = part.first + self._shift + 1
        return [b"%d\t%b" % (number, text) for number, text in enumerate(part.texts, first)]

    def _scores(self, part: Part) -> range:
        first = max(int(part.at * SECOND), self._score + 1)
        self._score = first + len(part.texts) - 1
        return range(first, first + len(part.texts))

    def _passed(self, newest_from: int) -> tuple[int, int] | None:
        """Scores of the marker and of the first line to keep, if there are lines to drop between
        them."""
        before = len(self._newest)
        while self._newest and self._newest[0][0] < newest_from:
            self._newest.popleft()
        if self._as_list or self._marker is None or not self._newest:
            return None
        return (self._marker, self._newest[0][1]) if len(self._newest) < before else None
