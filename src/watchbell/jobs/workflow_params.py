"""The parameters in the nodes of a workflow: checked by the plugins that they are for, and masked
for people who may not see secrets. Pure."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from watchbell.errors import Refused
from watchbell.jobs import parameters
from watchbell.jobs.model import Event, Plugin
from watchbell.jobs.workflow_model import JobWorkflow, Node, Workflow


class Known(Protocol):
    @property
    def events(self) -> Mapping[str, Event]: ...
    @property
    def plugins(self) -> Mapping[str, Plugin]: ...


def checked(
    workflow: Workflow, before: Workflow | None, known: Known, *, is_admin: bool
) -> Workflow:
    """The workflow with the parameters of its nodes as their plugins read them. `before` is what it
    replaces: from there come secrets that are masked, and parameters that are locked."""
    stored = {one.id: one for one in before.nodes} if before else {}
    nodes = []
    for place, node in enumerate(workflow.nodes):
        old = stored.get(node.id)
        is_same = old is not None and _subject(old) == _subject(node)
        old_params: dict[str, Any] = old.data.get("params", {}) if old and is_same else {}
        given = node.data.get("params")
        if given is None and node.type != "job":
            nodes.append(node)
            continue
        params = parameters.unmasked(given or {}, old_params)
        plugin = _plugin(node, known)
        if plugin is not None and node.type == "job" and plugin.type != "event":
            reason = f"{plugin.title} is a plugin of type {plugin.type}, which runs no jobs"
            raise Refused(reason, field=f"workflow.nodes[{place}].data.plugin")
        if plugin is not None:
            params = parameters.checked(
                plugin,
                params,
                is_admin=is_admin,
                stored=old_params,
                partial=node.type == "event",
                path=f"workflow.nodes[{place}].data.params",
            )
        is_bare = given is None and not params
        nodes.append(node if is_bare else replace(node, data={**node.data, "params": params}))
    return replace(workflow, nodes=tuple(nodes))


def masked(workflow: Workflow, known: Known) -> Workflow:
    """The workflow for people who may not see secrets. Parameters of actions, and those of which
    nobody knows what they are for, are all masked."""
    return replace(workflow, nodes=tuple(_masked(one, known) for one in workflow.nodes))


def masked_run(found: JobWorkflow, known: Known) -> JobWorkflow:
    """Likewise, of a job. What an earlier run passed on is left out."""
    nodes = tuple(_masked(one, known) for one in found.nodes)
    params = dict.fromkeys(found.params, parameters.MASK)
    return replace(found, nodes=nodes, params=params, replay={})


def without_secrets(workflow: Workflow, known: Known) -> Workflow:
    """The workflow without what `masked` masks."""
    nodes = []
    for node in masked(workflow, known).nodes:
        params = node.data.get("params", {})
        shown = {name: each for name, each in params.items() if each != parameters.MASK}
        data = {name: each for name, each in node.data.items() if name != "params"}
        nodes.append(replace(node, data={**data, "params": shown} if shown else data))
    return replace(workflow, nodes=tuple(nodes))


def _masked(node: Node, known: Known) -> Node:
    params = node.data.get("params")
    if not isinstance(params, dict):
        return node
    return replace(
        node, data={**node.data, "params": parameters.masked(_plugin(node, known), params)}
    )


def _subject(node: Node) -> tuple[object, ...]:
    """What the parameters of a node are for."""
    return node.type, *(node.data.get(name) for name in ("event", "plugin", "event_id"))


def _plugin(node: Node, known: Known) -> Plugin | None:
    name = node.data.get("plugin") if node.type == "job" else None
    if node.type == "event":
        event = known.events.get(str(node.data.get("event")))
        name = event.plugin if event else None
    return known.plugins.get(name) if isinstance(name, str) else None
