"""Workflows for tests, in short forms."""

from typing import Any


def node(name: str, kind: str = "event", **data: Any) -> dict[str, Any]:
    """A node as JSON. An event node runs the event with its name, a controller is one of its
    kind."""
    if kind == "event":
        data.setdefault("event", name)
    elif kind not in ("job", "trigger", "limit", "action", "note", "controller"):
        kind, data = "controller", {"controller": kind, **data}
    return {"id": name, "type": kind, "data": data}


def wire(text: str) -> dict[str, Any]:
    """`a > b` or `a error> b`."""
    left, _, dest = text.partition(">")
    source, *condition = left.split()
    found = {"source": source, "dest": dest.strip()}
    return {**found, "condition": condition[0]} if condition else found


def graph(nodes: list[dict[str, Any]], *wires: str) -> dict[str, Any]:
    """With a trigger node `start`."""
    return {
        "nodes": [node("start", "trigger"), *nodes],
        "connections": [wire(one) for one in wires],
    }


def workflow(name: str, nodes: list[dict[str, Any]], *wires: str, **values: Any) -> dict[str, Any]:
    """An event as JSON, which starts at the node `start` on demand."""
    return {
        "id": name,
        "title": name.capitalize(),
        "type": "workflow",
        "timings": [{"type": "manual", "id": "start"}],
        "workflow": graph(nodes, *wires),
        **values,
    }
