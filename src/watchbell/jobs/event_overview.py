"""How events are doing: what runs, what waits, how the last jobs ended. Filters and sorts them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from watchbell.jobs import preview
from watchbell.jobs.event_states import EventStates
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, EventState
from watchbell.jobs.outcomes import has_failed
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

Status = Literal["invalid", "disabled", "running", "queued", "failing", "ok", "idle"]
Sort = Literal["title", "-title", "next", "-next", "last", "-last", "modified", "-modified"]

_NOTHING = EventState()

_AT_ONCE = 2_000
"""Jobs that one call looks at, since the store does nothing else meanwhile."""

# ARGV[1] what the keys of jobs in progress begin with, then ids. Returns for each job its event and
# its state, as JSON.
_EVENTS = Script(
    READ
    + """
local found = {}
for i = 2, #ARGV do
  local job = read('HMGET', ARGV[1] .. ARGV[i], 'event', 'state') or {}
  found[#found + 1] = job[1] or ''
  found[#found + 1] = job[2] or ''
end
return found
"""
)


class Overview(Struct, frozen=True):
    """Of all events, at one time."""

    running: Mapping[str, int]
    waiting: Mapping[str, int]
    states: Mapping[str, EventState]
    matches: Mapping[str, int]
    """How many times events with the timing `nth` have matched."""

    def state(self, event: str) -> EventState:
        return self.states.get(event, _NOTHING)

    def is_failing(self, event: str) -> bool:
        state = self.state(event)
        return bool(state.total_count) and has_failed(state.last_code)

    def status(self, event: Event) -> Status:
        if not event.enabled:
            return "disabled"
        if self.running.get(event.id):
            return "running"
        if self.waiting.get(event.id):
            return "queued"
        if not self.state(event.id).total_count:
            return "idle"
        return "failing" if self.is_failing(event.id) else "ok"


class EventFilter(Struct, frozen=True, kw_only=True):
    """What is None or empty is not asked for."""

    text: str = ""
    """Words that must all be in the title, the id or the notes."""
    category: str = ""
    plugin: str = ""
    target: str = ""
    tag: str = ""
    enabled: bool | None = None
    failing: bool | None = None
    running: bool | None = None


# KEYS live. Returns the ids of jobs in progress.
_LIVE = Script(READ + "return read('ZRANGE', KEYS[1], 0, -1) or {}")


async def in_progress(store: Store) -> tuple[Counter[str], Counter[str]]:
    """How many jobs of each event run, and how many wait."""
    keys = Jobs(store.prefix)
    live = await _LIVE(store, [keys.live()])
    running, waiting = Counter[str](), Counter[str]()
    for first in range(0, len(live), _AT_ONCE):
        ids = live[first : first + _AT_ONCE]
        found = await _EVENTS(store, [keys.live()], [keys.job.literals[0], *ids])
        for event, state in zip(found[::2], found[1::2], strict=True):
            counted = running if state in (b'"active"', b'"finishing"') else waiting
            counted[_text(event)] += 1
    return running, waiting


async def read(store: Store, states: EventStates) -> Overview:
    running, waiting = await in_progress(store)
    return Overview(running, waiting, await states.current(), await preview.all_matches(store))


def filtered(events: Iterable[Event], wanted: EventFilter, seen: Overview) -> list[Event]:
    words = wanted.text.casefold().split()
    return [event for event in events if _matches(event, wanted, words, seen)]


def _matches(event: Event, wanted: EventFilter, words: Sequence[str], seen: Overview) -> bool:
    if wanted.category not in ("", event.category) or wanted.plugin not in ("", event.plugin):
        return False
    if (wanted.target and wanted.target not in event.targets) or (
        wanted.tag and wanted.tag not in event.tags
    ):
        return False
    if wanted.enabled not in (None, event.enabled):
        return False
    if wanted.failing not in (None, seen.is_failing(event.id)):
        return False
    if wanted.running not in (None, bool(seen.running.get(event.id))):
        return False
    if not words:
        return True
    text = f"{event.title} {event.id} {event.notes}".casefold()
    return all(word in text for word in words)


def ordered(
    events: Iterable[Event], sort: Sort, seen: Overview, next_runs: Mapping[str, int]
) -> list[Event]:
    """`next_runs`: when events run next. Those that have no such time are last, in both
    directions."""
    by_title = sorted(events, key=lambda one: (one.title.casefold(), one.id))
    is_reversed = sort.startswith("-")
    if sort.endswith("title"):
        return by_title[::-1] if is_reversed else by_title

    def moment(event: Event) -> float:
        if sort.endswith("next"):
            return next_runs.get(event.id, 0)
        return seen.state(event.id).last_completed if sort.endswith("last") else event.modified

    timed = [(at, one) for one in by_title if (at := moment(one))]
    timed.sort(key=lambda pair: pair[0], reverse=is_reversed)
    return [one for _, one in timed] + [one for one in by_title if not moment(one)]


def _text(raw: bytes) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except (msgspec.MsgspecError, UnicodeError):
        return ""
