"""Runs of workflows in a store, by a conductor and an agent."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.jobs.dispatching import KEYS, texts
from tests.jobs.test_conductor import at_work, conducting
from tests.jobs.workflow_agent import (
    Answer,
    Place,
    WorkflowAgent,
    finished,
    launch_run,
    put,
    succeed,
)
from tests.jobs.workflows import node, workflow
from tests.waiting import eventually
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, Refused
from watchbell.jobs import (
    aborts,
    definition_files,
    job_records,
    run_event,
    suspensions,
    workflow_runs,
)
from watchbell.jobs.decide import workflow_view
from watchbell.jobs.decide.workflow_state import EndedJob, Step
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.model import Job, JobFile
from watchbell.jobs.workflow_surveyor import WorkflowSurveyor
from watchbell.store.client import Store

A = {"id": "a", "title": "A"}
ALICE = system("tests")


@asynccontextmanager
async def site(store: Store, folder: Path, answer: Any = succeed) -> AsyncIterator[WorkflowAgent]:
    async with at_work(WorkflowAgent(store, answer)) as agent:
        assert isinstance(agent, WorkflowAgent)
        async with conducting(store, folder):
            yield agent


async def over(store: Store, job: str = "jrun") -> Job:
    found = await eventually(lambda: finished(store, job))
    assert found is not None
    return found


def events(*nodes: Any, wires: tuple[str, ...], **more: Any) -> tuple[dict[str, Any], ...]:
    return A, workflow("w", list(nodes), *wires, **more)


async def check_empty(store: Store) -> None:
    """Nothing is left of runs but their records."""
    left = await texts(store, "KEYS", "*")
    gone = ("job:", "occupied", "queued:", "workflow_jobs", "workflow_values")
    assert not [key for key in left if any(word in key for word in gone)]
    assert not await store.call("EXISTS", KEYS.workflow_steps(), KEYS.live(), KEYS.delayed())


async def test_a_workflow_runs_and_its_record_says_how_each_node_went(
    store: Store, tmp_path: Path
) -> None:
    nodes = [
        node("x", event="a"),
        node("s", "split", split="data.hosts"),
        node("y", event="a"),
        node("j", "join"),
        node("z", "job", plugin="shellplug"),
        node("q", "wait", wait=0.01),
    ]
    known = await put(
        store,
        *events(*nodes, wires=("start > x", "x > s", "s > y", "y > j", "j > z", "x > q", "q > j")),
    )

    def answer(place: Place) -> Answer:
        return Answer(data={"hosts": ["a", "b"], "all": [place.index]})

    async with site(store, tmp_path, answer) as agent:
        await launch_run(store, known, "w", data={"hello": 1})
        run = await over(store)
    assert (run.code, run.description) == (0, "4 jobs succeeded")
    assert {place.node: n for place, n in agent.places.items()} == {"x": 1, "y": 1, "z": 1}
    assert len(agent.places) == 4
    assert run.workflow is not None
    counts = {name: (one.count, one.failed, one.active) for name, one in run.workflow.state.items()}
    assert counts == {
        "start": (0, 0, 0),
        "x": (1, 0, 0),
        "s": (0, 0, 0),
        "y": (2, 0, 0),
        "j": (3, 0, 0),
        "z": (1, 0, 0),
        "q": (1, 0, 0),
    }
    assert [len(run.workflow.jobs[name]) for name in "xyz"] == [1, 2, 1]
    assert run.data["all"] == [0, 0, 1, 0]  # in the order of nodes
    (stub,) = run.workflow.jobs["z"]
    last = await over(store, stub.id)
    assert (last.type, last.parent.id if last.parent else "") == ("adhoc", "jrun")
    assert len(last.input["data"]["items"]) == 3
    await check_empty(store)


async def test_a_job_that_fails_is_retried_and_then_its_run_goes_on(
    store: Store, tmp_path: Path
) -> None:
    limit = node("l", "limit", type="retry", amount=1)
    known = await put(
        store,
        *events(
            node("x", event="a"), limit, node("y", event="a"), wires=("start > x", "x > l", "x > y")
        ),
    )
    async with site(
        store, tmp_path, lambda place: Answer(3 if (place.node, place.attempt) == ("x", 0) else 0)
    ) as agent:
        await launch_run(store, known, "w")
        run = await over(store)
    assert run.code == 0
    assert dict(agent.places) == {Place("x", 0, 0): 1, Place("x", 0, 1): 1, Place("y", 0, 0): 1}
    assert run.workflow is not None
    assert [one.retried for one in run.workflow.jobs["x"]] == [True, False]
    await check_empty(store)


async def test_an_abort_of_a_run_aborts_its_jobs_and_those_of_workflows_within(
    store: Store, tmp_path: Path
) -> None:
    inner = workflow("inner", [node("y", event="a")], "start > y")
    outer = workflow(
        "w",
        [node("x", event="a"), node("i", event="inner"), node("z", event="a")],
        "start > x",
        "start > i",
        "i > z",
    )
    known = await put(store, A, inner, outer)
    async with site(store, tmp_path, lambda _: None) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: len(agent.held) == 2)
        outcome = await aborts.abort(store, "jrun", "Aborted by Alice", ALICE, now=SYSTEM.now())
        assert outcome is aborts.Outcome.ASKED
        run = await over(store)
    assert (run.code, run.description) == ("abort", "Aborted by Alice")
    assert len(agent.aborted) == 2
    assert {place.node for place in agent.places} == {"x", "y"}
    assert run.workflow is not None
    assert [one.code for one in run.workflow.jobs["i"]] == ["abort"]
    await check_empty(store)


async def test_jobs_of_a_node_wait_for_each_other_by_its_own_limit(
    store: Store, tmp_path: Path
) -> None:
    nodes = [
        node("r", "repeat", repeat=3),
        node("x", event="a"),
        node("l", "limit", type="job", amount=1),
        node("q", "limit", type="queue", amount=9),
    ]
    known = await put(store, *events(*nodes, wires=("start > r", "r > x", "x > l", "x > q")))
    async with site(store, tmp_path, lambda _: None) as agent:
        await launch_run(store, known, "w")
        for count in range(1, 4):
            await eventually(partial(has_run, agent, count))
            waiting = await store.call("ZCARD", KEYS.queued("jrun:x"))
            assert waiting == 3 - count
            (place,) = agent.held
            await agent.release(place)
        assert (await over(store)).code == 0
    await check_empty(store)


def has_run(agent: WorkflowAgent, count: int) -> bool:
    return agent.places.total() == count


async def test_a_run_of_a_limited_workflow_waits_in_its_queue(store: Store, tmp_path: Path) -> None:
    limits = [{"type": "job", "amount": 1}, {"type": "queue", "amount": 5}]
    known = await put(store, *events(node("x", event="a"), wires=("start > x",), limits=limits))
    async with site(store, tmp_path, lambda _: None) as agent:
        for name in ("jrun", "jother"):
            await launch_run(store, known, "w", name)
        await eventually(lambda: agent.held)
        await eventually(lambda: store.call("ZCARD", KEYS.queued("w")))
        await agent.release(Place("x", 0, 0))
        await over(store)
        await eventually(lambda: agent.held)
        await agent.release(Place("x", 0, 0))
        assert (await over(store, "jother")).code == 0


async def test_a_run_that_is_aborted_before_it_starts_ends_at_once(store: Store) -> None:
    known = await put(store, *events(node("x", event="a"), wires=("start > x",)))
    await launch_run(store, known, "w", until=SYSTEM.now() + 3_600)
    outcome = await aborts.abort(store, "jrun", "Aborted", ALICE, now=SYSTEM.now())
    assert outcome is aborts.Outcome.ENDED


async def test_a_time_limit_ends_a_run(store: Store, tmp_path: Path) -> None:
    limits = [{"type": "time", "duration": 0.05}]
    known = await put(store, *events(node("x", event="a"), wires=("start > x",), limits=limits))
    async with site(store, tmp_path, lambda _: None):
        await launch_run(store, known, "w")
        run = await over(store)
    assert (run.code, run.retry_ok) == ("abort", True)


@pytest.mark.parametrize("spoil", ["state", "graph", "steps", "values", "later"])
async def test_garbage_of_other_programs_stops_no_loop(
    store: Store, tmp_path: Path, spoil: str
) -> None:
    known = await put(
        store, *events(node("x", event="a"), node("y", event="a"), wires=("start > x", "x > y"))
    )
    async with site(store, tmp_path, lambda p: None if p.node == "x" else Answer()) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: agent.held)
        match spoil:
            case "state":
                await store.call("HSET", KEYS.job("jrun"), "_workflow", "{")
            case "graph":
                await store.call("HSET", KEYS.job("jrun"), "workflow", "[7]")
            case "steps":
                (other,) = agent.held.values()
                await store.call(
                    "RPUSH", KEYS.workflow_steps(), f'{{"run":"{other}","what":"start"}}'
                )
                garbage: list[str | bytes] = [
                    "x",
                    "{}",
                    "[1]",
                    '{"run":7}',
                    b"\xff",
                    '{"run":"jrun","what":"odd"}',
                ]
                await store.call("RPUSH", KEYS.workflow_steps(), *garbage)
                await store.call("RPUSH", KEYS.workflow_steps(), '{"run":"gone","what":"start"}')
            case "values":
                await store.call("SET", KEYS.workflow_values("jrun"), "x")
            case "later":
                await store.call("ZADD", KEYS.workflow_later(), 1, "garbage")
        await agent.release(Place("x", 0, 0), Answer(data={"x": 1}))
        run = await over(store)
        if spoil in ("state", "graph", "values"):
            assert run.code == "abort"
            await store.call("DEL", KEYS.workflow_values("jrun"))
        else:
            assert run.code == 0
        await launch_run(store, known, "w", "jnext")
        await eventually(lambda: agent.held)
        await agent.release(Place("x", 0, 0))
        assert (await over(store, "jnext")).code == 0


async def test_jobs_of_a_run_that_can_not_be_written_are_aborted(
    store: Store, tmp_path: Path
) -> None:
    nodes = [node("x", event="a"), node("y", event="a"), node("z", event="a")]
    known = await put(store, *events(*nodes, wires=("start > x", "start > y", "x > z")))
    async with site(store, tmp_path, lambda _: None) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: len(agent.held) == 2)
        other = agent.held[Place("y", 0, 0)]
        await store.call("SET", KEYS.workflow_values("jrun"), "x")
        await agent.release(Place("x", 0, 0), Answer(data={"x": 1}))
        run = await over(store)
        job = await over(store, other)
    assert (run.code, run.description) == ("abort", "The store refused to write its state")
    assert (job.code, agent.aborted) == ("abort", [other])


async def test_a_run_does_not_wait_for_ends_that_are_lost(store: Store, tmp_path: Path) -> None:
    nodes = [node(name, event="a") for name in "xyz"] + [node("j", "join"), node("q", event="a")]
    wires = ("start > x", "start > y", "start > z", "x > j", "y > j", "z complete> j", "j > q")
    known = await put(store, *events(*nodes, wires=wires))
    surveyor = WorkflowSurveyor(store)
    async with site(store, tmp_path, lambda p: None if p.node != "q" else Answer()) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: len(agent.held) == 3)
        await store.call("HSET", KEYS.job(agent.held[Place("x", 0, 0)]), "workflow", "[7]")
        await store.call("DEL", KEYS.job(agent.held[Place("z", 0, 0)]))
        x = agent.held[Place("x", 0, 0)]
        await agent.release(Place("x", 0, 0), Answer(data={"from": "x"}))
        await over(store, x)
        await surveyor.survey()
        await agent.release(Place("y", 0, 0), Answer(data={"from": "y"}))
        run = await over(store)
    assert (run.code, run.description) == (
        "warning",
        "1 of 4 jobs failed: A (z): The record of the job is gone",
    )
    assert run.workflow is not None
    last = await over(store, run.workflow.jobs["q"][0].id)
    assert last.input["data"]["items"] == [{"from": "x"}, {"from": "y"}, {}]


async def test_an_end_that_is_on_its_way_counts_and_not_the_one_that_is_reported_again(
    store: Store, tmp_path: Path
) -> None:
    known = await put(store, *events(node("x", event="a"), wires=("start > x",)))
    async with at_work(WorkflowAgent(store, lambda _: None)) as agent:
        assert isinstance(agent, WorkflowAgent)
        async with conducting(store, tmp_path):
            await launch_run(store, known, "w")
            await eventually(lambda: agent.held)
        job = agent.held[Place("x", 0, 0)]
        step = Step(run="jrun", what="ended", job=EndedJob(id=job, data={"x": 1}))
        await store.call("DEL", KEYS.job(job))
        await store.call("RPUSH", KEYS.workflow_steps(), msgspec.json.encode(step))
        await WorkflowSurveyor(store).survey()
        assert await store.call("LLEN", KEYS.workflow_steps()) == 2
        async with conducting(store, tmp_path):
            run = await over(store)
    assert (run.code, run.data) == (0, {"x": 1})


async def test_waits_and_limits_that_are_lost_are_found_again(store: Store, tmp_path: Path) -> None:
    nodes = [node("q", "wait", wait=3_600), node("x", event="a")]
    limits = [{"type": "time", "duration": 7_200}]
    known = await put(store, *events(*nodes, wires=("start > q", "q > x"), limits=limits))
    async with site(store, tmp_path) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: store.call("ZCARD", KEYS.workflow_later()))
        before = await timed(store)
        await store.call("DEL", KEYS.workflow_later())
        for _ in range(2):
            await WorkflowSurveyor(store).survey()
        assert await timed(store) == before
        assert [step.what for step in before] == ["wait", "limit"]
        await store.call("ZADD", KEYS.workflow_later(), 1, msgspec.json.encode(next(iter(before))))
        assert (await over(store)).code == 0
    assert agent.places == {Place("x", 0, 0): 1}


async def timed(store: Store) -> dict[Step, str]:
    found = await texts(store, "ZRANGE", KEYS.workflow_later(), 0, -1, "WITHSCORES")
    steps = [msgspec.json.decode(one, type=Step) for one in found[::2]]
    return dict(zip(steps, found[1::2], strict=True))


async def test_a_run_ends_although_the_request_to_abort_it_was_lost(
    store: Store, tmp_path: Path
) -> None:
    known = await put(store, *events(node("x", event="a"), wires=("start > x",)))
    async with at_work(WorkflowAgent(store, lambda _: None)) as agent:
        assert isinstance(agent, WorkflowAgent)
        async with conducting(store, tmp_path):
            await launch_run(store, known, "w")
            await eventually(lambda: agent.held)
        await aborts.abort(store, "jrun", "Aborted by Alice", ALICE, now=SYSTEM.now())
        assert await store.call("DEL", KEYS.workflow_steps())
        async with conducting(store, tmp_path):
            await WorkflowSurveyor(store).survey()
            run = await over(store)
    assert (run.code, run.description) == ("abort", "Aborted by Alice")


async def test_a_run_with_a_spoiled_state_and_no_jobs_in_progress_ends(
    store: Store, tmp_path: Path
) -> None:
    nodes = [node("q", "wait", wait=3_600), node("x", event="a")]
    known = await put(store, *events(*nodes, wires=("start > q", "q > x")))
    async with site(store, tmp_path):
        await launch_run(store, known, "w")
        await eventually(lambda: store.call("ZCARD", KEYS.workflow_later()))
        await store.call("HSET", KEYS.job("jrun"), "_workflow", "{")
        await WorkflowSurveyor(store).survey()
        run = await over(store)
    assert (run.code, run.description) == ("abort", "The state of the workflow can't be read")


async def test_a_run_whose_start_was_lost_begins(store: Store, tmp_path: Path) -> None:
    known = await put(store, *events(node("x", event="a"), wires=("start > x",)))
    await launch_run(store, known, "w")
    await store.call("DEL", KEYS.ready())
    await store.call("HSET", KEYS.job("jrun"), "state", '"active"')
    async with site(store, tmp_path) as agent:
        for _ in range(2):
            await WorkflowSurveyor(store).survey()
        assert (await over(store)).code == 0
    assert agent.places == {Place("x", 0, 0): 1}


async def test_a_key_of_a_wrong_type_holds_steps_back_until_it_is_gone(
    store: Store, tmp_path: Path
) -> None:
    known = await put(store, *events(node("x", event="a"), wires=("start > x",)))
    async with site(store, tmp_path) as agent:
        await store.call("SET", KEYS.workflow_steps(), "x")
        await launch_run(store, known, "w")
        await store.call("DEL", KEYS.workflow_steps())
        run = await over(store)
        if run.code != 0:  # the dispatcher could not start it
            await launch_run(store, known, "w", "jnext")
            run = await over(store, "jnext")
    assert run.code == 0
    assert agent.places


async def test_a_limit_by_day_ends_a_job_that_it_refuses(store: Store, tmp_path: Path) -> None:
    limited = {**A, "limits": [{"type": "day", "amount": 1, "condition": "start"}]}
    known = await put(
        store,
        limited,
        workflow("w", [node("r", "repeat", repeat=3), node("x", event="a")], "start > r", "r > x"),
    )
    async with site(store, tmp_path) as agent:
        await launch_run(store, known, "w")
        run = await over(store)
    assert agent.places.total() == 1
    assert run.code == "warning"
    assert "the limit of jobs a day was reached" in run.description


async def test_progress_is_seen_while_a_run_goes_on(store: Store, tmp_path: Path) -> None:
    known = await put(
        store, *events(node("x", event="a"), node("y", event="a"), wires=("start > x", "x > y"))
    )
    async with site(store, tmp_path, lambda p: Answer() if p.node == "x" else None) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: agent.held)
        run = await job_records.read(store, "jrun")
        assert run is not None
        assert (run.state, run.progress) == ("active", 0.5)
        await agent.release(Place("y", 0, 0))
        await over(store)


async def test_two_conductors_share_the_work(store: Store, tmp_path: Path) -> None:
    known = await put(
        store,
        *events(
            node("r", "repeat", repeat=30),
            node("x", event="a"),
            node("y", event="a"),
            wires=("start > r", "r > x", "x > y"),
        ),
    )
    async with site(store, tmp_path) as agent, conducting(store, tmp_path):
        for n in range(4):
            await launch_run(store, known, "w", f"jrun{n}")
        for n in range(4):
            assert (await over(store, f"jrun{n}")).code == 0
    assert set(agent.places.values()) == {4}
    assert len(agent.places) == 60
    assert set(agent.started.values()) == {1}


async def test_a_run_is_suspended_and_resumed_by_people(store: Store, tmp_path: Path) -> None:
    nodes = [node("x", event="a"), node("y", event="a"), node("z", event="a")]
    known = await put(store, *events(*nodes, wires=("start > x", "x > y", "y error> z")))
    async with site(store, tmp_path, lambda p: None if p.node == "x" else Answer()) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: agent.held)
        await workflow_runs.suspend(store, "jrun", ALICE)
        await eventually(lambda: suspended(store))
        with pytest.raises(Refused, match="suspended already"):
            await workflow_runs.suspend(store, "jrun", ALICE)
        await agent.release(Place("x", 0, 0))
        held = await eventually(lambda: condition(store, "y", "held"))
        assert held
        with pytest.raises(Refused, match="no node 'gone'"):
            await suspensions.resume(store, "jrun", ALICE, SYSTEM.now(), "gone")
        await suspensions.resume(store, "jrun", ALICE, SYSTEM.now(), "z")
        run = await over(store)
    assert [place.node for place in agent.places] == ["x", "z"]
    assert [one.msg for one in run.activity][-1] == "Resumed at A (z) by tests"
    with pytest.raises(NotFound):
        await workflow_runs.suspend(store, "jrun", ALICE)


async def suspended(store: Store) -> bool:
    (record,) = await job_records.find(store, ["jrun"])
    return record is not None and bool((await workflow_runs.view(store, record, 0)).suspended)


async def condition(store: Store, name: str, wanted: str) -> bool:
    (record,) = await job_records.find(store, ["jrun"])
    assert record is not None
    found = (await workflow_runs.view(store, record, 0)).nodes
    return any((one.id, one.condition) == (name, wanted) for one in found)


async def test_a_run_is_repeated_from_a_node_with_the_results_of_the_others(
    store: Store, tmp_path: Path
) -> None:
    nodes = [
        node("x", event="a"),
        node("r", "repeat", repeat=2),
        node("y", event="a"),
        node("z", event="a"),
    ]
    wires = ("start > x", "x > r", "r > y", "y continue> z")
    known = await put(store, *events(*nodes, wires=wires))
    broken = {"z"}

    def answer(place: Place) -> Answer:
        return Answer(3 if place.node in broken else 0, {"at": [place.node, place.index]})

    async with site(store, tmp_path, answer) as agent:
        await launch_run(store, known, "w")
        run = await over(store)
        assert run.code == "warning"
        broken.clear()
        agent.places.clear()
        again = await run_event.rerun(
            store, known, ALICE, run, SYSTEM.now(), timezone="UTC", from_node="z"
        )
        found = await over(store, again.id)
    assert (found.code, dict(agent.places)) == (0, {Place("z", 0, 0): 1})
    assert found.workflow is not None
    assert (found.workflow.rerun, found.workflow.replay) == ("jrun", {})
    assert [one.replay for some in found.workflow.jobs.values() for one in some].count(True) == 3
    last = await over(store, found.workflow.jobs["z"][0].id)
    assert last.input["data"]["items"] == [{"at": ["y", 0]}, {"at": ["y", 1]}]
    assert found.data["at"] == ["x", 0, "y", 0, "y", 1, "z", 0]


async def test_files_are_passed_on_to_runs_and_to_their_repetitions(
    store: Store, tmp_path: Path
) -> None:
    nodes = [node("x", event="a"), node("s", "split", split="files"), node("y", event="a")]
    known = await put(
        store,
        *events(
            *nodes, node("z", event="a"), wires=("start > s", "s > y", "y continue> x", "x > z")
        ),
    )
    files = tuple(
        JobFile(id=name, filename=name, path=f"{name}.txt", size=1, job="jx", server="s1")
        for name in "uv"
    )

    def answer(place: Place) -> Answer:
        return Answer(3 if place.node == "z" else 0, file="u.txt" if place.node == "x" else "")

    async with site(store, tmp_path, answer) as agent:
        await launch_run(store, known, "w", files=files)
        run = await over(store)
        assert run.workflow is not None
        each = [await over(store, one.id) for one in run.workflow.jobs["y"]]
        assert [[one["path"] for one in job.input["files"]] for job in each] == [
            ["u.txt"],
            ["v.txt"],
        ]
        agent.places.clear()
        again = await run_event.rerun(
            store, known, ALICE, run, SYSTEM.now(), timezone="UTC", from_node="z"
        )
        found = await over(store, again.id)
    assert agent.places == {Place("z", 0, 0): 1}
    assert found.workflow is not None
    last = await over(store, found.workflow.jobs["z"][0].id)
    assert [one["filename"] for one in last.input["files"]] == ["u.txt"]


async def test_a_run_is_repeated_at_the_trigger_where_it_began(
    store: Store, tmp_path: Path
) -> None:
    timings = [{"type": "schedule", "id": "nightly"}, {"type": "manual", "id": "start"}]
    nodes = [node("nightly", "trigger"), node("x", event="a"), node("y", event="a")]
    known = await put(store, *events(*nodes, wires=("nightly > x", "start > y"), timings=timings))
    async with site(store, tmp_path) as agent:
        await launch_run(store, known, "w", timing="nightly")
        run = await over(store)
        for from_node in ("", "x"):
            agent.places.clear()
            again = await run_event.rerun(
                store, known, ALICE, run, SYSTEM.now(), timezone="UTC", from_node=from_node
            )
            await over(store, again.id)
            assert agent.places == {Place("x", 0, 0): 1}


async def test_another_attempt_at_a_repeated_run_has_the_results_of_the_first_one(
    store: Store, tmp_path: Path
) -> None:
    nodes = [node("x", event="a"), node("y", event="a")]
    limits = [{"type": "retry", "amount": 1}]
    known = await put(store, *events(*nodes, wires=("start > x", "x > y"), limits=limits))
    async with site(store, tmp_path, lambda p: Answer(3 if p.node == "y" else 0)) as agent:
        await launch_run(store, known, "w")
        first = await over(store)
        run = await over(store, first.jobs[0].id)
        agent.places.clear()
        again = await run_event.rerun(
            store, known, ALICE, run, SYSTEM.now(), timezone="UTC", from_node="y"
        )
        found = await over(store, again.id)
        last = await over(store, found.jobs[0].id)
    assert agent.places == {Place("y", 0, 0): 2}
    assert last.workflow is not None
    assert (last.workflow.rerun, last.workflow.replay) == (run.id, {})


async def test_a_run_is_repeated_with_the_workflow_as_it_is_now(
    store: Store, tmp_path: Path
) -> None:
    nodes = [node("x", event="a"), node("y", event="a")]
    known = await put(store, *events(*nodes, wires=("start > x", "x > y")))
    async with site(store, tmp_path) as agent:
        await launch_run(store, known, "w")
        run = await over(store)
        agent.places.clear()
        more = [*nodes, node("z", event="a")]
        known = await put(store, *events(*more, wires=("start > x", "x > y", "x > z")))
        with pytest.raises(Refused, match="no node 'gone'; expected one of x, y, z"):
            await run_event.rerun(
                store, known, ALICE, run, SYSTEM.now(), timezone="UTC", from_node="gone"
            )
        again = await run_event.rerun(
            store, known, ALICE, run, SYSTEM.now(), timezone="UTC", from_node="z"
        )
        await over(store, again.id)
    assert agent.places == {Place("z", 0, 0): 1}


async def test_the_tree_of_a_run_says_why_a_node_has_not_run(store: Store, tmp_path: Path) -> None:
    nodes = [node("x", event="a"), node("y", event="a"), node("j", "join"), node("z", event="a")]
    wires = ("start > x", "x error> y", "x > j", "y > j", "j > z")
    known = await put(store, *events(*nodes, wires=wires))
    async with site(store, tmp_path):
        await launch_run(store, known, "w")
        await over(store)
    (record,) = await job_records.find(store, ["jrun"])
    assert record is not None
    shown = await workflow_runs.view(store, record, SYSTEM.now())
    assert {one.id for one in shown.wires if one.fired} == {"start_x", "x_j", "j_z"}
    lines = workflow_view.lines(shown)
    assert [line.partition(",")[0] for line in lines] == [
        "start [trigger]: succeeded",
        "└ A (x): succeeded",
        "  ├ (error) A (y): idle (A (x) ended without error: 1 job succeeded)",
        "  │ └ j [join]: succeeded (1 wire did not fire)",
        "  │   └ A (z): succeeded",
        "  └ j (above)",
    ]


async def test_a_run_that_ends_while_it_is_read_is_shown_as_it_ended(
    store: Store, tmp_path: Path
) -> None:
    known = await put(store, *events(node("x", event="a"), wires=("start > x",)))
    async with site(store, tmp_path, lambda _: None) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: agent.held)
        (before,) = await job_records.find(store, ["jrun"])
        await agent.release(Place("x", 0, 0))
        run = await over(store)
    assert before is not None
    assert before.is_live
    finishing = JobRecord(replace(run, state="finishing"), own=before.own, is_live=True)
    for record in (before, finishing):
        shown = await workflow_runs.view(store, record, SYSTEM.now())
        assert shown.is_over
        assert [(one.condition, len(one.jobs)) for one in shown.nodes] == [
            ("succeeded", 0),
            ("succeeded", 1),
        ]


async def test_the_example_of_the_docs_runs(store: Store, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "workflows.md").read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]
    found = definition_files.load(text)
    known = await put(store, *(dict(one.values) for one in found.items))
    hosts = ["web-1", "web-2", "web-3"]

    def answer(place: Place) -> Answer:
        fails = (place.node, place.index) == ("deploy", 1)
        return Answer(3 if fails else 0, {"hosts": hosts} if place.node == "build" else None)

    async with site(store, tmp_path, answer) as agent:
        await launch_run(store, known, "release")
        run = await over(store)
    assert Counter(place.node for place in agent.places) == {"build": 1, "deploy": 3, "report": 1}
    assert run.code == "warning"
    (record,) = await job_records.find(store, ["jrun"])
    assert record is not None
    shown = workflow_view.lines(await workflow_runs.view(store, record, SYSTEM.now()))
    example = page.partition("jobs show release`:\n\n```\n")[2].partition("```")[0]
    names = [[line.partition(":")[0] for line in one] for one in (shown, example.splitlines())]
    assert names[0] == names[1]


async def test_jobs_of_a_run_share_data_and_none_takes_back_what_another_has_changed(
    store: Store, tmp_path: Path
) -> None:
    nodes = [node("x", event="a"), node("y", event="a"), node("j", "join"), node("z", event="a")]
    wires = ("start > x", "start > y", "x > j", "y > j", "j > z")
    known = await put(store, *events(*nodes, wires=wires))
    async with site(store, tmp_path, lambda p: None if p.node != "z" else Answer()) as agent:
        await launch_run(store, known, "w")
        await eventually(lambda: len(agent.held) == 2)
        await agent.release(Place("x", 0, 0), Answer(shares={"x": 1, "both": "x"}))
        await agent.release(Place("y", 0, 0), Answer(shares={"y": 2}))
        run = await over(store)
    assert run.workflowData == {"x": 1, "y": 2, "both": "x"}
    assert run.workflow is not None
    last = await over(store, run.workflow.jobs["z"][0].id)
    assert last.workflowData == run.workflowData


async def test_an_action_node_is_carried_out_for_the_run(store: Store, tmp_path: Path) -> None:
    nodes = [
        node("x", event="a"),
        node("q", "decision", decision="data.x > 1"),
        node("t", "action", type="tag", tags=["big"]),
    ]
    known = await put(store, *events(*nodes, wires=("start > x", "x > q", "q > t")))
    async with site(store, tmp_path, lambda _: Answer(data={"x": 2})):
        await launch_run(store, known, "w")
        await over(store)
        await eventually(lambda: has_tag(store, "big"))


async def has_tag(store: Store, tag: str) -> bool:
    run = await finished(store)
    return run is not None and tag in run.tags


async def test_a_job_of_a_node_without_an_event_is_repeated_by_its_run(
    store: Store, tmp_path: Path
) -> None:
    known = await put(store, *events(node("x", "job", plugin="shellplug"), wires=("start > x",)))
    async with site(store, tmp_path):
        await launch_run(store, known, "w")
        run = await over(store)
    assert run.workflow is not None
    job = await over(store, run.workflow.jobs["x"][0].id)
    with pytest.raises(Refused, match="repeat job jrun from the node x"):
        await run_event.rerun(store, known, ALICE, job, SYSTEM.now(), timezone="UTC")
