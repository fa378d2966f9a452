"""A crawl without delays, to its WARC, compared with wget."""

import asyncio
import re
import resource
import shutil
import subprocess
import tempfile
import time
from typing import NamedTuple

from bench.figures import Figure
from bench.ignores import patterns
from bench.pipelines import piped
from bench.websites import PAGES, serving
from tests.waiting import eventually
from watchbell.archive import crawls
from watchbell.archive.model import CrawlSettings

TIMES = 5
PATTERNS = 200
DOWNLOADERS = 4
_WGET = ("wget", "--mirror", "-e", "robots=off", "-nv", "--warc-file=out", "--delete-after")


class Rate(NamedTuple):
    """Pages per second."""

    wall: float
    cpu: float


def _by_wget() -> Rate:
    with serving() as site, tempfile.TemporaryDirectory() as folder:
        before, begun = _children(), time.perf_counter()
        with subprocess.Popen(
            [*_WGET, site.urls[0]], cwd=folder, stderr=subprocess.PIPE, text=True
        ) as wget:
            _, said = wget.communicate()
        wall, cpu = time.perf_counter() - begun, _children() - before
    found = re.search(r"Downloaded: (\d+) files", said)
    assert found
    assert int(found[1]) == PAGES, said[-500:]
    return Rate(PAGES / wall, PAGES / cpu)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _settings(page: str) -> CrawlSettings:
    others = [pattern for pattern in patterns() if not re.search(pattern, page)]
    used = frozenset(others[:PATTERNS])
    return CrawlSettings(age=4, delay_min=0, delay_max=0, concurrency=DOWNLOADERS, ignores=used)


async def _ours() -> Rate:
    with serving() as site:
        settings = _settings(f"{site.urls[0]}page/1.html")
        async with piped() as pipeline:
            used = pipeline.cpu()
            ident = await pipeline.add(site.urls[0], settings)
            await eventually(lambda: pipeline.has(ident, "started_at"))
            begun = time.perf_counter()
            await eventually(lambda: pipeline.has(ident, "finished_at"))
            wall, cpu = time.perf_counter() - begun, pipeline.cpu() - used
            crawl = await crawls.get(pipeline.store, ident)
    assert crawl
    assert crawl.items_downloaded == PAGES
    return Rate(PAGES / wall, PAGES / cpu)


def figures() -> list[Figure]:
    assert shutil.which("wget"), "install wget"
    ours, theirs = zip(*[(asyncio.run(_ours()), _by_wget()) for _ in range(TIMES)], strict=True)
    return [
        Figure(
            name=f"crawl of {PAGES:,} pages, to its WARC",
            unit="pages/s",
            runs=[each.wall for each in ours],
            limit=max(each.wall for each in theirs),
            limit_name="pages/s by wget",
        ),
        Figure(
            name="the same, of CPU",
            unit="pages per CPU second",
            runs=[each.cpu for each in ours],
            aim=900,
            limit=max(each.cpu for each in theirs),
            limit_name="pages per CPU second by wget",
        ),
    ]
