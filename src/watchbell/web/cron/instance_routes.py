"""Endpoints for instances of cron: which run jobs, and which are drained."""

from litestar import Router, get, post
from litestar.params import JSONBody

from watchbell.cron import instances, jobs
from watchbell.cron.model import Beat
from watchbell.web.access import needs
from watchbell.web.cron.run_shapes import Fleet, Hosts, InstanceShown
from watchbell.web.services import Asked, audited, services_of


@get("/cron/instances", opt=needs("read"))
async def fleet(request: Asked) -> Fleet:
    """List the instances, and how many runs wait for a place on one of them."""
    store = services_of(request).store
    found = await instances.instances(store)
    return Fleet(
        instances=[_shown(beat) for beat in found],
        running=sum(beat.running for beat in found if not beat.is_silent),
        capacity=sum(b.capacity for b in found if not b.is_drained and not b.is_silent),
        pending=await instances.pending(store),
    )


def _shown(beat: Beat) -> InstanceShown:
    return InstanceShown(
        name=beat.name,
        host=beat.host,
        ip=beat.ip,
        pid=beat.pid,
        version=beat.version,
        since=beat.since,
        seen=beat.seen,
        jobs=beat.jobs,
        running=beat.running,
        capacity=beat.capacity,
        is_drained=beat.is_drained,
        is_silent=beat.is_silent,
        tags=beat.tags,
    )


@post("/cron/instances/drain", status_code=204, opt=needs("admin"))
async def drain(request: Asked, data: JSONBody[Hosts]) -> None:
    """Drain the instances on these hosts: they start no new runs, and finish those in progress."""
    await jobs.drain(services_of(request).store, data.hosts)
    await audited(request, "cron.drain", ", ".join(data.hosts)[:1_000])


@post("/cron/instances/reload", status_code=204, opt=needs("admin"))
async def reload(request: Asked) -> None:
    """Let every instance reload the jobs, and drained ones resume work."""
    await jobs.reload(services_of(request).store)
    await audited(request, "cron.reload")


ROUTES = Router("/", tags=["Cron instances"], route_handlers=[fleet, drain, reload])
