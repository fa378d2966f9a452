"""Views of a live table: the rows that match a filter, counted and in order, kept so."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

MOST_PENDING = 20_000
"""Changes that a watch gathers; after more of them the whole list has to be read again."""

Key = tuple[int, int, str]
"""By which rows are sorted; no two rows have the same."""


class Row(Protocol):
    """One line of a table, immutable: a change puts another one in its place."""

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Row)
F = TypeVar("F", bound=Hashable)
R_contra = TypeVar("R_contra", bound=Row, contravariant=True)


class Counts(Protocol[R_contra]):
    """Totals over the rows of a view."""

    def add(self, row: R_contra, sign: int, /) -> None:
        """Counts a row (1), or no longer counts it (-1)."""


C = TypeVar("C", bound=Counts)  # type: ignore[type-arg]  # of rows of the table


class Rules(Struct, Generic[R, F, C], frozen=True):
    """What a live table has to know about the rows of a domain."""

    normal: Callable[[F], F]
    """The same filter for all filters that match the same rows."""
    matching: Callable[[F], Callable[[R], bool]]
    """The test of a filter in its normal form."""
    orders: Mapping[str, Callable[[R], Key]]
    counts: Callable[[], C]
    glance: Callable[[R], object]
    """What matters to readers. A row that differs in other things only was merely refreshed."""


class Change(Struct, Generic[R], frozen=True, gc=False):
    """A row as it was and as it is, either of which may be missing."""

    old: R | None
    new: R | None
    is_visible: bool
    """False where the row was merely refreshed."""

    @property
    def id(self) -> str:
        row = self.new if self.new is not None else self.old
        assert row is not None
        return row.id


class Watch:
    """The rows of a view that have changed since they were last taken, each once."""

    def __init__(self) -> None:
        self.changed: dict[str, None] = {}
        self.refreshed: dict[str, None] = {}
        self.is_overrun = False
        self.is_over = False
        self.stirred = asyncio.Event()

    def add(self, name: str, *, is_visible: bool) -> None:
        (self.changed if is_visible else self.refreshed)[name] = None
        if len(self.changed) + len(self.refreshed) > MOST_PENDING:
            self.is_overrun = True
            self.changed, self.refreshed = {}, {}
        self.stirred.set()

    def take(self) -> tuple[dict[str, None], dict[str, None]] | None:
        """What has changed, and what was merely refreshed; None where it was too much."""
        changed, refreshed, was_overrun = self.changed, self.refreshed, self.is_overrun
        self.changed, self.refreshed, self.is_overrun = {}, {}, False
        self.stirred.clear()
        for name in changed:
            refreshed.pop(name, None)
        return None if was_overrun else (changed, refreshed)

    def end(self) -> None:
        """The table is dropped; there are no more changes."""
        self.is_over = True
        self.stirred.set()


class View(Generic[R, F, C]):
    def __init__(self, rules: Rules[R, F, C], wanted: F, sort: str | None) -> None:
        self.matches = rules.matching(wanted)
        self._rules = rules
        self._key = rules.orders[sort] if sort else None
        self.counts = rules.counts()
        self.order: list[R] = []
        self.watches: set[Watch] = set()
        self.is_built = False
        self.settled = asyncio.Event()
        """Set once it is built, or was given up."""
        self._backlog: list[Change[R]] = []

    def sifted(self, rows: Iterable[R]) -> tuple[C, list[R]]:
        """What the view begins with; takes a while, and may be done in a thread."""
        found, counts = [row for row in rows if self.matches(row)], self._rules.counts()
        for row in found:
            counts.add(row, 1)
        return counts, sorted(found, key=self._key) if self._key else []

    def begin(self, counts: C, order: list[R]) -> None:
        """Followed by what has changed while that was made."""
        self.counts, self.order, self.is_built = counts, order, True
        backlog, self._backlog = self._backlog, []
        for change in backlog:
            self.follow(change)
        self.settled.set()

    def follow(self, change: Change[R]) -> None:
        if not self.is_built:
            self._backlog.append(change)
            return
        old = change.old if change.old is not None and self.matches(change.old) else None
        new = change.new if change.new is not None and self.matches(change.new) else None
        if old is None and new is None:
            return
        if old is not None:
            self.counts.add(old, -1)
        if new is not None:
            self.counts.add(new, 1)
        if self._key is not None:
            self._move(old, new)
        is_visible = change.is_visible or old is None or new is None
        for watch in self.watches:
            watch.add(change.id, is_visible=is_visible)

    def _move(self, old: R | None, new: R | None) -> None:
        key = self._key
        assert key is not None
        if old is not None:
            at = bisect_left(self.order, key(old), key=key)
            if new is not None and key(new) == key(old):
                self.order[at] = new
                return
            del self.order[at]
        if new is not None:
            self.order.insert(bisect_left(self.order, key(new), key=key), new)

    def page(
        self, after: Key | None, limit: int, *, is_reversed: bool
    ) -> tuple[Sequence[R], Key | None]:
        """The rows after a key, and the key that the next page begins after."""
        key, order = self._key, self.order
        assert key is not None
        if is_reversed:
            last = len(order) if after is None else bisect_left(order, after, key=key)
            rows, has_more = order[max(last - limit, 0) : last][::-1], last > limit
        else:
            first = 0 if after is None else bisect_right(order, after, key=key)
            rows, has_more = order[first : first + limit], first + limit < len(order)
        return rows, key(rows[-1]) if rows and has_more else None
