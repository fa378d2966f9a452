"""The live table of all checks.

It follows the channels of alerting, reads a check again when one of its maintenance windows begins
or ends, and goes slowly over all checks for what no channel reports: changes by other
programs, and summaries of checks whose state stays the same.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from msgspec.structs import replace

from watchbell.alerting import change_feed
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.clock import Clock
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.live import Message
from watchbell.web.alerting import check_filter, check_tags
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow, Reader
from watchbell.web.alerting.check_tags import Tags
from watchbell.web.live.background import Background
from watchbell.web.live.live_table import LiveTable
from watchbell.web.live.row_loader import SLICE, Loaded, Published
from watchbell.web.live.views import Rules


def _glance(row: CheckRow) -> tuple[object, ...]:
    """All but the summary and the time of the last report."""
    return (
        *(row.state, row.since, row.failing_since, row.acknowledged, row.unscheduled_until),
        *(row.scheduled_until, row.enabled, row.tags),
    )


RULES: Rules[CheckRow, CheckFilter, CheckCounts] = Rules(
    CheckFilter.normal, check_filter.matching, check_filter.KEYS, CheckCounts, _glance
)


class CheckSource:
    def __init__(self, store: Store) -> None:
        own, self._all = AlertingOwn(store.prefix), Alerting(store.prefix).all_checks()
        self.channels = own.changed_checks(), own.changed_windows()
        self.windows_changed = 0
        self._store, self._reader, self._tags = store, Reader(store), Tags()
        self._reported: dict[str, tuple[str, ...]] = {}

    def published(self, message: Message) -> Published:
        self.windows_changed += message.channel == self.channels[1]
        names = change_feed.checks_named(message.body)
        checks = [name for name in names if split_id(name)[1]]
        return Published(checks, is_shared=len(checks) < len(names))  # an entity: its tags

    async def ids(self) -> AsyncIterator[Sequence[str]]:
        async for page in replies.scored_members(self._store, self._all):
            yield [name for name, _ in page]

    async def read(self, ids: Sequence[str], now: int) -> Mapping[str, Loaded[CheckRow]]:
        found = await self._reader.read(ids, now)
        for name in ids:
            tags = found[name].tags if name in found else ()
            if tags:
                self._reported[name] = tags
            else:
                self._reported.pop(name, None)
        return {name: Loaded(one.row, one.wakes) for name, one in found.items()}

    async def load_shared(self) -> None:
        self._tags = await check_tags.read(self._store)

    def completed(self, row: CheckRow) -> CheckRow:
        tags = self._tags.of(row.id, row.entity, self._reported.get(row.id, ()))
        return row if tags == row.tags else replace(row, tags=tags)

    def round_ended(self) -> None:
        self._reader.forget_summaries()


class CheckTable(LiveTable[CheckRow, CheckFilter, CheckCounts]):
    def __init__(self, store: Store, clock: Clock, background: Background) -> None:
        super().__init__("checks", store, clock, background, self._new_source, RULES)
        self._checks: CheckSource | None = None

    def _new_source(self) -> CheckSource:
        self._checks = CheckSource(self._store)
        return self._checks

    @property
    def windows_changed(self) -> int:
        """How many changes of maintenance were published since the table was loaded; -1 before."""
        return self._checks.windows_changed if self._checks and self.is_loaded else -1

    async def read(self, names: Iterable[str]) -> dict[str, CheckRow]:
        """These checks as they are in the store now, without tags; those that do not exist are
        missing."""
        reader, found, asked = Reader(self._store), dict[str, CheckRow](), list(names)
        for first in range(0, len(asked), SLICE):
            some = await reader.read(asked[first : first + SLICE], int(self._clock.now()))
            found |= {name: one.row for name, one in some.items()}
        return found
