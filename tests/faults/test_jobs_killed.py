"""Every process of a fleet is killed at each step of a job: no job is lost, none runs twice, no
line of a log is lost or repeated."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.faults.job_fleet import JobFleet, Process, job_fleet
from tests.waiting import eventually
from watchbell.jobs.model import ABORTED

LINES = 1_000
PRINTS = f"seq {LINES}"
LOG = "".join(f"{number}\n" for number in range(1, LINES + 1)).encode()
CONDUCTOR_POINTS = [
    "dispatcher.loaded",
    "dispatcher.applied",
    "jobs.finish_decided",
    "jobs.finished",
]
MORE_CONDUCTOR_POINTS = [
    "queue.before_acknowledge",
    "jobs.finish_loaded",
    "jobs.log_file_written",
    "jobs.log_archived",
]
WEB_POINTS = ["jobs.ordered", "jobs.acknowledging:2"]
MORE_WEB_POINTS = ["jobs.reported", "jobs.acknowledging"]
AGENT_POINTS = ["agent.accepted", "agent.starting", "agent.started", "agent.finished"]
MORE_AGENT_POINTS = [
    "agent.welcomed",
    "process.asked",
    "agent.recorded:2",
    "agent.ended",
    "agent.sent",
    "agent.forgets",
]


def long(points: list[str]) -> ParameterSet:
    return pytest.param(points, marks=pytest.mark.long)


@pytest.fixture
async def fleet(folder: Path) -> AsyncIterator[JobFleet]:
    async with job_fleet(folder) as made:
        yield made


async def check(fleet: JobFleet, *, most_lost: int = 0) -> None:
    """Each job was run once, and has its whole log. Of a job that was being started nobody may
    know whether it was."""
    lost = 0
    for job in await fleet.finished():
        assert job.state == "complete"
        if most_lost and job.code == ABORTED:
            assert job.description
            assert job.retry_ok
            assert fleet.count("start")[job.id] <= 1
            lost += 1
        else:
            assert job.code == 0, job.description
            assert await fleet.log(job.id) == LOG
            fleet.check_run_once([job.id])
    assert lost <= most_lost
    await fleet.check_empty()


@pytest.mark.parametrize("points", [CONDUCTOR_POINTS, long(MORE_CONDUCTOR_POINTS)])
async def test_conductors_that_are_killed_at_each_step(fleet: JobFleet, points: list[str]) -> None:
    await fleet.serve()
    (await fleet.agent("a1")).start()
    doomed = [fleet.conductor(point).start(point) for point in points]
    async with fleet.load(PRINTS):
        for conductor in doomed:
            await conductor.died()
            await fleet.expire_leases(conductor)
        fleet.conductor().start()
    await check(fleet)


@pytest.mark.parametrize("points", [WEB_POINTS, long(MORE_WEB_POINTS)])
async def test_a_web_server_that_is_killed_at_each_step(fleet: JobFleet, points: list[str]) -> None:
    fleet.conductor().start()
    (await fleet.agent("a1")).start()
    async with fleet.load(PRINTS):
        for point in points:
            fleet.web.start(point)
            await fleet.web.died()
        fleet.web.start()
    await check(fleet)


@pytest.mark.parametrize("points", [AGENT_POINTS, long(MORE_AGENT_POINTS)])
async def test_agents_that_are_killed_at_each_step(fleet: JobFleet, points: list[str]) -> None:
    await fleet.serve()
    fleet.conductor().start()
    doomed = [(await fleet.agent(point.replace(":", "-"))).start(point) for point in points]
    async with fleet.load(PRINTS):
        for agent in doomed:
            await agent.died()
            agent.start()
    await check(fleet, most_lost=8 * len(points))


async def test_a_store_that_is_killed_while_jobs_run(
    fleet: JobFleet, repetitions: Callable[[int], int]
) -> None:
    await fleet.serve()
    fleet.conductor().start()
    (await fleet.agent("a1")).start()
    async with fleet.load(PRINTS):
        for n in range(1, 1 + repetitions(30) // 3):
            await eventually(lambda n=n: fleet.has_finished(20 * n))  # type: ignore[misc]
            await asyncio.to_thread(fleet.server.kill)
            await asyncio.to_thread(fleet.server.start)
    await check(fleet)


async def test_everything_is_killed_at_random_times(
    fleet: JobFleet, repetitions: Callable[[int], int]
) -> None:
    times = repetitions(60) // 2
    await fleet.serve()
    conductors = [fleet.conductor(f"conductor{n}").start() for n in range(2)]
    agents = [(await fleet.agent(f"a{n}")).start() for n in range(2)]
    victims: list[Process] = [fleet.web, *conductors, *agents]
    chance = random.Random(1)
    async with fleet.load(PRINTS):
        for n in range(times):
            aim = await fleet.count_finished() + chance.randrange(30)
            await eventually(lambda aim=aim: fleet.has_finished(aim))  # type: ignore[misc]
            victim = victims[n % len(victims)]
            victim.kill()
            victim.start()
    await check(fleet, most_lost=8 * times)
