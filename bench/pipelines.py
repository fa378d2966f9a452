"""A pipeline for benchmarks of crawls: the process that `up` starts."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil

from bench.stores import fresh
from watchbell import ids
from watchbell.archive import crawls
from watchbell.archive.crawls import NewCrawl
from watchbell.archive.idents import ident_of
from watchbell.archive.keys import Archive as Keys
from watchbell.archive.model import CrawlSettings
from watchbell.archive.slugs import slug_of
from watchbell.clock import SYSTEM
from watchbell.roles.pipeline_handover import MODULE, Handed
from watchbell.settings import Archive, Files
from watchbell.store.client import Store


class Site:
    """A store with a pipeline."""

    def __init__(self, store: Store, process: psutil.Process) -> None:
        self.store, self.process = store, process

    def cpu(self) -> float:
        """Seconds that the pipeline has used."""
        return sum(self.process.cpu_times()[:2])

    async def add(self, url: str, settings: CrawlSettings) -> str:
        new = NewCrawl(ident=ident_of(url), url=url, slug=slug_of(url, "inf"), settings=settings)
        return (await crawls.add(self.store, new, SYSTEM.now(), ids.token())).ident

    async def has(self, ident: str, field: str) -> bool:
        """Whether a field of the crawl's record is set."""
        return bool(await self.store.call("HEXISTS", Keys().job(ident), field))


@asynccontextmanager
async def piped(concurrent: int = 20) -> AsyncIterator[Site]:
    archive = Archive(allow_private=True, nickname="bench", reserve=0, concurrent=concurrent)
    async with fresh() as (store, settings):
        handed = Handed(store.url, archive, Files(), str(settings.data), "warning")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, stdin=PIPE, stdout=PIPE
        )
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(handed.packed())
            await process.stdout.readline()  # its first status: it is at work
            yield Site(store, psutil.Process(process.pid))
        finally:
            process.kill()
            await process.wait()
