"""Pipelines killed at every step: each crawl ends once, and each log entry counts once."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.archive.crawling import KEYS, NOW, OWN, added, append, cursors, ident_of, job, taken
from tests.archive.pipeline_worker import BATCHES
from tests.conftest import watched
from tests.waiting import eventually
from watchbell.archive import crawl_log, crawls, finishing, history, leases, queues
from watchbell.archive.crawls import Change
from watchbell.archive.log_drainer import LogDrainer
from watchbell.archive.model import Ending
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

COUNT = 4
CODES = [code for batch in BATCHES for code in batch]
STEPS = [
    *[f"archive.reserved:{n}" for n in (1, 3)],
    *[f"archive.appended:{n}" for n in (1, 2, 3, 8)],
    *[f"archive.drained:{n}" for n in (1, 3)],
    *[f"archive.finished:{n}" for n in (1, 4)],
]


def worker(store: Store, folder: Path, *fault: str) -> int:
    command = [sys.executable, "-m", "tests.archive.pipeline_worker", store.url.redacted()]
    return subprocess.run([*command, str(folder), *fault], check=False).returncode


async def check(store: Store) -> None:
    assert await store.call("GET", KEYS.completed()) == str(COUNT).encode()
    assert await history.count(store) == COUNT
    assert await store.call("LLEN", KEYS.finish_notifications()) == COUNT
    assert await store.call("EXISTS", KEYS.working(), KEYS.pending(), OWN.leases()) == 0
    for number in range(COUNT):
        record = await job(store, ident_of(number))
        assert record["log_score"] == str(len(CODES))
        assert cursors(record) == [str(len(CODES))] * 3
        names = ["r2xx", "r3xx", "r4xx", "r5xx", "runk", "items_downloaded", "error_count"]
        assert [record[name] for name in names] == ["3", "1", "1", "1", "1", "4", "2"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_killed_pipeline_continues(store: Store, tmp_path: Path, step: str) -> None:
    for number in range(COUNT):
        await added(store, ident_of(number))
    assert await asyncio.to_thread(worker, store, tmp_path, step) == -signal.SIGKILL
    assert await asyncio.to_thread(worker, store, tmp_path) == 0
    await check(store)


async def test_pipelines_killed_again_and_again_lose_nothing(store: Store, tmp_path: Path) -> None:
    for number in range(COUNT):
        await added(store, ident_of(number))
    async with asyncio.TaskGroup() as group:
        drainer = LogDrainer(store, SYSTEM, quiet=0.01)
        tasks = [group.create_task(drainer.follow()), group.create_task(drainer.run())]
        for step in STEPS:
            await asyncio.to_thread(worker, store, tmp_path, step)
        assert await asyncio.to_thread(worker, store, tmp_path) == 0
        for task in tasks:
            task.cancel()
    await check(store)


@pytest.fixture
async def prefixed(topology: Any) -> AsyncIterator[Store]:
    """On a cluster, a hash tag in the prefix leads to one server."""
    async for store in watched(f"{topology.url}?prefix={{bell}}:"):
        yield store


async def test_a_crawl_is_the_same_on_every_kind_of_store(prefixed: Store) -> None:
    store = prefixed
    keys = [ident_of(number) for number in range(3)]
    for ident in keys:
        await added(store, ident, queue="pending:ali")
    await queues.discover(store)
    owned = await taken(store)
    assert owned is not None
    await crawls.change(store, owned.ident, Change(delay=(0, 0), ignore=["x"]))
    await append(store, owned, 1, 200, 404)
    assert await leases.beat(store, [owned], 30) == set()
    drainer = LogDrainer(store, SYSTEM, quiet=0.01)
    await drainer.look()
    assert len(await crawl_log.recent(store, owned.ident)) == 2
    await finishing.finish(store, owned, Ending(finished_at=NOW))
    await finishing.abort(store, keys[1], "alice", NOW)
    found = await crawls.get(store, owned.ident)
    assert found is not None
    assert (found.r2xx, found.r4xx, found.last_trimmed_log_entry) == (1, 1, 2)
    assert {one.state for one in (await history.page(store)).items} == {"completed", "aborted"}
    assert (await crawls.every(store, NOW))[0].ident == keys[2]


async def test_updates_of_other_programs_are_drained_within_a_second(store: Store) -> None:
    await added(store)
    ident = (await crawls.idents(store, NOW))[0]
    async with asyncio.TaskGroup() as group:
        drainer = LogDrainer(store, SYSTEM)
        tasks = [group.create_task(drainer.follow()), group.create_task(drainer.run())]

        async def is_listening() -> bool:
            return bool(await store.call("PUBLISH", KEYS.updates(), ident))

        await eventually(is_listening)
        text = (
            '{"type": "download", "ts": 5.5, "url": "https://example.com/", "response_code": 200}'
        )
        score = await store.call("HINCRBY", KEYS.job(ident), "log_score", 1)
        await store.call("ZADD", KEYS.log(ident), score, text)
        await store.call("PUBLISH", KEYS.updates(), ident)

        async def is_counted() -> bool:
            return (await job(store, ident)).get("r2xx") == "1"

        await eventually(is_counted)
        for task in tasks:
            task.cancel()
