"""A process ends with its exit code, whatever threads of libraries are doing."""

import subprocess
import sys
from pathlib import Path

import pytest

BUSY = """
import asyncio, sys
import obstore
from obstore.store import LocalStore
from watchbell.exits import end_process

async def leave_requests_behind():
    place = LocalStore(sys.argv[1])
    await obstore.put_async(place, "one", b"1")
    asked = [asyncio.ensure_future(obstore.get_async(place, "one")) for _ in range(200)]
    await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)

asyncio.run(leave_requests_behind())
print("said", end="")
end_process(3)
"""


@pytest.mark.parametrize("attempt", range(10))  # each aborted every second time by `sys.exit`
def test_threads_of_a_library_do_not_spoil_the_exit_code(tmp_path: Path, attempt: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUSY, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "said"), f"{attempt}: {done.stderr}"


def test_an_exit_without_standard_streams_is_one(tmp_path: Path) -> None:
    program = "import sys; from watchbell.exits import end_process; sys.stdout = None;"
    program += "print('x'); sys.stderr.close(); end_process(4)"
    done = subprocess.run([sys.executable, "-c", program], check=False, cwd=tmp_path)
    assert done.returncode == 4
