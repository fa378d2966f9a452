"""The rows of a live table, what changed in them lately, and the views that follow them."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Generic

from watchbell import ids
from watchbell.web.live.views import C, Change, F, R, Rules, View

MOST_RECENT = 20_000
"""Changes that are remembered, for readers who come back after a cut."""
MOST_VIEWS = 24
THREADED = 5_000
"""With more rows than this, a view is built in a thread."""


class RowStore(Generic[R, F, C]):
    def __init__(self, rules: Rules[R, F, C]) -> None:
        self.rows: dict[str, R] = {}
        self.version = 0
        self.is_over = False
        self._rules = rules
        self._epoch = ids.token()[:8]
        self._recent: deque[tuple[int, str]] = deque(maxlen=MOST_RECENT)
        self._views: OrderedDict[tuple[F, str | None], View[R, F, C]] = OrderedDict()

    @property
    def moment(self) -> str:
        """From which a reader who was cut off can go on."""
        return f"{self._epoch}.{self.version}"

    def missed(self, since: str) -> list[str] | None:
        """The rows that have changed since that moment; None where that is not known."""
        epoch, _, text = since.partition(".")
        if epoch != self._epoch or not (text.isascii() and text.isdigit() and len(text) < 16):
            return None
        version = int(text)
        oldest = self._recent[0][0] if self._recent else self.version + 1
        if not oldest - 1 <= version <= self.version:
            return None
        return list({name: None for number, name in self._recent if number > version})

    def write(self, pairs: Iterable[tuple[R | None, R | None]]) -> None:
        """Replaces rows by others, either of which may be missing."""
        for old, new in pairs:
            change = Change(old, new, self._is_visible(old, new))
            if new is None:
                self.rows.pop(change.id, None)
            else:
                self.rows[new.id] = new
            if change.is_visible:
                self.version += 1
                self._recent.append((self.version, change.id))
            for view in self._views.values():
                view.follow(change)

    def _is_visible(self, old: R | None, new: R | None) -> bool:
        glance = self._rules.glance
        return old is None or new is None or glance(old) != glance(new)

    async def view(self, wanted: F, sort: str | None) -> View[R, F, C]:
        """The rows that match; current until the next await."""
        place = (self._rules.normal(wanted), sort)
        while True:
            view = self._views.get(place)
            if view is None:
                view = self._views[place] = View(self._rules, *place)
                await self._build(view, place)
            else:
                self._views.move_to_end(place)
                await view.settled.wait()
            if view.is_built:
                return view

    async def _build(self, view: View[R, F, C], place: tuple[F, str | None]) -> None:
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
        """No watch will see another change."""
        self.is_over = True
        for view in self._views.values():
            for watch in view.watches:
                watch.end()
