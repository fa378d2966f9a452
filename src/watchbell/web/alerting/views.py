"""Views: the rows that a filter means, counted and in order, kept so as rows change."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from msgspec import Struct

from watchbell.alerting.decide.maintenance import Maintenance
from watchbell.web.alerting.check_filter import KEYS, CheckFilter, Key, Sort, matching
from watchbell.web.alerting.check_rows import CheckRow

MOST_PENDING = 20_000
"""Changes that a watch gathers, beyond which all is to be read anew."""


class CheckCounts(Struct):
    """How many checks there are of each state, of those that the filter means."""

    ok: int = 0
    warning: int = 0
    critical: int = 0
    unknown: int = 0
    acknowledged: int = 0
    """Of those that fail."""
    maintenance: int = 0
    """In planned maintenance, whatever their state."""

    @property
    def total(self) -> int:
        return self.ok + self.warning + self.critical + self.unknown

    def add(self, row: CheckRow, sign: int) -> None:
        setattr(self, row.state, getattr(self, row.state) + sign)
        self.acknowledged += sign * row.acknowledged
        self.maintenance += sign * (row.in_maintenance is Maintenance.SCHEDULED)


class Change(Struct, frozen=True, gc=False):
    """A row as it was and as it is, either of which may be missing."""

    old: CheckRow | None
    new: CheckRow | None
    is_visible: bool
    """Whether more has changed than what the check says and when it was heard of."""

    @property
    def id(self) -> str:
        row = self.new or self.old
        assert row is not None
        return row.id


class Watch:
    """What has changed in a view since it was last taken: the checks, not each change."""

    def __init__(self) -> None:
        self.changed: dict[str, None] = {}
        self.heard: dict[str, None] = {}
        self.is_overrun = False
        self.is_over = False
        self.stirred = asyncio.Event()

    def add(self, change: Change) -> None:
        (self.changed if change.is_visible else self.heard)[change.id] = None
        if len(self.changed) + len(self.heard) > MOST_PENDING:
            self.is_overrun = True
            self.changed, self.heard = {}, {}
        self.stirred.set()

    def take(self) -> tuple[dict[str, None], dict[str, None]] | None:
        """What has changed, and what was only heard of; None where that was too much to say."""
        changed, heard, was_overrun = self.changed, self.heard, self.is_overrun
        self.changed, self.heard, self.is_overrun = {}, {}, False
        self.stirred.clear()
        for name in changed:
            heard.pop(name, None)
        return None if was_overrun else (changed, heard)

    def end(self) -> None:
        """The board is given up; nothing more will come."""
        self.is_over = True
        self.stirred.set()


class View:
    def __init__(self, wanted: CheckFilter, sort: Sort | None) -> None:
        self.matches = matching(wanted)
        self._key = KEYS[sort] if sort else None
        self.counts = CheckCounts()
        self.order: list[CheckRow] = []
        self.watches: set[Watch] = set()
        self.is_built = False
        self.settled = asyncio.Event()
        """Set once it is built, or was given up."""
        self._backlog: list[Change] = []

    def sifted(self, rows: Iterable[CheckRow]) -> tuple[CheckCounts, list[CheckRow]]:
        """What the view begins with; takes a while, and may be done beside the loop."""
        found, counts = [row for row in rows if self.matches(row)], CheckCounts()
        for row in found:
            counts.add(row, 1)
        return counts, sorted(found, key=self._key) if self._key else []

    def begin(self, counts: CheckCounts, order: list[CheckRow]) -> None:
        """Followed by what has changed while that was made."""
        self.counts, self.order, self.is_built = counts, order, True
        backlog, self._backlog = self._backlog, []
        for change in backlog:
            self.follow(change)
        self.settled.set()

    def follow(self, change: Change) -> None:
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
        told = change if is_visible == change.is_visible else Change(old, new, is_visible)
        for watch in self.watches:
            watch.add(told)

    def _move(self, old: CheckRow | None, new: CheckRow | None) -> None:
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
    ) -> tuple[Sequence[CheckRow], Key | None]:
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
