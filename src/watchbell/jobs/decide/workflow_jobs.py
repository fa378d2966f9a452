"""Makes the jobs that a run of a workflow launches: what its nodes add to events. Pure."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from watchbell import ids
from watchbell.errors import NotFound, Refused
from watchbell.jobs import action_rules, limit_rules
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Defaults, Definitions, Wish
from watchbell.jobs.decide.workflow_step import Launch
from watchbell.jobs.model import Action, Category, Event, Job, Limit, Parent, Plugin
from watchbell.jobs.workflow_graph import DEEPEST, Graph
from watchbell.jobs.workflow_model import JobWorkflow, Node


class _Known(Struct, frozen=True):
    """Definitions with an event that exists for one job only."""

    events: Mapping[str, Event]
    categories: Mapping[str, Category]
    plugins: Mapping[str, Plugin]


def prepare(
    definitions: Definitions,
    run: Job,
    wanted: Launch,
    shared: dict[str, Any],
    now: float,
    defaults: Defaults,
) -> Job | str:
    """The job, or why it can't be launched. `shared` is what the jobs of the run share."""
    node = wanted.node
    try:
        if node.type == "job":
            return _adhoc(definitions, run, wanted, shared, now, defaults)
        event = _event(definitions, run, node)
        wish = _wish(run, wanted, event, shared, now)
        return launch.prepare(definitions, wish, _job_id(run, wanted), now, defaults)
    except (Refused, NotFound) as error:
        return str(error)


def targets(definitions: Definitions, run: Job, node: Node) -> tuple[str, ...]:
    """Where the jobs of a node run."""
    if found := node.data.get("targets"):
        return tuple(found)
    event = definitions.events.get(str(node.data.get("event")))
    return event.targets if event else run.targets


def _event(definitions: Definitions, run: Job, node: Node) -> Event:
    event = definitions.events.get(str(node.data.get("event")))
    if event is None:
        raise NotFound(f"there is no event {node.data.get('event')!r}")
    if event.workflow is not None:
        _check_nested(run, event)
    return event


def _check_nested(run: Job, event: Event) -> None:
    if run.workflow and run.workflow.depth >= DEEPEST:
        raise Refused(f"workflows are nested deeper than {DEEPEST} levels")
    if any(one.type == "manual" and not one.enabled for one in event.timings):
        raise Refused(f"{event.title} may not be run on demand: its manual timing is disabled")


def _adhoc(
    definitions: Definitions,
    run: Job,
    wanted: Launch,
    shared: dict[str, Any],
    now: float,
    defaults: Defaults,
) -> Job:
    data = wanted.node.data
    event = Event(
        id=run.event,
        title=wanted.node.label,
        category=data.get("category") or run.category,
        plugin=data["plugin"],
        params=data.get("params", {}),
        targets=tuple(data.get("targets", ())) or run.targets,
        icon=data.get("icon", ""),
    )
    known = _Known({run.event: event}, definitions.categories, definitions.plugins)
    wish = _wish(run, wanted, event, shared, now)
    made = launch.prepare(known, wish, _job_id(run, wanted), now, defaults)
    return replace(made, type="adhoc", label=wanted.node.label)


def _job_id(run: Job, wanted: Launch) -> str:
    """The same whenever the same job of the run is prepared."""
    seed = f"{run.id}-{wanted.node.id}-{wanted.index}"
    return ids.derived_id("j", run.launched, seed)


def _wish(run: Job, wanted: Launch, event: Event, shared: dict[str, Any], now: float) -> Wish:
    data, limits, actions = wanted.node.data, *_attached(wanted.graph, wanted.node)
    own = {one.type for one in event.limits if one.enabled}
    limits = tuple(one for one in limits if one.type not in own)
    is_apart = wanted.node.type == "job" or any(one.type == "job" for one in limits)
    queue = f"{run.id}:{wanted.node.id}" if is_apart else ""
    return Wish(
        event=event.id,
        source="workflow",
        username=run.username,
        params=data.get("params", {}),
        is_admin=True,  # they were checked when the workflow was saved
        tags=tuple(data["tags"]) if data.get("tags") else None,
        targets=wanted.targets or tuple(data.get("targets", ())) or None,
        algo=data.get("algo"),
        limits=(*event.limits, *limits),
        actions=(*event.actions, *actions),
        data=wanted.data,
        files=wanted.files,
        parent=Parent(id=wanted.parent or run.id, data=wanted.data, files=wanted.files),
        until=now + wanted.delay if wanted.delay else None,
        now=run.now,
        priority=run.priority,
        test=run.test,
        workflow=_place(run, wanted, event, queue=queue),
        workflow_data=shared,
    )


def _place(run: Job, wanted: Launch, event: Event, *, queue: str) -> JobWorkflow:
    around = run.workflow or JobWorkflow()
    return JobWorkflow(
        job=run.id,
        event=run.event,
        node=wanted.node.id,
        index=wanted.index,
        launcher=wanted.source,
        params=run.params,
        now=run.now,
        queue=queue,
        depth=around.depth + 1 if event.workflow else around.depth,
        targets=wanted.targets if event.workflow else (),
    )


def _attached(graph: Graph, node: Node) -> tuple[tuple[Limit, ...], tuple[Action, ...]]:
    """The limits and actions that wires attach to a node."""
    limits, actions = list[Limit](), list[Action]()
    for wire in graph.outputs.get(node.id, ()):
        dest = graph.nodes[wire.dest]
        if dest.type == "limit":
            limits.append(limit_rules.reader(strict=False)("", dest.data))
        elif dest.type == "action" and wire.condition != "continue":
            actions.append(action_rules.of_node(dest.data, wire.condition or "complete"))
    return tuple(limits), tuple(actions)
