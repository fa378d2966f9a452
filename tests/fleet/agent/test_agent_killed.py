"""An agent that is killed, stopped or suspended loses no job, no line and no result."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.agent.agent_process import AgentProcess
from tests.fleet.agent.link_server import LinkServer, SeenJob, order
from tests.waiting import eventually
from watchbell.fleet.messages import RunEachMinute
from watchbell.fleet.model import Command

LINES = 3_000
COUNTS = f"i=0; while test $i -lt {LINES}; do i=$((i+1)); echo line $i; done; exit 3"
EXPECTED = "".join(f"line {number}\n" for number in range(1, LINES + 1)).encode()


@pytest.fixture
def agent(folder: Path, server: LinkServer) -> Iterator[AgentProcess]:
    with AgentProcess(folder / "data", server) as running:
        yield running


async def complete(server: LinkServer, job: str) -> SeenJob:
    seen = await server.ended(job)
    assert not server.errors
    assert len(seen.started) <= 1
    return seen


async def test_a_running_job_goes_on_under_the_next_agent(
    agent: AgentProcess, server: LinkServer, folder: Path
) -> None:
    gate = folder / "gate"
    script = f"echo one; until test -e {gate}; do sleep 0.01; done; echo two; exit 3"
    await server.launch(order("j1", script))
    await eventually(lambda: server.job("j1").log)
    agent.kill()
    assert agent.alive("j1")
    agent.again()
    await agent.connected()
    gate.touch()
    seen = await complete(server, "j1")
    assert seen.log == b"one\ntwo\n"
    assert seen.result
    assert seen.result.code == 3
    await eventually(lambda: agent.jobs == [])


async def test_a_job_that_ended_meanwhile_has_its_result(
    agent: AgentProcess, server: LinkServer, folder: Path
) -> None:
    gate = folder / "gate"
    script = f"echo one; until test -e {gate}; do sleep 0.01; done; seq 100000; exit 3"
    await server.launch(order("j1", script))
    await eventually(lambda: server.job("j1").log)
    agent.kill()
    gate.touch()
    agent.again()
    seen = await complete(server, "j1")
    assert seen.log.count(b"\n") == 100_001
    assert seen.result
    assert (seen.result.code, seen.result.lines) == (3, 100_001)


async def test_an_agent_that_is_told_to_stop_leaves_its_jobs_to_the_next(
    agent: AgentProcess, server: LinkServer, folder: Path
) -> None:
    gate = folder / "gate"
    await server.launch(order("j1", f"echo one; until test -e {gate}; do sleep 0.01; done"))
    await eventually(lambda: server.job("j1").log)
    agent.process.terminate()
    assert await agent.wait() == 0
    await eventually(lambda: server.departures == 1)
    assert agent.alive("j1")
    agent.again()
    await agent.connected()
    gate.touch()
    seen = await complete(server, "j1")
    assert seen.result
    assert seen.result.code == 0


async def test_an_agent_that_is_told_to_stop_lets_a_start_end(
    agent: AgentProcess, server: LinkServer, folder: Path
) -> None:
    await agent.connected()
    agent.signal_wardens(signal.SIGSTOP)
    await server.launch(order("j1", f"echo run >> {folder}/runs"))
    await eventually(lambda: agent.is_starting("j1"), why="the agent asks the warden")
    agent.process.terminate()
    await eventually(lambda: server.departures == 1)
    renewals = len(server.renewals)
    await eventually(lambda: len(server.renewals) > renewals, why="it waits, and renews its lease")
    agent.signal_wardens(signal.SIGCONT)
    assert await agent.wait() == 0
    agent.again()
    seen = await complete(server, "j1")
    assert seen.result
    assert (seen.result.code, seen.result.description) == (0, "")
    assert (folder / "runs").read_text() == "run\n"


POINTS = [
    *("accepted", "starting", "started", "recorded:1", "recorded:2", "sent"),
    *("ended", "finished", "forgets", "welcomed"),
]


@pytest.mark.parametrize("point", POINTS)
async def test_an_agent_may_be_killed_at_any_point(
    folder: Path, server: LinkServer, point: str
) -> None:
    with AgentProcess(folder / "data", server, WATCHBELL_FAULT=f"agent.{point}") as agent:
        if point != "welcomed":
            await server.launch(order("j1", f"echo run >> {folder}/runs; {COUNTS}"))
        assert await agent.wait() == -signal.SIGKILL
        agent.again()
        await agent.connected()
        known = {one.id for one in server.hellos[-1].jobs}
        if "j1" not in known and not server.job("j1").reports:  # as the real server does
            await server.launch(order("j1", f"echo run >> {folder}/runs; {COUNTS}"))
        seen = await complete(server, "j1")
        assert seen.result
        if point in ("starting", "recorded:1"):  # nobody knows whether it was started
            assert seen.result.code == "abort"
            assert seen.result.retry_ok
        else:
            assert seen.result.code == 3
            assert seen.log == EXPECTED
            assert (folder / "runs").read_text() == "run\n"
        await eventually(lambda: agent.jobs == [])


async def test_an_agent_may_be_killed_again_and_again_while_a_job_prints(
    agent: AgentProcess, server: LinkServer, folder: Path, repetitions: Callable[[int], int]
) -> None:
    stop = folder / "stop"
    script = f"i=0; until test -e {stop}; do i=$((i+1)); echo $i; done; echo end"
    await server.launch(order("j1", script))
    for _ in range(repetitions(5)):
        before = len(server.job("j1").log)
        await eventually(lambda: len(server.job("j1").log) > before + 10_000)  # noqa: B023
        agent.kill()
        agent.again()
    stop.touch()
    seen = await complete(server, "j1")
    *numbers, last = seen.log.split(b"\n")[:-1]
    assert last == b"end"
    assert numbers == [str(number).encode() for number in range(1, len(numbers) + 1)]


async def test_a_job_whose_warden_was_killed_too_is_lost(
    agent: AgentProcess, server: LinkServer
) -> None:
    await server.launch(order("j1", "echo ready; sleep 1000"))
    await eventually(lambda: server.job("j1").log)
    agent.kill()
    agent.kill_wardens()
    agent.again()
    seen = await complete(server, "j1")
    assert seen.result
    assert (seen.result.code, seen.result.retry_ok) == ("abort", True)
    await eventually(lambda: not agent.alive("j1"), why="the end of what was killed")


@pytest.mark.parametrize("is_suspended", [True, False])
async def test_jobs_are_ended_before_the_server_counts_them_as_lost(
    folder: Path, server: LinkServer, *, is_suspended: bool
) -> None:
    server.welcome |= {"lost_after": 3.0, "kill_after": 0.5}
    with AgentProcess(folder / "data", server) as agent:
        await server.launch(order("j1", "trap '' TERM; echo ready; while :; do sleep 0.05; done"))
        await eventually(lambda: server.job("j1").log)
        if is_suspended:
            agent.process.send_signal(signal.SIGSTOP)
        else:
            server.flows.clear()
        await eventually(lambda: not agent.alive("j1"), why="the end of the job")
        server.flows.set()
        agent.process.send_signal(signal.SIGCONT)
        seen = await complete(server, "j1")
        assert seen.result
        assert (seen.result.code, seen.result.retry_ok) == ("abort", True)


async def test_two_agents_cannot_share_a_folder(agent: AgentProcess, server: LinkServer) -> None:
    await eventually(lambda: server.hellos)
    other = AgentProcess(agent.data, server)
    assert await other.wait() == 1
    assert "another agent uses the folder" in other.log.read_text()


def test_the_agent_is_light() -> None:
    code = "import sys; import watchbell.cli.agent; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in ("redis", "litestar", "aiohttp", "rich", "structlog", "http.client", "ctypes"):
        assert f"'{name}'" not in done.stdout


async def test_commands_of_a_killed_agent_end_and_run_again_under_the_next(
    agent: AgentProcess, server: LinkServer, folder: Path
) -> None:
    runs = folder / "runs"
    script = f"echo $$ >>{runs}; exec sleep 1000"
    commands = (Command(id="hangs", command="/bin/sh", script=script, timeout=50),)
    await server.send(RunEachMinute(commands=commands))
    await eventually(runs.exists, why="the command")
    agent.kill()
    (first,) = runs.read_text().split()
    await eventually(lambda: not is_alive(int(first)), why="the end of the command")
    agent.again()
    await agent.connected()
    await server.send(RunEachMinute(commands=commands))
    await eventually(lambda: len(runs.read_text().split()) > 1, why="the next run of the command")
    left = list((agent.data / "agent" / "commands").iterdir())
    assert len(left) == 1, "the folder of the killed agent's command is still there"


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
