"""The role of pipelines beside others: its process runs only while there is something to do."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from tests.archive.test_pipelines import ROOM, record
from tests.waiting import eventually
from watchbell.archive import pipelines
from watchbell.archive.pipeline_folder import PipelineFolder
from watchbell.clock import SYSTEM
from watchbell.roles import pipeline
from watchbell.roles.role import Context
from watchbell.settings import Settings
from watchbell.store.client import Store


async def test_a_pipeline_that_was_killed_with_nothing_to_do_is_not_missed(
    store: Store, tmp_path: Path
) -> None:
    folder = PipelineFolder(tmp_path)
    with folder.locked():
        await pipelines.report(store, record(folder.pipeline_id()), ROOM)
    settings = Settings(data=tmp_path)
    (role,) = pipeline.running(settings)
    async with asyncio.TaskGroup() as group:
        context = Context(settings, store, SYSTEM, lambda _: None)
        task = group.create_task(_forever(role.run(context)))
        await eventually(lambda: _is_gone(store))
        task.cancel()


async def _forever(work: Awaitable[None]) -> None:
    await work


async def _is_gone(store: Store) -> bool:
    return await pipelines.every(store) == []
