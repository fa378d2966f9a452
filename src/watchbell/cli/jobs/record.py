"""`watchbell jobs show`."""

from collections.abc import Iterator

import click

from watchbell.cli.arguments import storable
from watchbell.cli.formatting import plain, when
from watchbell.cli.jobs.finding import Names, job_named, names
from watchbell.cli.jobs.listing import details_of, state_of
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.jobs import outcomes, workflow_runs
from watchbell.jobs.decide import workflow_view
from watchbell.jobs.decide.workflow_view import RunView
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

    async def found(store: Store) -> tuple[Job, Names, RunView | None]:
        record = await job_named(store, name)
        is_run = workflow_runs.is_run(record.job)
        run = await workflow_runs.view(store, record, SYSTEM.now()) if is_run else None
        return record.job, await names(store, [record.job]), run

    job, known, run = with_store(loaded.settings, found)
    if as_json:
        print_json(job)
        return
    facts = [(word, value) for word, value in _facts(job, known) if value]
    width = max(len(word) for word, _ in facts)
    for word, value in facts:
        click.echo(f"{word:<{width}}  {plain(value)}")
    if run is not None:
        click.echo()
        for line in workflow_view.lines(run):
            click.echo(plain(line))
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
    yield "launched by", _launcher(job)
    yield "repeats", job.workflow.rerun if job.workflow else ""
    yield "retry of", job.retry_prev
    yield "retried as", ", ".join(one.id for one in job.jobs if one.reason == "retry")
    yield "launched", ", ".join(one.id for one in job.jobs if one.reason == "action")


def _launcher(job: Job) -> str:
    found = job.workflow
    return f"node {found.node} of job {found.job}" if found and found.job else ""
