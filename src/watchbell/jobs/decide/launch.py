"""Makes the record of a new job: what its event, category, plugin and caller contribute to it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from watchbell.errors import NotFound, Refused
from watchbell.jobs import action_rules, parameters, workflow_graph
from watchbell.jobs.decide import file_limits
from watchbell.jobs.decide.actions import NODE_TRIGGER, fresh
from watchbell.jobs.model import (
    Action,
    Algorithm,
    Category,
    Event,
    Job,
    JobFile,
    Limit,
    Parent,
    Plugin,
    Source,
    Timing,
)
from watchbell.jobs.workflow_model import PLUGIN as WORKFLOW_PLUGIN
from watchbell.jobs.workflow_model import JobWorkflow, Node

HIGHEST_PRIORITY = 9

_REPLACED = ("tags", "targets", "algo", "actions", "limits", "notes", "icon")

_RESET = Job(id="", event="", state="ready")
# What describes how one job went, and is not passed on to the next attempt.
_OF_ONE_ATTEMPT = (
    *("jobs", "retried", "started", "updated", "completed", "elapsed", "server", "groups"),
    *("remote", "reconnected", "pid", "progress", "status", "log_file", "log_file_size"),
    *("activity", "code", "description", "retry_ok", "data", "files", "update_event", "perf"),
    *("table", "html", "text", "markdown", "cpu", "mem", "disk", "net", "reason"),
)


class Definitions(Protocol):
    """What people have defined, by id."""

    @property
    def events(self) -> Mapping[str, Event]: ...
    @property
    def categories(self) -> Mapping[str, Category]: ...
    @property
    def plugins(self) -> Mapping[str, Plugin]: ...


class Defaults(Struct, frozen=True, kw_only=True):
    """What the settings add to all jobs, and to all alerts of servers."""

    env: dict[str, str] = {}
    limits: tuple[Limit, ...] = ()
    actions: tuple[Action, ...] = ()
    alert_actions: tuple[Action, ...] = ()


NO_DEFAULTS = Defaults()


class Wish(Struct, frozen=True, kw_only=True):
    """A job that somebody wants. What is None is taken from the event."""

    event: str
    source: Source = "user"
    username: str = ""
    key: str = ""
    params: dict[str, Any] = {}
    """Over those of the event."""
    is_admin: bool = False
    """Whether it may set parameters that are locked."""
    tags: tuple[str, ...] | None = None
    targets: tuple[str, ...] | None = None
    algo: Algorithm | None = None
    actions: tuple[Action, ...] | None = None
    limits: tuple[Limit, ...] | None = None
    """In place of the event's; those of its category and the settings are added as usual."""
    notes: str | None = None
    icon: str | None = None
    data: Any = None
    files: tuple[JobFile, ...] = ()
    parent: Parent | None = None
    until: float | None = None
    """When it may start at the earliest."""
    now: float | None = None
    """The time for which it is scheduled."""
    timing: str = ""
    """The id of the timing that launches it."""
    workflow: JobWorkflow | None = None
    """Where it belongs in the workflow that launches it, or what a new run repeats."""
    workflow_data: dict[str, Any] = {}
    priority: int = 0
    test: bool = False
    """Tests also run while the event is disabled."""
    test_actions: bool = False
    test_limits: bool = False
    """Whether the actions and limits apply to a test."""
    test_conditions: bool = False
    """Whether a test needs what other jobs need: an event that is enabled, for example."""


def by_timing(event: Event, timing: Timing, source: Source) -> Wish:
    """The job that a timing launches now."""
    tags = tuple(dict.fromkeys([*event.tags, *timing.tags]))
    return Wish(event=event.id, source=source, params=timing.params, tags=tags, timing=timing.id)


def obstacle(definitions: Definitions, event: Event) -> str:
    """Why an event can't run jobs at all; empty if it can."""
    if not event.enabled:
        return "the event is disabled"
    return _missing(definitions, event) or _disabled(definitions, event)


def _missing(definitions: Definitions, event: Event) -> str:
    if event.category not in definitions.categories:
        return f"there is no category {event.category!r}"
    if event.workflow is not None:
        return _wrong_graph(definitions, event)
    plugin = definitions.plugins.get(event.plugin)
    if plugin is None:
        return f"there is no plugin {event.plugin!r}"
    return "" if plugin.type == "event" else f"the plugin {plugin.title!r} does not run jobs"


def _wrong_graph(definitions: Definitions, event: Event) -> str:
    """Another program may have stored it, and what it refers to may have changed."""
    assert event.workflow is not None
    found = workflow_graph.problems(event.workflow, event.id, event.timings, definitions.events)
    return next((one.reason for one in found if not one.is_warning), "")


def _plugin(definitions: Definitions, event: Event) -> Plugin:
    if event.workflow is not None:
        return Plugin(id=WORKFLOW_PLUGIN, title="Workflow")
    return definitions.plugins[event.plugin]


def _disabled(definitions: Definitions, event: Event) -> str:
    category, plugin = definitions.categories[event.category], _plugin(definitions, event)
    if not category.enabled:
        return f"the category {category.title!r} is disabled"
    return "" if plugin.enabled else f"the plugin {plugin.title!r} is disabled"


