"""Explains a job or an event, as it is now: reads what decides about it."""

import msgspec

from watchbell.errors import NotFound, Refused
from watchbell.jobs import (
    action_outcomes,
    definitions,
    job_records,
    left_out_runs,
    timetable,
    workflow_runs,
)
from watchbell.jobs.decide import explanation, launch, succession
from watchbell.jobs.decide.explanation import EventFacts, Explained, JobFacts, Line
from watchbell.jobs.decide.placement import FleetState
from watchbell.jobs.decide.succession import Next
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Category, Event, EventState, Plugin
from watchbell.jobs.validation import Record
from watchbell.settings import Jobs as JobsSettings
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

# KEYS[1] ready; ARGV[1] job, ARGV[2] event, ARGV[3…] targets. Returns whether it is suspended, its
# place in the queue of its event and among those that wait for a slot, each -1 for none.
_PLACES = Script(
    LAYOUT
    + READ
    + """
local id, slot = ARGV[1], -1
for i = 3, #ARGV do
  local rank = read('ZRANK', jobs.waiting .. ARGV[i], id)
  if rank then slot = math.max(slot, rank) end
end
local queue = read('ZRANK', jobs.queued .. ARGV[2], id)
return {read('SISMEMBER', jobs.suspended, id) or 0, queue or -1, slot}
"""
)


class _Known:
    """The definitions of one event, as `launch` asks for them."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self.categories: dict[str, Category] = {}
        self.plugins: dict[str, Plugin] = {}


async def subject(store: Store, settings: JobsSettings, name: str, now: float) -> Explained:
    """A job by its id, or an event by its id or title. Raises NotFound."""
    found = (await job_records.find(store, [name]))[0]
    if found is not None:
        return await job(store, settings, found, now)
    event = await _event_named(store, name)
    if event is None:
        raise NotFound(f"there is no job and no event {name[:100]!r}")
    return await of_event(store, settings, event, now)


async def job(store: Store, settings: JobsSettings, record: JobRecord, now: float) -> Explained:
    one = record.job
    known = await _definitions(store, one.event)
    facts = JobFacts(
        job=one,
        event=known.events.get(one.event),
        category=known.categories.get(one.category),
        outcomes=await action_outcomes.read(store, one, now),
        run=await workflow_runs.view(store, record, now) if workflow_runs.is_run(one) else None,
    )
    if not record.is_live:
        return explanation.job(facts)
    ready = Jobs(store.prefix).ready()
    places = await _PLACES(store, [ready], [one.id, one.event, *one.targets])
    is_suspended, queue_place, slot_place = map(int, places)
    return explanation.job(
        JobFacts(
            job=one,
            event=facts.event,
            category=facts.category,
            fleet=await _fleet(store, settings),
            is_suspended=bool(is_suspended),
            queue_place=queue_place if queue_place >= 0 else None,
            slot_place=slot_place if slot_place >= 0 else None,
            is_aborting="_abort" in record.own,
            outcomes=facts.outcomes,
            run=facts.run,
        )
    )


async def of_event(store: Store, settings: JobsSettings, event: Event, now: float) -> Explained:
    keys, known = Jobs(store.prefix), await _definitions(store, event.id)
    state, timings = await _state(store, event.id), timetable.of(event.timings, settings.timezone)
    left_out = await left_out_runs.latest(store, event.id)
    return explanation.event(
        EventFacts(
            event=event,
            category=known.categories.get(event.category),
            obstacle=launch.obstacle(known, event),
            fleet=await _fleet(store, settings),
            state=state,
            timetable=timings,
            next_run=timings.next_after(now),
            is_stopped=bool(timings.continuous) and await _is_stopped(store, event, state.last_job),
            in_progress=await store.call("SCARD", keys.occupied(event.id)),
            queued=await store.call("ZCARD", keys.queued(event.id)),
            left_out=Line(left_out_runs.words(left_out), left_out.at) if left_out else None,
        )
    )


async def _definitions(store: Store, event_id: str) -> _Known:
    """The event, its category and its plugin, without those that are missing or spoiled."""
    known = _Known()
    event = await _get(store, "event", event_id)
    if isinstance(event, Event):
        known.events[event.id] = event
        category = await _get(store, "category", event.category)
        if isinstance(category, Category):
            known.categories[category.id] = category
        plugin = await _get(store, "plugin", event.plugin)
        if isinstance(plugin, Plugin):
            known.plugins[plugin.id] = plugin
    return known


async def _get(store: Store, kind: str, name: str) -> Record | None:
    try:
        return await definitions.get(store, kind, name)
    except (NotFound, Refused):
        return None


async def _event_named(store: Store, name: str) -> Event | None:
    try:
        found = await definitions.get(store, "event", name)
    except NotFound:
        every = (await definitions.every(store, "event")).values()
        wanted = name.casefold()
        found_by_title = (one for one in every if one.title.casefold() == wanted)
        return next((one for one in found_by_title if isinstance(one, Event)), None)
    return found if isinstance(found, Event) else None


async def _state(store: Store, event: str) -> EventState:
    raw = await store.call("HGET", Jobs(store.prefix).event_states(), event)
    try:
        return msgspec.json.decode(raw or b"{}", type=EventState)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return EventState()


async def _is_stopped(store: Store, event: Event, last: str) -> bool:
    job_of_it = await job_records.read(store, last) if last else None
    return succession.after(event, job_of_it) is Next.STOP


async def _fleet(store: Store, settings: JobsSettings) -> FleetState:
    view = FleetView(store, settings.down_after)
    await view.load()
    return view.state
