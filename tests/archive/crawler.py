"""A pipeline in this process, with short waits, and what its crawls leave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.archive.crawled import FAST, add, is_over, responses, warcs
from tests.waiting import eventually
from watchbell.archive import crawl_log, crawls
from watchbell.archive.fetching.model import Limits
from watchbell.archive.model import Crawl, CrawlSettings
from watchbell.archive.pipeline import Pipeline
from watchbell.archive.politeness import Waits
from watchbell.archive.warc.reader import WarcReader, WarcRecord
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.http.networks import Networks
from watchbell.settings import Archive as Settings
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store

SHORT = Waits(retry=0.01, pause=0.01, longest_pause=0.1)


class Crawler:
    def __init__(self, store: Store, data: Path) -> None:
        self._store = store
        self.finished = data / "archive" / "finished"

    async def add(self, url: str, settings: CrawlSettings = FAST, **more: Any) -> str:
        return await add(self._store, url, settings, **more)

    async def ended(self, ident: str) -> Crawl:
        await eventually(lambda: is_over(self._store, ident), why="the crawl ends")
        crawl = await crawls.get(self._store, ident)
        assert crawl
        return crawl

    async def crawl(self, url: str, settings: CrawlSettings = FAST, **more: Any) -> Crawl:
        """From its queue to its end."""
        return await self.ended(await self.add(url, settings, **more))

    async def recent(self, ident: str) -> str:
        """Its log in the store."""
        return b"\n".join(await crawl_log.recent(self._store, ident)).decode()

    def log(self) -> list[str]:
        """The lines of the log files of all crawls, without their times."""
        lines: list[str] = []
        for path in sorted(self.finished.glob("*-meta.warc.gz")):
            for record, block in records(path):
                if record.type == "resource":
                    lines += [line.partition(" ")[2] for line in block.decode().splitlines()]
        return lines

    def responses(self) -> dict[str, list[bytes]]:
        return responses(self.finished)

    def warcs(self) -> list[Path]:
        return warcs(self.finished)

    def records(self, kind: str) -> list[tuple[WarcRecord, bytes]]:
        every = [one for path in self.warcs() if "-meta" not in path.name for one in records(path)]
        return [one for one in every if one[0].type == kind]


def records(path: Path) -> list[tuple[WarcRecord, bytes]]:
    with WarcReader(path) as reader:
        return [(record, reader.block()) for record in reader]


@asynccontextmanager
async def working(
    store: Store,
    data: Path,
    *,
    limits: Limits | None = None,
    waits: Waits = SHORT,
    reachable: Networks | None = None,
    **settings: Any,
) -> AsyncIterator[Crawler]:
    """A pipeline that may crawl loopback."""
    chosen = {"allow_private": True, "nickname": "p1", "reserve": 0, **settings}
    pipeline = Pipeline(
        *(store, Settings(**chosen), data, objects.opened(FilesSettings(), data)),
        *(SYSTEM, lambda _: None),
        limits=limits,
        waits=waits,
        reachable=reachable,
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(pipeline.run())
        yield Crawler(store, data)
        task.cancel()
