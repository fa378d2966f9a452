"""Who may do what with events and jobs, by their category and the groups of their targets."""

from collections.abc import Iterable, Mapping
from typing import Any

from watchbell.actors import Actor, Privilege, Subject, may
from watchbell.errors import NotFound, Refused
from watchbell.fleet import servers as fleet_servers
from watchbell.fleet.model import Server
from watchbell.jobs import definitions
from watchbell.jobs.model import Action, Event, Job
from watchbell.store.client import Store

_OTHER = "\0"
"""Stands for a category and a group to which only people without limits have access."""


def subject(category: str, targets: Iterable[str], servers: Mapping[str, Server]) -> Subject:
    """Of an event or a job: its category, and the groups that its targets are or belong to."""
    groups: set[str] = set()
    for target in targets:
        server = servers.get(target)
        groups |= set(server.groups) if server else {target}
    return Subject(category, frozenset(groups))


async def subject_of(store: Store, category: str, targets: Iterable[str]) -> Subject:
    """As `subject`, with the servers that there are now."""
    known = await fleet_servers.every(store)
    return subject(category, targets, {server.id: server for server in known})


def check(actor: Actor, privilege: Privilege, about: Subject) -> None:
    """Raises Refused if they may not."""
    permission = may(actor, privilege, about)
    if not permission:
        raise Refused(permission.reason, code="forbidden")


def check_unlimited(actor: Actor, privilege: Privilege, reason: str) -> None:
    """Whether they may do it in all categories and on all groups of servers. Raises Refused."""
    permission = may(actor, privilege)
    everywhere = Subject(_OTHER, frozenset({_OTHER}))
    if not permission:
        raise Refused(permission.reason, code="forbidden")
    if not may(actor, privilege, everywhere):
        reason = f"you have access to some categories or server groups only: {reason}"
        raise Refused(reason, code="forbidden")


def check_actions(
    actor: Actor,
    added: Iterable[Action],
    events: Mapping[str, Event],
    servers: Mapping[str, Server],
) -> None:
    """An action runs another event, with any parameters: only who may run that may add it. Raises
    Refused."""
    for action in added:
        event = events.get(action.event_id) if action.type == "run_event" else None
        if event is not None:
            check(actor, "run_jobs", subject(event.category, event.targets, servers))


async def check_run(store: Store, actor: Actor, category: str, targets: Iterable[str]) -> None:
    """Whether they may run jobs of a category on these servers and groups. Raises Refused."""
    if may(actor, "run_jobs", Subject(category, frozenset({_OTHER}))):
        return  # wherever it is
    check(actor, "run_jobs", await subject_of(store, category, targets))


async def check_runs(store: Store, actor: Actor, values: Mapping[str, Any]) -> None:
    """As `check_actions`, for the properties of a category or channel, before they are validated.
    Raises Refused."""
    actions = values.get("actions")
    named = [values.get("run_event")]
    named += [one.get("event_id") for one in actions or () if isinstance(one, dict)]
    for id_ in {one for one in named if isinstance(one, str) and one}:
        try:
            event = await definitions.get(store, "event", id_)
        except (NotFound, Refused):
            continue
        assert isinstance(event, Event)
        await check_run(store, actor, event.category, event.targets)


class ReadAccess:
    """Which events and jobs somebody may read. Lists ask for very many, most of them alike."""

    def __init__(self, actor: Actor, servers: Mapping[str, Server]) -> None:
        self._actor, self._servers = actor, servers
        self._known: dict[tuple[str, tuple[str, ...]], bool] = {}

    def allows(self, item: Event | Job) -> bool:
        alike = item.category, item.targets
        allowed = self._known.get(alike)
        if allowed is None:
            about = subject(item.category, item.targets, self._servers)
            allowed = self._known[alike] = bool(may(self._actor, "read", about))
        return allowed
