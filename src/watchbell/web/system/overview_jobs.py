"""Jobs and servers, for the overview."""

from collections.abc import Iterable

from watchbell.actors import Actor
from watchbell.fleet import permissions, presence, servers
from watchbell.fleet.model import Server
from watchbell.jobs import history, job_records
from watchbell.jobs.history import Query
from watchbell.jobs.keys import Jobs
from watchbell.jobs.permissions import ReadAccess
from watchbell.web.jobs import job_view
from watchbell.web.jobs.job_view import Names
from watchbell.web.services import Services
from watchbell.web.system.overview_shapes import JobsView, ServerDown

MOST_JOBS, MOST_SERVERS = 6, 10
RECENT = 86_400
_RUNNING = ("active", "finishing")


async def jobs(services: Services, actor: Actor) -> JobsView:
    store, now = services.store, services.clock.now()
    catalogue = await services.definitions.catalogue()
    known = {one.id: one for one in await servers.every(store)}
    names = Names(catalogue, known)
    access = ReadAccess(actor, known)
    live = [job for job in await job_records.live(store) if access.allows(job)]
    running = [job for job in job_view.visible(live) if job.state in _RUNNING]
    recent = await history.search(store, Query(codes=("error",), since=now - RECENT), 50)
    failed = [job for job in recent.jobs if access.allows(job)]
    readable = permissions.readable(actor, known.values())
    down = await _down(services, readable)
    return JobsView(
        events=sum(map(access.allows, catalogue.events.values())),
        active=len(running),
        waiting=len(live) - len(running),
        finished=int(await store.call("HLEN", Jobs(store.prefix).finished())),
        running=[job_view.row(job, names, now) for job in running[:MOST_JOBS]],
        failed=[job_view.row(job, names, now) for job in failed[:MOST_JOBS]],
        servers=len(readable),
        down=down[:MOST_SERVERS],
        down_count=len(down),
    )


async def _down(services: Services, known: Iterable[Server]) -> list[ServerDown]:
    """Enabled servers whose agents are gone, by name."""
    seen = await presence.read(services.store)
    down_after = services.settings.jobs.down_after
    found = [
        ServerDown(id=one.id, title=servers.label(one), seen=seen.seen.get(one.id))
        for one in known
        if one.enabled and not seen.is_online(one.id, down_after)
    ]
    return sorted(found, key=lambda one: one.title)
