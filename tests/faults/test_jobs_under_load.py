"""Fleets that are busy while their parts are restarted, killed, or refused by their store."""

import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.faults.job_fleet import JobFleet, Process, job_fleet
from tests.waiting import eventually
from watchbell.jobs.model import ABORTED, Limit

LINES = 100
PRINTS = f"seq {LINES}"
LOG = "".join(f"{number}\n" for number in range(1, LINES + 1)).encode()


@pytest.fixture
async def fleet(folder: Path) -> AsyncIterator[JobFleet]:
    async with job_fleet(folder) as made:
        yield made


async def check(fleet: JobFleet) -> None:
    for job in await fleet.finished():
        assert (job.state, job.code) == ("complete", 0), job.description
        assert await fleet.log(job.id) == LOG
    fleet.check_run_once()
    await fleet.check_empty()


async def more_finished(fleet: JobFleet, more: int = 20) -> None:
    aim = await fleet.count_finished() + more
    await eventually(lambda: fleet.has_finished(aim), why=f"{more} more finished jobs")


async def test_everything_is_restarted_in_turn(fleet: JobFleet) -> None:
    await fleet.serve()
    processes: list[Process] = [fleet.web, fleet.conductor().start()]
    processes.append((await fleet.agent("a1")).start())
    async with fleet.load(PRINTS):
        for process in processes:
            await more_finished(fleet)
            await process.stop()
            process.start()
        await more_finished(fleet)
    await check(fleet)


async def test_a_store_that_refuses_writes_or_is_slow(fleet: JobFleet) -> None:
    await fleet.serve()
    fleet.conductor().start()
    (await fleet.agent("a1")).start()
    call = fleet.server.call
    async with fleet.load(PRINTS):
        await more_finished(fleet)
        call("CONFIG", "SET", "maxmemory", 1)
        await refused(fleet)
        call("CONFIG", "SET", "maxmemory", 0)
        await more_finished(fleet)
        call("REPLICAOF", "127.0.0.1", 1)
        await refused(fleet)
        call("REPLICAOF", "NO", "ONE")
        await more_finished(fleet)
        call("DEBUG", "SLEEP", 3)
        await more_finished(fleet)
    await check(fleet)


async def refused(fleet: JobFleet) -> None:
    """The store has refused many calls of the fleet."""
    before = fleet.server.info("stats")["total_error_replies"]
    await eventually(lambda: fleet.server.info("stats")["total_error_replies"] > before + 20)


async def test_limits_and_order_are_kept_while_processes_are_killed(
    fleet: JobFleet, repetitions: Callable[[int], int]
) -> None:
    times, wide = repetitions(50), 3
    serial, count = 10 * times, 90 * times
    queue = Limit(type="queue", amount=count)
    await fleet.define("serial", Limit(type="job", amount=1), queue)
    await fleet.define("wide", Limit(type="job", amount=wide), queue)
    await fleet.serve()
    conductors = [fleet.conductor(f"conductor{n}").start() for n in range(2)]
    agents = [(await fleet.agent(f"a{n}", slots=2)).start() for n in range(3)]
    await fleet.joined(3)
    await fleet.launch([f"s{n}" for n in range(serial)], ":", "serial")
    await fleet.launch([f"w{n}" for n in range(count)], ":", "wide")
    victims: list[Process] = [conductors[0], fleet.web, agents[0], conductors[1], agents[1]]
    chance = random.Random(1)
    for victim in victims:
        await more_finished(fleet, chance.randrange(count // 10))
        victim.kill()
        victim.start()
    lost = {job.id for job in await fleet.finished() if job.code == ABORTED}
    assert len(lost) <= 4, "more than the killed agents had in hand"
    fleet.check_run_once(set(fleet.launched) - lost)
    assert max(fleet.count("start").values()) == 1
    most = fleet.most_at_a_time(lost)
    assert most["serial"] == 1
    assert most["wide"] <= wide
    order = [job for job, what, event in fleet.entries() if (what, event) == ("start", "serial")]
    assert order == sorted(order, key=lambda job: int(job[1:]))
    await fleet.check_empty()
