"""Several instances on one job list, while they are killed, stopped, misled and cut off."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests import servers
from tests.conftest import watched
from tests.cron.crew import EVERY_SECOND, READING, definition, ended, now, omitted, put, say
from tests.cron.fleet import Fleet, alive, check_invariants, seconds_of_tests
from tests.cron.test_marks_ahead import reports
from tests.faults import faketime
from tests.faults.invariants import check, run_once
from tests.faults.proxy import Mode, Proxy
from tests.waiting import eventually
from watchbell.cron import history, jobs
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import lock_of
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()


@pytest.fixture
def fleet(server: servers.Single, store: Store, folder: Path) -> Iterator[Fleet]:
    assert store.prefix == ""
    crew = Fleet(server.url, folder)
    yield crew
    crew.end()


async def passes(store: Store, moment: int) -> None:
    async def is_past() -> bool:
        return await now(store) >= moment

    await eventually(is_past, why=f"the second {moment}")


async def stopped(fleet: Fleet, store: Store) -> None:
    """All instances end, and what they leave is as it has to be."""
    await asyncio.to_thread(fleet.end)
    await check_invariants(store)
    assert await store.call("EXISTS", KEYS.active()) == 0


async def test_every_fire_of_short_and_long_jobs_runs_once_whatever_the_clocks(
    fleet: Fleet, store: Store
) -> None:
    lengths = {"instant": 0, "short": 0.05, "medium": 0.5}
    for offset in ("-2s", "+0s", "+2s"):
        fleet.start(clock=faketime.environment(offset))
    await fleet.ready(store)
    for name, seconds in lengths.items():
        await put(store, name, fleet.job(seconds, EVERY_SECOND))
    await put(store, "long", fleet.job(3, {"second": "*/5"}))
    await say(store, "reload", {})
    # Seconds of a busy machine may be too short for a job, which is skipped meanwhile.
    many = seconds_of_tests(7)
    await eventually(lambda: all(len(fleet.rows(name)) >= many // 2 for name in lengths))
    await eventually(lambda: len(fleet.rows("long")) >= 2)
    await say(store, "pause", "all")
    await eventually(lambda: history_is_complete(store))
    for name, step in (*((name, 1) for name in lengths), ("long", 5)):
        fires = [row.fire for row in fleet.rows(name)]
        handled = fires + await omitted(store, name)  # none, unless the machine is very busy
        check(run_once(range(min(handled), max(handled) + 1, step), handled))
    assert not any(row.overlaps for row in fleet.rows())
    assert len(await history.ended(store, most=1000)) == len(fleet.rows())
    await stopped(fleet, store)


async def history_is_complete(store: Store) -> bool:
    paused, known = await store.call("SCARD", KEYS.paused()), await store.call("HLEN", KEYS.jobs())
    left: int = await store.call("EXISTS", KEYS.active(), OWN.pending())
    return bool(paused == known) and not left


@pytest.mark.parametrize("instances", [1, 3])
async def test_a_thousand_jobs_of_one_second_all_run_once(
    fleet: Fleet, store: Store, instances: int
) -> None:
    for _ in range(instances):
        fleet.start(capacity=40)
    await fleet.ready(store)
    fire = await now(store) + 4
    when = {"minute": str(fire // 60 % 60), "second": str(fire % 60)}
    said = definition("echo $WB_FIRE", when, missed="all")  # for who reads the list too late
    fingerprint = (await jobs.save(store, "job0", said, READING)).fingerprint
    defined = [word for n in range(1_000) for word in (f"job{n}", json.dumps(said))]
    marks = [word for n in range(1_000) for word in (f"job{n}", f"{fire - 1}:{fingerprint}")]
    await store.call("HSET", OWN.fired(), *marks)
    await store.call("HSET", KEYS.jobs(), *defined)
    await say(store, "reload", {})
    await eventually(lambda: done(store, 1_000), why="a thousand runs")
    runs = await history.ended(store, most=2_000)
    check(run_once([f"job{n}" for n in range(1_000)], [seen.record.job_name for seen in runs]))
    assert {seen.detail.fire for seen in runs} == {fire}
    assert {seen.record.status for seen in runs} == {"success"}
    assert len({seen.detail.instance for seen in runs}) == instances
    assert await history.omissions(store) == []
    await stopped(fleet, store)


async def done(store: Store, number: int) -> bool:
    counts = [await store.call("ZCARD", KEYS.results(verdict)) for verdict in ("success", "fail")]
    return bool(sum(counts) >= number)


async def test_when_an_instance_is_killed_its_child_is_dead_before_another_starts(
    fleet: Fleet, store: Store
) -> None:
    first = fleet.start()
    await fleet.ready(store)
    await put(store, "long", fleet.job(600, EVERY_SECOND, ttl=6))
    await say(store, "reload", {})
    [row] = await eventually(fleet.rows)
    fleet.start()
    await fleet.ready(store, fleet.all[1])
    first.kill()
    assert await store.call("PTTL", KEYS.lock(lock_of("long"))) <= 6000
    await eventually(lambda: not alive(row.run), why="the child's death")
    rows = await eventually(lambda: fleet.rows()[1:], why="the next run")
    assert not rows[0].overlaps
    [frozen] = await ended(store, "long", 1)
    assert (frozen.id, frozen.record.status, frozen.record.retcode) == (row.run, "frozen", None)
    assert "no heartbeat" in frozen.detail.reason
    await stopped(fleet, store)


@pytest.mark.parametrize("point", ["cron.claimed", "process.started", "cron.ended"])
async def test_wherever_an_instance_dies_every_fire_has_one_record(
    fleet: Fleet, store: Store, point: str
) -> None:
    await put(store, "tick", fleet.job(0, EVERY_SECOND, ttl=6))
    fleet.start(fault=f"{point}:2")
    await asyncio.to_thread(fleet.all[0].wait, 60)
    assert fleet.all[0].returncode == -signal.SIGKILL
    fleet.start()
    await fleet.ready(store, fleet.all[1])
    await ended(store, "tick", 4)
    await say(store, "pause", "all")
    await eventually(lambda: history_is_complete(store))
    runs = await history.ended(store, "tick", most=1000)
    assert sum(seen.record.status == "frozen" for seen in runs) == 1
    handled = [seen.detail.fire for seen in runs] + await omitted(store, "tick")
    check(run_once(range(min(handled), max(handled) + 1), handled))
    began = [row.run for row in fleet.rows()]
    assert len(began) == len(set(began))
    await stopped(fleet, store)


async def test_a_rolling_restart_forgets_no_fire_and_runs_none_twice(
    fleet: Fleet, store: Store
) -> None:
    names = [f"job{n}" for n in range(10)]
    for name in names:
        await put(store, name, fleet.job(0.05, EVERY_SECOND, ttl=60))
    fleet.start(stop_wait=20)
    await fleet.ready(store)
    for n in range(3):
        new = fleet.start(stop_wait=20)
        await fleet.ready(store, new)
        await ended(store, names[0], 2 * n + 2)
        fleet.all[n].terminate()
        await asyncio.to_thread(fleet.all[n].wait, 60)
    await say(store, "pause", "all")
    await eventually(lambda: history_is_complete(store))
    for name in names:
        fires = [row.fire for row in fleet.rows(name)]
        handled = fires + await omitted(store, name)
        check(run_once(range(min(handled), max(handled) + 1), handled))
    runs = await history.ended(store, most=10_000)
    assert {seen.record.status for seen in runs} == {"success"}
    assert sorted(seen.id for seen in runs) == sorted(row.run for row in fleet.rows())
    await stopped(fleet, store)


async def test_what_outlived_instance_and_warden_is_ended_before_anything_is_begun(
    fleet: Fleet, store: Store
) -> None:
    first = fleet.start(data="same")
    await fleet.ready(store)
    await put(store, "long", fleet.job(600, EVERY_SECOND, ttl=6))
    await say(store, "reload", {})
    [row] = await eventually(fleet.rows)
    warden = fleet.warden(first)
    first.send_signal(signal.SIGSTOP)
    warden.kill()
    first.kill()
    first.wait()
    assert psutil.pid_exists(row.pid)
    fleet.start(data="same")
    rows = await eventually(lambda: fleet.rows()[1:], why="the next run")
    assert not rows[0].overlaps
    assert not alive(row.run)
    await stopped_after_freeze(fleet, store, row.run)


async def stopped_after_freeze(fleet: Fleet, store: Store, run: str) -> None:
    async def is_frozen() -> bool:
        return (await history.run(store, run)).record.status == "frozen"

    await eventually(is_frozen, why=f"{run} to be frozen")
    await stopped(fleet, store)


async def test_an_instance_that_was_stopped_for_long_has_lost_its_run(
    fleet: Fleet, store: Store
) -> None:
    first = fleet.start()
    await fleet.ready(store)
    await put(store, "long", fleet.job(600, EVERY_SECOND, ttl=6))
    await put(store, "tick", definition("true", EVERY_SECOND))
    await say(store, "reload", {})
    row = (await eventually(lambda: fleet.rows("long")))[0]
    fleet.start()
    await fleet.ready(store, fleet.all[1])
    first.send_signal(signal.SIGSTOP)
    rows = await eventually(lambda: fleet.rows("long")[1:], why="another to take over")
    assert not rows[0].overlaps
    assert not alive(row.run)

    async def is_frozen() -> bool:
        return (await history.run(store, row.run)).record.status == "frozen"

    await eventually(is_frozen, why="the first run to be frozen")
    first.send_signal(signal.SIGCONT)
    fleet.all[1].terminate()
    await asyncio.to_thread(fleet.all[1].wait, 30)
    begun = await now(store)

    async def goes_on() -> bool:
        runs = await history.ended(store, "tick")
        return bool(runs) and runs[0].detail.fire > begun

    await eventually(goes_on, why="the first instance to work again")
    assert await is_frozen()
    await stopped(fleet, store)


async def test_while_the_store_is_away_runs_go_on_and_no_fire_is_forgotten(folder: Path) -> None:
    with (
        servers.single(folder / "s") as single,
        Proxy((servers.HOST, single.server.port)) as proxy,
    ):
        async for store in watched(single.url):
            fleet = Fleet(proxy.url, folder)
            try:
                await survive(fleet, store, proxy)
            finally:
                fleet.end()


async def survive(fleet: Fleet, store: Store, proxy: Proxy) -> None:
    fleet.start()
    await fleet.ready(store)
    spoken = "for n in $(seq 1 30); do echo $n; sleep 0.1; done"
    await put(store, "talker", definition(spoken, ttl=60))
    await put(store, "tick", definition("true", EVERY_SECOND, ttl=60))
    await say(store, "reload", {})
    await say(store, "trigger", "talker")
    [talker] = await eventually(lambda: active(store, "talker"))
    await ended(store, "tick", 1)
    proxy.set(Mode.RESET)
    cut = await now(store)
    await passes(store, cut + 4)
    proxy.set(Mode.PASS)
    await eventually(lambda: is_handled(store, "tick", cut + 2))
    seen = next(one for one in await ended(store, "talker", 1) if one.id == talker)
    assert seen.record.status == "success"
    assert (seen.record.duration or 0) > 2.9
    texts = [line.text async for page in history.follow(store, talker) for line in page]
    assert texts == [b"%d\n" % n for n in range(1, 31)]
    # The instance listens again some time after it works again.
    await eventually(lambda: say(store, "pause", "all"), why="an instance that listens")
    await eventually(lambda: history_is_complete(store))
    runs = await history.ended(store, "tick", most=1_000)
    handled = [seen.detail.fire for seen in runs] + await omitted(store, "tick")
    check(run_once(range(min(handled), max(handled) + 1), handled))
    await asyncio.to_thread(fleet.end)
    await check_invariants(store)


async def is_handled(store: Store, job: str, fire: int) -> bool:
    runs = await history.ended(store, job, most=1_000)
    return fire in [seen.detail.fire for seen in runs] + await omitted(store, job)


async def active(store: Store, job: str) -> list[str]:
    return [seen.id for seen in await history.active(store) if seen.record.job_name == job]


async def test_results_that_could_not_be_written_are_written_by_the_next_instance(
    folder: Path,
) -> None:
    with (
        servers.single(folder / "s") as single,
        Proxy((servers.HOST, single.server.port)) as proxy,
    ):
        async for store in watched(single.url):
            fleet = Fleet(proxy.url, folder)
            try:
                await hand_over(fleet, store, proxy)
            finally:
                fleet.end()
    assert not list((folder / "same").rglob("*.results"))


async def hand_over(fleet: Fleet, store: Store, proxy: Proxy) -> None:
    # Nothing lapses and nobody is declared dead, however long the next one takes to start.
    fleet.start(data="same", heartbeat=3600, stop_wait=1)
    await fleet.ready(store)
    await put(store, "job", definition("sleep 1000", ttl=3600))
    await say(store, "reload", {})
    await say(store, "trigger", "job")
    [run] = await eventually(lambda: active(store, "job"))
    proxy.set(Mode.RESET)
    fleet.all[0].terminate()
    await asyncio.to_thread(fleet.all[0].wait, 60)
    assert (await history.run(store, run)).record.status == "running"
    proxy.set(Mode.PASS)
    fleet.start(data="same", heartbeat=3600)
    [seen] = await ended(store, "job", 1)
    assert seen.id == run
    assert await store.call("EXISTS", KEYS.lock(lock_of("job"))) == 0


async def test_when_the_clock_of_the_store_is_set_jobs_go_on_and_no_fire_runs_twice(
    folder: Path,
) -> None:
    clock = faketime.SteppedClock(folder)
    with servers.Server(folder / "s", environment=clock.environment) as server:
        async for store in watched(server.url):
            fleet = Fleet(server.url, folder)
            try:
                await step(fleet, store, clock)
            finally:
                await asyncio.to_thread(fleet.end)


async def step(fleet: Fleet, store: Store, clock: faketime.SteppedClock) -> None:
    for _ in range(2):
        fleet.start(heartbeat=600)
    await fleet.ready(store)
    await put(store, "tick", fleet.job(0, EVERY_SECOND, ttl=60, grace=5))
    await say(store, "reload", {})
    await eventually(lambda: len(fleet.rows()) >= 3)
    before = await now(store)
    clock.step("+1h")
    await eventually(lambda: fleet.rows()[-1].fire >= before + 3600, why="fires an hour later")
    missed = await history.omissions(store, "tick")
    assert any(one.first <= before + 60 and one.last > before + 3000 for one in missed)
    last = fleet.rows()[-1].fire
    clock.step("+3590")  # so little that fires wait until it has caught up
    await eventually(lambda: fleet.rows()[-1].fire > last, why="fires after the step back")
    fires = [row.fire for row in fleet.rows()]
    assert fires == sorted(set(fires))
    assert await reports(store) == []
    clock.step("+0")
    await eventually(lambda: len(early(fleet, before)) >= len(fires), why="fires of the present")
    fires = [row.fire for row in fleet.rows()]
    assert len(fires) == len(set(fires))
    [report] = await reports(store)
    assert (
        "1 job was marked as handled up to 60 min ahead of the store's clock" in report["summary"]
    )


def early(fleet: Fleet, before: int) -> list[int]:
    """The fires of the true hour, whenever they were run."""
    return [row.fire for row in fleet.rows() if row.fire < before + 1_800]
