"""100 crawls at their usual speed on one core: how late their requests are."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from bench.cron import percentile
from bench.figures import Figure
from bench.pipelines import piped
from bench.websites import Times, Websites, apart, serving
from tests.waiting import eventually
from watchbell.archive.model import CrawlSettings

CRAWLS = 100
DOWNLOADERS = 3
DELAY = 312
"""Milliseconds: the mean of what is usual. If all delays are equal, those who read the times of the
server know when a request was due."""
SECONDS = 20
TIMES = 3


class Measured(NamedTuple):
    late: list[float]
    """Seconds, of each request."""
    rate: float
    load: float


def _lateness(times: Times, begin: float, end: float) -> list[float]:
    """Each downloader asks again when the delay after its response is over, so the requests are due
    in the order of the responses."""
    due = [at + DELAY / 1_000 for at in times.answered]
    pairs = zip(times.asked[DOWNLOADERS:], due, strict=False)
    return [asked - at for asked, at in pairs if begin <= at < end]


async def _measured(site: Websites) -> Measured:
    settings = CrawlSettings(
        age=4, delay_min=DELAY, delay_max=DELAY, concurrency=DOWNLOADERS, ignores=frozenset()
    )
    loop = asyncio.get_running_loop()
    async with piped(CRAWLS) as pipeline:
        apart(pipeline.process.pid, [site.pid])
        idents = [await pipeline.add(url, settings) for url in site.urls]
        for ident in idents:
            await eventually(lambda one=ident: pipeline.has(one, "started_at"))  # type: ignore[misc]
        await asyncio.sleep(5)
        begin, used = loop.time(), pipeline.cpu()
        await asyncio.sleep(SECONDS)
        end, load = loop.time(), (pipeline.cpu() - used) / SECONDS * 100
        times = await asyncio.to_thread(site.times)
    late = [one for each in times for one in _lateness(each, begin, end)]
    return Measured(late, len(late) / SECONDS, load)


async def _of_timers() -> list[float]:
    """How late the same number of timers are, with nothing to do, on a core that others use too."""
    loop = asyncio.get_running_loop()
    late: list[float] = []
    end = loop.time() + SECONDS / 4

    async def tick() -> None:
        while (due := loop.time() + DELAY / 1_000) < end:
            await asyncio.sleep(DELAY / 1_000)
            late.append(loop.time() - due)

    async with asyncio.TaskGroup() as group:
        for _ in range(CRAWLS * DOWNLOADERS):
            group.create_task(tick())
    return late


def _run() -> Measured:
    with serving(CRAWLS) as site:
        return asyncio.run(_measured(site))


def figures() -> list[Figure]:
    runs = [_run() for _ in range(TIMES)]
    timers = percentile(asyncio.run(_of_timers()), 99) * 1e3

    def late(percent: int) -> Sequence[float]:
        return [percentile(one.late, percent) * 1e3 for one in runs]

    most = CRAWLS * DOWNLOADERS / DELAY * 1e3
    return [
        Figure(
            name=f"{CRAWLS} crawls on one core, lateness of a request, p99",
            unit="ms",
            runs=late(99),
            sense="at most",
            aim=250,
            limit=timers,
            limit_name="ms by timers alone",
        ),
        Figure(name="the same, median", unit="ms", runs=late(50), sense="at most"),
        Figure(
            name="the same, together",
            unit="pages/s",
            runs=[one.rate for one in runs],
            limit=most,
            limit_name="pages/s without any lateness",
        ),
        Figure(
            name="the same, CPU of the pipeline",
            unit="% of a core",
            runs=[one.load for one in runs],
            sense="at most",
        ),
    ]
