"""The ledger of the board: rows, what changed in them lately, and the views that follow."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable

from watchbell import ids
from watchbell.web.alerting.check_filter import CheckFilter, Sort
from watchbell.web.alerting.check_rows import CheckRow
from watchbell.web.alerting.views import Change, View

MOST_RECENT = 20_000
"""Changes of which is known what has changed, for who comes back after a cut."""
MOST_VIEWS = 24
THREADED = 5_000
"""Rows beyond which a view is made beside the loop."""


class RowStore:
    def __init__(self) -> None:
        self.rows: dict[str, CheckRow] = {}
        self.version = 0
        self.is_over = False
        self._epoch = ids.token()[:8]
        self._recent: deque[tuple[int, str]] = deque(maxlen=MOST_RECENT)
        self._views: OrderedDict[tuple[CheckFilter, Sort | None], View] = OrderedDict()

    @property
    def moment(self) -> str:
        """By which who was cut off comes back."""
        return f"{self._epoch}.{self.version}"

    def missed(self, since: str) -> list[str] | None:
        """The checks that have changed since that moment; None where that is not known."""
        epoch, _, text = since.partition(".")
        if epoch != self._epoch or not (text.isascii() and text.isdigit() and len(text) < 16):
            return None
        version = int(text)
        oldest = self._recent[0][0] if self._recent else self.version + 1
        if not oldest - 1 <= version <= self.version:
            return None
        return list({name: None for number, name in self._recent if number > version})

    def write(self, pairs: Iterable[tuple[CheckRow | None, CheckRow | None]]) -> None:
        """Puts rows in the place of others, either of which may be missing."""
        for old, new in pairs:
            change = Change(old, new, _is_visible(old, new))
            if new is None:
                self.rows.pop(change.id, None)
            else:
                self.rows[new.id] = new
            if change.is_visible:
                self.version += 1
                self._recent.append((self.version, change.id))
            for view in self._views.values():
                view.follow(change)

    async def view(self, wanted: CheckFilter, sort: Sort | None) -> View:
        """The rows that are meant; current until the loop goes on."""
        place = (wanted.normal(), sort)
        while True:
            view = self._views.get(place)
            if view is None:
                view = self._views[place] = View(*place)
                await self._build(view, place)
            else:
                self._views.move_to_end(place)
                await view.settled.wait()
            if view.is_built:
                return view

    async def _build(self, view: View, place: tuple[CheckFilter, Sort | None]) -> None:
        rows = list(self.rows.values())
        try:
            if len(rows) > THREADED:
                view.begin(*await asyncio.to_thread(view.sifted, rows))
            else:
                view.begin(*view.sifted(rows))
        finally:
            view.settled.set()
            if not view.is_built:
                del self._views[place]
        unused = [
            other for other, one in self._views.items() if one is not view and not one.watches
        ]
        for other in unused[: max(len(self._views) - MOST_VIEWS, 0)]:
            del self._views[other]

    def end(self) -> None:
        """Nothing is followed any more."""
        self.is_over = True
        for view in self._views.values():
            for watch in view.watches:
                watch.end()


def _is_visible(old: CheckRow | None, new: CheckRow | None) -> bool:
    return old is None or new is None or _glance(old) != _glance(new)


def _glance(row: CheckRow) -> tuple[object, ...]:
    """All but what a check says, and when it was heard of."""
    return (
        *(row.state, row.since, row.failing_since, row.acknowledged, row.unscheduled_until),
        *(row.scheduled_until, row.enabled, row.tags),
    )
