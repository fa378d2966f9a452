from pathlib import Path

import pytest

from tests.jobs.logs import NOW, begun, files_in, job
from watchbell.files.objects import Files
from watchbell.fleet.messages import JobUsage
from watchbell.jobs import job_packing, job_records
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


def usage(second: int, job_id: str = "j1") -> JobUsage:
    return JobUsage(
        job=job_id,
        at=NOW + second,
        cpu={"min": 1, "max": 9, "total": 10, "count": 2, "current": 5},
        procs={"77": {"cpu": second}},
        conns=({"state": "ESTABLISHED"},),
    )


async def test_seconds_and_minutes_are_kept_in_rings(store: Store, timelines: Timelines) -> None:
    await begun(store, job())
    for first in range(0, 700, 50):
        assert await timelines.add([usage(second) for second in range(first, first + 50)]) == 50
    found = await timelines.read("j1")
    assert [one["epoch"] for one in found.second] == [NOW + n for n in range(400, 700)]
    assert [one["epoch"] for one in found.minute] == [NOW + n for n in range(0, 700, 60)]
    assert found.second[-1]["procs"] == {"77": {"cpu": 699}}
    assert "conns" not in found.second[0]
    assert found.minute[0]["conns"] == [{"state": "ESTABLISHED"}]
    live = await job_records.read(store, "j1")
    assert live is not None
    assert live.cpu is not None
    assert (live.cpu.current, live.updated) == (5, NOW + 699)


async def test_samples_that_come_again_are_kept_once(store: Store, timelines: Timelines) -> None:
    await begun(store, job())
    for _ in range(3):
        await timelines.add([usage(0), usage(1)])
    assert len((await timelines.read("j1")).second) == 2


async def test_nothing_is_written_about_a_job_that_is_not_active(
    store: Store, timelines: Timelines
) -> None:
    await begun(store, job(state="finishing"))
    assert await timelines.add([usage(0), usage(0, "jgone")]) == 0
    assert await timelines.read("j1") == Timeline()
    assert await store.call("EXISTS", KEYS.job("jgone")) == 0


async def test_the_timelines_of_a_finished_job_are_in_a_file(
    store: Store, files: Files, timelines: Timelines
) -> None:
    await begun(store, job())
    await timelines.add([usage(n) for n in range(100)])
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
    await begun(store, job())
    await store.call("SET", KEYS.seconds("j1"), "nonsense")
    await timelines.add([usage(0)])
    await store.call("LPUSH", KEYS.minutes("j1"), "nonsense", '{"epoch":')
    await timelines.add([usage(60)])
    found = await timelines.read("j1")
    assert found.second == []
    assert [one["epoch"] for one in found.minute] == [NOW, NOW + 60]
    await store.call("DEL", KEYS.seconds("j1"))
