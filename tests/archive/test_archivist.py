"""Archivists drain logs, survive kills, and take over from each other."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from tests.archive.crawling import (
    KEYS,
    NOW,
    OTHER,
    OWN,
    SITE,
    added,
    append,
    cursors,
    ident_of,
    job,
    running,
)
from tests.waiting import eventually
from watchbell.archive import archivist, crawl_log, history, log_draining, pipelines, queues
from watchbell.archive.log_drainer import LogDrainer
from watchbell.clock import SYSTEM
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store


@asynccontextmanager
async def at_work(store: Store, *statuses: list[str]) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(archivist.run(store, Settings(), SYSTEM, status.append, lease=0.5))
            for status in statuses or ([],)
        ]
        yield
        for task in tasks:
            task.cancel()


@contextmanager
def worker(store: Store, fault: str = "") -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.archive.archivist_worker", store.url.redacted()]
    process = subprocess.Popen([*command, *([fault] if fault else [])])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def counted(store: Store, ident: str, responses: int) -> None:
    async def is_counted() -> bool:
        return (await job(store, ident)).get("r2xx") == str(responses)

    await eventually(is_counted)


async def test_entries_are_counted_as_they_come(store: Store) -> None:
    owned = await running(store)
    async with at_work(store):
        for batch in range(1, 4):
            await append(store, owned, batch, 200)
            await counted(store, SITE, batch)


async def test_what_is_left_of_a_log_is_trimmed_in_the_end(store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 200)

    async def is_drained() -> bool:
        return cursors(await job(store)) == ["2", "2", "2"]

    async with asyncio.TaskGroup() as group:
        task = group.create_task(LogDrainer(store, SYSTEM, quiet=0.01).run())
        await eventually(is_drained)
        task.cancel()
    assert await store.call("EXISTS", KEYS.log(SITE)) == 0


async def test_of_two_archivists_one_works_and_the_other_takes_over(store: Store) -> None:
    owned = await running(store)
    with worker(store) as first:
        await append(store, owned, 1, 200)
        await counted(store, SITE, 1)
        status: list[str] = []
        async with at_work(store, status):
            await eventually(lambda: status and status[-1].startswith("another"))
            first.kill()
            await append(store, owned, 2, 200)
            await counted(store, SITE, 2)


@pytest.mark.parametrize("step", ["archive.drained:1", "archive.drained:3", "archive.posted:1"])
async def test_a_killed_archivist_counts_nothing_twice(store: Store, step: str) -> None:
    owners = [await running(store, ident_of(number)) for number in range(3)]
    for owned in owners:
        await append(store, owned, 1, *[200] * 700)
    with worker(store, step) as doomed:
        await eventually(lambda: doomed.poll() is not None)
        assert doomed.returncode == -signal.SIGKILL
    for owned in owners:
        await append(store, owned, 2, 200)
    with worker(store):
        for owned in owners:
            await counted(store, owned.ident, 701)
    for owned in owners:
        record = await job(store, owned.ident)
        assert record["log_score"] == "701"
        assert len(await crawl_log.recent(store, owned.ident)) == log_draining.RECENT


async def test_a_killed_archivist_returns_a_lost_crawl_once(store: Store) -> None:
    await running(store)
    await store.call("ZADD", OWN.leases(), 5, SITE)
    with worker(store, "archive.reaped:1") as doomed:
        await eventually(lambda: doomed.poll() is not None)
    with worker(store):

        async def is_returned() -> bool:
            return (await queues.pending(store))["pending"] == [SITE]

        await eventually(is_returned)
    assert await store.call("LLEN", KEYS.working()) == 0


async def test_queues_and_pipelines_of_other_programs_are_noticed(store: Store) -> None:
    async with at_work(store):
        await store.call("LPUSH", KEYS.pending_for("quick"), ident_of(1))
        await eventually(lambda: queues.tags(store))
        await store.call("HSET", OTHER, "id", OTHER, "nickname", "bob")

        async def is_seen() -> bool:
            await store.call("PUBLISH", KEYS.pipeline_updates(), OTHER)
            return [one.name for one in await pipelines.every(store)] == ["bob"]

        await eventually(is_seen)
    await store.call("DEL", KEYS.pending_for("quick"))


async def test_a_crawl_that_another_program_ends_reaches_the_history(store: Store) -> None:
    await added(store)
    async with at_work(store):
        await store.call("HSET", KEYS.job(SITE), "finished_at", "1790000099", "started_at", "1")
        await store.call("EXPIRE", KEYS.job(SITE), 172_800)
        await store.call("EXPIRE", KEYS.ignores(SITE), 172_800)

        async def is_recorded() -> bool:
            await store.call("PUBLISH", KEYS.updates(), SITE)
            return await history.count(store) == 1

        await eventually(is_recorded)


async def test_keys_of_a_wrong_type_stop_no_loop(store: Store) -> None:
    spoilt = [KEYS.working(), OWN.leases(), KEYS.tweets(), OWN.pipelines_seen(), OWN.ended()]
    for key in [*spoilt, OWN.queues(), KEYS.log(ident_of(9))]:
        await store.call("SET", key, "spoilt")
    await store.call("HSET", KEYS.job(ident_of(9)), "url", "https://example.com/")
    async with at_work(store):
        for _ in range(3):
            await store.call("PUBLISH", KEYS.updates(), ident_of(9))
            await store.call("PUBLISH", KEYS.updates(), "no ident: \n")
        await store.call("DEL", *spoilt, OWN.queues(), KEYS.log(ident_of(9)))
        owned = await running(store)
        await append(store, owned, 1, 200)
        await counted(store, SITE, 1)
    await store.call("DEL", KEYS.job(ident_of(9)))


async def test_old_history_is_removed_at_work(store: Store) -> None:
    await store.call("ZADD", OWN.ended(), NOW - 1e9, "old")
    await store.call("HSET", OWN.history(), "old", "{}")
    async with at_work(store):

        async def is_empty() -> bool:
            return await history.count(store) == 0

        await eventually(is_empty)
