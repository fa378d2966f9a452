"""`watchbell jobs abort`, `rerun`, `suspend`, `resume`, `tag` and `delete`."""

import click

from watchbell.cli.arguments import confirm, storable, yes_option
from watchbell.cli.audited import operator, record_change, subject_of
from watchbell.cli.definitions import find
from watchbell.cli.formatting import plain
from watchbell.cli.jobs.finding import definitions_of, job_named
from watchbell.cli.jobs.log import follow_to_end
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, Refused
from watchbell.files import objects
from watchbell.jobs import (
    aborts,
    history,
    job_defaults,
    job_records,
    job_tags,
    run_event,
    suspensions,
    workflow_runs,
)
from watchbell.jobs.model import Event
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@click.option("--reason", type=storable, default="", help="Why, for the record of the job.")
@click.option("--retry", is_flag=True, help="Let the event's retry limit try it again.")
@with_settings()
def abort(*, loaded: Loaded, name: str, reason: str, retry: bool) -> None:
    """Abort a job that is waiting or running.

    Example: watchbell jobs abort jmwjhuevof4xnzs8gd --reason "wrong branch"
    """

    async def aborted(store: Store) -> str:
        by, found = operator(), await job_named(store, name)
        words = f"Aborted by {by.actor.display_name}" + (f": {reason}" if reason else "")
        outcome = await aborts.abort(
            store, found.job.id, words, by.actor, now=SYSTEM.now(), retry_ok=retry
        )
        await record_change(store, "job.abort", found.job.id, reason)
        return f"job {found.job.id}: {outcome.value}"

    click.echo(with_store(loaded.settings, aborted))


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@click.option("--wait", is_flag=True, help="Print the log, and exit with the code of the job.")
@click.option(
    "--from",
    "node",
    default="",
    type=storable,
    metavar="NODE",
    help="Of a workflow: begin at this node, with the results of the others as they were.",
)
@with_settings()
def rerun(*, loaded: Loaded, name: str, wait: bool, node: str) -> int:
    """Run a job again, with its parameters and targets. The event is taken as it is now.

    \b
    Examples:
      watchbell jobs rerun jmwjhuevof4xnzs8gd --wait
      watchbell jobs rerun "Nightly release" --from deploy
    """

    async def again(store: Store) -> int:
        by, found = operator(), await job_named(store, name)
        event = await find(store, "event", found.job.event)
        assert isinstance(event, Event)
        job = await run_event.rerun(
            store,
            await definitions_of(store, event),
            by.actor,
            found.job,
            SYSTEM.now(),
            timezone=loaded.settings.jobs.timezone,
            defaults=job_defaults.of(loaded.settings),
            from_node=node,
        )
        await record_change(store, "job.rerun", job.id, found.job.id)
        click.echo(f"started job {job.id} of {plain(event.title)}", err=wait)
        return await follow_to_end(store, loaded.settings, job.id) if wait else 0

    return with_store(loaded.settings, again)


@click.command
@click.argument("ids", nargs=-1, required=True, metavar="JOB...", type=storable)
@yes_option
@with_settings()
def delete(*, loaded: Loaded, ids: tuple[str, ...], yes: bool) -> None:
    """Delete jobs that have ended, with their logs and files.

    Example: watchbell jobs delete jmwjhuevof4xnzs8gd --yes
    """
    confirm(f"Delete {counted(len(ids), 'job')} with all logs and files?", yes=yes)

    async def deleted(store: Store) -> int:
        for id_, found in zip(ids, await job_records.find(store, ids), strict=True):
            if found is None:
                raise NotFound(f"there is no job {plain(id_, 100)!r}; nothing was deleted")
            if found.is_live:
                raise Refused(f"job {id_} has not ended; abort it first. Nothing was deleted")
        settings = loaded.settings
        files = objects.opened(settings.files, settings.data, create=False)
        count = await history.delete(store, files, ids)
        await record_change(store, "job.delete", subject_of(list(ids), "job"))
        return count

    click.echo(f"deleted {counted(with_store(loaded.settings, deleted), 'job')}")


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@click.option(
    "--at",
    "node",
    default="",
    type=storable,
    metavar="NODE",
    help="Of a workflow: go on with this node, in place of what was held back.",
)
@with_settings()
def resume(*, loaded: Loaded, name: str, node: str) -> None:
    """Resume a suspended job.

    Example: watchbell jobs resume jmwjhuevof4xnzs8gd
    """

    async def resumed(store: Store) -> str:
        by, found = operator(), await job_named(store, name)
        await suspensions.resume(store, found.job.id, by.actor, SYSTEM.now(), node)
        await record_change(store, "job.resume", found.job.id)
        return found.job.id

    click.echo(f"resumed job {with_store(loaded.settings, resumed)}")


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@with_settings()
def suspend(*, loaded: Loaded, name: str) -> None:
    """Suspend a run of a workflow.

    Its jobs in progress go on, and no further node begins.

    Example: watchbell jobs suspend "Nightly release"
    """

    async def suspended(store: Store) -> str:
        by, found = operator(), await job_named(store, name)
        await workflow_runs.suspend(store, found.job.id, by.actor)
        await record_change(store, "job.suspend", found.job.id)
        return found.job.id

    click.echo(f"suspended job {with_store(loaded.settings, suspended)}")


@click.command
@click.argument("name", metavar="JOB|EVENT", type=storable)
@click.argument("tags", nargs=-1, required=True, metavar="TAG...", type=storable)
@click.option("--remove", is_flag=True, help="Remove these tags instead.")
@with_settings()
def tag(*, loaded: Loaded, name: str, tags: tuple[str, ...], remove: bool) -> None:
    """Add tags to a job that has ended, by their ids or titles.

    Example: watchbell jobs tag jmwjhuevof4xnzs8gd important
    """

    async def tagged(store: Store) -> tuple[str, list[str]]:
        found = await job_named(store, name)
        given = [(await find(store, "tag", one)).id for one in tags]
        known = [one for one in found.job.tags if not one.startswith("_")]
        kept = [one for one in known if one not in given]
        wanted = kept if remove else [*known, *(one for one in given if one not in known)]
        await job_tags.change(store, found.job.id, wanted)
        await record_change(store, "job.tag", found.job.id, ", ".join(wanted))
        return found.job.id, wanted

    id_, wanted = with_store(loaded.settings, tagged)
    click.echo(f"tags of job {id_}: {', '.join(map(plain, wanted)) or 'none'}")
