"""The tether: a command ends with its parent, and has a better allocator where there is one."""

import os
import subprocess
import sys

import pytest

from watchbell.store.die_with_parent import ALLOCATOR
from watchbell.store.embedded import DIE_WITH_PARENT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, ALLOCATOR, id="nothing"),
        pytest.param({"LD_PRELOAD": "mine.so"}, f"mine.so {ALLOCATOR}", id="something"),
        pytest.param({"LD_PRELOAD": "/x/libfaketime.so.1"}, "/x/libfaketime.so.1", id="clock"),
    ],
)
def test_the_allocator_is_preloaded_after_other_libraries_and_never_with_a_clock(
    before: dict[str, str], after: str
) -> None:
    environment = {"PATH": os.environ["PATH"], **before}
    command = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid()), "/usr/bin/env"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert f"LD_PRELOAD={after}" in done.stdout.splitlines()


def test_a_command_whose_parent_is_gone_is_not_started() -> None:
    command = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), "1", "/usr/bin/env"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
