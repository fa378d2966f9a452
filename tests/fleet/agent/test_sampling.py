"""An agent samples its machine, and runs the commands of its server."""

import os
import shutil
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.fleet.agent.conftest import running_agent
from tests.fleet.agent.link_server import LinkServer, order
from tests.fleet.agent.test_agent_killed import is_alive
from tests.waiting import eventually
from watchbell.clock import SYSTEM, Clock
from watchbell.fleet import validation
from watchbell.fleet.machine_sample import MachineSample
from watchbell.fleet.messages import RanOnce, RunEachMinute, RunOnce
from watchbell.fleet.minutes import minute_of, second_of
from watchbell.fleet.model import Command


class Minutes(Clock):
    """The clock of both machines, which can be put forward by whole minutes. No time passes by
    that, so nobody finds the other silent."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return SYSTEM.now() + self.ahead

    def monotonic(self) -> float:
        return SYSTEM.monotonic()


@pytest.fixture
def minutes() -> Minutes:
    return Minutes()


@pytest.fixture
async def sampled(minutes: Minutes) -> AsyncIterator[LinkServer]:
    async with LinkServer(minutes, sample_every=1.0) as server:
        yield server


@pytest.fixture
async def clock(folder: Path, sampled: LinkServer, minutes: Minutes) -> AsyncIterator[Minutes]:
    async with running_agent(folder / "agent", sampled, clock=minutes):
        await eventually(lambda: sampled.machines, why="the first full sample")
        yield minutes


def machine(server: LinkServer) -> MachineSample:
    return validation.machine(server.machines[-1].packed, "db-1", 1_000)


async def next_machine(server: LinkServer, clock: Minutes) -> MachineSample:
    count = len(server.machines)
    clock.ahead += 60
    await eventually(lambda: len(server.machines) > count, why="the sample of the next minute")
    return machine(server)


def shell(id_: str, script: str, **more: object) -> Command:
    return msgspec.convert({"id": id_, "command": "/bin/sh", "script": script, **more}, Command)


@pytest.mark.usefixtures("clock")
async def test_the_first_sample_has_what_the_kernel_knows(sampled: LinkServer) -> None:
    found = machine(sampled)
    own = [one for one in found.processes.list if one.pid == os.getpid()]
    assert own
    assert own[0].threads >= 1
    assert own[0].resident > 1 << 20
    assert found.processes.all >= len(found.processes.list)
    assert found.memory["total"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found.cpu.cores == len(found.cpu.cpus)
    root = shutil.disk_usage("/")
    assert (found.mounts["root"].mount, found.mounts["root"].size) == ("/", root.total)
    assert found.interfaces["lo"].ip4 == "127.0.0.1"
    listening = {one.local: one.pid for one in found.connections.list if one.state == "LISTEN"}
    assert listening.get(f"127.0.0.1:{sampled.port}", 0) in (0, os.getpid())
    assert found.connections.states["listen"] >= 1
    assert found.process.pid == os.getpid()


async def test_each_minute_has_one_full_sample_and_each_second_quick_values(
    sampled: LinkServer, clock: Minutes
) -> None:
    await next_machine(sampled, clock)
    dates = [one.date for sample in sampled.samples for one in sample.quick]
    assert dates
    assert dates == sorted(dates)
    assert all(one.quick for one in sampled.samples)
    await next_machine(sampled, clock)
    minutes = [
        minute_of(
            msgspec.msgpack.decode(zlib.decompress(one.packed), type=MachineSample).date,
            second_of("s1"),
        )
        for one in sampled.machines
    ]
    assert len(set(minutes)) == len(minutes)


async def test_a_sample_is_sent_again_by_a_new_connection_once_a_minute(
    sampled: LinkServer, clock: Minutes
) -> None:
    """The one before may have ended with it."""
    await next_machine(sampled, clock)
    count, minutes = len(sampled.machines), sum(one.is_minute for one in sampled.samples)
    sampled.cut()
    await eventually(lambda: len(sampled.machines) > count, why="the full sample")
    again = "the sample of the minute"
    await eventually(lambda: sum(one.is_minute for one in sampled.samples) > minutes, why=again)
    count = len(sampled.machines)
    sampled.cut()
    seen = len(sampled.samples)
    await eventually(lambda: len(sampled.samples) > seen + 2, why="samples of the third connection")
    assert len(sampled.machines) <= count + 1  # of a minute that began meanwhile


async def test_a_step_of_the_clock_makes_no_process_older(
    sampled: LinkServer, clock: Minutes
) -> None:
    clock.ahead += 10 * 86_400
    found = await next_machine(sampled, clock)
    assert all(one.age <= found.uptime_sec for one in found.processes.list)
    assert any(one.cpu for one in found.processes.list)


async def test_commands_run_and_are_read_by_their_formats(
    sampled: LinkServer, clock: Minutes
) -> None:
    xml = "<disk kind='ssd'><use>3</use><use>4</use></disk>"
    commands = (
        shell("plain", "echo '  7 files '"),
        shell("json", 'echo \'{"queue": {"length": 3}}\'', format="json"),
        shell("xml", f'echo "{xml}"', format="xml"),
        shell("broken", "echo nonsense", format="json"),
        shell("fails", "echo partly; exit 3"),
        shell("bomb", "echo '<!DOCTYPE x [<!ENTITY a \"aa\">]><x>&a;</x>'", format="xml"),
        Command(id="missing", command="/no/such/program"),
        Command(id="other", command="id", uid="nobody"),
    )
    await sampled.send(RunEachMinute(commands=commands))
    wanted = {"broken", "fails", "bomb", "missing", "other"}

    async def all_ran() -> bool:
        found = await next_machine(sampled, clock)
        return len(found.commands) == 4 and found.commands_errors.keys() == wanted

    await eventually(all_ran, why="the results of all commands")
    found = machine(sampled)
    assert found.commands == {
        "plain": "7 files",
        "json": {"queue": {"length": 3}},
        "xml": {"kind": "ssd", "use": ["3", "4"]},
        "fails": "partly",
    }
    errors = found.commands_errors
    assert "no JSON" in errors["broken"]
    assert errors["fails"] == "it ended with code 3"
    assert "document type" in errors["bomb"]
    assert "/no/such/program" in errors["missing"]
    assert "agent.users" in errors["other"]
    await sampled.send(RunEachMinute(commands=()))

    async def are_gone() -> bool:
        return not (await next_machine(sampled, clock)).commands

    await eventually(are_gone, why="no commands")


async def test_a_command_that_hangs_floods_or_forks_delays_nothing(
    sampled: LinkServer, clock: Minutes, folder: Path
) -> None:
    pids = folder / "pids"
    commands = (
        shell("hangs", "trap '' TERM; while :; do sleep 1; done", timeout=0.5),
        shell("floods", "cat /dev/zero", timeout=50),
        shell("forks", f"for i in 1 2 3; do setsid sleep 1000 & echo $! >>{pids}; done; echo done"),
        shell("quick", "echo quick"),
        shell("stays", "sleep 45; echo late", timeout=50),
    )
    await sampled.send(RunEachMinute(commands=commands))

    async def all_but_one() -> bool:
        found = await next_machine(sampled, clock)
        return {"quick", "forks"} <= found.commands.keys() and {
            "hangs",
            "floods",
        } <= found.commands_errors.keys()

    await eventually(all_but_one, why="what the other commands gave")
    found = machine(sampled)
    assert found.commands_errors["hangs"] == "it ran longer than 0.5 s, and was killed"
    assert "more than 64 KiB" in found.commands_errors["floods"]
    assert found.commands["quick"] == "quick"
    assert "stays" not in found.commands
    forked = [int(pid) for pid in pids.read_text().split()]
    await eventually(lambda: not any(map(is_alive, forked)), why="the end of what it forked")


@pytest.mark.usefixtures("clock")
async def test_a_person_runs_a_command_now(sampled: LinkServer) -> None:
    command = shell("try", "echo hello; exit 1")
    await sampled.send(RunOnce(request="r1", command=command))
    await eventually(lambda: sampled.ran, why="an answer")
    (ran,) = sampled.ran
    assert isinstance(ran, RanOnce)
    assert (ran.request, ran.outcome.output, ran.outcome.text) == ("r1", "hello", "hello\n")
    assert ran.outcome.error == "it ended with code 1"


async def test_secrets_of_jobs_are_masked_in_samples(
    sampled: LinkServer, clock: Minutes, folder: Path
) -> None:
    started, ends = folder / "started", folder / "ends"
    script = f"sh -c 'touch {started}; while [ ! -e {ends} ]; do sleep 0.1; done' $MINE --token abc"
    await sampled.launch(order("j1", script, secrets={"MINE": "correct horse battery"}))
    await eventually(started.exists, why="the job")
    await sampled.send(RunEachMinute(commands=(shell("leak", "echo correct horse battery"),)))

    async def is_shown() -> bool:
        return "leak" in (await next_machine(sampled, clock)).commands

    await eventually(is_shown, why="the command")
    content = zlib.decompress(sampled.machines[-1].packed)
    script = "echo '[\"correct horse battery\"]'"
    await sampled.send(RunOnce(request="r1", command=shell("try", script, format="json")))
    await eventually(lambda: sampled.ran, why="an answer")
    assert (sampled.ran[0].outcome.output, sampled.ran[0].outcome.text) == (["***"], '["***"]\n')
    ends.touch()
    assert machine(sampled).commands["leak"] == "***"
    assert b"battery" not in content
    assert b"--token abc" not in content


def test_servers_are_sampled_at_different_seconds() -> None:
    seconds = {second_of(f"s{number}") for number in range(500)}
    assert len(seconds) > 50
    assert max(seconds) < 55
    assert minute_of(119.9, 50) + 1 == minute_of(170, 50)
    assert minute_of(110, 50) == minute_of(169.9, 50)
