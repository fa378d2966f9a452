"""How the browser of a pipeline is started."""

import asyncio
from contextlib import suppress
from pathlib import Path

import psutil

from tests.archive.browser_crawls import NEEDS_CHROMIUM
from watchbell.archive.grabbing.chromium import Chromium

pytestmark = NEEDS_CHROMIUM


async def test_a_start_that_is_cancelled_at_any_step_leaves_nothing(tmp_path: Path) -> None:
    before = {one.pid for one in psutil.Process().children()}
    for steps in range(25):
        folder = tmp_path / str(steps)
        folder.mkdir()
        start = asyncio.create_task(Chromium.started("chromium", folder, "digest"))
        for _ in range(steps):
            await asyncio.sleep(0)
        start.cancel()
        with suppress(asyncio.CancelledError):
            await start
    assert {one.pid for one in psutil.Process().children()} <= before
