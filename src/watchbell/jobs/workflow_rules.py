"""Which properties each type of node has, and how a workflow is read: all that is wrong with it,
not only the first."""

from collections.abc import Collection, Mapping
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from watchbell.errors import Refused, refuse_for
from watchbell.expressions import Expression, ExpressionError
from watchbell.jobs import action_rules, aliases, limit_rules
from watchbell.jobs import value_readers as read
from watchbell.jobs.value_readers import Reader
from watchbell.jobs.workflow_model import Connection, ControllerType, Node, NodeType, Workflow
from watchbell.schedule.fields import refuse

MOST_NODES = 500
MOST_CONNECTIONS = 2_000
MOST_JOBS = 100_000
"""Of one run, whatever the settings say."""
CONTINUE = "continue"
"""The condition of a wire that fires once, when all jobs of a controller have ended."""
_FARTHEST = 1_000_000
_PATH = "workflow"


UNREADABLE = Node(id="", type="note")
"""Stands for a node of which nothing can be read, so that those after it keep their places."""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong with a workflow."""

    field: str
    """Such as `workflow.nodes[3].data.event`."""
    reason: str
    node: str = ""
    connection: str = ""
    is_warning: bool = False
    """Whether the workflow can be saved nevertheless."""


def condition(field: str, value: Any) -> str:
    if value in ("", CONTINUE):
        return str(value)
    return action_rules.trigger(field, value)


def _expression(field: str, value: Any) -> str:
    text: str = read.line(4_000, least=1)(field, value)
    try:
        Expression.parse(text)
    except ExpressionError as error:
        raise Refused(error.reason, field=field) from None
    return text


def _percent(field: str, value: Any) -> float:
    return float(read.number(0, 100)(field, value))


_NAMED: dict[str, Reader] = {"label": read.line(), "icon": read.line()}
_OVERRIDES: dict[str, Reader] = {
    "params": read.mapping,
    "targets": read.array(read.target),
    "algo": read.identifier,
    "tags": read.array(read.identifier),
}
_FAN: dict[str, Reader] = {
    **_NAMED,
    "controller": read.identifier,
    "stagger": read.number(0, read.LONGEST_TIME),
    CONTINUE: _percent,
}
_CONTROLLERS: dict[str, dict[str, Reader]] = {
    "multiplex": _FAN,
    "repeat": {**_FAN, "repeat": read.whole(1, MOST_JOBS)},
    "split": {
        **_FAN,
        "split": _expression,
        "filter": _expression,
        "chunk": read.whole(1, 1_000_000),
    },
    "join": {**_NAMED, "controller": read.identifier},
    "decision": {
        **_NAMED,
        "controller": read.identifier,
        "decision": _expression,
        "abort": read.yes_or_no,
    },
    "wait": {
        **_NAMED,
        "controller": read.identifier,
        "wait": read.number(0, read.LONGEST_TIME),
    },
}
assert set(_CONTROLLERS) == set(get_args(ControllerType))
_DATA: dict[str, dict[str, Reader]] = {
    "event": {**_NAMED, "event": read.identifier, **_OVERRIDES},
    "job": {
        **_NAMED,
        "category": read.identifier,
        "plugin": read.identifier,
        **_OVERRIDES,
    },
    "trigger": _NAMED,
    "note": {"title": read.line(), "body": read.text, "wide": read.yes_or_no, "color": read.line()},
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "event": ("event",),
    "job": ("plugin",),
    "repeat": ("repeat",),
    "split": ("split",),
    "decision": ("decision",),
    "wait": ("wait",),
}


def properties(kind: str, controller: str = "") -> Collection[str]:
    """The properties that the data of a type of node has."""
    if kind == "limit":
        return limit_rules.properties(controller)
    if kind == "action":
        return action_rules.PROPERTIES
    return _CONTROLLERS.get(controller, _NAMED) if kind == "controller" else _DATA[kind]


def reader(*, strict: bool) -> Reader:
    """All problems are raised together, as Refused."""

    def workflow(field: str, value: Any) -> Workflow:
        found, problems = parsed(value, field, strict=strict)
        refuse_for([Refused(one.reason, field=one.field) for one in problems])
        return found

    return workflow


def parsed(
    value: object, field: str = _PATH, *, strict: bool = True
) -> tuple[Workflow, list[Problem]]:
    """What can be read of a workflow, and what can't be."""
    problems: list[Problem] = []
    given = value if isinstance(value, dict) else {}
    if not isinstance(value, dict):
        problems.append(Problem(field=field, reason="expected an object with nodes"))
    nodes = _each(given, "nodes", field, MOST_NODES, problems)
    wires = _each(given, "connections", field, MOST_CONNECTIONS, problems)
    workflow = Workflow(
        nodes=tuple(_nodes(nodes, f"{field}.nodes", problems, strict=strict)),
        connections=tuple(_wires(wires, f"{field}.connections", problems, strict=strict)),
    )
    return workflow, problems


