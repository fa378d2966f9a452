"""Rows of the check table, and how they are read from the store."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.decide.maintenance import (
    OPEN_WINDOW,
    Maintenance,
    is_acknowledged,
    maintenance,
)
from watchbell.alerting.facts import event_tags
from watchbell.alerting.model import FAILING, SEVERITY, State, split_id
from watchbell.store.client import Store
from watchbell.store.replies import number, text
from watchbell.web.live.row_loader import SLICE

SUMMARY = 200
"""Characters of a summary that are shown."""


class CheckRow(Struct, frozen=True, kw_only=True, gc=False):
    """A row of the check table. There may be hundreds of thousands, so rows share equal values."""

    id: str
    """`ENTITY:CHECK`."""
    entity: str
    check: str
    state: State
    summary: str = ""
    """The first 200 characters."""
    since: int | None = None
    """When it entered its state."""
    failing_since: int | None = None
    """When it began to fail, where it does."""
    last_update: int | None = None
    """When it last reported; up to a minute late, or more where there are very many checks."""
    acknowledged: bool = False
    """Whether it fails and somebody acknowledged it."""
    unscheduled_until: int | None = None
    scheduled_until: int | None = None
    """When the current scheduled maintenance ends."""
    enabled: bool = True
    tags: tuple[str, ...] = ()
    """Its own, those of its entity and of its latest report, without those that its name
    implies."""

    @property
    def is_failing(self) -> bool:
        return self.state in FAILING

    @property
    def in_maintenance(self) -> Maintenance | None:
        return maintenance(self.scheduled_until, self.unscheduled_until)


class CheckCounts(Struct):
    """How many of the checks that match are in each state."""

    ok: int = 0
    warning: int = 0
    critical: int = 0
    unknown: int = 0
    acknowledged: int = 0
    """Of those that fail."""
    maintenance: int = 0
    """In scheduled maintenance, whatever their state."""

    @property
    def total(self) -> int:
        return self.ok + self.warning + self.critical + self.unknown

    def add(self, row: CheckRow, sign: int) -> None:
        setattr(self, row.state, getattr(self, row.state) + sign)
        self.acknowledged += sign * row.acknowledged
        self.maintenance += sign * (row.in_maintenance is Maintenance.SCHEDULED)


class Read(NamedTuple):
    row: CheckRow
    wakes: int | None
    """When it has to be read again, because a window begins or ends."""
    tags: tuple[str, ...] = ()
    """Those of its latest report."""


# given[1] now. State, summary, when it changed and last reported, whether it is enabled; then, of
# checks that fail, since when; the end of the planned window that is open, the next time at which
# one begins, the end of the unscheduled one; the tags of its latest report. Nothing for a check
# that there is not.
_ROW = CheckScript(
    OPEN_WINDOW
    + """
if not redis.call('ZSCORE', key('all_checks'), entity .. ':' .. check) then return false end
local now, latest = tonumber(given[1]), 2 ^ 50
local row = redis.call('HMGET', key('current', entity, check), 'state', 'summary', 'last_change',
  'last_update')
row[2] = row[2] and string.sub(row[2], 1, 800)
row[5] = redis.call('ZSCORE', key('current_checks', entity), check) and 1 or 0
row[6], row[7], row[8], row[9] = false, false, false, false
local tags = redis.pcall('HGET', key('event_tags'), entity .. ':' .. check)
row[10] = type(tags) == 'string' and tags
if row[1] and row[1] ~= 'ok' then
  local stamps = redis.call('ZREVRANGE', key('state_times', entity, check), 0, 49)
  for _, stamp in ipairs(stamps) do
    if redis.call('GET', key('state', entity, check, stamp)) == 'ok' then break end
    row[6] = stamp
  end
end
local planned, present = key('scheduled_windows', entity, check), key('scheduled', entity, check)
local past, open = key('unscheduled_windows', entity, check), key('unscheduled', entity, check)
if redis.call('EXISTS', planned, present, open) == 0 then return row end
local starts = redis.call('ZRANGE', planned, 0, -1)
for _, start in ipairs(starts) do
  local from = tonumber(start)
  if from and from > now and (not row[8] or from < row[8]) then row[8] = from end
end
local _, last = open_window(present, planned, now, true)
row[7] = last and math.min(last, latest) or false
_, last = open_window(open, past, now, false)
row[9] = last and math.min(last, latest) or false
return row
"""
)


class Reader:
    """Reads rows, and remembers names, so that rows share them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}
        self._summaries: dict[str, str] = {}
        self._tags: dict[bytes, tuple[str, ...]] = {}

    async def read(self, names: Sequence[str], now: int) -> dict[str, Read]:
        """Rows without tags; checks that do not exist are missing."""
        found = _ROW.over(self._store, names, [now], SLICE)
        return {name: self._row(name, raw, now) async for name, raw in found}

    def forget_summaries(self) -> None:
        """Checks that are read together often have the same summary; later ones have others."""
        self._summaries.clear()
        self._tags.clear()

    def _row(self, event_id: str, raw: Sequence[Any], now: int) -> Read:
        entity, check = (self._names.setdefault(name, name) for name in split_id(event_id))
        state: State = _STATES.get(raw[0], "unknown")
        summary = "" if raw[1] is None else text(raw[1])[:SUMMARY]
        planned, begins, unscheduled = map(_until, raw[6:9])
        row = CheckRow(
            id=event_id,
            entity=entity,
            check=check,
            state=state,
            summary=self._summaries.setdefault(summary, summary),
            since=number(raw[2]),
            failing_since=number(raw[5]),
            last_update=number(raw[3]),
            acknowledged=is_acknowledged(state, unscheduled),
            unscheduled_until=unscheduled,
            scheduled_until=planned,
            enabled=raw[4] == 1,
        )
        times = [time for time in (planned, begins, unscheduled) if time and time > now]
        tags = () if raw[9] is None else self._tags.setdefault(raw[9], event_tags(raw[9]))
        return Read(row, min(times, default=None), tags)


def _until(value: bytes | int | None) -> int | None:
    return value if isinstance(value, int) else number(value)


_STATES: dict[bytes | None, State] = {name.encode(): name for name in SEVERITY}  # type: ignore[misc]
