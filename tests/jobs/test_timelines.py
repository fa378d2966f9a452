from pathlib import Path

import pytest

from tests.jobs.logs import NOW, begun, files_in, job
from watchbell.files.objects import Files
from watchbell.fleet.messages import JobUsage
from watchbell.jobs import job_packing, usages
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_archiver import LogArchiver
from watchbell.jobs.timelines import Timeline, Timelines
from watchbell.store.client import Store

KEYS = Jobs()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return files_in(tmp_path)


@pytest.fixture
def timelines(store: Store, files: Files) -> Timelines:
    return Timelines(store, files)


async def use(store: Store, seconds: range) -> None:
    """What the job uses, each second."""
    for second in seconds:
        usage = JobUsage(job="j1", at=0, procs={"77": {"cpu": second}}, conns=({"pid": 77},))
        await usages.record(store, [usages.Used("s1", usage, NOW + second)])


async def test_the_timelines_of_a_job_in_progress_are_in_order(
    store: Store, timelines: Timelines
) -> None:
    await begun(store, job(server="s1"))
    await use(store, range(90))
    found = await timelines.read("j1")
    assert [one["epoch"] for one in found.second] == [NOW + n for n in range(90)]
    assert found.second[-1]["procs"] == {"77": {"cpu": 89}}
    assert found.minute[0]["conns"] == [{"pid": 77}]
    assert 2 <= len(found.minute) <= 3


async def test_the_timelines_of_a_finished_job_are_in_a_file(
    store: Store, files: Files, timelines: Timelines
) -> None:
    await begun(store, job(server="s1"))
    await use(store, range(70))
    before = await timelines.read("j1")
    await store.call("DEL", KEYS.job("j1"), KEYS.live())
    over = job_packing.pack(job(state="complete"))
    await store.call("HSET", KEYS.finished(), "j1", over)
    await store.call("RPUSH", KEYS.archiving(), "j1")
    archiver = LogArchiver(store, files)
    batch = await archiver.taker.take()
    assert batch
    await archiver.process(batch)
    assert await store.call("EXISTS", KEYS.seconds("j1"), KEYS.minutes("j1")) == 0
    assert await timelines.read("j1") == before


async def test_spoiled_timelines_count_as_empty(store: Store, timelines: Timelines) -> None:
    await store.call("SET", KEYS.seconds("j1"), "nonsense")
    await store.call("RPUSH", KEYS.minutes("j1"), "nonsense", '{"epoch":5}', '{"epoch":')
    assert await timelines.read("j1") == Timeline(second=[], minute=[{"epoch": 5}])
    await store.call("DEL", KEYS.seconds("j1"))


async def test_a_job_without_timelines_has_empty_ones(timelines: Timelines) -> None:
    assert await timelines.read("j1") == Timeline()
