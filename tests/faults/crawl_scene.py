"""Pipelines and archivists as processes, and what must hold when a crawl has ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from tests.archive.crawled import is_over, responses, warcs
from tests.archive.site import Site
from tests.archive.warc_gate import gate
from tests.conftest import watchbell, watched
from tests.faults.job_fleet import Process
from tests.servers.process import DURABLE, Server
from tests.waiting import eventually
from watchbell.archive import crawl_log, crawls, history, status
from watchbell.archive.keys import Archive, Crawls
from watchbell.clock import SYSTEM
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.live import Gap, listen

LEASE = 600
"""Seconds of a lease, and until the crawls of a pipeline that is gone are returned."""
SHORT = 5
"""The same where that is to happen."""
KEYS, OWN = Archive(), Crawls()
LEFT = {"WATCHBELL_ARCHIVE_ALLOW_PRIVATE": "true", "WATCHBELL_ARCHIVE_RESERVE": "0"}


class Scene:
    def __init__(
        self, folder: Path, server: Server, store: Store, stack: ExitStack, lease: int
    ) -> None:
        self.folder, self.server, self.store, self._stack = folder, server, store, stack
        self._lease = lease

    def pipeline(self, name: str = "one", data: Path | None = None, **more: str) -> Process:
        """With a data folder of its own, and with settings of the archive."""
        data = data or self.folder / name
        command = watchbell(
            *("run", "pipeline", "--store", more.pop("store", self.server.url)),
            *("--data", str(data)),
        )
        settings = {f"WATCHBELL_ARCHIVE_{key.upper()}": value for key, value in more.items()}
        return self._process(name, command, {"WATCHBELL_ARCHIVE_NICKNAME": name, **settings})

    def archivist(self) -> Process:
        data = self.folder / "archivist"
        command = watchbell("run", "archivist", "--store", self.server.url, "--data", str(data))
        return self._process("archivist", command, {})

    def _process(self, name: str, command: list[str], more: dict[str, str]) -> Process:
        timing = {f"WATCHBELL_ARCHIVE_{key}": str(self._lease) for key in ("LEASE", "RETURN_AFTER")}
        process = Process(self.folder / f"{name}.log", command, {**LEFT, **timing, **more})
        self._stack.callback(process.kill)
        return process

    def finished(self, name: str = "one") -> Path:
        return self.folder / name / "archive" / "finished"

    async def explained(self, ident: str) -> str:
        settings = Settings(lease=self._lease, return_after=self._lease)
        return await status.explanation(self.store, settings, ident, SYSTEM.now())

    async def failing(self, ident: str) -> str:
        """Why the check of a crawl fails; empty if it does not."""
        return (await self.store.call("HGET", OWN.failing(), ident) or b"").decode()

    async def fails(self, ident: str, *words: str) -> None:
        """Waits until the check of a crawl fails with these words, which explain it, too."""

        async def is_failing() -> bool:
            reason = await self.failing(ident)
            return all(word in reason for word in words) and bool(reason)

        await eventually(lambda: patiently(is_failing), why=f"the check fails: {words}")
        explained = await self.explained(ident)
        assert all(word in explained for word in words), explained

    async def shipped(self, ident: str, many: int) -> None:
        """Waits until so many responses are committed and logged."""

        async def are_logged() -> bool:
            found = await crawls.get(self.store, ident)
            return found is not None and found.items_downloaded >= many

        await eventually(lambda: patiently(are_logged), why="responses are logged")

    async def over(self, ident: str) -> None:
        await eventually(lambda: patiently(lambda: is_over(self.store, ident)), why="the end")


@asynccontextmanager
async def scene(folder: Path, *config: str, lease: int = LEASE) -> AsyncIterator[Scene]:
    with Server(folder / "server", [*DURABLE, *config]) as server, ExitStack() as stack:
        async with asynccontextmanager(watched)(server.url) as store:
            yield Scene(folder, server, store, stack, lease)
            stack.close()


async def begun(site: Site, many: int) -> asyncio.Event:
    """Some URLs were fetched, and the next ones wait for their response, until it is set."""
    assert site.gate
    site.gate.set()
    await eventually(lambda: len(site.asked) >= many)
    site.gate.clear()
    return site.gate


async def check(
    scene: Scene, ident: str, site: Site, finished: Path, *, interruptions: int = 1
) -> None:
    """Everything is in the files once, what was in flight was fetched again, and all adds up."""
    found = responses(finished)
    assert set(found) == site.urls
    again = [url for url, blocks in found.items() if len(blocks) > 1]
    assert not again, f"what is in the WARC is there once: {warcs(finished)}"
    assert max(site.asked.values()) <= 1 + interruptions, "what was in flight is fetched again"
    await gate(warcs(finished))
    await check_counts(scene.store, ident, site)


async def check_counts(store: Store, ident: str, site: Site) -> None:
    (past,) = (await history.page(store, ident=ident)).items
    assert past.state == "completed"
    crawl = await crawls.get(store, ident)
    assert crawl
    assert crawl.items_queued == len(site.urls)
    classes = crawl.r1xx + crawl.r2xx + crawl.r3xx + crawl.r4xx + crawl.r5xx + crawl.runk
    assert classes == len(site.urls), "each URL is in the log once"
    assert crawl.items_downloaded == crawl.r2xx + crawl.r3xx
    assert crawl.error_count == crawl.r4xx + crawl.r5xx
    sizes = {path: len(sent[0]) for path, sent in site.sent.items()}
    assert crawl.bytes_downloaded == sum(sizes.values())
    cursors = (crawl.last_analyzed_log_entry, crawl.last_broadcasted_log_entry)
    assert (*cursors, crawl.last_trimmed_log_entry) == (crawl.log_score,) * 3
    assert await store.call("EXISTS", KEYS.working(), OWN.leases(), KEYS.log(ident)) == 0
    assert await store.call("GET", KEYS.completed()) == b"1"
    assert await store.call("LLEN", KEYS.finish_notifications()) == 1


class Broadcast:
    """What a subscriber of `entries` knows of a crawl."""

    def __init__(self, ident: str) -> None:
        self._ident = ident
        self.indexes: set[int] = set()

    async def follow(self, store: Store) -> None:
        """Runs until cancelled. What was sent while the store was away is read, as pages do."""
        async for item in listen(store, OWN.entries()):
            if isinstance(item, Gap):
                recent = await patiently(lambda: crawl_log.recent(store, self._ident))
                done = await patiently(lambda: self._broadcasted(store))
                found = [msgspec.json.decode(entry)["index"] for entry in recent]
                self.indexes.update(index for index in found if index <= done)
            else:
                sent = msgspec.json.decode(item.body)
                self.indexes.update(entry["index"] for entry in sent["entries"])

    async def _broadcasted(self, store: Store) -> int:
        crawl = await crawls.get(store, self._ident)
        return crawl.last_broadcasted_log_entry if crawl else 0
