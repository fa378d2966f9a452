"""What the checks of jobs and servers are about."""

from collections.abc import Iterator
from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.alerting.model import split_id
from watchbell.fleet import servers
from watchbell.jobs.check_reports import JOBS, SERVERS
from watchbell.web.access import needs
from watchbell.web.jobs.check_subject_shapes import CheckSubject, CheckSubjects
from watchbell.web.jobs.request_checks import read_access_of, servers_of
from watchbell.web.services import Asked, services_of

Checks = Annotated[
    list[str],
    QueryParameter(name="check", max_items=200, description="Checks, as `jobs:EVENT`."),
]


@get("/checks/subjects", opt=needs("read"))
async def check_subjects(request: Asked, checks: Checks) -> CheckSubjects:
    """List the events and servers that the checks `jobs:EVENT` and `servers:HOST` are about. Other
    checks, and those of events that you may not read, are left out."""
    return CheckSubjects([*await _events(request, checks), *await _servers(request, checks)])


async def _events(request: Asked, checks: list[str]) -> list[CheckSubject]:
    services, access = services_of(request), await read_access_of(request)
    catalogue, seen = await services.definitions.catalogue(), await services.definitions.overview()
    found = [(check, catalogue.events.get(name)) for check, name in _of(JOBS, checks)]
    return [
        CheckSubject(
            check=check,
            kind="event",
            id=event.id,
            title=event.title,
            last_job=seen.state(event.id).last_job,
        )
        for check, event in found
        if event and access.allows(event)
    ]


async def _servers(request: Asked, checks: list[str]) -> list[CheckSubject]:
    known = {one.hostname: one for one in (await servers_of(request)).values()}
    found = [(check, known.get(name)) for check, name in _of(SERVERS, checks)]
    return [
        CheckSubject(check=check, kind="server", id=one.id, title=servers.label(one))
        for check, one in found
        if one
    ]


def _of(entity: str, checks: list[str]) -> Iterator[tuple[str, str]]:
    """The checks of an entity, with their names in it."""
    for check in checks:
        place, name = split_id(check)
        if place == entity:
            yield check, name


ROUTES = Router("/", tags=["Checks"], route_handlers=[check_subjects])
