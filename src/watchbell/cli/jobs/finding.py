"""Finds the job that somebody names: by its id, or by its event."""

from collections.abc import Iterable

from msgspec import Struct

from watchbell.cli.definitions import find
from watchbell.cli.formatting import plain
from watchbell.errors import NotFound, Refused
from watchbell.fleet import servers
from watchbell.jobs import definitions, event_states, job_records
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.model import Category, Event, Job, Plugin
from watchbell.store.client import Store


class Known(Struct, frozen=True):
    """The definitions of one event, by their ids."""

    events: dict[str, Event]
    categories: dict[str, Category]
    plugins: dict[str, Plugin]


async def definitions_of(store: Store, event: Event) -> Known:
    category = await _some(store, "category", event.category)
    plugin = await _some(store, "plugin", event.plugin)
    others = await definitions.every(store, "event") if event.workflow else {}
    events = {name: one for name, one in others.items() if isinstance(one, Event)}
    return Known(
        {**events, event.id: event},
        {category.id: category} if isinstance(category, Category) else {},
        {plugin.id: plugin} if isinstance(plugin, Plugin) else {},
    )


async def _some(store: Store, kind: str, name: str) -> object:
    try:
        return await definitions.get(store, kind, name)
    except (NotFound, Refused):
        return None


async def job_named(store: Store, name: str) -> JobRecord:
    """A job by its id, or the latest job of an event: one in progress, else the last one. Of a
    workflow it is a run, not a job of one of its nodes."""
    found = (await job_records.find(store, [name]))[0]
    if found is not None:
        return found
    try:
        event = await find(store, "event", name)
    except NotFound:
        raise NotFound(f"there is no job and no event {plain(name, 100)!r}") from None
    live = [
        job.id
        for job in await job_records.live(store)
        if job.event == event.id and job.type != "adhoc"
    ]
    state = (await event_states.some(store, [event.id])).get(event.id)
    latest = live[-1] if live else state.last_job if state else ""
    found = (await job_records.find(store, [latest]))[0] if latest else None
    if found is None:
        raise NotFound(f"the event {plain(event.title)} has no jobs yet")
    return found


class Names(Struct, frozen=True):
    """What people call events and servers, by their ids."""

    events: dict[str, str]
    servers: dict[str, str]

    def event(self, job: Job) -> str:
        found = self.events.get(job.event, job.event)
        return f"{found}: {job.label}" if job.type == "adhoc" and job.label else found

    def server(self, job: Job) -> str:
        return self.servers.get(job.server, job.server)


async def names(store: Store, jobs: Iterable[Job]) -> Names:
    """Of the events and servers of these jobs."""
    events = await definitions.some(store, "event", {job.event for job in jobs})
    known = await servers.every(store)
    return Names(
        {id_: one.title for id_, one in events.items()},
        {one.id: servers.label(one) for one in known},
    )
