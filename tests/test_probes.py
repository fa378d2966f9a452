"""Probe points: a process armed at one dies there by SIGKILL, and nowhere else."""

import os
import signal
import subprocess
import sys

import pytest

PASSES = """
from watchbell import probes
{arm}
for number in range(1, 6):
    print(number, flush=True)
    probes.probe("other.point")
    probes.probe("queue.taken")
print("alive", flush=True)
"""


def passed(*faults: str) -> tuple[int, list[str]]:
    arm = "; ".join(f"probes.arm({fault!r})" for fault in faults)
    done = subprocess.run(
        [sys.executable, "-c", PASSES.format(arm=arm)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.split()


@pytest.mark.parametrize(
    ("fault", "seen"),
    [("queue.taken", 1), ("queue.taken:1", 1), ("queue.taken:3", 3), ("queue.taken:5", 5)],
)
def test_a_process_dies_when_it_gets_to_its_point_the_nth_time(fault: str, seen: int) -> None:
    assert passed(fault) == (-signal.SIGKILL, [str(n) for n in range(1, seen + 1)])


@pytest.mark.parametrize("faults", [(), ("queue.taken:6",), ("queue",), ("queue.taken.not",)])
def test_a_process_that_does_not_get_there_lives(faults: tuple[str, ...]) -> None:
    assert passed(*faults) == (0, [*"12345", "alive"])


def test_the_first_of_two_points_is_the_last() -> None:
    assert passed("queue.taken:4", "other.point:2") == (-signal.SIGKILL, ["1", "2"])
