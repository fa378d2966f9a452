"""Keys that other programs have spoilt: no loop stops, and the error names the key."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.archive.crawled import add, is_over
from tests.archive.crawler import SHORT
from tests.archive.crawling import KEYS, OWN, PIPELINE, ident_of
from tests.archive.site import Site, served
from tests.waiting import eventually
from watchbell.archive import archivist, crawls
from watchbell.archive.announcer import Announcer
from watchbell.archive.pipeline import Pipeline
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.settings import Archive as Settings
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store

SHARED = {
    "pipelines": KEYS.pipelines(),
    "pending": KEYS.pending(),
    "pending-ao": KEYS.pending_ao(),
    "working": KEYS.working(),
    "finish_notifications": KEYS.finish_notifications(),
    "jobs_completed": KEYS.completed(),
    "tweets": KEYS.tweets(),
    "tweeted": KEYS.tweeted(),
    "leases": OWN.leases(),
    "fences": OWN.fences(),
    "claims": OWN.claims(),
    "queues": OWN.queues(),
    "history": OWN.history(),
    "ended": OWN.ended(),
    "ended_by_ident": OWN.ended_by_ident(),
    "failing": OWN.failing(),
    "unreported": OWN.unreported(),
    "pipelines_seen": OWN.pipelines_seen(),
    "pipelines_gone": OWN.pipelines_gone(),
    "capacities": OWN.capacities(),
    "stopping": OWN.stopping(),
    "ignore_sets": OWN.ignore_sets(),
}
STRINGS = {"jobs_completed", "fences"}
QUIET = {"pending", "pending-ao"}
"""Queues of a wrong type are passed over."""


class Chat:
    """Where ends are announced."""

    def places(self) -> Sequence[str]:
        return ["#archive", ""]

    async def announce(self, place: str, text: str) -> bool:
        return bool(place or text)


@asynccontextmanager
async def at_work(store: Store, folder: Path, said: list[str]) -> AsyncIterator[None]:
    """A pipeline, an archivist and an announcer; each fails the test if it ends."""
    settings = Settings(allow_private=True, nickname="p1", reserve=0)
    files = objects.opened(FilesSettings(), folder)
    pipeline = Pipeline(store, settings, folder, files, SYSTEM, said.append, waits=SHORT)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(pipeline.run()),
            group.create_task(archivist.run(store, settings, SYSTEM, said.append, lease=0.5)),
            group.create_task(Announcer(store, Chat(), SYSTEM).run()),
        ]
        yield
        assert not any(task.done() for task in tasks), "all go on"
        for task in tasks:
            task.cancel()


async def spoil(store: Store, key: str, *, is_string: bool = False) -> None:
    await store.call("DEL", key)
    if is_string:
        await store.call("RPUSH", key, "spoilt")
    else:
        await store.call("SET", key, "spoilt")


@pytest.mark.parametrize("family", SHARED)
async def test_a_key_of_a_wrong_type_stops_no_loop(
    store: Store, tmp_path: Path, family: str
) -> None:
    key, said = SHARED[family], list[str]()
    async with served(Site(5, odd=False)) as site:
        first = await add(store, site.start)
        await spoil(store, key, is_string=family in STRINGS)
        async with at_work(store, tmp_path, said):

            async def is_endured() -> bool:
                trouble = (await store.call("HGET", OWN.crawl(first), "trouble") or b"").decode()
                named = any(key in words for words in [*said, trouble])
                return named or await is_over(store, first) or family in QUIET

            await eventually(is_endured, why=f"the end, or an error that names {key}")
            await store.call("DEL", key)
            if family in ("pending", "pending-ao", "working"):
                await store.call("DEL", KEYS.job(first), KEYS.working(), OWN.leases())
                first = await add(store, site.start)
            await eventually(lambda: is_over(store, first), why=f"the end, after {said[-3:]}")
            second = await add(store, f"{site.url}/p/1")
            await eventually(lambda: is_over(store, second))


@pytest.mark.parametrize("family", ["log", "ignores", "recent", "matches", "hosts", "minutes"])
async def test_a_spoilt_key_of_one_crawl_concerns_that_crawl(
    store: Store, tmp_path: Path, family: str
) -> None:
    said = list[str]()
    async with served(Site(40, odd=False).gated()) as site, at_work(store, tmp_path, said):
        assert site.gate
        ident = await add(store, site.start)
        await eventually(lambda: site.asked)
        space = KEYS if hasattr(KEYS, family) else OWN
        key = getattr(space, family)(ident)
        await spoil(store, key)
        site.gate.set()
        other = await add(store, f"{site.url}/p/1")
        await eventually(lambda: is_over(store, other), why="the other crawl goes on")

        async def is_endured() -> bool:
            trouble = await store.call("HGET", OWN.crawl(ident), "trouble") or b""
            return await is_over(store, ident) or key.encode() in trouble

        await eventually(is_endured, why=f"the end, or trouble that names {key}")
        await store.call("DEL", key)
        await eventually(lambda: is_over(store, ident))
        found = await crawls.get(store, ident)
        assert found
        assert not found.failed


@pytest.mark.parametrize("family", ["job", "crawl"])
async def test_a_crawl_without_readable_record_is_dropped_and_its_files_are_kept(
    store: Store, tmp_path: Path, family: str
) -> None:
    said = list[str]()
    async with served(Site(40, odd=False).gated()) as site, at_work(store, tmp_path, said):
        assert site.gate
        ident = await add(store, site.start)
        await eventually(lambda: site.asked)
        key = getattr(KEYS if family == "job" else OWN, family)(ident)
        await spoil(store, key)
        site.gate.set()
        other = await add(store, f"{site.url}/p/1")
        await eventually(lambda: is_over(store, other), why="the other crawl goes on")
        finished = tmp_path / "archive" / "finished"
        await eventually(lambda: list(finished.glob(f"*{ident[:5]}*.json")))
        await store.call("DEL", KEYS.job(ident), OWN.crawl(ident))


GARBAGE = [b"", b"\x00\xff", b"no ident: \r\n", b"*", ident_of(7).encode(), b"[" * 100_000, b"{}"]


async def put_garbage(store: Store) -> None:
    """Right types, wrong contents."""
    lists = (KEYS.pending, KEYS.pending_ao, KEYS.pending_large, KEYS.working, KEYS.pipelines)
    for key in (*lists, KEYS.finish_notifications):
        await store.call("RPUSH", key(), *GARBAGE)
    for name in (OWN.claims, OWN.capacities, OWN.history, OWN.failing, OWN.ignore_sets):
        pairs = [word for one in GARBAGE for word in (one or b"-", one)]
        await store.call("HSET", name(), *pairs)
    await store.call("HSET", OWN.claims(), PIPELINE, b"\xff \xff \xff")
    for score in ("inf", "-inf", "5"):
        for family in (OWN.leases, OWN.ended, OWN.pipelines_seen, KEYS.tweets, OWN.ended_by_ident):
            for one in GARBAGE:
                await store.call("ZADD", family(), score, one + score.encode())
    for one in GARBAGE:
        await store.call("SADD", OWN.stopping(), one)
        await store.call("SADD", OWN.queues(), one)


async def put_records(store: Store) -> None:
    numbers = ("settings_age", "delay_min", "delay_max", "concurrency", "log_score", "heartbeat")
    cursors = ("last_analyzed_log_entry", "last_broadcasted_log_entry", "started_at", "queued_at")
    for number, value in enumerate((b"many", b"-1", b"nan", b"inf", b"1e999", b"\xff", b"")):
        fields = [word for name in (*numbers, *cursors) for word in (name, value)]
        job = KEYS.job(ident_of(100 + number))
        await store.call("HSET", job, "url", "http://127.0.0.1:9/", *fields)
        await store.call("LPUSH", KEYS.pending(), ident_of(100 + number))
        await store.call("ZADD", KEYS.log(ident_of(100 + number)), "inf", "\x00 no JSON")
        await store.call(
            "HSET", OWN.crawl(ident_of(100 + number)), "options", value, "batch", value
        )
    await store.call("HSET", PIPELINE, "id", b"\xff", "ts", "never", "load_average_1m", "nan")
    await store.call("ZADD", OWN.pipelines_seen(), 5, PIPELINE)


async def test_garbage_in_all_keys_stops_no_loop(store: Store, tmp_path: Path) -> None:
    await put_garbage(store)
    await put_records(store)
    said = list[str]()
    async with served(Site(5, odd=False)) as site, at_work(store, tmp_path, said):
        ident = await add(store, site.start)
        await eventually(lambda: is_over(store, ident), why=f"the end, after {said[-3:]}")
        for number in range(7):
            await eventually(lambda n=number: is_over(store, ident_of(100 + n)))  # type: ignore[misc]
    assert not [
        words for words in said if ": " in words and not words.startswith(("crawls", "log"))
    ]
    await store.call("FLUSHALL")
