"""Folders of jobs that are made ahead and deleted later."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.waiting import eventually
from watchbell.fleet.agent import job_folder
from watchbell.fleet.agent.folder_pool import FolderPool


@asynccontextmanager
async def tidied(folder: Path) -> AsyncIterator[FolderPool]:
    pool = FolderPool(folder / "spare", folder / "trash", job_folder.make)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(pool.run())
        yield pool
        task.cancel()


def inside(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_folder_that_was_made_ahead_is_as_one_made_now(folder: Path) -> None:
    async with tidied(folder) as pool:
        pool.take(folder / "first")
        await eventually(lambda: inside(folder / "spare"))
        pool.take(folder / "second")
        made, now = (
            {path.name: path.stat().st_mode for path in (folder / name).iterdir()}
            for name in ("second", "first")
        )
        assert made == now
        assert (folder / "second").stat().st_mode == (folder / "first").stat().st_mode


async def test_a_discarded_folder_is_gone_at_once_and_deleted_later(folder: Path) -> None:
    async with tidied(folder) as pool:
        pool.take(folder / "job")
        (folder / "job" / "work" / "left").write_text("by the job")
        pool.discard(folder / "job")
        assert not (folder / "job").exists()
        await eventually(lambda: not inside(folder / "trash"))


async def test_what_a_killed_agent_left_is_deleted(folder: Path) -> None:
    for name in ("spare", "trash"):
        (folder / name / "1-1" / "work").mkdir(parents=True)
    async with tidied(folder):
        await eventually(lambda: not inside(folder / "spare") + inside(folder / "trash"))


async def test_a_spare_folder_that_somebody_deleted_is_made_again(folder: Path) -> None:
    async with tidied(folder) as pool:
        pool.take(folder / "first")
        await eventually(lambda: inside(folder / "spare"))
        [spare] = inside(folder / "spare")
        pool.discard(spare)
        pool.take(folder / "second")
        assert (folder / "second" / "work").is_dir()
