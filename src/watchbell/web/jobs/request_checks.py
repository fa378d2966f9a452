"""What endpoints of jobs ask about a request: who sends it, and what it may touch."""

from collections.abc import Sequence

from watchbell.actors import Privilege, may
from watchbell.fleet import servers
from watchbell.fleet.model import Server
from watchbell.jobs import permissions
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.model import Event
from watchbell.jobs.permissions import ReadAccess
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, services_of


def timezone_of(request: Asked) -> str:
    return services_of(request).settings.jobs.timezone


async def catalogue_of(request: Asked) -> Catalogue:
    return await services_of(request).definitions.catalogue()


async def check_access(
    request: Asked, privilege: Privilege, category: str, targets: Sequence[str]
) -> None:
    """Refuses what the actor's categories and groups do not allow."""
    about = await permissions.subject_of(services_of(request).store, category, targets)
    permission = may(actor_of(request), privilege, about)
    if not permission:
        raise HttpProblem(403, permission.reason, code="forbidden")


async def read_access_of(request: Asked) -> ReadAccess:
    return ReadAccess(actor_of(request), await servers_of(request))


async def servers_of(request: Asked) -> dict[str, Server]:
    return {one.id: one for one in await servers.every(services_of(request).store)}


async def check_runs(request: Asked, event: Event, before: Event | None = None) -> None:
    """Whether they may run what the event runs now, and did not before: by actions and nodes."""
    catalogue, known = await catalogue_of(request), await servers_of(request)
    actions = [one for one in event.actions if before is None or one not in before.actions]
    permissions.check_actions(actor_of(request), actions, catalogue.events, known)
    permissions.check_graph(actor_of(request), event, before, catalogue.events, known)
