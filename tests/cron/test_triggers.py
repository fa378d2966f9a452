"""What the sender of a trigger learns: the run, why it waits, why it is not run."""

from pathlib import Path

from tests.cron.crew import definition, ended, put, running, serving, until
from watchbell.cron import jobs, latest_runs, triggers
from watchbell.cron.keys import CronOwn
from watchbell.cron.triggers import Answer, Trigger
from watchbell.store.client import Store


async def answered(store: Store, trigger: Trigger, *, final: bool = False) -> list[Answer]:
    return (await triggers.answers(store, [trigger], 60, final=final))[trigger.job]


async def test_a_trigger_is_answered_with_the_run_it_began(anywhere: Store, folder: Path) -> None:
    await put(anywhere, "job", definition("true"))
    async with serving(anywhere, folder):
        trigger = await jobs.trigger(anywhere, "job")
        [answer] = await answered(anywhere, trigger)
        [run] = await ended(anywhere, "job")
    assert answer == Answer(run=run.id)
    key = CronOwn(anywhere.prefix).answers(trigger.id)
    assert 0 < await anywhere.call("PTTL", key) <= 600_000


async def test_a_job_that_every_instance_runs_answers_with_each_run(
    store: Store, folder: Path
) -> None:
    await put(store, "job", definition("true", lock=False))
    async with serving(store, folder / "one"), serving(store, folder / "two"):
        trigger = await jobs.trigger(store, "job")
        found = await answered(store, trigger)
        runs = await ended(store, "job", 2)
    assert trigger.runs == 2
    assert {answer.run for answer in found} == {run.id for run in runs}


async def test_a_trigger_that_finds_the_lock_held_is_answered_with_the_reason(
    store: Store, folder: Path
) -> None:
    gate = folder / "gate"
    await put(store, "skips", definition(until(gate)))
    await put(store, "queues", definition(until(gate), overlap="queue"))
    async with serving(store, folder):
        for name in ("skips", "queues"):
            await jobs.trigger(store, name)
            await running(store, name)
        [skipped] = await answered(store, await jobs.trigger(store, "skips"))
        queued = await jobs.trigger(store, "queues")
        [waits] = await answered(store, queued)
        gate.touch()
        [begun] = await answered(store, queued, final=True)
        await ended(store, "queues", 2)
    assert skipped == Answer(skipped="skipped: the lock is held, a run goes on")
    assert waits == Answer(waits="a run holds its lock")
    assert begun.run


async def test_a_trigger_that_finds_no_place_is_answered_when_it_begins(
    store: Store, folder: Path
) -> None:
    gate = folder / "gate"
    await put(store, "long", definition(until(gate)))
    await put(store, "next", definition("true"))
    async with serving(store, folder, capacity=1):
        await jobs.trigger(store, "long")
        await running(store, "long")
        trigger = await jobs.trigger(store, "next")
        [waits] = await answered(store, trigger)
        gate.touch()
        [begun] = await answered(store, trigger, final=True)
        [run] = await ended(store, "next")
    assert waits == Answer(waits="all places are taken")
    assert begun == Answer(run=run.id)


async def test_the_latest_run_of_a_job_is_the_one_that_goes_on(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    await put(
        store, "job", definition(f"test -e {folder}/first && {until(gate)}; touch {folder}/first")
    )
    async with serving(store, folder):
        await jobs.trigger(store, "job")
        [first] = await ended(store, "job")
        found = await latest_runs.latest(store, "job")
        assert found is not None
        assert found.id == first.id
        await jobs.trigger(store, "job")
        [second] = await running(store, "job")
        found = await latest_runs.latest(store, "job")
        assert found is not None
        assert found.id == second.id
        gate.touch()
        await ended(store, "job", 2)
