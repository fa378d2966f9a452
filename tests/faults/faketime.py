"""Child processes whose clock is wrong, or is stepped while they run, by libfaketime."""

import os
import time
from datetime import datetime
from pathlib import Path

import pytest

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def library() -> Path:
    found = sorted(Path("/usr/lib").glob("**/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed")
    return found[0]


def environment(offset: str, *, monotonic: bool = False) -> dict[str, str]:
    """The environment of a child whose clock is `+2s`, `-1h`, `+3d` ahead of this process's.

    As with a real step of the clock, monotonic time does not move with it unless `monotonic`,
    and then it counts from another zero than ours.
    """
    return {**_preload(monotonic=monotonic), "FAKETIME": _from_machine(offset)}


class SteppedClock:
    """A clock in a file; the children that have its environment follow each step. A call that
    they make in the same millisecond may still get the time before it, so wait for its effect."""

    def __init__(self, folder: Path, offset: str = "+0", *, monotonic: bool = False) -> None:
        self._file = folder / "faketime"
        self.step(offset)
        self.environment = {
            **_preload(monotonic=monotonic),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
        }

    def stop(self) -> None:
        """It stands at the present second, until the next step."""
        self._write(datetime.fromtimestamp(int(time.time())).strftime("%Y-%m-%d %H:%M:%S"))  # noqa: DTZ006 libfaketime reads local time

    def step(self, offset: str) -> None:
        """To `offset` from this process's clock, not from the last step."""
        self._write(_from_machine(offset))

    def _write(self, told: str) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(told + "\n")
        fresh.replace(self._file)


def _from_machine(offset: str) -> str:
    """libfaketime counts from the machine's clock, which is not ours under `suite.py --at`."""
    number = offset.rstrip("smhd")
    seconds = float(number) * UNITS[offset[len(number) :]]
    return f"{seconds + float(os.environ.get('FAKETIME', '0')):+.3f}"


def _preload(*, monotonic: bool) -> dict[str, str]:
    rest = {key: value for key, value in os.environ.items() if not key.startswith("FAKETIME")}
    flag = "0" if monotonic else "1"
    return {
        **rest,
        "LD_PRELOAD": str(library()),
        "DONT_FAKE_MONOTONIC": flag,
        "FAKETIME_DONT_FAKE_MONOTONIC": flag,
    }
