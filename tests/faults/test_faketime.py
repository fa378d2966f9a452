import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.faketime import SteppedClock, environment

HOUR = 3600
TELL = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


class Child:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def offsets(self) -> tuple[float, float]:
        """How far its wall clock and its monotonic clock are from ours."""
        while True:
            asked = time.monotonic()
            wall, steady = self._asked()
            if time.monotonic() - asked < 0.5:  # else nobody knows when it was answered
                return wall - time.time(), steady - time.monotonic()

    def _asked(self) -> tuple[float, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        wall, steady = map(float, self._process.stdout.readline().split())
        return wall, steady


@contextmanager
def child(env: Mapping[str, str]) -> Iterator[Child]:
    with subprocess.Popen(
        [sys.executable, "-c", TELL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        yield Child(process)


def test_a_child_without_faketime_has_our_clock() -> None:
    with child(os.environ) as process:
        assert process.offsets() == pytest.approx((0, 0), abs=1)


@pytest.mark.parametrize(("offset", "seconds"), [("+2s", 2), ("-1h", -HOUR), ("+3d", 72 * HOUR)])
def test_a_child_starts_with_a_wrong_clock(offset: str, seconds: float) -> None:
    with child(environment(offset)) as process:
        assert process.offsets() == pytest.approx((seconds, 0), abs=1)


def test_the_clock_of_a_running_child_is_stepped_forth_and_back(tmp_path: Path) -> None:
    clock = SteppedClock(tmp_path)
    with child(clock.environment) as process:
        assert process.offsets() == pytest.approx((0, 0), abs=1)
        clock.step("+1h")
        assert process.offsets() == pytest.approx((HOUR, 0), abs=1)
        clock.step("-1h")
        assert process.offsets() == pytest.approx((-HOUR, 0), abs=1)


def test_the_monotonic_clock_moves_too_when_asked(tmp_path: Path) -> None:
    clock = SteppedClock(tmp_path, monotonic=True)
    with child(clock.environment) as process:
        _, before = process.offsets()
        clock.step("+1h")
        assert process.offsets() == pytest.approx((HOUR, before + HOUR), abs=1)


def test_all_children_of_one_clock_step_together(tmp_path: Path) -> None:
    clock = SteppedClock(tmp_path, "-2s")
    with child(clock.environment) as alice, child(clock.environment) as bob:
        clock.step("+2h")
        assert alice.offsets() == pytest.approx((2 * HOUR, 0), abs=1)
        assert bob.offsets() == pytest.approx((2 * HOUR, 0), abs=1)
