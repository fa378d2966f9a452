"""The graph of a workflow: what leads where, and what is wrong with its shape. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from watchbell.jobs.model import Event, Timing
from watchbell.jobs.workflow_model import FANNING, RUNNING, Connection, Node, Workflow
from watchbell.jobs.workflow_rules import CONTINUE, Problem

DEEPEST = 8
"""Levels of workflows within workflows."""
_TO_ONE = (*FANNING, "join")
"""Controllers with exactly one output."""


class Graph:
    """Of a workflow that may be wrong: dangling wires are left out."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.nodes: dict[str, Node] = {one.id: one for one in workflow.nodes}
        self._places = {one.id: place for place, one in enumerate(workflow.nodes)}
        self.outputs: dict[str, list[Connection]] = defaultdict(list)
        self.inputs: dict[str, list[Connection]] = defaultdict(list)
        for wire in workflow.connections:
            if wire.source in self.nodes and wire.dest in self.nodes:
                self.outputs[wire.source].append(wire)
                self.inputs[wire.dest].append(wire)

    def place(self, node: str) -> int:
        """Its place among the nodes."""
        return self._places[node]

    def after(self, starts: Iterable[str]) -> set[str]:
        """These nodes, and all to which wires lead from them."""
        return _closure(starts, lambda node: (wire.dest for wire in self.outputs.get(node, ())))

    def before(self, node: str) -> set[str]:
        """All nodes from which wires lead to this one, without itself."""
        found = _closure([node], lambda one: (wire.source for wire in self.inputs.get(one, ())))
        return found - {node}

    def ordered(self) -> list[str]:
        """All nodes, each after those that lead to it; nodes of a cycle are missing."""
        missing = {node: len(self.inputs.get(node, ())) for node in self.nodes}
        ready = [node for node, count in missing.items() if not count]
        found = []
        while ready:
            node = ready.pop()
            found.append(node)
            for wire in self.outputs.get(node, ()):
                missing[wire.dest] -= 1
                if not missing[wire.dest]:
                    ready.append(wire.dest)
        return found


