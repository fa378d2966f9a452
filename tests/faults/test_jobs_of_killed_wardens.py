"""Wardens that are killed at each step of a job: the job ends with a reason, its processes are
gone, and nothing runs twice."""

import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.faults.job_fleet import AgentProcess, JobFleet, job_fleet
from tests.waiting import eventually
from watchbell.fleet.agent.journal import FIRST
from watchbell.jobs.model import ABORTED, Job, Limit

RETRY = Limit(type="retry", amount=1, duration=0)


@pytest.fixture
async def fleet(folder: Path) -> AsyncIterator[JobFleet]:
    async with job_fleet(folder) as made:
        await made.serve()
        made.conductor().start()
        yield made


@pytest.fixture
async def agent(fleet: JobFleet) -> AgentProcess:
    made = (await fleet.agent("a1")).start()
    await fleet.joined()
    await eventually(made.wardens, why="a warden")
    return made


def signal_wardens(agent: AgentProcess, number: signal.Signals) -> None:
    for warden in agent.wardens():
        warden.send_signal(number)


def kill_wardens(agent: AgentProcess) -> None:
    signal_wardens(agent, signal.SIGKILL)


async def retried(fleet: JobFleet, agent: AgentProcess, go: Callable[[], None]) -> Job:
    """The job has ended with a reason, and its successor runs to its end."""
    (first,) = await fleet.finished()
    assert (first.code, first.retried, bool(first.description)) == (ABORTED, True, True)
    (successor,) = first.jobs
    await eventually(lambda: fleet.count("start")[successor.id])
    await eventually(lambda: not agent.children("j1"), why="the end of what was killed")
    go()
    (second,) = await fleet.finished([successor.id])
    assert second.code == 0
    fleet.check_run_once([second.id])
    await fleet.check_empty()
    return second


async def test_a_warden_that_is_killed_before_there_is_a_job(
    fleet: JobFleet, agent: AgentProcess
) -> None:
    kill_wardens(agent)
    await fleet.launch(["j1"], "echo done", limits=(RETRY,))
    (job,) = await fleet.finished()
    if job.retried:  # it was given to the warden before the agent had noticed
        (job,) = await fleet.finished([job.jobs[0].id])
    assert (job.code, await fleet.log(job.id)) == (0, b"done\n")
    assert fleet.count("start") == {job.id: 1}
    await fleet.check_empty()


async def test_a_warden_that_is_killed_before_it_has_started_the_job(
    fleet: JobFleet, agent: AgentProcess, folder: Path
) -> None:
    signal_wardens(agent, signal.SIGSTOP)
    await fleet.launch(["j1"], "true", limits=(RETRY,))
    journal = agent.data / "agent" / "jobs" / "j1" / FIRST

    def is_starting() -> bool:
        return journal.exists() and b"is_starting" in journal.read_bytes()

    await eventually(is_starting, why="the agent asks the warden")
    kill_wardens(agent)
    second = await retried(fleet, agent, (folder / "gate").touch)
    assert fleet.count("start") == {second.id: 1}


async def test_a_warden_that_is_killed_while_the_job_runs(
    fleet: JobFleet, agent: AgentProcess, folder: Path
) -> None:
    gate = folder / "gate"
    children = "sleep 1000 & setsid sleep 1000 &"
    script = f"{children} echo begun; until test -e {gate}; do sleep 0.01; done; kill %1"
    await fleet.launch(["j1"], script, limits=(RETRY,), kill="all")
    await eventually(lambda: len(agent.children("j1")) > 3 and fleet.count("start")["j1"])
    kill_wardens(agent)
    second = await retried(fleet, agent, gate.touch)
    assert fleet.count("start") == {"j1": 1, second.id: 1}
    assert fleet.count("end") == {second.id: 1}


async def test_a_warden_that_is_killed_as_the_job_ends(
    fleet: JobFleet, agent: AgentProcess, folder: Path
) -> None:
    """Nobody knows how it has ended, so it is not taken for a success. Its log is complete."""
    gate = folder / "gate"
    script = f"until test -e {gate}; do sleep 0.01; done; seq 1000"
    await fleet.launch(["j1"], script)
    await eventually(lambda: fleet.count("start")["j1"])
    signal_wardens(agent, signal.SIGSTOP)
    gate.touch()
    await eventually(lambda: fleet.count("end")["j1"])
    kill_wardens(agent)
    (job,) = await fleet.finished()
    assert (job.code, job.retry_ok, bool(job.description)) == (ABORTED, True, True)
    assert await fleet.log("j1") == "".join(f"{n}\n" for n in range(1, 1001)).encode()
    await eventually(lambda: not agent.children("j1"), why="the end of what was killed")
    fleet.check_run_once()
    await fleet.check_empty()
