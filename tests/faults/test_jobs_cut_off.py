"""Agents that are suspended or cut off: a job runs on one machine at a time, and its log is
complete."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.job_fleet import AgentProcess, JobFleet, job_fleet
from tests.faults.proxy import Mode, Proxy
from tests.servers import HOST
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.fleet import tokens
from watchbell.jobs.model import ABORTED, Limit
from watchbell.store.client import patiently

SOON_LOST: dict[str, Any] = {
    "WATCHBELL_JOBS_LOST_AFTER": "10",
    "WATCHBELL_JOBS_DOWN_AFTER": "5",
}
RETRY = Limit(type="retry", amount=1, duration=0)


async def test_a_suspended_agent_has_lost_its_job_before_the_retry_starts(folder: Path) -> None:
    async with job_fleet(folder, **SOON_LOST) as fleet:
        gate, lock = folder / "gate", folder / "lock"
        alone = f"exec 9>>{lock}; flock -n 9 || echo $JOB_ID overlap $JOB_EVENT >>{fleet.ledger}"
        await fleet.serve()
        fleet.conductor().start()
        first = (await fleet.agent("a1")).start()
        await fleet.launch(
            ["j1"], f"{alone}; until test -e {gate}; do sleep 0.01; done", limits=(RETRY,)
        )
        await eventually(lambda: fleet.count("start")["j1"])
        first.signal(signal.SIGSTOP)
        (await fleet.agent("a2")).start()
        (lost_job,) = await fleet.finished()
        assert (lost_job.code, lost_job.retried) == (ABORTED, True)
        assert "a1 was lost" in lost_job.description
        (retry,) = lost_job.jobs
        await eventually(lambda: fleet.count("start")[retry.id])
        assert first.children("j1") == []
        gate.touch()
        (second,) = await fleet.finished([retry.id])
        assert (second.code, second.server != lost_job.server) == (0, True)
        first.signal(signal.SIGCONT)
        await eventually(lambda: not first.jobs, why="the agent forgets the job")
        after = await fleet.record("j1")
        assert (after.code, after.description) == (ABORTED, lost_job.description)
        assert fleet.count("start") == {"j1": 1, second.id: 1}
        assert fleet.count("end") == {second.id: 1}
        assert not fleet.count("overlap")
        await fleet.check_empty()


async def test_a_log_is_complete_after_the_link_was_cut_in_every_way(folder: Path) -> None:
    """The last cut lasts until the server counts as down."""
    async with job_fleet(folder, WATCHBELL_JOBS_DOWN_AFTER="3") as fleet:
        gate, reached = folder / "gate", folder / "reached"
        reached.write_text("0")
        script = (
            f"i=0; until test -e {gate}; do i=$((i+1)); echo line $i; echo $i >{reached}.new;"
            f" mv {reached}.new {reached}; done"
        )
        await fleet.serve()
        fleet.conductor().start()
        with Proxy((HOST, fleet.port)) as proxy:
            agent = await fleet.agent("a1", url=f"http://{HOST}:{proxy.port}")
            agent.start()
            await fleet.launch(["j1"], script)
            for mode in (Mode.STALL, Mode.BLACK_HOLE, Mode.HALF_CLOSE, Mode.RESET):
                await stored(fleet, int(reached.read_text()) + 1)
                proxy.set(mode)
                before = int(reached.read_text())
                await eventually(lambda b=before: int(reached.read_text()) > b + 50)  # type: ignore[misc]
                if mode is Mode.RESET:
                    await eventually(lambda: is_cut_off(fleet), why="the server is down")
                proxy.set(Mode.PASS)
            await stored(fleet, int(reached.read_text()))
            gate.touch()
            (job,) = await fleet.finished()
            await fleet.check_empty()
        assert (job.code, job.reconnected is not None) == (0, True)
        lines = (await fleet.log("j1")).decode().splitlines()
        assert lines == [f"line {n}" for n in range(1, int(reached.read_text()) + 1)]
        fleet.check_run_once()


async def test_a_log_is_complete_after_a_long_cut(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    """The job prints all the time. The server is long down, and the journal of the agent has
    several files; with `--long` the cut lasts ten minutes."""
    pause, least = (0.5, 600) if request.config.getoption("--long") else (0.02, 0)
    async with job_fleet(folder, WATCHBELL_JOBS_DOWN_AFTER="3") as fleet:
        gate, reached = folder / "gate", folder / "reached"
        script = (
            f"i=0; until test -e {gate}; do seq $((i+1)) $((i+10000)); i=$((i+10000));"
            f" sleep {pause}; done; echo $i >{reached}"
        )
        await fleet.serve()
        fleet.conductor().start()
        with Proxy((HOST, fleet.port)) as proxy:
            agent = await fleet.agent("a1", url=f"http://{HOST}:{proxy.port}")
            agent.start()
            await fleet.launch(["j1"], script)
            await stored(fleet, 1)
            cut = SYSTEM.monotonic()
            proxy.set(Mode.BLACK_HOLE)
            journal = agent.data / "agent" / "jobs" / "j1"
            await eventually(lambda: is_cut_off(fleet), why="the server is down")
            await eventually(lambda: len(list(journal.glob("reports.*"))) > 2, why="a long journal")
            await eventually(lambda: SYSTEM.monotonic() > cut + least, 2 * least)
            assert (await fleet.record("j1")).state == "active"
            proxy.set(Mode.PASS)
            gate.touch()
            (job,) = await fleet.finished()
            await fleet.check_empty()
        assert job.code == 0
        whole = "".join(f"{n}\n" for n in range(1, int(reached.read_text()) + 1))
        assert await fleet.log("j1") == whole.encode()
        fleet.check_run_once()


async def stored(fleet: JobFleet, lines: int) -> None:
    """So many lines of the job are in the store."""

    async def has_lines() -> bool:
        found = await patiently(lambda: fleet.store.call("HGET", "{jobs}:job:j1", "_lines"))
        return int(found or 0) >= lines

    await eventually(has_lines, why=f"{lines} lines in the store")


async def is_cut_off(fleet: JobFleet) -> bool:
    job = await fleet.record("j1")
    return any("can't be reached" in line.msg for line in job.activity)


async def test_an_agent_returns_with_many_finished_jobs(
    folder: Path, repetitions: Callable[[int], int]
) -> None:
    count = 20 * repetitions(50)
    async with job_fleet(folder) as fleet:
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        await fleet.serve()
        fleet.conductor().start()
        with Proxy((HOST, fleet.port)) as proxy:
            agent = await fleet.agent("a1", slots=count, url=f"http://{HOST}:{proxy.port}")
            agent.start()
            await fleet.launch([f"j{n}" for n in range(count)], f"read line <{fifo}; echo done")
            await eventually(lambda: len(fleet.count("start")) == count, why="the start of all")
            proxy.set(Mode.RESET)
            writer = os.open(fifo, os.O_RDWR)
            os.write(writer, b"go\n" * count)
            await eventually(lambda: len(fleet.count("end")) == count, why="the end of all")
            os.close(writer)
            assert await fleet.count_finished() == 0
            proxy.set(Mode.PASS)
            jobs = await fleet.finished()
            assert {job.code for job in jobs} == {0}
            assert {await fleet.log(job.id) for job in jobs} == {b"done\n"}
            fleet.check_run_once()
            await fleet.check_empty()


async def test_an_agent_whose_token_is_revoked_loses_its_job(folder: Path) -> None:
    """Nobody who has its token, or one of another fleet, gets in."""
    async with job_fleet(folder, **SOON_LOST) as fleet:
        await fleet.serve()
        fleet.conductor().start()
        agent = (await fleet.agent("a1")).start()
        await fleet.launch(["j1"], "sleep 1000", limits=(RETRY,))
        await eventually(lambda: fleet.count("start")["j1"])
        stolen = (agent.data / "agent" / "token").read_text().strip()
        await tokens.revoke_of(fleet.store, (await fleet.record("j1")).server)
        (job,) = await fleet.finished()
        assert (job.code, job.retried) == (ABORTED, True)
        await eventually(lambda: not agent.children(), why="the end of the job's process")
        for name, token in (("thief", stolen), ("stranger", "wba_" + stolen[::-1])):
            intruder = AgentProcess(folder, name, fleet.url, token, fleet.environment)
            fleet.agents.append(intruder)
            assert await intruder.start().ended() != 0
            assert "does not accept the token" in intruder.log.read_text()
        assert fleet.count("start") == {"j1": 1}