def _closure(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    found, left = set[str](), list(starts)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += following(node)
    return found


def own_actions(workflow: Workflow) -> set[str]:
    """Nodes with actions that a run carries out itself: they belong to no jobs of a node."""
    graph = Graph(workflow)
    return {
        wire.dest
        for wires in graph.outputs.values()
        for wire in wires
        if graph.nodes[wire.dest].type == "action"
        and (wire.condition == CONTINUE or graph.nodes[wire.source].type not in RUNNING)
    }


def start_of(workflow: Workflow, timings: Sequence[Timing], timing: str = "") -> str:
    """The trigger node at which a run begins: that of the timing that launched it, or of the timing
    for runs on demand, or the first one that leads anywhere."""
    graph = Graph(workflow)
    able = [one.id for one in workflow.nodes if one.type == "trigger" and graph.outputs.get(one.id)]
    manual = [one.id for one in timings if one.type == "manual"]
    wanted = [one for one in (timing, *manual) if one in able]
    return (wanted or able or [""])[0]


def problems(
    workflow: Workflow,
    event: str,
    timings: Sequence[Timing],
    events: Mapping[str, Event] | None = None,
    field: str = "workflow",
) -> list[Problem]:
    """All that is wrong with the shape of a workflow. `event` is its id, and `events` are those
    that it may refer to; they are needed to find a workflow that contains itself."""
    checks = (
        _duplicates(workflow, field),
        _dangling(workflow, field),
        _wrong_wires(workflow, field),
        _wrong_nodes(workflow, field),
        _triggers(workflow, timings, field),
        _cycle(workflow, field),
        _unreachable(workflow, field),
        _recursion(workflow, event, events or {}, field),
    )
    return [one for found in checks for one in found]


def _duplicates(workflow: Workflow, field: str) -> Iterator[Problem]:
    nodes, pairs = set[str](), set[tuple[str, str]]()
    for place, node in enumerate(workflow.nodes):
        if node.id and node.id in nodes:
            path = f"{field}.nodes[{place}].id"
            yield Problem(field=path, reason=f"there are two nodes {node.id!r}", node=node.id)
        nodes.add(node.id)
    wires = set[str]()
    for place, wire in enumerate(workflow.connections):
        path = f"{field}.connections[{place}]"
        if not wire.id:
            continue
        if (wire.source, wire.dest) in pairs:
            reason = f"there are two wires from {wire.source!r} to {wire.dest!r}"
            yield Problem(field=path, reason=reason, connection=wire.id)
        elif wire.id in wires:
            reason = f"there are two wires {wire.id!r}"
            yield Problem(field=f"{path}.id", reason=reason, connection=wire.id)
        wires.add(wire.id)
        pairs.add((wire.source, wire.dest))


def _dangling(workflow: Workflow, field: str) -> Iterator[Problem]:
    known = {one.id for one in workflow.nodes}
    for place, wire in enumerate(workflow.connections):
        for name, node in (("source", wire.source), ("dest", wire.dest)):
            if node and node not in known:
                path = f"{field}.connections[{place}].{name}"
                reason = f"there is no node {node!r}; the wire leads nowhere"
                yield Problem(field=path, reason=reason, connection=wire.id)


def _wrong_wires(workflow: Workflow, field: str) -> Iterator[Problem]:
    graph = Graph(workflow)
    for place, wire in enumerate(workflow.connections):
        source, dest = graph.nodes.get(wire.source), graph.nodes.get(wire.dest)
        if source is None or dest is None:
            continue
        path = f"{field}.connections[{place}]"
        reason = _wire_reason(source, dest)
        if reason:
            yield Problem(field=path, reason=reason, connection=wire.id)
        elif reason := _condition_reason(graph, wire, source, dest):
            yield Problem(field=f"{path}.condition", reason=reason, connection=wire.id)


def _wire_reason(source: Node, dest: Node) -> str:
    if source.type in ("limit", "action", "note"):
        article = "an" if source.type == "action" else "a"
        return f"{article} {source.type} node has no outputs"
    if dest.type in ("trigger", "note"):
        return f"a {dest.type} node has no inputs"
    if dest.type == "limit" and source.type not in RUNNING:
        return f"a limit belongs to an event or job node, and {source.id!r} is none"
    return ""


def _condition_reason(graph: Graph, wire: Connection, source: Node, dest: Node) -> str:
    if not wire.condition:
        return ""
    if source.type not in RUNNING or dest.type == "limit":
        return "only a wire from an event or job node to another node has a condition"
    if wire.condition == "start" and dest.type != "action":
        return "only an action can follow the start of a job"
    if wire.condition == CONTINUE and not _is_controlled(graph, source):
        return (
            "it would never fire: no multiplex, repeat or split controller leads to"
            f" {source.id!r}, whose jobs it waits for"
        )
    return ""


def _is_controlled(graph: Graph, node: Node) -> bool:
    sources = (graph.nodes[wire.source] for wire in graph.inputs.get(node.id, ()))
    return any(one.controller in FANNING for one in sources)


def _wrong_nodes(workflow: Workflow, field: str) -> Iterator[Problem]:
    graph = Graph(workflow)
    for place, node in enumerate(workflow.nodes):
        outputs = graph.outputs.get(node.id, [])
        reason = ""
        if node.controller in _TO_ONE:
            dests = [graph.nodes[wire.dest] for wire in outputs]
            if len(dests) != 1 or dests[0].type not in RUNNING:
                reason = (
                    f"a {node.controller} controller needs exactly one output, to an event or job"
                    " node"
                )
        elif node.controller and not outputs:
            reason = f"a {node.controller} controller needs an output"
        if reason:
            yield Problem(field=f"{field}.nodes[{place}]", reason=reason, node=node.id)


def _triggers(workflow: Workflow, timings: Sequence[Timing], field: str) -> Iterator[Problem]:
    known = Counter(one.id for one in timings if one.id)
    for place, timing in enumerate(timings):
        if known[timing.id] > 1:
            reason = f"there are two timings {timing.id!r}"
            yield Problem(field=f"timings[{place}].id", reason=reason)
    triggers = [(n, one) for n, one in enumerate(workflow.nodes) if one.type == "trigger"]
    for place, node in triggers:
        if node.id not in known:
            reason = f"the event has no timing with the id {node.id!r}"
            yield Problem(field=f"{field}.nodes[{place}].id", reason=reason, node=node.id)
    wired = {wire.source for wire in workflow.connections}
    if not any(node.id in wired for _, node in triggers):
        reason = "a workflow begins at a trigger node, and none leads anywhere"
        yield Problem(field=f"{field}.nodes", reason=reason)


def _cycle(workflow: Workflow, field: str) -> Iterator[Problem]:
    graph = Graph(workflow)
    left = set(graph.nodes) - set(graph.ordered())
    for place, wire in enumerate(workflow.connections):
        if wire.source in left and wire.dest in left and wire.source in graph.after([wire.dest]):
            reason = f"it leads back to {wire.dest!r}: a workflow can't run in circles"
            path = f"{field}.connections[{place}]"
            yield Problem(field=path, reason=reason, connection=wire.id)


def _unreachable(workflow: Workflow, field: str) -> Iterator[Problem]:
    graph = Graph(workflow)
    reached = graph.after(one.id for one in workflow.nodes if one.type == "trigger")
    for place, node in enumerate(workflow.nodes):
        if node.id in reached or node.type == "note":
            continue
        has_wires = bool(graph.inputs.get(node.id) or graph.outputs.get(node.id))
        yield Problem(
            field=f"{field}.nodes[{place}]",
            reason=f"no trigger leads to {node.id!r}, so it would never run",
            node=node.id,
            is_warning=not has_wires,
        )


def _recursion(
    workflow: Workflow, event: str, events: Mapping[str, Event], field: str
) -> Iterator[Problem]:
    for place, node in enumerate(workflow.nodes):
        name = node.data.get("event") if node.type == "event" else None
        if not isinstance(name, str):
            continue
        inner = _closure([name], lambda one: _parts(events.get(one)))
        if event and event in inner:
            reason = f"{name!r} contains this workflow, which would never end"
            path = f"{field}.nodes[{place}].data.event"
            yield Problem(field=path, reason=reason, node=node.id)


def _parts(event: Event | None) -> list[str]:
    """The events that a workflow runs."""
    if event is None or event.workflow is None:
        return []
    return [
        str(one.data["event"])
        for one in event.workflow.nodes
        if one.type == "event" and "event" in one.data
    ]


def nested(event: Event, events: Mapping[str, Event]) -> dict[str, Event]:
    """All events that a workflow runs, in workflows within it too."""
    names = _closure(_parts(event), lambda one: _parts(events.get(one)))
    return {name: events[name] for name in names if name in events}


def references(workflow: Workflow, field: str = "workflow") -> Iterator[tuple[str, str, str]]:
    """What the nodes refer to: field, kind and id."""
    names = {"event": "event", "plugin": "plugin", "event_id": "event", "channel_id": "channel"}
    for place, node in enumerate(workflow.nodes):
        for name, kind in names.items():
            if node.data.get(name):
                yield f"{field}.nodes[{place}].data.{name}", kind, str(node.data[name])
