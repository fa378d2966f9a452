"""Nothing stays queued while a slot is free, over a whole fleet whose processes are killed."""

import os
import random
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.faults.job_fleet import JobFleet, Process, job_fleet
from tests.waiting import eventually
from watchbell.jobs.model import ABORTED
from watchbell.store.client import patiently

AGENTS, SLOTS = 3, 4


@pytest.fixture
async def fleet(folder: Path) -> AsyncIterator[JobFleet]:
    async with job_fleet(folder) as made:
        yield made


class Gates:
    """Jobs end when the test lets them, so only the fleet decides how many run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "gates"
        self._folder.mkdir()
        self._open: dict[str, int] = {}
        self.script = f"read line <{self._folder}/$JOB_ID"

    def make(self, job: str) -> None:
        os.mkfifo(self._folder / job)

    def open(self, job: str) -> None:
        self._open[job] = os.open(self._folder / job, os.O_RDWR)
        os.write(self._open[job], b"go\n")

    @property
    def opened(self) -> set[str]:
        return set(self._open)

    def close(self) -> None:
        """Once the jobs that were let go have ended."""
        for job in self.opened:
            os.close(self._open.pop(job))


class Progress:
    """Which jobs run and which are over, by the ledger; lost ones by their records."""

    def __init__(self, fleet: JobFleet) -> None:
        self._fleet = fleet
        self.lost: set[str] = set()

    async def update(self) -> None:
        """Looks for jobs that were lost with an agent that was killed as it started them."""
        over = self.over()
        missing = [job for job in self._fleet.launched if job not in over]
        if not missing:
            return
        found = await patiently(
            lambda: self._fleet.store.call("HMGET", self._fleet.keys.finished(), *missing)
        )
        for job, record in zip(missing, found, strict=True):
            if record and (await self._fleet.record(job)).code == ABORTED:
                self.lost.add(job)

    def over(self) -> set[str]:
        return set(self._fleet.count("end")) | self.lost

    def running(self) -> set[str]:
        return set(self._fleet.count("start")) - self.over()

    async def is_full(self, ending: set[str]) -> bool:
        """These have ended, and all slots are in use, or nothing waits."""
        await self.update()
        over = self.over()
        left = len(self._fleet.launched) - len(over)
        return ending <= over and len(self.running()) == min(AGENTS * SLOTS, left)


async def test_no_job_waits_while_a_slot_is_free(
    fleet: JobFleet, folder: Path, request: pytest.FixtureRequest
) -> None:
    count = 5_000 if request.config.getoption("--long") else 60
    gates, progress, chance = Gates(folder), Progress(fleet), random.Random(1)
    await fleet.serve()
    conductors = [fleet.conductor(f"conductor{n}").start() for n in range(2)]
    agents = [(await fleet.agent(f"a{n}", slots=SLOTS)).start() for n in range(AGENTS)]
    victims: list[Process] = [conductors[0], agents[0], fleet.web, conductors[1], agents[1]]
    names = [f"j{n}" for n in range(count)]
    for name in names:
        gates.make(name)
    await fleet.launch(names, gates.script)
    rounds = 0
    while len(progress.over()) < count:
        is_full = partial(progress.is_full, gates.opened)
        await eventually(is_full, why="no job waits while a slot is free")
        gates.close()
        running = sorted(progress.running())
        for job in chance.sample(running, min(len(running), chance.randint(1, 8))):
            gates.open(job)
        rounds += 1
        if rounds % 2 == 0:
            victim = victims[rounds // 2 % len(victims)]
            victim.kill()
            if victim in conductors:
                await fleet.expire_leases(victim)
            victim.start()
    gates.close()
    kills = rounds // 2
    assert kills >= len(victims)
    assert len(progress.lost) <= SLOTS * kills
    assert set(fleet.count("start").values()) == {1}
    for record in await fleet.finished():
        assert record.code == (ABORTED if record.id in progress.lost else 0), record.description
    await fleet.check_empty()
