"""Jobs that do what they should not; the agent goes on."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.fleet.agent.agent_process import alive
from tests.fleet.agent.link_server import LinkServer, argv, order
from tests.waiting import eventually
from watchbell.fleet.messages import Abort, Changes

pytestmark = pytest.mark.usefixtures("agent")


async def goes_on(server: LinkServer) -> None:
    await server.launch(order("after", "echo still here"))
    assert (await server.ended("after")).log == b"still here\n"
    assert not server.errors


async def test_a_fork_bomb_is_ended(server: LinkServer, folder: Path) -> None:
    bomb = "import os, time\nfor _ in range(7):\n    os.fork()\ntime.sleep(1000)"
    limits = [{"type": "time", "duration": 1}]
    await server.launch(argv("j1", sys.executable, "-c", bomb, limits=limits))
    result = (await server.ended("j1")).result
    assert result
    assert result.code == "abort"
    assert alive(folder / "agent", "j1") == []
    await goes_on(server)


async def limit_log(server: LinkServer, limit: int) -> None:
    await eventually(lambda: server.renewals)
    server.welcome["log_limit"] = limit
    server.cut()
    await eventually(lambda: len(server.hellos) == 2)


async def test_much_output_is_cut_in_the_middle(server: LinkServer) -> None:
    await limit_log(server, 1_000_000)
    await server.launch(order("j1", """seq 5000000; echo '{"code":7}'"""))
    seen = await server.ended("j1")
    assert seen.result
    assert seen.result.code == 7
    lines = seen.log.splitlines()
    assert lines[0] == b"1"
    assert lines[-1] == b"5000000"
    assert 1_000_000 < len(seen.log) < 1_500_000
    assert seen.result.cut == 38_888_896 - len(seen.log) + len(marker(lines)) + 1
    assert sum(b"complete up to here" in line for line in lines) == 1


def marker(lines: list[bytes]) -> bytes:
    return next(line for line in lines if b"complete up to here" in line)


@pytest.mark.long
async def test_two_gigabytes_of_output(server: LinkServer) -> None:
    await limit_log(server, 1 << 20)
    await server.launch(order("j1", "head -c 2000000000 /dev/zero | tr '\\0' x; echo; echo end"))
    seen = await server.ended("j1")
    assert seen.log.endswith(b"end\n")
    await goes_on(server)


async def test_a_job_that_ignores_sigterm_is_killed(server: LinkServer, folder: Path) -> None:
    script = (
        "trap '' TERM; (trap '' TERM; while :; do sleep 0.01; done) & echo ready; wait; sleep 99"
    )
    await server.launch(order("j1", script))
    await eventually(lambda: server.job("j1").log)
    await server.send(Abort(job="j1", reason="enough"))
    result = (await server.ended("j1")).result
    assert result
    assert result.code == "abort"
    assert alive(folder / "agent", "j1") == []


@pytest.mark.parametrize("kill", ["parent", "all"])
async def test_a_daemon_does_not_keep_its_job_open(
    server: LinkServer, folder: Path, kill: str
) -> None:
    script = f"setsid sh -c 'echo $$ > {folder}/pid; exec sleep 1000' & \n"
    script += f"until test -s {folder}/pid; do sleep 0.01; done"
    await server.launch(order("j1", script, kill=kill))
    result = (await server.ended("j1")).result
    assert result
    assert result.code == 0
    if kill == "all":
        await eventually(lambda: alive(folder / "agent", "j1") == [])
        return
    assert alive(folder / "agent", "j1") == [int((folder / "pid").read_text())]
    await goes_on(server)
    for pid in alive(folder / "agent", "j1"):
        os.kill(pid, 9)


async def test_a_job_that_closes_its_output_is_followed_to_its_end(server: LinkServer) -> None:
    await server.launch(order("j1", "echo x; exec > /dev/null 2>&1; sleep 0.1; exit 3"))
    seen = await server.ended("j1")
    assert seen.log == b"x\n"
    assert seen.result
    assert seen.result.code == 3


async def test_any_bytes_are_log(server: LinkServer) -> None:
    write = "import os, sys\nos.write(1, bytes(range(256)) * 1000)\nos.write(1, b'\\n{\\xff}\\n')"
    await server.launch(argv("j1", sys.executable, "-c", write))
    assert (await server.ended("j1")).log == bytes(range(256)) * 1000 + b"\n{\xff}\n"


async def test_long_lines_are_log(server: LinkServer) -> None:
    write = "print('x' * 1_000_000)\nprint('{\"code\":' + '9' * 1_000_000)\nprint('y')"
    await server.launch(argv("j1", sys.executable, "-c", write))
    seen = await server.ended("j1")
    assert len(seen.log) == 2_000_001 + 9 + 2
    assert seen.result
    assert (seen.result.code, seen.result.lines) == (0, 3)


async def test_deep_json_is_log(server: LinkServer) -> None:
    write = "print('{\"data\":' + '{\"a\":' * 100000 + '1' + '}' * 100001)"
    await server.launch(argv("j1", sys.executable, "-c", write))
    seen = await server.ended("j1")
    assert len(seen.log) > 500_000
    assert seen.values == {}


@pytest.mark.parametrize("value", [10**30, "\ud800", {"a": [10**30]}])
async def test_what_cannot_be_stored_is_ignored(server: LinkServer, value: object) -> None:
    line = json.dumps({"data": {"x": value}, "xy": 1})
    await server.launch(order("j1", f"cat << 'E'\n{line}\nE\nexit 3"))
    seen = await server.ended("j1")
    assert seen.values == {}
    assert seen.result
    assert seen.result.code == 3


async def test_messages_without_end_are_bounded(server: LinkServer) -> None:
    flood = """
for i in range(400):
    print('{"data":{"k%d":"' % i + 'x' * 100000 + '"}}')
"""
    await server.launch(argv("j1", sys.executable, "-c", flood))
    seen = await server.ended("j1")
    assert sum(len(one.values.get("data", {})) for one in seen.of(Changes)) < 170
    assert len(seen.activity) <= 101


async def test_many_warnings_are_bounded(server: LinkServer) -> None:
    flood = 'for i in range(5000):\n    print(\'{"xy":1,"state":5}\')'
    await server.launch(argv("j1", sys.executable, "-c", flood))
    seen = await server.ended("j1")
    assert len(seen.activity) == 101
    assert seen.activity[-1] == "More warnings about its messages are not shown."
