"""Conductors are killed at each step of a workflow with split, join and retry: each job of each
node runs once, and the result is the same."""

import asyncio
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.jobs.dispatching import KEYS, texts
from tests.jobs.test_conductor import at_work, command, end_leases, working
from tests.jobs.workflow_agent import (
    Answer,
    Place,
    WorkflowAgent,
    finished,
    launch_run,
    put,
)
from tests.jobs.workflows import node, workflow
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.jobs import aborts
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys

STEPS = [
    "workflows.loaded:1",
    "workflows.loaded:4",
    "workflows.decided:2",
    "workflows.decided:5",
    "workflows.applied:1",
    "workflows.applied:3",
    "workflows.applied:5",
    "workflows.waits_ended:2",
    "queue.taken:9",
    "queue.before_acknowledge:12",
    "queue.acknowledged:10",
    "dispatcher.applied:3",
    "jobs.finish_decided:4",
    "jobs.finished:2",
    "jobs.finished:5",
]
SHORT, LONG = 5, 33
ITEMS = 4


def many(rows: int) -> dict[str, Any]:
    """A workflow of six nodes for each row, besides a few: jobs whose first attempt fails, a split,
    a wait and joins."""
    nodes = [node("end", "join"), node("last", event="a")]
    wires = ["end > last"]
    for row in range(rows):
        name = f"r{row}"
        nodes += [
            node(f"{name}a", event="a"),
            node(f"{name}s", "split", split="data.hosts"),
            node(f"{name}b", event="flaky"),
            node(f"{name}w", "wait", wait=0.01),
            node(f"{name}j", "join"),
            node(f"{name}c", event="a"),
        ]
        wires += [
            f"start > {name}a",
            f"{name}a > {name}s",
            f"{name}s > {name}b",
            f"{name}a > {name}w",
            f"{name}w > {name}j",
            f"{name}b continue> {name}j",
            f"{name}j > {name}c",
            f"{name}c > end",
        ]
    return workflow("w", nodes, *wires)


def answer(place: Place) -> Answer:
    """The first job of each split fails at its first attempt."""
    if place.node.endswith("b"):
        return Answer(3 if (place.index, place.attempt) == (0, 0) else 0, {"done": [place.index]})
    return Answer(data={"hosts": list("wxyz"[:ITEMS]), "at": place.node})


def expected(rows: int) -> Counter[Place]:
    found = Counter({Place("last", 0, 0): 1})
    for row in range(rows):
        found[Place(f"r{row}a", 0, 0)] = found[Place(f"r{row}c", 0, 0)] = 1
        for item in range(ITEMS):
            found[Place(f"r{row}b", item, 0)] = 1
        found[Place(f"r{row}b", 0, 1)] = 1
    return found


async def launched(store: Store, rows: int) -> None:
    flaky = {"id": "flaky", "title": "Flaky", "limits": [{"type": "retry", "amount": 2}]}
    known = await put(store, {"id": "a", "title": "A"}, flaky, many(rows))
    await launch_run(store, known, "w")


async def end_all_leases(store: Store) -> None:
    await end_leases(store)
    takers = StoreKeys().takers(KEYS.workflow_steps())
    for taker in await texts(store, "ZRANGE", takers, 0, -1):
        await store.call("ZADD", takers, "XX", 0, taker)


async def check(store: Store, agent: WorkflowAgent, rows: int) -> None:
    run = await eventually(lambda: finished(store))
    assert run is not None
    await eventually(lambda: _is_none(store, KEYS.live()))
    assert agent.places == expected(rows)
    assert set(agent.started.values()) == {1}
    jobs = rows * (2 + ITEMS) + 1
    assert (run.code, run.description) == (0, f"{jobs} jobs succeeded")
    assert run.data["done"] == [*range(ITEMS)] * rows
    assert run.data["at"] == f"r{rows - 1}c"
    assert run.workflow is not None
    assert {name: one.count for name, one in run.workflow.state.items() if name[-1] == "b"} == {
        f"r{row}b": ITEMS for row in range(rows)
    }
    left = await texts(store, "KEYS", "*")
    gone = ("job:", "occupied", "waiting", "workflow_jobs", "workflow_values")
    assert not [key for key in left if any(word in key for word in gone)]
    assert not await store.call("EXISTS", KEYS.workflow_steps(), KEYS.workflow_later())


