"""An agent runs the jobs of its server, and reports about them."""

import pytest

from tests.fleet.agent.link_server import LinkServer, order

pytestmark = pytest.mark.usefixtures("agent")


async def test_a_shell_job_is_run_and_reported(server: LinkServer) -> None:
    await server.launch(order("j1", "echo HELLO"))
    seen = await server.ended("j1")
    assert seen.log == b"HELLO\n"
    assert [type(one).__name__ for one in seen.reports] == ["Started", "Output", "Result"]
    assert seen.result
    assert (seen.result.code, seen.result.size, seen.result.lines) == (0, 6, 1)
