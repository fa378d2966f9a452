"""A secret as a canary: given to a real job, which shows it wherever it can."""

from pathlib import Path

import msgspec
import pytest

from tests.fleet.agent.link_server import LinkServer, order
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("agent")

CANARY = "canary-4711-in-the-mine"
SCRIPT = """
echo "it is $TOKEN"
env
tr '\\0' ' ' < /proc/$$/cmdline; echo
echo '{"status":"'$TOKEN'","data":{"t":"'$TOKEN'"},"nonsense":"'$TOKEN'","xy":1}'
until test -e GATE; do sleep 0.01; done
echo '{"code":1,"description":"failed with '$TOKEN'"}'
"""


async def test_a_secret_is_in_nothing_that_an_agent_sends_and_on_no_command_line(
    server: LinkServer, folder: Path
) -> None:
    script = SCRIPT.replace("GATE", str(folder / "gate"))
    await server.launch(order("j1", script, secrets={"TOKEN": CANARY}, env={"TOKEN": CANARY}))
    await eventually(lambda: server.job("j1").values.get("status"))
    await eventually(lambda: [one for one in server.usages if one.usages[0].procs])
    lines = b"\n".join(command_lines())
    assert str(folder).encode() in lines
    assert CANARY.encode() not in lines
    (folder / "gate").touch()
    seen = await server.ended("j1")
    assert seen.result
    assert seen.result.description == "failed with ***"
    assert b"it is ***" in seen.log
    assert b"TOKEN=***" in seen.log
    assert CANARY.encode() not in msgspec.msgpack.encode([seen.reports, server.usages])


def command_lines() -> list[bytes]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes())
        except OSError:  # it has ended
            continue
    return found
