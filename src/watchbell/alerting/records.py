"""Records of one check: its state changes, their number, and its next report."""

from msgspec import Struct

from watchbell.alerting import facts, history
from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import NOTIFICATIONS, Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.alerting.reports import Change
from watchbell.store.client import Argument, Store
from watchbell.store.replies import number, text, text_or_none

MOST_CHANGES = 20_000
"""The most changes that are read of one check: one a minute for two weeks."""
_PAGE = 2_000

# given[1], given[2] the range, as scores; given[3] the latest so many of it. Newest first, flat:
# time, state and the beginning of the summary.
_COURSE = CheckScript("""
local times = key('state_times', entity, check)
local found = redis.call('ZREVRANGEBYSCORE', times, given[2], given[1], 'LIMIT', 0, given[3])
local records = {}
for _, stamp in ipairs(found) do
  local fields = redis.call('MGET', key('state', entity, check, stamp),
    key('summary', entity, check, stamp))
  records[#records + 1] = stamp
  records[#records + 1] = fields[1]
  records[#records + 1] = fields[2] and string.sub(fields[2], 1, 200)
end
return records
""")

# How many: changes of state, alerts, notifications of each kind in the order of NOTIFICATIONS.
_COUNTS = CheckScript("""
local function length(name) return redis.call('LLEN', key(name, entity, check)) end
return {
  redis.call('ZCARD', key('state_times', entity, check)),
  redis.call('ZCARD', key('alerts_by_check', entity, check)),
  length('problems'), length('unknowns'), length('warnings'), length('criticals'),
  length('recoveries'), length('acknowledgements'), length('tests'),
}
""")


class Course(Struct, frozen=True):
    changes: list[Change]
    """Oldest first; the first is the one in force when the range began."""
    is_complete: bool
    """False where only the latest changes were read."""


class Counts(Struct, frozen=True):
    changes: int = 0
    alerts: int = 0
    notifications: dict[str, int] = {}
    """By kind; a failure counts as a problem and under its state."""


async def course(
    store: Store, event_id: str, start: int, end: int, most: int = MOST_CHANGES
) -> Course:
    """The changes in [start, end] and the one before, without their details."""
    found: list[Change] = []
    last: Argument = end
    while len(found) < most:
        room = min(_PAGE, most - len(found))
        flat = [
            part
            async for _, answer in _COURSE.over(store, [event_id], [start, last, room], 1)
            for part in answer
        ]
        found += _changes(flat)
        if len(flat) < 3 * room:
            before = await history.one_before(store, event_id, start)
            return Course([*([before] if before else []), *reversed(found)], is_complete=True)
        last = f"({text(flat[-3])}"
    return Course(found[::-1], is_complete=False)


def _changes(flat: list[bytes | None]) -> list[Change]:
    found = []
    for stamp, state, summary in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        time = number(stamp)
        if time is not None and state is not None:
            found.append(Change(time, text(state), text_or_none(summary)))
    return found


async def next_change(store: Store, event_id: str, time: int) -> int | None:
    """The time of the first change after `time`."""
    key = Alerting(store.prefix).state_times(*split_id(event_id))
    found = await store.call("ZRANGEBYSCORE", key, f"({time}", "+inf", "LIMIT", 0, 1)
    return number(found[0]) if found else None


async def counts(store: Store, event_id: str) -> Counts:
    async for _, (changes, alerts, *notifications) in _COUNTS.over(store, [event_id], [], 1):
        kinds = zip(NOTIFICATIONS, notifications, strict=True)
        return Counts(changes, alerts, {kind: count for kind, count in kinds if count})
    return Counts()


async def is_known(store: Store, event_id: str) -> bool:
    """Whether it ever reported."""
    return bool(await store.call("EXISTS", Alerting(store.prefix).current(*split_id(event_id))))


async def event_tags(store: Store, event_id: str) -> tuple[str, ...]:
    """The tags of a check's latest report, without those that its names imply."""
    stored = await store.call("HGET", AlertingOwn(store.prefix).event_tags(), event_id)
    return facts.event_tags(stored) if stored is not None else ()


async def promised(store: Store, event_id: str) -> int | None:
    """By when it has to report again, or its silence becomes `unknown`."""
    return number(await store.call("ZSCORE", AlertingOwn(store.prefix).silence(), event_id))
