"""`watchbell jobs list` and `search`."""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import click

from watchbell.cli.arguments import limited, moment, storable
from watchbell.cli.definitions import find
from watchbell.cli.formatting import plain, when
from watchbell.cli.jobs.finding import Names, names
from watchbell.cli.options import as_json, print_json_list, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.cli.targets import server_id
from watchbell.clock import SYSTEM
from watchbell.jobs import history, job_records, outcomes
from watchbell.jobs.history import Query
from watchbell.jobs.model import Job
from watchbell.settings import Loaded
from watchbell.store.client import Store

F = TypeVar("F", bound=Callable[..., Any])
_COLUMNS = ["job", "event", "state", "server", "launched", "took", "details"]
_AT_ONCE = 500
_DELAYED = ("start_delay", "retry_delay")
_STATES = {"start_delay": "delayed", "retry_delay": "waits to retry", "ready": "queued"}


@click.command("list")
@click.argument("event", metavar="[EVENT]", type=storable, required=False)
@limited(30)
@with_settings()
@as_json
def list_jobs(*, loaded: Loaded, event: str | None, limit: int, as_json: bool) -> None:
    """List jobs: those in progress, then the latest that ended.

    \b
    Examples:
      watchbell jobs list
      watchbell jobs list "Nightly backup"
    """

    async def listed(store: Store) -> None:
        chosen = (await find(store, "event", event)).id if event else None
        jobs = _latest(store, chosen, limit)
        await _show(store, jobs, as_json, "There are no jobs.")

    with_store(loaded.settings, listed)


async def _latest(store: Store, event: str | None, limit: int) -> AsyncIterator[list[Job]]:
    """Jobs in progress, then those that ended; all if the limit is 0."""
    left = limit
    most = 0 if event else limit
    async for page in job_records.live_pages(store, most=most, newest_first=True):
        jobs = [job for job in page if event in (None, job.event)][: left if limit else None]
        yield jobs
        left -= len(jobs)
        if limit and left <= 0:
            return
    async for jobs in _pages(
        store, Query(events=(event,) if event else None), left if limit else 0
    ):
        yield jobs


def _repeated(name: str, field: str, metavar: str, words: str) -> Callable[[F], F]:
    return click.option(
        name,
        field,
        multiple=True,
        metavar=metavar,
        type=storable,
        help=f"{words}; can be repeated.",
    )


@click.command
@_repeated("--event", "events", "EVENT", "Of this event")
@_repeated("--category", "categories", "ID", "Of this category")
@_repeated("--plugin", "plugins", "ID", "Of this plugin")
@_repeated("--server", "servers", "ID", "That ran on this server")
@_repeated("--user", "usernames", "NAME", "Started by this user")
@_repeated("--source", "sources", "SOURCE", "Started by scheduler, user, key, action or startup")
@_repeated("--workflow", "workflows", "EVENT", "Launched by this workflow")
@_repeated("--tag", "tags", "ID", "With this tag; if repeated, with all")
@_repeated(
    "--code", "codes", "CODE", "With this result: success, error, abort, warning or a number"
)
@click.option("--since", type=moment, metavar="TIME", help="Ended at this time or later.")
@click.option("--until", type=moment, metavar="TIME", help="Ended before this time.")
@limited(50)
@with_settings()
@as_json
def search(*, loaded: Loaded, limit: int, as_json: bool, **given: Any) -> None:
    """Search jobs that have ended, newest first.

    \b
    Examples:
      watchbell jobs search --code error --since "7 days ago"
      watchbell jobs search --event "Nightly backup" --server db-1 --tag slow
    """

    async def searched(store: Store) -> None:
        titles = given.pop("events")
        workflows = [(await find(store, "event", one)).id for one in given["workflows"]]
        given["workflows"] = tuple(workflows)
        given["servers"] = tuple([await server_id(store, one) for one in given["servers"]])
        events = tuple([(await find(store, "event", one)).id for one in titles]) or None
        jobs = _pages(store, Query(events=events, **given), limit)
        await _show(store, jobs, as_json, "No jobs match.")

    with_store(loaded.settings, searched)


async def _pages(store: Store, query: Query, limit: int) -> AsyncIterator[list[Job]]:
    """The newest jobs; all if the limit is 0."""
    count, after = 0, ""
    while not limit or count < limit:
        most = min(limit - count, _AT_ONCE) if limit else _AT_ONCE
        page = await history.search(store, query, most, after)
        yield page.jobs
        count += len(page.jobs)
        if page.following is None:
            return
        after = page.following


async def _show(store: Store, pages: AsyncIterator[list[Job]], as_json: bool, none: str) -> None:
    """Prints jobs as they are read, since there may be very many."""
    if as_json:
        await print_json_list(pages)
        return
    now, has_header = SYSTEM.now(), True
    async for jobs in pages:
        if jobs:
            known = await names(store, jobs)
            rows = [_cells(job, known, now) for job in jobs]
            show_table(_COLUMNS, rows, right=["took"], has_header=has_header)
            has_header = False
    if has_header:
        click.echo(none)


def _cells(job: Job, known: Names, now: float) -> list[str]:
    is_over = job.state == "complete"
    since = now - job.started if not is_over else job.elapsed
    took = outcomes.seconds(since) if job.started else "-"
    state = "success" if is_over and not outcomes.has_failed(job.code) else state_of(job)
    return [
        job.id,
        plain(known.event(job), 40),
        state,
        plain(known.server(job), 40) or "-",
        when(int(job.launched)),
        took,
        plain(details_of(job), 100) or "-",
    ]


def details_of(job: Job) -> str:
    """Why it ended so, or what it waits for or is doing."""
    if job.state == "complete":
        return job.description
    if job.until and job.state in _DELAYED:
        return f"starts at {when(int(job.until))}"
    return job.reason or job.status


def state_of(job: Job) -> str:
    """A word or two on how it is, or how it ended."""
    if job.state == "complete":
        return outcomes.described_code(job.code)
    if job.state == "active" and job.progress:
        return f"active, {job.progress:.0%}"
    return _STATES.get(job.state, job.state)
