"""What a run of a workflow does next, by the deciding code alone."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.simulated_workflow import SERVERS, Simulation, catalogue, node_of, read
from tests.jobs.workflows import node, workflow
from watchbell.jobs.decide import workflow_view
from watchbell.jobs.decide.workflow_state import EndedJob, Step
from watchbell.jobs.model import Code, Event, Job, Timing
from watchbell.jobs.workflow_graph import Graph
from watchbell.jobs.workflow_model import Connection, JobWorkflow, Replay

A, B, C, D = (node(name) for name in "abcd")
JOIN = node("j", "join")
FAILS = {"b": 3}


def outcome(job: Job) -> Code:
    """Jobs of b fail."""
    return FAILS.get(node_of(job), 0)


def simulated(
    nodes: list[Any], *wires: str, event: dict[str, Any] | None = None, **more: Any
) -> Any:
    return Simulation(read(workflow("w", nodes, *wires, **(event or {}))), **more)


def passing(**data: Any) -> Any:
    return lambda job: EndedJob(id=job.id, data=data)


def test_jobs_run_one_after_the_other_and_pass_on_their_data() -> None:
    run = simulated([A, B], "start > a", "a > b").go_on()
    first, second = run.launched
    assert second.input == {"data": {"from": "a"}}
    assert (second.parent.id, second.parent.data) == (first.id, {"from": "a"})
    assert (second.source, second.workflow.job, second.workflow.launcher) == (
        "workflow",
        "jrun",
        "a",
    )
    assert (run.end.code, run.end.description) == (0, "2 jobs succeeded")


@pytest.mark.parametrize(
    ("condition", "code", "expected"),
    [
        ("", 0, True),
        ("", 3, False),
        ("success", 0, True),
        ("error", 3, True),
        ("error", 0, False),
        ("error", "warning", True),
        ("warning", "warning", True),
        ("critical", "warning", False),
        ("abort", "abort", True),
        ("complete", 0, True),
        ("complete", "critical", True),
        ("tag:blue", 0, True),
        ("tag:green", 0, False),
    ],
)
def test_a_wire_fires_on_its_condition(condition: str, code: Code, expected: bool) -> None:
    run = simulated(
        [A, B],
        "start > a",
        f"a {condition}> b",
        outcome=lambda job: EndedJob(id=job.id, code=code, tags=("blue", "_last")),
    )
    run.start().finish(run.launched[0])
    assert (run.count["b"] == 1) is expected


@pytest.mark.parametrize(
    ("nodes", "wires", "code", "words"),
    [
        ([A, C], ("start > a", "start > c"), 0, "2 jobs succeeded"),
        ([A, B], ("start > a", "start > b"), "warning", "1 of 2 jobs failed: B: code 3"),
        ([B], ("start > b",), 1, "1 of 1 job failed"),
    ],
)
def test_the_end_of_a_run_says_how_its_jobs_went(
    nodes: list[Any], wires: tuple[str, ...], code: Code, words: str
) -> None:
    run = simulated(nodes, *wires, outcome=outcome).go_on()
    assert run.end.code == code
    assert run.end.description.startswith(words)


def test_a_join_waits_for_all_that_can_arrive_and_joins_their_data() -> None:
    run = simulated(
        [A, B, JOIN, C],
        "start > a",
        "start > b",
        "a > j",
        "b complete> j",
        "j > c",
        outcome=outcome,
    )
    run.start().finish(run.launched[0])
    assert run.count["c"] == 0
    run.finish(run.launched[1])
    (c,) = (job for job in run.launched if node_of(job) == "c")
    assert c.input["data"] == {"items": [{"from": "a"}, {"from": "b"}], "combined": {"from": "b"}}
    assert run.state.nodes["j"].count == 2


def test_a_join_does_not_wait_for_a_wire_that_can_not_fire() -> None:
    run = simulated(
        [A, B, JOIN, C], "start > a", "start > b", "a > j", "b > j", "j > c", outcome=outcome
    ).go_on()
    assert run.count["c"] == 1
    assert run.state.nodes["j"].reason == "1 wire did not fire"


def test_a_join_at_which_nothing_arrives_does_not_run() -> None:
    run = simulated([B, JOIN, C], "start > b", "b > j", "j > c", outcome=outcome).go_on()
    assert run.count["c"] == 0
    assert run.end.code == 1


def test_a_split_gives_each_job_an_item_and_continues_once() -> None:
    split = node("s", "split", split="data.hosts", stagger=10)
    run = simulated(
        [A, split, B, C, D],
        "start > a",
        "a > s",
        "s > b",
        "b > c",
        "b continue> d",
        outcome=passing(hosts=["x", "y", "z"]),
    ).go_on()
    each = [job for job in run.launched if node_of(job) == "b"]
    assert [job.input["data"] for job in each] == [{"item": "x"}, {"item": "y"}, {"item": "z"}]
    assert [job.until and job.until - 1_000 for job in each] == [None, 10, 20]
    assert run.count == {"a": 1, "b": 3, "c": 3, "d": 1}
    (d,) = (job for job in run.launched if node_of(job) == "d")
    assert len(d.input["data"]["items"]) == 3


@pytest.mark.parametrize(
    ("settings_", "expected"),
    [
        ({"split": "data.lines"}, [{"item": "x"}, {"item": "y"}, {"item": "z"}]),
        ({"split": "data.lines", "chunk": 2}, [{"items": ["x", "y"]}, {"items": ["z"]}]),
        ({"split": "data.lines", "filter": "item != 'y'"}, [{"item": "x"}, {"item": "z"}]),
        ({"split": "data.lines", "filter": "index < 1"}, [{"item": "x"}]),
    ],
)
def test_what_a_split_makes_of_lines(settings_: dict[str, Any], expected: list[Any]) -> None:
    run = simulated(
        [A, node("s", "split", **settings_), B],
        "start > a",
        "a > s",
        "s > b",
        outcome=passing(lines="x\ny\nz\n"),
    ).go_on()
    assert [job.input["data"] for job in run.launched[1:]] == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            {"hosts": list(range(1_000_000))},
            "it would launch 1,000,000 jobs; a workflow launches at",
        ),
        ({"hosts": []}, "no items"),
        ({"hosts": 7}, "is no list"),
        ({}, "is no list"),
    ],
)
def test_what_can_not_be_split_fails_its_node_with_the_reason(
    data: dict[str, Any], reason: str
) -> None:
    run = simulated(
        [A, node("s", "split", split="data.hosts"), B],
        "start > a",
        "a > s",
        "s > b",
        outcome=passing(**data),
    ).go_on()
    assert run.count == {"a": 1}
    assert run.state.nodes["s"].error
    assert reason in run.state.nodes["s"].reason
    assert run.end.code == "warning"


def test_a_multiplex_runs_on_each_server_and_a_repeat_as_often_as_it_says() -> None:
    many = node("m", "multiplex", **{"continue": 60})
    run = simulated(
        [many, A, node("r", "repeat", repeat=4), C, D],
        "start > m",
        "m > a",
        "a continue> r",
        "r > c",
        "c continue> d",
    ).go_on()
    assert [job.targets for job in run.launched[:3]] == [(one,) for one in SERVERS]
    assert run.count == {"a": 3, "c": 4, "d": 1}
    assert run.state.nodes["m"].max == 3


@pytest.mark.parametrize(("needed", "expected"), [(50, 1), (51, 0), (0, 1), (100, 0)])
def test_continue_needs_enough_successes(needed: int, expected: int) -> None:
    results = iter([0, 0, 1, 1])
    run = simulated(
        [node("r", "repeat", repeat=4, **{"continue": needed}), A, C],
        "start > r",
        "r > a",
        "a continue> c",
        outcome=lambda _: next(results, 0),
    ).go_on()
    assert run.count["c"] == expected
    reason = run.state.nodes["r"].reason
    assert reason == ("" if expected else "2 of 4 jobs succeeded")


@pytest.mark.parametrize(
    ("decision", "abort", "count", "code"),
    [
        ("data.x > 3", False, 2, 0),
        ("data.x > 5", False, 0, 0),
        ("data.x > 5", True, 0, "abort"),
        ("data.x.y.z", False, 0, 0),
        ("min('')", False, 0, "warning"),
    ],
)
def test_a_decision_passes_on_to_all_or_nothing(
    decision: str, abort: bool, count: int, code: Code
) -> None:
    run = simulated(
        [A, node("q", "decision", decision=decision, abort=abort), B, C],
        "start > a",
        "a > q",
        "q > b",
        "q > c",
        outcome=passing(x=5),
    ).go_on()
    assert run.count["b"] + run.count["c"] == count
    assert run.end.code == code
    assert count or run.state.nodes["q"].reason


def test_a_wait_goes_on_when_its_time_has_come() -> None:
    run = simulated([A, node("q", "wait", wait=3_600), B], "start > a", "a > q", "q > b")
    run.start().finish(run.launched[0])
    assert (run.count["b"], run.end) == (0, None)
    assert [at for at, _ in run.later] == [4_600]
    run.go_on()
    assert run.launched[1].input == {"data": {"from": "a"}}
    run.later.clear()
    assert run.end.code == 0


def test_a_job_that_can_not_be_launched_ends_its_node_and_not_the_run() -> None:
    disabled = Event(id="off", title="Off", enabled=False)
    nodes = [node("gone"), node("off"), A, B]
    wires = ("start > gone", "start > off", "gone error> a", "off > b")
    event = read(workflow("w", nodes, *wires))
    run: Any = Simulation(event, known=catalogue(event, disabled)).go_on()
    assert run.count == {"a": 1}
    assert run.state.nodes["gone"].reason == "there is no event 'gone'"
    assert run.state.nodes["off"].reason == "Off: the event is disabled"
    assert run.end.code == "warning"


def test_an_attempt_that_is_retried_triggers_nothing() -> None:
    run = simulated([A, B], "start > a", "a error> b")
    run.start()
    (first,) = run.launched
    run.finish(first, EndedJob(id=first.id, code=1, retry="jagain"))
    assert run.count["b"] == 0
    assert run.state.nodes["a"].active == 1
    run.step(Step(run="jrun", what="ended", job=EndedJob(id="jagain", code=0)))
    assert (run.end.code, [one.retried for one in run.stubs]) == (0, [True, False])


def test_an_abort_reaches_all_jobs_and_their_next_attempts() -> None:
    run = simulated([A, B, JOIN, C], "start > a", "start > b", "a > j", "b > j", "j > c").start()
    one, other = run.launched
    run.finish(one, 0)
    run.step(Step(run="jrun", what="abort", reason="Aborted by Alice"))
    assert (run.aborted, run.end) == ([other.id], None)
    run.aborted.clear()
    run.finish(other, EndedJob(id=other.id, code="abort", retry="jagain"))
    assert run.aborted == ["jagain"]
    run.step(Step(run="jrun", what="ended", job=EndedJob(id="jagain", code="abort")))
    assert (run.end.code, run.end.description, run.count["c"]) == ("abort", "Aborted by Alice", 0)


def test_a_controller_that_waits_when_its_run_is_aborted_has_not_succeeded() -> None:
    run = simulated([node("q", "wait", wait=60), A], "start > q", "q > a").start()
    run.step(Step(run="jrun", what="abort", reason="Aborted by Alice"))
    waiting = run.state.nodes["q"]
    assert (waiting.active, waiting.error, waiting.reason) == (0, True, "the run was aborted")
    assert run.lines == ["Aborted by Alice"]


def test_a_run_that_launches_too_many_jobs_is_aborted() -> None:
    run = simulated(
        [node("r", "repeat", repeat=3), A, B], "start > r", "r > a", "a > b", most=4
    ).go_on()
    assert run.end.code == "abort"
    assert "launched 4 jobs, which is the most it may" in run.end.description
    assert run.count.total() == 4


def test_a_node_whose_jobs_are_not_launched_has_not_run() -> None:
    run: Any = simulated(
        [A, node("r", "repeat", repeat=4), B], "start > a", "a > r", "r > b", most=4
    )
    run.go_on()
    seen = {one.id: one for one in workflow_view.view(run.run, run.state, run.stubs, 0).nodes}
    assert (seen["a"].condition, seen["r"].condition, seen["b"].condition) == (
        "succeeded",
        "failed",
        "idle",
    )
    assert (seen["b"].max, seen["b"].active, run.end.code) == (0, 0, "abort")


def test_a_run_that_multiplies_without_launching_jobs_is_aborted() -> None:
    layers = range(20)
    nodes = [node(f"{side}{n}", "decision", decision="1") for n in layers for side in "lr"]
    wires = [f"start > {side}0" for side in "lr"]
    wires += [f"{a}{n} > {b}{n + 1}" for n in layers[:-1] for a in "lr" for b in "lr"]
    wires += [f"{side}19 > a" for side in "lr"]
    run = simulated([*nodes, A], *wires).start()
    assert run.end.code == "abort"
    assert run.end.description == "More than 22,000 nodes would run in one step"
    assert not run.launched


def test_a_repeat_may_have_as_many_jobs_as_the_settings_say() -> None:
    nodes = [node("r", "repeat", repeat=21_000), node("gone")]
    run = simulated(nodes, "start > r", "r > gone", most=21_000).start()
    assert run.end.code == 1
    assert run.state.nodes["gone"].failed == 21_000


def test_a_time_limit_aborts_the_run_so_that_it_may_be_retried() -> None:
    limit = {"limits": [{"type": "time", "duration": 60}]}
    run = simulated([A], "start > a", event=limit).start()
    ((at, step),) = run.later
    assert at == 1_060
    run.step(step)
    assert run.aborted == [run.launched[0].id]
    run.finish(run.launched[0])
    assert (run.end.code, run.end.retry_ok, run.end.limit) == ("abort", True, 0)


def test_a_suspended_run_goes_on_where_it_was_or_where_somebody_says() -> None:
    for redirect, expected in (("", "b"), ("c", "c")):
        run = simulated([A, B, C], "start > a", "a > b", "a error> c").start()
        run.step(Step(run="jrun", what="suspend", reason="suspended by Alice"))
        run.finish(run.launched[0])
        assert (len(run.launched), run.end) == (1, None)
        run.step(Step(run="jrun", what="resume", node=redirect, by="Bob"))
        assert node_of(run.launched[1]) == expected
        assert run.launched[1].input == {"data": {"from": "a"}}
        assert run.go_on().end.code == 0


def test_a_controller_does_not_wait_for_jobs_that_are_never_launched() -> None:
    nodes = [
        node("x", "action", type="suspend"),
        node("r", "repeat", repeat=2),
        A,
        B,
    ]
    run = simulated(nodes, "start > r", "start > x", "r > a", "a > b").start()
    assert (run.count, len(run.state.held)) == ({}, 2)
    run.step(Step(run="jrun", what="resume", node="b", by="Bob")).go_on()
    assert run.count == {"b": 1}
    assert run.state.nodes["r"].active == 0
    assert run.state.nodes["r"].reason == "the run was resumed at B"


def test_an_action_node_may_suspend_the_run() -> None:
    run = simulated(
        [A, B, node("q", "decision", decision="1"), node("x", "action", type="suspend")],
        "start > a",
        "a > b",
        "a > q",
        "q > x",
    ).start()
    run.finish(run.launched[0])
    assert run.state.suspended == "suspended by x"
    assert len(run.items) == 1


def test_attached_limits_and_actions_belong_to_the_jobs_of_their_node() -> None:
    nodes = [
        node("a", params={"x": 1}, targets=["web"], tags=["blue"]),
        node("l", "limit", type="job", amount=1),
        node("m", "action", type="email", email="alice@example.com"),
    ]
    run = simulated(nodes, "start > a", "a > l", "a error> m").start()
    (job,) = run.launched
    assert [(one.type, one.amount) for one in job.limits] == [("job", 1)]
    assert [(one.trigger, one.email) for one in job.actions] == [("error", "alice@example.com")]
    assert (job.targets, job.tags, job.params["x"]) == (("web",), ("blue",), 1)
    assert job.workflow.queue == "jrun:a"


def test_nodes_of_a_run_are_named_like_their_events() -> None:
    nodes = [A, node("x", event="b"), node("y", event="b"), node("z", event="c", label="Copy")]
    wires = ("start > a", "a > x", "a > y", "a > z")
    run = simulated(nodes, *wires)
    labels = {one.id: one.label for one in run.run.workflow.nodes}
    assert labels == {"start": "start", "a": "A", "x": "B (x)", "y": "B (y)", "z": "Copy"}


def test_a_job_node_needs_no_event() -> None:
    job = node("x", "job", plugin="shellplug", label="Hello", targets=["web"])
    run = simulated([job], "start > x").start()
    (made,) = run.launched
    assert (made.type, made.event, made.plugin, made.targets) == (
        "adhoc",
        "w",
        "shellplug",
        ("web",),
    )


def test_a_workflow_within_a_workflow_is_a_run_of_its_own() -> None:
    inner = read(workflow("inner", [A], "start > a"))
    event = read(workflow("w", [node("inner")], "start > inner"))
    run: Any = Simulation(event, known=catalogue(event, inner)).start()
    (job,) = run.launched
    assert (job.type, job.workflow.depth, job.workflow.start) == ("workflow", 1, "start")
    off = read(
        workflow(
            "inner", [A], "start > a", timings=[{"type": "manual", "id": "start", "enabled": False}]
        )
    )
    run = Simulation(event, known=catalogue(event, off)).go_on()
    assert "may not be run on demand" in run.end.description


def repeated(run: Any, name: str) -> Any:
    """A run that begins again at a node, with what this one has of the others."""
    graph = Graph(run.run.workflow.graph)
    replay: dict[str, tuple[Replay, ...]] = {}
    for one in run.stubs:
        if one.node not in graph.after([name]) and not one.retried:
            found = Replay(stub=one, data=run.values[one.id].data if one.id else None)
            replay[one.node] = (*replay.get(one.node, ()), found)
    event = run.known.events["w"]
    workflow_ = JobWorkflow(replay=replay, rerun="jrun", rerun_from=name)
    return Simulation(event, known=run.known, workflow=workflow_)


def test_results_of_an_earlier_run_are_not_run_again() -> None:
    run = simulated([A, B, C], "start > a", "a > b", "b error> c", outcome=outcome).go_on()
    again = repeated(run, "c").go_on()
    assert again.count == {"c": 1}
    assert [(one.id, one.replay) for one in again.stubs[:2]] == [
        (job.id, True) for job in run.launched[:2]
    ]


def test_a_node_that_the_earlier_run_did_not_reach_runs_with_what_came_before_it() -> None:
    wires = ("start > a", "start > d", "a > b", "b > c", "d > c")
    run = simulated([A, B, C, D], *wires, outcome=lambda job: 3 if node_of(job) != "a" else 0)
    again = repeated(run.go_on(), "c").go_on()
    assert (run.count["c"], again.count) == (0, {"c": 1})
    assert again.launched[0].input["data"]["items"] == [{"from": "b"}, {"from": "d"}]
    again = repeated(run, "b").go_on()
    assert again.count == {"b": 1, "c": 1}


def test_a_join_that_the_earlier_run_did_not_reach_is_released_at_once() -> None:
    run = simulated([B, JOIN, C], "start > b", "b > j", "j > c", outcome=outcome).go_on()
    again = repeated(run, "j").go_on()
    assert again.count == {"c": 1}
    assert again.launched[0].input["data"]["items"] == [{"from": "b"}]


def test_what_leads_to_a_node_is_neither_waited_for_nor_carried_out_again() -> None:
    nodes = [
        node("q", "wait", wait=3_600),
        node("x", "action", type="suspend"),
        node("y", "decision", decision="0", abort=True),
        A,
        B,
    ]
    wires = ("start > q", "start > x", "start > y", "q > a", "a > b", "y > b")
    run = simulated(nodes, *wires)
    run.step(Step(run="jrun", what="start"))
    again = repeated(run, "b").start()
    assert (again.later, again.items, again.state.aborted) == ([], [], "")
    assert again.count == {"b": 1}
    assert again.state.nodes["x"].reason == "it is not carried out again"
    assert again.go_on().end.code == 0


def test_a_multiplex_before_the_node_keeps_to_the_servers_of_the_earlier_run() -> None:
    nodes = [node("m", "multiplex", **{"continue": 60}), A, C]
    wires = ("start > m", "m > a", "a continue> c")
    run = simulated(nodes, *wires, outcome=lambda job: 3 if job.targets == ("s2",) else 0).go_on()
    run.stubs = [one for one in run.stubs if one.index != 2]
    again = repeated(run, "c").go_on()
    assert again.count == {"c": 1}
    assert again.state.nodes["m"].max == 2


def test_a_job_that_was_not_launched_counts_in_the_next_run_as_well() -> None:
    split = node("s", "split", split="data.hosts", **{"continue": 60})
    nodes = [A, split, node("x", event="a"), C]
    wires = ("start > a", "a > s", "s > x", "x continue> c")
    run = simulated(nodes, *wires, outcome=passing(hosts=["x", "y", "z"])).start()
    run.finish(run.launched[0])
    one, other, refused = run.launched[1:]
    del run.live[refused.id]
    run.step(Step(run="jrun", what="refused", job=EndedJob(id=refused.id, code="launch")))
    run.finish(one).finish(other).go_on()
    assert run.end.description.startswith("1 of 5 jobs failed")
    assert [job.id for job in run.stubs if job.node == "x"] == ["", one.id, other.id]
    again = repeated(run, "c").go_on()
    assert again.count == {"c": 1}
    assert again.end.description.startswith("1 of 5 jobs failed")


def test_what_earlier_jobs_have_shared_and_their_tags_are_there_again() -> None:
    run = simulated(
        [A, B, C],
        "start > a",
        "a > b",
        "b complete> c",
        outcome=lambda job: EndedJob(
            id=job.id, workflowData={node_of(job): 1}, tags=("blue", "_success")
        ),
    )
    again = repeated(run.go_on(), "b").start()
    assert again.launched[0].workflowData == {"a": 1}
    assert again.state.tags == ("blue",)


def test_what_jobs_share_reaches_those_after_them() -> None:
    run = simulated(
        [A, B], "start > a", "a > b", outcome=lambda job: EndedJob(id=job.id, workflowData={"x": 1})
    )
    run.go_on()
    assert run.launched[1].workflowData == {"x": 1}


def test_a_timing_begins_the_run_at_its_own_node() -> None:
    timings = [{"type": "schedule", "id": "nightly"}, {"type": "manual", "id": "start"}]
    value = workflow(
        "w", [node("nightly", "trigger"), A, B], "start > a", "nightly > b", timings=timings
    )
    run = Simulation(read(value), timing="nightly").start()
    assert run.count == {"b": 1}
    assert Timing(type="manual", id="start") in read(value).timings


# Random graphs.

_KINDS = ("event", "join", "decision", "repeat", "wait", "split")
_CONDITIONS = ("", "error", "complete", "continue")


@st.composite
def graphs(draw: st.DrawFn) -> Event:
    """Graphs without circles: wires lead to nodes that come later."""
    kinds = [draw(st.sampled_from(_KINDS)) for _ in range(draw(st.integers(0, 7)))] + ["event"]
    nodes = [draw(_NODES[kind](f"n{place}")) for place, kind in enumerate(kinds)]
    wires: list[str] = []
    for place, kind in enumerate(kinds):
        controlled = any(
            one.endswith(f"> n{place}") and kinds[int(one[1])] in ("repeat", "split")
            for one in wires
        )
        conditions = _CONDITIONS if controlled else _CONDITIONS[:3]
        for dest in draw(_dests(kinds, place)):
            condition = draw(st.sampled_from(conditions)) if kind == "event" else ""
            wires.append(f"n{place} {condition}> n{dest}")
    reached = {one.rpartition("> ")[2] for one in wires}
    wires += [f"start > n{n}" for n in range(len(kinds)) if f"n{n}" not in reached]
    return read(workflow("w", nodes, *wires))


_NODES: dict[str, Any] = {
    "event": lambda name: st.builds(
        lambda event: node(name, event=event), st.sampled_from(("a", "gone"))
    ),
    "decision": lambda name: st.builds(
        lambda text: node(name, "decision", decision=text), st.sampled_from("01")
    ),
    "repeat": lambda name: st.builds(
        lambda count: node(name, "repeat", repeat=count), st.integers(1, 3)
    ),
    "wait": lambda name: st.just(node(name, "wait", wait=1)),
    "split": lambda name: st.just(node(name, "split", split="'x y'")),
    "join": lambda name: st.just(node(name, "join")),
}


def _dests(kinds: list[str], place: int) -> st.SearchStrategy[list[int]]:
    """Places of nodes to which wires of this one may lead."""
    later = list(range(place + 1, len(kinds)))
    jobs = [one for one in later if kinds[one] == "event"]
    if kinds[place] not in ("event", "decision", "wait"):
        return st.builds(lambda one: [one], st.sampled_from(jobs))
    least = int(kinds[place] != "event")
    return st.lists(st.sampled_from(later), unique=True, min_size=least) if later else st.just([])


@settings(max_examples=300, deadline=None)
@given(event=graphs(), seed=st.integers(0, 1_000))
def test_every_run_ends_and_no_join_waits_for_ever(event: Event, seed: int) -> None:
    def codes(job: Job) -> Code:
        return sum(map(ord, node_of(job))) * seed % 2

    first = Simulation(event, codes, seed=seed, most=100_000).go_on()
    assert first.end is not None
    assert not first.state.joins
    again = Simulation(event, codes, seed=seed + 1, most=100_000).go_on()
    assert again.count == first.count == expected(event, codes)


def expected(event: Event, codes: Any) -> dict[str, int]:
    """How many jobs each node launches, by a model: nodes in order, each with its arrivals."""
    assert event.workflow is not None
    graph = Graph(event.workflow)
    arrivals = dict.fromkeys(graph.nodes, 0) | {"start": 1}
    fans: Counter[str] = Counter()
    for name in graph.ordered():
        for wire in graph.outputs[name]:
            arrivals[wire.dest] += passed_on(graph, wire, arrivals[name], fans, codes)
    return {
        name: count
        for name, count in arrivals.items()
        if count and graph.nodes[name].data.get("event") == "a"
    }


def passed_on(graph: Graph, wire: Connection, count: int, fans: Counter[str], codes: Any) -> int:
    """How often a wire fires whose node runs so many times."""
    source = graph.nodes[wire.source]
    match source.controller or source.type:
        case "event":
            has_failed = source.data["event"] == "gone" or codes(_Fake(source.id)) != 0
            if wire.condition == "continue":
                return 0 if has_failed else fans[source.id]
            fired = {"complete", "error" if has_failed else "success"}
            return count if (wire.condition or "success") in fired else 0
        case "repeat" | "split":
            fans[wire.dest] += count
            return count * int(source.data.get("repeat", 1))
        case "join":
            return min(count, 1)
        case "decision":
            return count if source.data["decision"] == "1" else 0
    return count


class _Fake:
    def __init__(self, name: str) -> None:
        self.workflow = type("W", (), {"node": name})()
