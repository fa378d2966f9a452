"""`watchbell jobs list` and `search`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import Struct

from watchbell.cli.arguments import limited, moment, storable
from watchbell.cli.definitions import find
from watchbell.cli.formatting import plain, when
from watchbell.cli.jobs.finding import Names, names
from watchbell.cli.options import as_json, print_json, with_settings
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
_DELAYED = ("start_delay", "retry_delay")
_STATES = {"start_delay": "delayed", "retry_delay": "waits to retry", "ready": "queued"}


class Found(Struct, frozen=True):
    jobs: list[Job]
    names: Names


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

    async def listed(store: Store) -> Found:
        chosen = (await find(store, "event", event)).id if event else None
        live = [job for job in await job_records.live(store) if chosen in (None, job.event)]
        query = Query(events=(chosen,) if chosen else None)
        ended = await _pages(store, query, max(limit - len(live), 0) if limit else 0)
        shown = ([*reversed(live), *ended])[: limit or None]
        return Found(shown, await names(store))

    _show(with_store(loaded.settings, listed), as_json, "There are no jobs.")


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

    async def searched(store: Store) -> Found:
        titles = given.pop("events")
        given["servers"] = tuple([await server_id(store, one) for one in given["servers"]])
        events = tuple([(await find(store, "event", one)).id for one in titles]) or None
        return Found(await _pages(store, Query(events=events, **given), limit), await names(store))

    _show(with_store(loaded.settings, searched), as_json, "No jobs match.")


async def _pages(store: Store, query: Query, limit: int) -> list[Job]:
    """The newest jobs; all if the limit is 0."""
    found: list[Job] = []
    after: str | None = ""
    while after is not None and (not limit or len(found) < limit):
        page = await history.search(store, query, limit - len(found) if limit else 1_000, after)
        found += page.jobs
        after = page.following
    return found


def _show(found: Found, as_json: bool, none: str) -> None:
    if as_json:
        print_json(found.jobs)
    elif not found.jobs:
        click.echo(none)
    else:
        now = SYSTEM.now()
        rows = [_cells(job, found.names, now) for job in found.jobs]
        show_table(_COLUMNS, rows, right=["took"])


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
