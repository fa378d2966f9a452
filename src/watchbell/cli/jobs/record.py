"""`watchbell jobs show`."""

from collections.abc import Iterator

import click

from watchbell.cli.arguments import storable
from watchbell.cli.formatting import plain, when
from watchbell.cli.jobs.finding import Names, job_named, names
from watchbell.cli.jobs.listing import details_of, state_of
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.jobs import outcomes
from watchbell.jobs.model import Job
from watchbell.settings import Loaded
from watchbell.store.client import Store

_MIB = 1 << 20


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Show a job: how it is going or how it ended, and its activity.

    \b
    Examples:
      watchbell jobs show jmwjhuevof4xnzs8gd
      watchbell jobs show "Nightly backup" --json
    """

    async def found(store: Store) -> tuple[Job, Names]:
        job = (await job_named(store, name)).job
        return job, await names(store, [job])

    job, known = with_store(loaded.settings, found)
    if as_json:
        print_json(job)
        return
    facts = [(word, value) for word, value in _facts(job, known) if value]
    width = max(len(word) for word, _ in facts)
    for word, value in facts:
        click.echo(f"{word:<{width}}  {plain(value)}")
    if job.activity:
        click.echo()
    for one in job.activity:
        click.echo(f"{when(int(one.epoch))}  {plain(one.msg)}")


def _facts(job: Job, known: Names) -> Iterator[tuple[str, str]]:
    yield "job", job.id
    yield "event", f"{known.event(job)} ({job.event})"
    yield "state", state_of(job)
    yield "details", details_of(job)
    yield "server", known.server(job)
    yield "started by", f"{job.source} {job.username}".strip()
    yield "scheduled", when(int(job.now)) if job.source == "scheduler" else ""
    yield "started", when(int(job.started)) if job.started else ""
    yield "ended", when(int(job.completed)) if job.completed else ""
    yield "took", outcomes.seconds(job.elapsed) if job.completed else ""
    yield "tags", ", ".join(tag for tag in job.tags if not tag.startswith("_"))
    yield "memory", f"{job.mem.max / _MIB:.0f} MiB at most" if job.mem else ""
    yield "log", f"{job.log_file_size:,} bytes" if job.log_file_size else ""
    yield "files", ", ".join(file.filename for file in job.files)
    yield "retry of", job.retry_prev
    yield "retried as", ", ".join(one.id for one in job.jobs if one.reason == "retry")
    yield "launched", ", ".join(one.id for one in job.jobs if one.reason == "action")
