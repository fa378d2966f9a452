"""Who may do what with events and jobs, by their category and the groups of their targets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from watchbell.actors import Actor, Privilege, Subject, may
from watchbell.errors import NotFound, Refused
from watchbell.fleet import servers as fleet_servers
from watchbell.fleet.model import Server
from watchbell.jobs import definitions, workflow_graph
from watchbell.jobs.model import Action, AlertDef, Event, Job
from watchbell.jobs.workflow_model import Node
from watchbell.store.client import Store

CHANGES_EVENT: dict[str, Privilege] = {"disable": "edit_events", "delete": "delete_events"}
"""What somebody must be allowed to do with the event to add an action that does it."""
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


async def check_alert(
    store: Store, actor: Actor, privilege: Privilege, id_: str, values: Mapping[str, Any]
) -> None:
    """An alert definition may abort jobs and keep them away: who is limited to some groups may
    change only those about servers of these groups. Raises Refused."""
    if may(actor, privilege, Subject(groups=frozenset({_OTHER}))):
        return
    found = list[Any]()
    try:
        known = await definitions.get(store, "alert", id_)
    except (NotFound, Refused):
        known = None
    if isinstance(known, AlertDef):
        found.append(known.groups)
    if known is None or "groups" in values:
        found.append(values.get("groups"))
    for groups in found:
        if not isinstance(groups, list | tuple) or not groups:
            check_unlimited(actor, privilege, "this alert would be about all servers")
            return
        for group in groups:
            check(actor, privilege, Subject(groups=frozenset({str(group)})))


def check_nodes(
    actor: Actor,
    owner: Event,
    nodes: Iterable[Node],
    events: Mapping[str, Event],
    servers: Mapping[str, Server],
) -> None:
    """A workflow runs what its nodes name: only who may run all of that may add or run them.
    `owner` is the workflow to which the nodes belong. Raises Refused."""
    for node in nodes:
        data = node.data
        if node.type == "job":
            about = data.get("category") or owner.category
            _check_targets(actor, about, data.get("targets"), owner.targets, servers)
            continue
        event = events.get(str(data.get("event") or data.get("event_id") or ""))
        if event is None:
            continue
        _check_targets(actor, event.category, data.get("targets"), event.targets, servers)
        for one in workflow_graph.nested(event, events).values():
            check(actor, "run_jobs", subject(one.category, one.targets, servers))
        if event.workflow is not None:
            _check_jobs_of(actor, event, events, servers)


def _check_targets(
    actor: Actor,
    category: str,
    chosen: Sequence[str] | None,
    usual: Sequence[str],
    servers: Mapping[str, Server],
) -> None:
    """Whoever selects other targets needs access to each of them."""
    each: list[Sequence[str]] = [(one,) for one in chosen or ()]
    for some in each or [usual]:
        check(actor, "run_jobs", subject(category, some, servers))


def check_graph(
    actor: Actor,
    event: Event,
    before: Event | None,
    events: Mapping[str, Event],
    servers: Mapping[str, Server],
) -> None:
    """Whether they may save a workflow: run what its new nodes run, and do what new actions of its
    nodes do to the events that these run. Raises Refused."""
    known = _parts(before)
    added = [one for one in _parts(event) if one not in known]
    nodes = event.workflow.nodes if event.workflow else ()
    changed = [one for one in nodes if (one.type, one.data) in added]
    check_nodes(actor, event, changed, events, servers)
    for name, action in added:
        target = events.get(name)
        if isinstance(action, str) and action in CHANGES_EVENT and target is not None:
            about = subject(target.category, target.targets, servers)
            check(actor, CHANGES_EVENT[action], about)


def _parts(event: Event | None) -> list[tuple[str, Any]]:
    """What the nodes of a workflow are, wherever they are drawn; and which actions follow the jobs
    of which events."""
    if event is None or event.workflow is None:
        return []
    nodes = {one.id: one for one in event.workflow.nodes}
    found: list[tuple[str, Any]] = [(one.type, one.data) for one in nodes.values()]
    for wire in event.workflow.connections:
        source, dest = nodes.get(wire.source), nodes.get(wire.dest)
        if source and dest and source.type == "event" and dest.type == "action":
            found.append((str(source.data.get("event")), str(dest.data.get("type"))))
    return found


async def check_workflow(
    store: Store, actor: Actor, event: Event, events: Mapping[str, Event]
) -> None:
    """Whether they may run all that a workflow runs. Raises Refused."""
    if event.workflow is None:
        return
    servers = {one.id: one for one in await fleet_servers.every(store)}
    check_nodes(actor, event, event.workflow.nodes, events, servers)


def _check_jobs_of(
    actor: Actor, event: Event, events: Mapping[str, Event], servers: Mapping[str, Server]
) -> None:
    """The job nodes of a workflow, and of those within it."""
    for inner in (event, *workflow_graph.nested(event, events).values()):
        nodes = inner.workflow.nodes if inner.workflow else ()
        check_nodes(actor, inner, [one for one in nodes if one.type == "job"], events, servers)


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


async def check_monitor(
    store: Store, actor: Actor, privilege: Privilege, id_: str, values: Mapping[str, Any]
) -> None:
    """A plugin of type monitor runs on the servers of its groups: only who has access to all of
    them may create or change it. `values` are not validated. Raises Refused."""
    if may(actor, privilege, Subject(_OTHER, frozenset({_OTHER}))):
        return  # wherever it is
    try:
        known = msgspec.structs.asdict(await definitions.get(store, "plugin", id_))
    except (NotFound, Refused):
        known = {}
    for given in (known, {**known, **values}):
        if given.get("type") != "monitor":
            continue
        groups = given.get("groups")
        if not isinstance(groups, list | tuple) or not groups:
            check_unlimited(actor, privilege, "this plugin would run on all servers")
            return
        for group in groups:
            check(actor, privilege, Subject(groups=frozenset({str(group)})))


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
