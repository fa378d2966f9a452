"""Workflows are accepted or refused, with the node or wire that is wrong."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.workflows import graph, node, workflow
from watchbell.errors import Refused
from watchbell.fleet.model import Monitor
from watchbell.jobs import definition_files, validation, workflow_graph, workflow_rules
from watchbell.jobs.model import Category, Channel, Event, Parameter, Plugin, Timing

SECRET = Parameter(id="password", type="text", secret=True)
LOCKED = Parameter(id="host", type="text", locked=True)
SHELL = Plugin(id="shellplug", title="Shell", command="sh", params=(SECRET, LOCKED))
PROBE = Plugin(id="probe", title="Probe", command="true", type="monitor")
EVENTS = {name: Event(id=name, title=name) for name in "abcd"}
ON_DEMAND = (Timing(type="manual", id="start"),)


class Definitions(msgspec.Struct):
    events: dict[str, Event] = {}
    categories: dict[str, Category] = {}
    plugins: dict[str, Plugin] = {}
    channels: dict[str, Channel] = {}
    monitors: dict[str, Monitor] = {}


KNOWN = Definitions(events=EVENTS, plugins={"shellplug": SHELL, "probe": PROBE})
A, B, C = node("a"), node("b"), node("c")


def read(value: dict[str, Any], known: Any = KNOWN, **options: Any) -> Event:
    found = validation.read("event", value, known, **options)
    assert isinstance(found, Event)
    return found


def test_a_workflow_is_read_and_keeps_its_graph() -> None:
    value = workflow("w", [A, B, node("j", "join"), C], "start > a", "start > b", "a > j",
                     "b complete> j", "j > c")  # fmt: skip
    event = read(value)
    assert event.type == "workflow"
    assert event.plugin == "_workflow"
    assert event.workflow is not None
    assert [one.id for one in event.workflow.nodes] == ["start", "a", "b", "j", "c"]
    assert event.workflow.connections[3].condition == "complete"
    assert event.workflow.connections[3].id == "b_j"
    assert validation.stored("event", msgspec.json.encode(event)) == event


@pytest.mark.parametrize(
    ("nodes", "wires", "field", "reason"),
    [
        ([A, B], ["start > a", "a > b", "b > a"], "workflow.connections[1]", "circles"),
        ([A], ["start > a", "a > nowhere"], "workflow.connections[1].dest", "no node 'nowhere'"),
        ([A, A], ["start > a"], "workflow.nodes[2].id", "two nodes 'a'"),
        ([A], ["start > a", "start > a"], "workflow.connections[1]", "two wires from"),
        ([A, B, C], ["start > a", "b > c"], "workflow.nodes[2]", "no trigger leads to 'b'"),
        ([A], [], "workflow.nodes", "none leads anywhere"),
        ([node("r", "repeat", repeat=2), A, B], ["start > r", "r > a", "r > b"],
         "workflow.nodes[1]", "exactly one output"),
        ([node("r", "repeat", repeat=2), node("w", "wait", wait=1), A],
         ["start > r", "r > w", "w > a"], "workflow.nodes[1]", "to an event or job"),
        ([node("d", "decision", decision="true")], ["start > d"], "workflow.nodes[1]", "an output"),
        ([A, B], ["start > a", "a continue> b"], "workflow.connections[1].condition", "never fire"),
        ([A], ["start error> a"], "workflow.connections[0].condition", "only a wire from an event"),
        ([A, B], ["start > a", "a start> b"], "workflow.connections[1].condition", "start of a"),
        ([A, node("n", "note")], ["start > a", "a > n"], "workflow.connections[1]", "no inputs"),
        ([A, node("l", "limit", type="time", duration=1)], ["start > a", "l > a"],
         "workflow.connections[1]", "no outputs"),
        ([A, node("l", "limit", type="time", duration=1)], ["start > a", "start > l"],
         "workflow.connections[1]", "belongs to an event"),
        ([node("z")], ["start > z"], "workflow.nodes[1].data.event", "no event 'z'"),
        ([node("z", "job", plugin="gone")], ["start > z"],
         "workflow.nodes[1].data.plugin", "no plugin"),
        ([node("z", "job", plugin="probe")], ["start > z"],
         "workflow.nodes[1].data.plugin", "which runs no jobs"),
        ([node("z", "job")], ["start > z"], "workflow.nodes[1].data.plugin", "needs it"),
        ([node("z", "split")], ["start > z"], "workflow.nodes[1].data.split", "needs it"),
        ([node("z", "fly")], ["start > z"],
         "workflow.nodes[1].data.controller", "one of multiplex"),
        ([node("z", "repeat", repeat=1_000_000)], ["start > z"],
         "workflow.nodes[1].data.repeat", "100,000"),
        ([node("d", "decision", decision="data.x >")], ["start > d"],
         "workflow.nodes[1].data.decision", "at column"),
        ([A, node("l", "limit", type="time")], ["start > a", "a > l"],
         "workflow.nodes[2].data.duration", "needs it"),
        ([A, node("m", "action", type="email")], ["start > a", "a error> m"],
         "workflow.nodes[2].data.email", "needs it"),
        ([node("a", event="w")], ["start > a"], "workflow.nodes[1].data.event", "contains this"),
        ([{**A, "colour": "red"}], ["start > a"], "workflow.nodes[1].colour", "no such property"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_its_field(
    nodes: list[dict[str, Any]], wires: list[str], field: str, reason: str
) -> None:
    with pytest.raises(Refused, match=reason) as caught:
        read(workflow("w", nodes, *wires))
    assert caught.value.field == field


def test_a_workflow_that_contains_itself_through_others_is_refused() -> None:
    inner = read(workflow("inner", [node("x", event="outer")], "start > x"),
                 Definitions(events={"outer": Event(id="outer", title="Outer")}))  # fmt: skip
    value = workflow("outer", [node("x", event="inner")], "start > x")
    with pytest.raises(Refused, match="contains this workflow"):
        read(value, Definitions(events={"inner": inner}))


def test_a_trigger_node_is_a_timing_of_the_event() -> None:
    value = workflow("w", [A], "start > a", timings=[{"type": "schedule", "id": "other"}])
    with pytest.raises(Refused, match="no timing with the id 'start'") as caught:
        read(value)
    assert caught.value.field == "workflow.nodes[0].id"
    twice = [{"type": "schedule", "id": "start"}, {"type": "manual", "id": "start"}]
    with pytest.raises(Refused, match="two timings 'start'"):
        read(workflow("w", [A], "start > a", timings=twice))


def test_a_run_begins_at_the_node_of_its_timing() -> None:
    value = workflow(
        "w",
        [node("nightly", "trigger"), A, B],
        "start > a",
        "nightly > b",
        timings=[{"type": "schedule", "id": "nightly"}, {"type": "manual", "id": "start"}],
    )
    event = read(value)
    assert event.workflow is not None
    starts = [
        workflow_graph.start_of(event.workflow, event.timings, one)
        for one in ("nightly", "", "gone")
    ]
    assert starts == ["nightly", "start", "start"]


def test_all_problems_of_a_draft_are_found_at_once() -> None:
    draft = graph([A, A, node("z", "split"), B], "start > a", "a > gone")
    found, unreadable = workflow_rules.parsed(draft)
    problems = [*unreadable, *workflow_graph.problems(found, "w", ON_DEMAND)]
    assert {(one.field, one.node, one.is_warning) for one in problems} == {
        ("workflow.nodes[3].data.split", "z", False),
        ("workflow.nodes[2].id", "a", False),
        ("workflow.connections[1].dest", "", False),
        ("workflow.nodes[3]", "z", True),
        ("workflow.nodes[3]", "z", False),
        ("workflow.nodes[4]", "b", True),
    }


def test_a_secret_of_a_node_stays_when_it_comes_back_masked() -> None:
    job = node("j", "job", plugin="shellplug", params={"password": "x"})
    first = read(workflow("w", [job], "start > j"))
    masked = node("j", "job", plugin="shellplug", params={"password": "••••••••"})
    again = read(workflow("w", [masked], "start > j"), current=first)
    assert again.workflow is not None
    assert again.workflow.nodes[1].data["params"] == {"password": "x"}


def test_only_an_administrator_sets_a_locked_parameter_of_a_node() -> None:
    job = node("j", "job", plugin="shellplug", params={"host": "x"})
    for is_admin, expected in ((False, {}), (True, {"host": "x"})):
        event = read(workflow("w", [job], "start > j"), is_admin=is_admin)
        assert event.workflow is not None
        assert event.workflow.nodes[1].data["params"] == expected


_NAMES = st.sampled_from(["start", "a", "b", "c", "", "x" * 70])
_KINDS = st.sampled_from(["event", "job", "trigger", "split", "join", "note", "action", "odd"])
_NODES = st.lists(st.one_of(st.builds(node, _NAMES, _KINDS), st.integers(), st.none()))
_WIRES = st.lists(st.one_of(st.fixed_dictionaries({"source": _NAMES, "dest": _NAMES}), st.text()))


@given(nodes=_NODES, wires=_WIRES)
def test_whatever_a_graph_holds_its_problems_are_found(nodes: list[Any], wires: list[Any]) -> None:
    draft = {"nodes": nodes, "connections": wires}
    found, unreadable = workflow_rules.parsed(draft)
    problems = [*unreadable, *workflow_graph.problems(found, "w", ON_DEMAND, EVENTS)]
    is_refused = any(not one.is_warning for one in problems)
    try:
        validation.read("event", {**workflow("w", []), "workflow": draft})
    except Refused:
        assert is_refused
    else:
        assert not is_refused


def test_wires_without_ids_get_ids_of_their_own() -> None:
    long, other = "x" * 60, "x" * 60 + "y"
    nodes = [node(name, event="a") for name in ("a", "a_b", "b_c", "c", long, other)]
    wires = ("start > a", "start > a_b", "a > b_c", "a_b > c", f"a > {long}", f"{long} > {other}")
    given = workflow("w", nodes, *wires)
    given["workflow"]["connections"] += [
        {"source": long, "dest": "c", "id": f"{long}_xxx"},
        {"source": long, "dest": "b_c", "id": ["no", "id"]},
    ]
    with pytest.raises(Refused, match=r"no.*id"):
        read(given)
    del given["workflow"]["connections"][-1]
    found = read(given).workflow
    assert found is not None
    ids = [one.id for one in found.connections]
    assert ids[:5] == ["start_a", "start_a_b", "a_b_c", "a_b_c_2", f"a_{long}"]
    assert len(set(ids)) == 7
    assert max(map(len, ids)) <= 64
    again = definition_files.values(read(given), KNOWN)["workflow"]["connections"]
    assert [one.get("id") for one in again[:4]] == [None, None, None, "a_b_c_2"]
    stored = definition_files.load(
        definition_files.dump({"event": [definition_files.values(read(given), KNOWN)]})
    )
    assert read(dict(stored.items[0].values)).workflow == found
