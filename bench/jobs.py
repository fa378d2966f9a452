"""Jobs of events: 500 at once, the delay of one, 10,000 events due in one minute, much output."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
from aiohttp import ClientSession

from bench.cron import MIB, percentile, spawned
from bench.figures import Figure, repeated
from bench.stores import fresh
from tests.servers import held_port
from watchbell import ids
from watchbell.actors import signed_in
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.fleet import presence
from watchbell.jobs import job_records, launches
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Wish
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Job, Timing
from watchbell.settings import Files as FilesSettings
from watchbell.settings import environment
from watchbell.store.client import Store
from watchbell.web.audit import Stamp
from watchbell.web.people.api_keys import ApiKeys

AT_ONCE, DUE, LONE = 500, 10_000, 100
SLOTS = 50
OUTPUT = 200 * MIB
MANUAL = Timing(type="manual")
KEYS = Jobs()


class Site(NamedTuple):
    """A `watchbell up`."""

    store: Store
    process: psutil.Process
    url: str
    data: str

    def cpu(self) -> float:
        return sum(self.process.cpu_times()[:2])


def figures() -> list[Figure]:
    bare = max(repeated(spawned, 3))
    rates, costs = zip(*[asyncio.run(at_once()) for _ in range(3)], strict=True)
    late, waits = asyncio.run(lone()), asyncio.run(due_in_one_minute())
    return [
        Figure(
            name=f"{AT_ONCE} jobs at once, to their records",
            unit="jobs/s",
            runs=rates,
            aim=max(300, bare / 2),
            limit=bare,
            limit_name="runs/s by posix_spawn and wait",
        ),
        Figure(
            name="the same, CPU of `up` without its store",
            unit="ms a job",
            runs=costs,
            sense="at most",
            aim=2.5,
        ),
        *(
            Figure(
                name=f"one job, HTTP request to process, p{percent}",
                unit="ms",
                runs=[percentile(late, percent)],
                sense="at most",
                aim=aim,
                limit=1_000 / bare,
                limit_name="ms for posix_spawn and wait",
            )
            for percent, aim in ((50, 6), (95, 15))
        ),
        Figure(
            name=f"{DUE:,} events due in one minute, until the last is started",
            unit="s",
            runs=[max(waits)],
            sense="at most",
            aim=30,
            limit=DUE / bare,
            limit_name="s by posix_spawn and wait",
        ),
        Figure(
            name="output of a job, to its finished log",
            unit="MB/s",
            runs=[asyncio.run(flood()) for _ in range(3)],
            aim=30,
        ),
    ]


def event(id_: str, script: str, timing: Timing = MANUAL) -> Event:
    return Event(
        id=id_,
        title=f"Event {id_}",
        plugin="shellplug",
        targets=("main",),
        timings=(timing,),
        params={"script": script},
        created=int(SYSTEM.now()),
        modified=int(SYSTEM.now()),
    )


@asynccontextmanager
async def serving(events: Sequence[Event]) -> AsyncIterator[Site]:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as data, held_port() as hold:
        async with fresh() as (store, _):
            await put(store, events)
            port = hold.getsockname()[1]
            command = [sys.executable, "-m", "watchbell", "up", "--data", data]
            command += ["--store", store.url.redacted()]
            settings = {"WATCHBELL_WEB_PORT": str(port), "WATCHBELL_AGENT_SLOTS": str(SLOTS)}
            with program(command, settings) as process:
                try:
                    while not (await presence.read(store)).links:
                        assert process.poll() is None, "`watchbell up` has ended"
                        await asyncio.sleep(0.05)
                    url = f"http://127.0.0.1:{port}"
                    yield Site(store, psutil.Process(process.pid), url, data)
                finally:
                    process.terminate()


def program(command: Sequence[str], settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    silent = subprocess.DEVNULL
    variables = {**environment(), **settings}
    return subprocess.Popen(command, stdout=silent, stderr=silent, env=variables)


async def put(store: Store, events: Sequence[Event]) -> None:
    for first in range(0, len(events), 1_000):
        some = events[first : first + 1_000]
        words = [word for one in some for word in (one.id, msgspec.json.encode(one))]
        await store.call("HSET", KEYS.events(), *words)


async def launched(store: Store, count: int) -> list[Job]:
    catalogue, now = Catalogue(store), SYSTEM.now()
    await catalogue.load()
    wish = Wish(event="e0", source="user", username="alice", is_admin=True)
    jobs = [launch.prepare(catalogue, wish, ids.record_id("j", now), now) for _ in range(count)]
    await launches.launch(store, jobs, "UTC")
    return jobs


async def recorded(store: Store, count: int) -> None:
    while await store.call("HLEN", KEYS.finished()) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def ended(store: Store, jobs: Sequence[Job]) -> list[Job]:
    """Their records; each has succeeded."""
    found = [await job_records.read(store, job.id) for job in jobs]
    records = [job for job in found if job is not None]
    assert len(records) == len(jobs)
    assert {job.code for job in records} == {0}
    return records


async def at_once() -> tuple[float, float]:
    """Jobs a second, and milliseconds of CPU for each. All have their records and logs."""
    async with serving([event("e0", "echo hello")]) as site:
        await launched(site.store, SLOTS)
        await recorded(site.store, SLOTS)
        begun, before = SYSTEM.monotonic(), site.cpu()
        jobs = await launched(site.store, AT_ONCE)
        await recorded(site.store, SLOTS + AT_ONCE)
        spent, used = SYSTEM.monotonic() - begun, site.cpu() - before
        assert {job.log_file_size for job in await ended(site.store, jobs)} == {len("hello\n")}
        return AT_ONCE / spent, used / AT_ONCE * 1_000


async def lone() -> list[float]:
    """Milliseconds from the request of a program to the process of the job, which prints when."""
    script = "#!/bin/bash\necho $EPOCHREALTIME\n"
    async with serving([event("e0", script)]) as site:
        by = Stamp(signed_in("alice", "administrator"), int(SYSTEM.now()))
        secret, _ = await ApiKeys(site.store, SYSTEM).make("bench", ("admin",), by)
        late, files = [], objects.opened(FilesSettings(), Path(site.data))
        async with ClientSession(headers={"Authorization": f"Bearer {secret}"}) as http:
            for number in range(LONE + 5):
                asked = SYSTEM.now()
                async with http.post(f"{site.url}/api/v1/events/e0/run", json={}) as answer:
                    job = (await answer.json())["id"]
                await recorded(site.store, number + 1)
                at = await JobLog(site.store, files, job).tail(1)
                late.append((float(at) - asked) * 1_000)
        return late[5:]


async def due_in_one_minute() -> list[float]:
    """Seconds from the minute at which all are due to the start of each. None is lost."""
    minute = int(SYSTEM.now()) // 60 * 60 + 120
    once = Timing(type="single", epoch=minute)
    async with serving([event(f"e{n}", "true", once) for n in range(DUE)]) as site:
        await recorded(site.store, DUE)
        names = await site.store.call("HKEYS", KEYS.finished())
        found = [await job_records.read(site.store, name.decode()) for name in names]
        jobs = [job for job in found if job is not None and job.code == 0]
        assert len({job.event for job in jobs}) == len(names) == DUE
        return [(job.started or 0) - minute for job in jobs]


async def flood() -> float:
    line = "2026-03-29 01:59:50 web-1.example.com nightly backup: copied one more file"
    script = f"yes '{line}' | head -c {OUTPUT}"
    async with serving([event("e0", script)]) as site:
        begun = SYSTEM.monotonic()
        jobs = await launched(site.store, 1)
        await recorded(site.store, 1)
        spent = SYSTEM.monotonic() - begun
        [job] = await ended(site.store, jobs)
        assert job.log_file_size == OUTPUT
        return OUTPUT / spent / 1e6
