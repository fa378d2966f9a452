"""Changes of jobs by people, whether a job is in progress or finished."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.jobs.logs import begun, job
from tests.jobs.test_job_history import finish, over
from watchbell.errors import NotFound
from watchbell.jobs import job_edits, job_records
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.store.client import Store


async def test_a_job_in_progress_and_a_finished_one_are_changed(store: Store) -> None:
    await begun(store, job("j1", label="old"))
    await finish(store, over(2, label="old"))
    for id in ("j1", "j0002"):  # noqa: A001
        made = await job_edits.edit(store, id, ["label"], lambda one: replace(one, label="new"))
        assert made.label == "new"
        assert await job_records.read(store, id) == made
    await job_edits.edit(store, "j1", ["label"], lambda one: replace(one, label=""))
    assert await store.call("HEXISTS", Jobs(store.prefix).job("j1"), "label") == 0
    with pytest.raises(NotFound):
        await job_edits.edit(store, "j3", ["label"], lambda one: one)


async def test_changes_at_the_same_time_are_all_made(store: Store) -> None:
    await begun(store, job("j1"))

    def longer(one: Job) -> Job:
        return replace(one, notes=one.notes + "x")

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(job_edits.edit(store, "j1", ["notes"], longer))
    found = await job_records.read(store, "j1")
    assert found is not None
    assert found.notes == "x" * 8
