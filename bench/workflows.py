"""Workflows: 1,000 trivial jobs of one run, and how long a node waits for the one before it."""

import asyncio
from itertools import pairwise

from bench.cron import percentile, spawned
from bench.figures import Figure, repeated
from bench.jobs import KEYS, Site, ended, event, recorded, serving
from watchbell import ids
from watchbell.clock import SYSTEM
from watchbell.jobs import job_records, launches, validation
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Wish
from watchbell.jobs.model import Event, Job
from watchbell.store.client import Store

JOBS, CHAIN, RUNS = 1_000, 50, 2


def figures() -> list[Figure]:
    bare = max(repeated(spawned, 3))
    rates, overheads = zip(*[asyncio.run(repeat()) for _ in range(RUNS)], strict=True)
    waits = asyncio.run(chain())
    single = percentile(asyncio.run(lone()), 50)
    return [
        Figure(
            name=f"a workflow of {JOBS:,} trivial jobs, to its record",
            unit="jobs/s",
            runs=rates,
            aim=min(200, bare / 2),
            limit=bare,
            limit_name="runs/s by posix_spawn and wait",
        ),
        Figure(
            name="the same, beside as many jobs without a workflow",
            unit="times as long",
            runs=overheads,
            sense="at most",
            aim=1.5,
        ),
        *(
            Figure(
                name=f"from the end of a node to the process of the next, p{percent}",
                unit="ms",
                runs=[percentile(waits, percent)],
                sense="at most",
                aim=aim,
                limit=single,
                limit_name="ms from launch to process of a job alone",
            )
            for percent, aim in ((50, max(10, single * 1.25)), (95, max(30, single * 4)))
        ),
    ]


def workflow(name: str, nodes: list[dict[str, object]], wires: list[tuple[str, str]]) -> Event:
    value = {
        "id": name,
        "title": name,
        "type": "workflow",
        "timings": [{"type": "manual", "id": "start"}],
        "workflow": {
            "nodes": [{"id": "start", "type": "trigger"}, *nodes],
            "connections": [{"source": one, "dest": other} for one, other in wires],
        },
    }
    found = validation.read("event", value)
    assert isinstance(found, Event)
    return found


def node(name: str, event_id: str) -> dict[str, object]:
    return {"id": name, "type": "event", "data": {"event": event_id}}


async def started(store: Store, name: str, count: int = 1) -> list[Job]:
    catalogue, now = Catalogue(store), SYSTEM.now()
    await catalogue.load()
    wish = Wish(event=name, username="alice", is_admin=True)
    jobs = [launch.prepare(catalogue, wish, ids.record_id("j", now), now) for _ in range(count)]
    await launches.launch(store, jobs, "UTC")
    return jobs


async def over(site: Site, job: Job) -> Job:
    while not await site.store.call("HEXISTS", KEYS.finished(), job.id):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return (await ended(site.store, [job]))[0]


async def repeat() -> tuple[float, float]:
    """Jobs a second, and how many times as long as the same number of jobs by themselves."""
    data = {"controller": "repeat", "repeat": JOBS}
    many: dict[str, object] = {"id": "r", "type": "controller", "data": data}
    run = workflow("w", [many, node("a", "e0")], [("start", "r"), ("r", "a")])
    async with serving([event("e0", "true"), run]) as site:
        await started(site.store, "e0", 50)
        await recorded(site.store, 50)
        begun = SYSTEM.monotonic()
        await started(site.store, "e0", JOBS)
        await recorded(site.store, 50 + JOBS)
        plain = SYSTEM.monotonic() - begun
        begun = SYSTEM.monotonic()
        (job,) = await started(site.store, "w")
        found = await over(site, job)
        spent = SYSTEM.monotonic() - begun
        assert found.workflow is not None
        assert found.workflow.state["a"].count == JOBS
        return JOBS / spent, spent / plain


async def chain() -> list[float]:
    """Milliseconds from the end of each process to the start of the next: each prints when."""
    names = [f"n{n}" for n in range(CHAIN)]
    run = workflow("w", [node(one, "e0") for one in names], [*pairwise(["start", *names])])
    script = "#!/bin/bash\necho '{\"data\": {\"at\": ['$EPOCHREALTIME']}}'\n"
    async with serving([event("e0", script), run]) as site:
        await over(site, (await started(site.store, "w"))[0])
        (job,) = await started(site.store, "w")
        found = await over(site, job)
        moments = found.data["at"]
        assert found.workflow is not None
        stubs = [found.workflow.jobs[name][0] for name in names]
    assert len(moments) == CHAIN
    return [(later - one.completed) * 1_000 for one, later in zip(stubs, moments[1:], strict=False)]


async def lone() -> list[float]:
    """Milliseconds from the launch of a job to its process."""
    script = "#!/bin/bash\necho '{\"data\": {\"at\": '$EPOCHREALTIME'}}'\n"
    waits = []
    async with serving([event("e0", script)]) as site:
        for _ in range(CHAIN):
            (job,) = await started(site.store, "e0")
            await over(site, job)
            found = await job_records.read(site.store, job.id)
            assert found is not None
            waits.append((found.data["at"] - found.launched) * 1_000)
    return waits