async def _is_none(store: Store, key: str) -> bool:
    return not await store.call("EXISTS", key)


async def kill_at(store: Store, folder: Path, step: str, rows: int) -> None:
    async with at_work(WorkflowAgent(store, answer)) as agent:
        assert isinstance(agent, WorkflowAgent)
        await launched(store, rows)
        process = await asyncio.create_subprocess_exec(*command(store, folder, step))
        assert await process.wait() == -signal.SIGKILL
        await end_all_leases(store)
        with working(store, folder):
            await check(store, agent, rows)


@pytest.mark.parametrize("step", STEPS)
async def test_a_conductor_killed_at_any_step_of_a_workflow_loses_and_repeats_nothing(
    store: Store, tmp_path: Path, step: str
) -> None:
    await kill_at(store, tmp_path, step, SHORT)


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
async def test_a_workflow_of_200_nodes_survives_a_kill_at_any_step(
    store: Store, tmp_path: Path, step: str
) -> None:
    assert len(many(LONG)["workflow"]["nodes"]) > 200
    await kill_at(store, tmp_path, step, LONG)


async def test_a_wait_survives_that_everything_is_restarted(store: Store, tmp_path: Path) -> None:
    known = await put(
        store,
        {"id": "a", "title": "A"},
        workflow("w", [node("q", "wait", wait=3_600), node("a")], "start > q", "q > a"),
    )
    async with at_work(WorkflowAgent(store)) as agent:
        assert isinstance(agent, WorkflowAgent)
        await launch_run(store, known, "w")
        with working(store, tmp_path):
            await eventually(lambda: store.call("ZCARD", KEYS.workflow_later()))
        await end_all_leases(store)
        step, at = await _first(store)
        assert msgspec.json.decode(step)["what"] == "wait"
        assert not agent.places
        await store.call("ZADD", KEYS.workflow_later(), at - 3_600, step)
        with working(store, tmp_path):
            run = await eventually(lambda: finished(store))
    assert run is not None
    assert run.code == 0
    assert agent.places == {Place("a", 0, 0): 1}


async def _first(store: Store) -> tuple[bytes, float]:
    found = await store.call("ZRANGE", KEYS.workflow_later(), 0, 0, "WITHSCORES")
    step, at = found[0] if isinstance(found[0], list | tuple) else found[:2]
    return step, float(at)


@pytest.mark.parametrize("step", ["workflows.decided:1", "workflows.applied:1", "jobs.finished:1"])
async def test_an_abort_reaches_all_jobs_although_conductors_are_killed(
    store: Store, tmp_path: Path, step: str
) -> None:
    nodes = [node("r", "repeat", repeat=4), node("a"), node("b")]
    wires = ("start > r", "r > a", "a complete> b")
    events = [{"id": name, "title": name} for name in "ab"]
    known = await put(store, *events, workflow("w", nodes, *wires))
    async with at_work(WorkflowAgent(store, lambda _: None)) as agent:
        assert isinstance(agent, WorkflowAgent)
        await launch_run(store, known, "w")
        with working(store, tmp_path):
            await eventually(lambda: len(agent.held) == 4)
        await end_all_leases(store)
        await aborts.abort(store, "jrun", "Aborted by Alice", None, now=SYSTEM.now())
        process = await asyncio.create_subprocess_exec(*command(store, tmp_path, step))
        assert await process.wait() == -signal.SIGKILL
        await end_all_leases(store)
        with working(store, tmp_path):
            run = await eventually(lambda: finished(store))
    assert run is not None
    assert (run.code, run.description) == ("abort", "Aborted by Alice")
    assert (len(agent.aborted), {place.node for place in agent.places}) == (4, {"a"})
