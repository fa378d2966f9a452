"""`watchbell jobs log`, and following a job to its end."""

import asyncio
import signal

import click

from watchbell.cli.arguments import storable
from watchbell.cli.formatting import plain, when
from watchbell.cli.jobs.finding import job_named
from watchbell.cli.options import with_settings
from watchbell.cli.output_lines import print_lines
from watchbell.cli.store_call import with_store
from watchbell.errors import NotFound
from watchbell.files import objects
from watchbell.fleet import servers
from watchbell.jobs import job_records, outcomes
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.model import ABORTED, Code, Job
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store

_EVERY = 0.5
"""Seconds between two looks at a job that has not ended."""
_WORDS = {ABORTED: 128 + signal.SIGTERM, "warning": 1, "critical": 2}


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@click.option("--follow", "-f", is_flag=True, help="Continue until the job ends.")
@click.option("--times", is_flag=True, help="Show the time of each line.")
@with_settings()
def log(*, loaded: Loaded, name: str, follow: bool, times: bool) -> None:
    """Print the log of a job, byte for byte.

    \b
    Examples:
      watchbell jobs log jmwjhuevof4xnzs8gd
      watchbell jobs log "Nightly backup" --follow
    """

    async def printed(store: Store) -> None:
        found = await job_named(store, name)
        if follow and found.is_live:
            await follow_log(store, loaded.settings, found.job.id, times=times)
        else:
            await _dump(log_of(store, loaded.settings, found.job.id), times)

    with_store(loaded.settings, printed)


def log_of(store: Store, settings: Settings, job: str) -> JobLog:
    return JobLog(store, objects.opened(settings.files, settings.data, create=False), job)


async def _dump(printed: JobLog, times: bool) -> None:
    last = None
    while lines := await printed.lines(last):
        last = lines[-1]
        print_lines(lines, times)


async def follow_log(store: Store, settings: Settings, job: str, *, times: bool = False) -> None:
    """Prints the log until the job is over, and on standard error why it waits."""
    log, said = log_of(store, settings, job), ""

    async def is_over() -> bool:
        nonlocal said
        found = await job_records.read(store, job)
        notice = await _notice(store, found) if found else ""
        if notice and notice != said:
            click.echo(notice, err=True)
            said = notice
        return await log.is_over()

    async for lines in log.follow(is_over):
        print_lines(lines, times)


async def _notice(store: Store, job: Job) -> str:
    if job.state == "active":
        if not job.server:
            return "running" if job.started else ""
        return f"running on {plain(await _server(store, job.server))}"
    if job.state in ("start_delay", "retry_delay") and job.until:
        return f"starts at {when(int(job.until))}"
    return f"waiting: {plain(job.reason)}" if job.reason else ""


async def _server(store: Store, id_: str) -> str:
    try:
        return servers.label(await servers.get(store, id_))
    except NotFound:
        return id_


async def ended(store: Store, job_id: str) -> Job | None:
    """The job, once it is complete; None if it was deleted."""
    while True:
        found = (await job_records.find(store, [job_id]))[0]
        if found is None or not found.is_live:
            return found.job if found else None
        await asyncio.sleep(_EVERY)


def exit_code(code: Code) -> int:
    """The exit code of a command for the code of a job: 143 for one that was aborted, as if SIGTERM
    had ended it; 1 for what is no exit code."""
    if not outcomes.has_failed(code):
        return 0
    if isinstance(code, str):
        return _WORDS.get(code, 1)
    return int(code) if code in range(256) else 1


async def follow_to_end(store: Store, settings: Settings, job_id: str) -> int:
    """Prints the log of a job and how it ended. Returns the exit code."""
    await follow_log(store, settings, job_id)
    job = await ended(store, job_id)
    if job is None:
        click.echo(f"job {job_id} was deleted", err=True)
        return 1
    took = outcomes.seconds(job.elapsed)
    click.echo(f"job {job_id}: {plain(outcomes.phrase(job))} after {took}", err=True)
    for other in job.jobs:
        if other.reason == "retry":
            click.echo(f"it is tried again as job {other.id}", err=True)
    return exit_code(job.code)
