"""The store is killed and comes back: archivists go on, and no crawl is lost or counted twice."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.crawling import KEYS, NOW, append, job, running
from tests.servers.process import DURABLE, Server
from tests.waiting import eventually
from watchbell.archive import archivist
from watchbell.archive.crawl_log import Answer
from watchbell.archive.finishing import Finished, finish
from watchbell.archive.model import Ending
from watchbell.clock import SYSTEM
from watchbell.errors import StoreUnavailable
from watchbell.settings import Archive as Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently


@pytest.fixture
def lone_server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "server", DURABLE) as server:
        yield server


async def counted(store: Store, responses: int) -> None:
    async def is_counted() -> bool:
        return (await job(store)).get("r2xx") == str(responses)

    await eventually(lambda: patiently(is_counted))


async def test_an_archivist_outlives_the_store(lone_server: Server) -> None:
    settings = Settings(lease=3_600)
    async with Store(store_url.parse(lone_server.url)) as store, asyncio.TaskGroup() as group:
        task = group.create_task(archivist.run(store, settings, SYSTEM, lambda _: None, lease=0.5))
        owned = await running(store)
        for batch in range(1, 4):
            await append(store, owned, batch, 200, 200)
            await counted(store, 2 * batch)
            await asyncio.to_thread(lone_server.kill)
            with pytest.raises(StoreUnavailable):
                await append(store, owned, batch + 1, 200)
            await asyncio.to_thread(lone_server.start)
            assert await append(store, owned, batch, 200, 200) is Answer.REPEATED
        assert await store.call("LLEN", KEYS.working()) == 1
        assert await finish(store, owned, Ending(finished_at=NOW)) is Finished.RECORDED
        assert (await job(store))["r2xx"] == "6"
        task.cancel()