def prepare(
    definitions: Definitions, wish: Wish, job_id: str, now: float, defaults: Defaults = NO_DEFAULTS
) -> Job:
    """The job, as it is launched. Raises Refused with the reason if it can't be."""
    event = definitions.events.get(wish.event)
    if event is None:
        raise NotFound(f"there is no event {wish.event!r}")
    is_exempt = wish.test and not wish.test_conditions
    reason = (_missing if is_exempt else obstacle)(definitions, event)
    if reason:
        raise Refused(f"{event.title}: {reason}", code="disabled")
    if abs(wish.priority) > HIGHEST_PRIORITY:
        raise Refused(
            f"expected a number from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY},"
            f" got {wish.priority}",
            field="priority",
        )
    category, plugin = definitions.categories[event.category], _plugin(definitions, event)
    event = _replaced(event, wish)
    limits = () if wish.test and not wish.test_limits else _limits(event, category, defaults)
    actions = () if wish.test and not wish.test_actions else _actions(event, category, defaults)
    is_delayed = wish.until is not None and wish.until > now
    job = Job(
        id=job_id,
        event=event.id,
        type="workflow" if event.workflow else "",
        workflow=_run(definitions, event, wish),
        workflowData=wish.workflow_data,
        state="start_delay" if is_delayed else "ready",
        until=wish.until if is_delayed else None,
        category=event.category,
        plugin=event.plugin,
        params=parameters.complete(
            plugin,
            {**event.params, **wish.params},
            is_admin=wish.is_admin,
            stored=event.params,
        ),
        tags=event.tags,
        targets=event.targets,
        algo=event.algo,
        notes=event.notes,
        icon=event.icon,
        actions=actions,
        limits=limits,
        source=wish.source,
        username=wish.username,
        key=wish.key,
        now=now if wish.now is None else wish.now,
        parent=wish.parent,
        input=_input(wish),
        test=wish.test,
        priority=wish.priority,
        command=plugin.command,
        script=plugin.script,
        uid=plugin.uid,
        gid=plugin.gid,
        cwd=plugin.cwd,
        kill=plugin.kill,
        env={**defaults.env, **plugin.env},
        launched=now,
    )
    return file_limits.pruned(job, now)


def _run(definitions: Definitions, event: Event, wish: Wish) -> JobWorkflow | None:
    """What a run of a workflow keeps: its graph as it is now. Nodes that run events without a label
    of their own are named like these."""
    found = wish.workflow
    if event.workflow is None:
        return found
    return msgspec.structs.replace(
        found or JobWorkflow(),
        start=workflow_graph.start_of(event.workflow, event.timings, wish.timing),
        nodes=_titled(event.workflow.nodes, definitions),
        connections=event.workflow.connections,
    )


def _titled(nodes: tuple[Node, ...], definitions: Definitions) -> tuple[Node, ...]:
    titles = {
        one.id: event.title
        for one in nodes
        if one.type == "event"
        and (event := definitions.events.get(str(one.data.get("event")))) is not None
        and not one.data.get("label")
    }
    counts = Counter([*titles.values(), *(one.label for one in nodes if one.id not in titles)])
    labels = {
        node: title if counts[title] == 1 else f"{title} ({node})" for node, title in titles.items()
    }
    return tuple(
        msgspec.structs.replace(one, data={**one.data, "label": labels[one.id]})
        if one.id in labels
        else one
        for one in nodes
    )


def _node_actions(event: Event) -> tuple[Action, ...]:
    """The actions that a run of a workflow carries out itself: those that belong to no jobs of one
    of its nodes."""
    if event.workflow is None:
        return ()
    own = workflow_graph.own_actions(event.workflow)
    return tuple(
        action_rules.of_node(one.data, NODE_TRIGGER + one.id)
        for one in event.workflow.nodes
        if one.id in own
    )


def _replaced(event: Event, wish: Wish) -> Event:
    given = {name: getattr(wish, name) for name in _REPLACED}
    return msgspec.structs.replace(
        event, **{name: value for name, value in given.items() if value is not None}
    )


def retry(job: Job, job_id: str, now: float, delay: float) -> Job:
    """The next attempt at a job, `delay` seconds from now."""
    return msgspec.structs.replace(
        job,
        **{name: getattr(_RESET, name) for name in _OF_ONE_ATTEMPT},
        id=job_id,
        state="retry_delay" if delay > 0 else "ready",
        until=now + delay if delay > 0 else None,
        launched=now,
        actions=fresh(job.actions),
        label=job.label if job.type == "adhoc" else "",
        retry_count=job.retry_count + 1,
        retry_prev=job.id,
        workflow=_of_next_attempt(job.workflow),
    )


def _of_next_attempt(workflow: JobWorkflow | None) -> JobWorkflow | None:
    if workflow is None or not workflow.nodes:
        return workflow
    return msgspec.structs.replace(workflow, state={}, wires={}, jobs={})


def _input(wish: Wish) -> dict[str, Any]:
    found: dict[str, Any] = {} if wish.data is None else {"data": wish.data}
    return {**found, "files": wish.files} if wish.files else found


def _limits(event: Event, category: Category, defaults: Defaults) -> tuple[Limit, ...]:
    """Limits of the event take the place of those of the same type of its category, and those take
    the place of the settings'."""
    found: list[Limit] = []
    for source, limits in (("", event.limits), ("category", category.limits)):
        found += _added(found, limits, source)
    found += _added(found, defaults.limits, "settings")
    types = {limit.type for limit in found}
    if "queue" in types and "job" not in types:
        raise Refused(
            f"{event.title}: a limit 'queue' needs a limit 'job', above which jobs are queued",
            field="limits",
        )
    return tuple(found)


def _added(found: Iterable[Limit], limits: Iterable[Limit], source: str) -> list[Limit]:
    types = {limit.type for limit in found}
    return [
        msgspec.structs.replace(limit, source=source)
        for limit in limits
        if limit.enabled and limit.type not in types
    ]


def _actions(event: Event, category: Category, defaults: Defaults) -> tuple[Action, ...]:
    sources = (("", event.actions), ("category", category.actions), ("settings", defaults.actions))
    own = tuple(
        msgspec.structs.replace(action, source=source)
        for source, actions in sources
        for action in actions
        if action.enabled
    )
    return (*own, *_node_actions(event))