def _each(
    given: Mapping[str, Any], name: str, field: str, most: int, problems: list[Problem]
) -> list[Any]:
    found = given.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or len(found) > most:
        problems.append(
            Problem(field=f"{field}.{name}", reason=f"expected a list of at most {most:,} objects")
        )
        return []
    return found


def _nodes(values: list[Any], path: str, problems: list[Problem], *, strict: bool) -> list[Node]:
    """A node whose data can't be read is kept as it is, for what is to be found about its wires."""
    found = []
    for place, value in enumerate(values):
        field, node = f"{path}[{place}]", None
        try:
            node = _node(field, value, strict=strict)
            data = _data(node.type, f"{field}.data", node.data, strict=strict)
            found.append(replace(node, data=data))
        except Refused as error:
            name = node.id if node else ""
            problems += [
                Problem(field=one.field, reason=one.reason, node=name) for one in error.every
            ]
            found.append(node or UNREADABLE)
    return found


_NODE: dict[str, Reader] = {
    "id": read.identifier,
    "type": read.one_of(get_args(NodeType)),
    "data": read.mapping,
    "x": read.number(-_FARTHEST, _FARTHEST),
    "y": read.number(-_FARTHEST, _FARTHEST),
}


def _node(field: str, value: Any, *, strict: bool) -> Node:
    found = read.fields(field, read.mapping(field, value), _NODE, strict=strict)
    for name in ("id", "type"):
        if name not in found:
            raise Refused("enter one", field=f"{field}.{name}")
    return Node(**found)


def _data(kind: str, field: str, given: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    if kind == "limit":
        limit_rules.reader(strict=strict)(field, aliases.limit(dict(given)))
        return dict(aliases.limit(dict(given)))
    if kind == "action":
        canonical = dict(aliases.action(dict(given)))
        action_rules.reader(strict=strict)(field, {**canonical, "trigger": "complete"})
        return {name: each for name, each in canonical.items() if name != "trigger"}
    readers, needed = _DATA.get(kind, {}), kind
    if kind == "controller":
        needed = given.get("controller", "")
        if not isinstance(needed, str) or needed not in _CONTROLLERS:
            refuse(f"{field}.controller", f"one of {', '.join(_CONTROLLERS)}", needed)
        readers = _CONTROLLERS[needed]
    found = read.fields(field, given, readers, strict=strict)
    for name in _NEEDED.get(needed, ()):
        if name not in found:
            raise Refused(f"a node of the type {needed} needs it", field=f"{field}.{name}")
    return {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}


_WIRE: dict[str, Reader] = {
    "id": read.identifier,
    "source": read.identifier,
    "dest": read.identifier,
    "condition": condition,
}


def _wires(
    values: list[Any], path: str, problems: list[Problem], *, strict: bool
) -> list[Connection]:
    found = []
    ids = (one.get("id") for one in values if isinstance(one, dict))
    taken = {one for one in ids if isinstance(one, str)}
    for place, value in enumerate(values):
        field = f"{path}[{place}]"
        try:
            found.append(_named(_wire(field, value, strict=strict), taken))
        except Refused as error:
            problems += [Problem(field=one.field, reason=one.reason) for one in error.every]
            found.append(Connection(id="", source="", dest=""))
    return found


def _wire(field: str, value: Any, *, strict: bool) -> Connection:
    given = read.fields(field, read.mapping(field, value), _WIRE, strict=strict)
    for name in ("source", "dest"):
        if name not in given:
            raise Refused("enter the id of a node", field=f"{field}.{name}")
    return Connection(**{"id": "", **given})


def _named(wire: Connection, taken: set[str]) -> Connection:
    """With an id of its own, if it has none."""
    if wire.id:
        return wire
    base, number = wire_id(wire.source, wire.dest), 1
    name = base
    while name in taken:
        number += 1
        name = f"{base[:-6]}_{number}" if len(base) > read.LONGEST_ID - 6 else f"{base}_{number}"
    taken.add(name)
    return replace(wire, id=name)


def wire_id(source: str, dest: str) -> str:
    """Of a wire to which nobody gave one."""
    return f"{source}_{dest}"[: read.LONGEST_ID]
