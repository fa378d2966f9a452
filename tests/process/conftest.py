"""A runner, and the watch over what tests leave behind."""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.process.runs import alive
from watchbell.process.runner import Runner

OWNER = "tests"


def descriptors() -> set[str]:
    """What is open, by number and target."""
    paths = Path("/proc/self/fd").iterdir()
    return {f"{path.name} {path.readlink()}" for path in paths if path.is_symlink()}


def zombies() -> list[str]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    stats = []
    for pid in children:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just been waited for
            stats.append(Path(f"/proc/{pid}/stat").read_text())
    return [stat for stat in stats if stat.rpartition(")")[2].split()[0] == "Z"]


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """Fails the test that leaves a process, a zombie or a descriptor."""
    before, older = descriptors(), set(zombies())
    async with Runner(OWNER) as runner:
        yield runner
    assert not alive()
    assert set(zombies()) <= older
    assert descriptors() <= before  # others may be closed meanwhile, as by the garbage collector
