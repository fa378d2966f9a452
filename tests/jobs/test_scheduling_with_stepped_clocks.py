"""The clock of a conductor is set, or its store is replaced: no time is launched twice, none is
lost."""

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.conftest import watched
from tests.faults import faketime
from tests.jobs.test_scheduling_under_fire import CATCHUP, SCHEDULE, defined, jobs_of, worker
from tests.jobs.timed import KEYS
from tests.servers import Server, Single
from tests.waiting import eventually
from watchbell.store.client import Store, patiently

MINUTES = 200


async def times(store: Store, event: str) -> list[float]:
    return sorted(job.now for job in await patiently(lambda: jobs_of(store, event)))


async def more(store: Store, event: str, jobs: int) -> None:
    """So many more jobs are launched."""
    aim = len(await times(store, event)) + jobs

    async def has_more() -> bool:
        return len(await times(store, event)) >= aim

    await eventually(has_more, why=f"{jobs} more jobs of {event}")


async def behind(store: Store, event: str, minutes: int = MINUTES) -> int:
    """An event of every minute that was not launched for so many minutes; returns the first that
    was missed."""
    minute = await defined(store, event, SCHEDULE, CATCHUP)
    await store.call("HSET", KEYS.cursors(), event, minute - minutes * 60)
    return minute - (minutes - 1) * 60


async def check_minutes(store: Store, event: str, first: int, minutes: int = MINUTES) -> None:
    """So many minutes, and those that have come since, were launched once each."""

    async def are_there() -> bool:
        return len(await times(store, event)) >= minutes

    await eventually(are_there, why=f"{minutes} minutes")
    found = await times(store, event)
    assert found == [first + 60 * n for n in range(len(found))]


async def test_a_conductor_whose_clock_is_set_launches_each_time_once(
    store: Store, server: Single, folder: Path
) -> None:
    clock = faketime.SteppedClock(folder, "+2h")
    seconds = int((await store.call("TIME"))[0])
    second = {"type": "interval", "start": seconds - 90_000_000, "duration": 1}
    await defined(store, "tick", second, CATCHUP)
    first = await behind(store, "all")
    with worker(server.url, environment=clock.environment):
        for offset in ("-1h", "+30d", "+0"):
            await more(store, "tick", 1)
            clock.step(offset)
        await more(store, "tick", 2)
        await check_minutes(store, "all", first)
        found = await times(store, "tick")
        assert found == [found[0] + n for n in range(len(found))]


async def test_conductors_that_disagree_about_the_time_launch_each_time_once(
    store: Store, server: Single
) -> None:
    first = await behind(store, "all", 500)
    late, early = (faketime.environment(offset) for offset in ("-1h", "+1h"))
    with worker(server.url, environment=late), worker(server.url, environment=early):
        await check_minutes(store, "all", first, 500)


async def test_a_machine_whose_clock_is_set_launches_each_time_once(folder: Path) -> None:
    """As with an embedded store: all processes have the clock of one machine."""
    clock = faketime.SteppedClock(folder)
    with Server(folder / "s", environment=clock.environment) as machine:
        async for store in watched(machine.url):
            first = await behind(store, "all", 120)
            with worker(machine.url, environment=clock.environment):
                await check_minutes(store, "all", first, 120)
                clock.step("-1h")
                await reached(store, first + 3540)
                await check_minutes(store, "all", first, 120)
                clock.step("+1h")
                await check_minutes(store, "all", first, 180)


async def reached(store: Store, at: int) -> None:
    """The conductor has noticed that the clock was set to this time: an event that is new runs
    then. One that was read before waits until its next time comes again, so there is always another
    one that is new."""
    second = {"type": "interval", "start": at - 90_000_000, "duration": 1}
    names = list[str]()

    async def is_noticed() -> bool:
        found = [await times(store, name) for name in names]
        return any(one and one[0] < at + 1800 for one in found)

    while True:
        names.append(f"new{len(names)}")
        await defined(store, names[-1], second)
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await eventually(is_noticed, why="the time that was set")
                return
