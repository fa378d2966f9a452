"""The commands of `watchbell cron` that change jobs, and the one that checks them."""

import asyncio
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import click

from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change, subject_of
from watchbell.cli.cron.definition import changed, described, option_of, unsetting
from watchbell.cli.cron.times import dated, never
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.cron import definitions, jobs
from watchbell.cron.model import Invalid, parsed
from watchbell.cron.reading import reading
from watchbell.cron.validation import from_fields
from watchbell.errors import NotFound, Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened
from watchbell.units import counted

TTL = 60

name_of_job = click.argument("name", metavar="JOB", type=storable)


@click.command
@name_of_job
@described
@click.option(
    "--paused", is_flag=True, help="Add the job paused; `watchbell cron resume` starts it."
)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@with_settings()
def add(*, loaded: Loaded, name: str, paused: bool, words: tuple[str, ...], **given: Any) -> None:
    """Add a job. If COMMAND is one argument, it is a shell command line; of several arguments, each
    is quoted.

    \b
    Examples:
      watchbell cron add backup --at "30 2 * * *" --tz Europe/Rome -- pg_dump shop
      watchbell cron add beat --on second=*/10 -- 'date >> /tmp/beat'
    """
    if not given["at"] and not given["fields"]:
        raise click.UsageError("say when the job runs: --at EXPR, or --on FIELD=VALUE")
    blank = {"cron_args": {}, "job_args": {"lock": True, "ttl": TTL}}
    definition = changed(blank, _line(words), given)
    if paused:
        definition["job_state"] = {"paused": True}
    asyncio.run(_save(loaded.settings, name, definition, "new"))


@click.command
@name_of_job
@described
@unsetting
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]")
@with_settings()
def edit(
    *, loaded: Loaded, name: str, words: tuple[str, ...], unset: tuple[str, ...], **given: Any
) -> None:
    """Change a job. Only the given options change.

    Example: watchbell cron edit backup --at "0 3 * * *" --limit "2 hours"
    """
    if not words and not unset and all(value in (None, ()) for value in given.values()):
        raise click.UsageError("say what to change; `watchbell cron edit --help` lists the options")
    asyncio.run(
        _edit(loaded.settings, name, lambda known: changed(known, _line(words), given, unset))
    )


async def _edit(
    settings: Settings, name: str, change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> None:
    async with opened(settings) as store:
        found = await definitions.some(store, [name])
    if not found:
        raise NotFound(f"there is no job {name!r}")
    raw = found[0][1]
    known: Any = parsed(raw, object)
    if not isinstance(known, dict):
        raise Refused(
            f"the definition of {name!r} is not a JSON object; remove the job and add it again"
        )
    await _save(settings, name, change(known), "known", replaces=jobs.version(raw))


def _line(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else shlex.join(words)


async def _save(
    settings: Settings, name: str, definition: Any, mode: jobs.Mode, replaces: str = ""
) -> None:
    how = reading(settings.cron)
    judged = from_fields(name, definition, how)
    if isinstance(judged, Invalid):
        named = [(option_of(one.field), one.reason) for one in judged.errors]
        raise Refused("; ".join(f"{option}: {why}" if option else why for option, why in named))
    async with opened(settings) as store:
        job = await jobs.save(store, name, definition, how, mode, replaces=replaces)
        action = "cron.create" if mode == "new" else "cron.replace"
        await record_change(store, action, name, job.schedule.describes())
    click.echo(f"{plain(name)}: {job.schedule.describes()}")
    following = job.schedule.next_after(SYSTEM.now())
    if job.is_paused:
        click.echo("The job is paused.")
    else:
        text = f"next run: {dated(job.schedule, following)}" if following else never(job.schedule)
        click.echo(text, nl=bool(text))


@click.command
@name_of_job
@with_settings()
def remove(*, loaded: Loaded, name: str) -> None:
    """Remove a job and the records of its runs. A current run is not stopped.

    Example: watchbell cron remove backup
    """

    async def removed(store: Store) -> None:
        await jobs.remove(store, name)
        await record_change(store, "cron.remove", name)

    with_store(loaded.settings, removed)
    click.echo(f"removed job {plain(name)}")


@click.command
@name_of_job
@with_settings()
def pause(*, loaded: Loaded, name: str) -> None:
    """Pause a job until it is resumed. `all` pauses every job.

    Example: watchbell cron pause backup
    """
    click.echo(f"paused {_switched(loaded.settings, name, jobs.pause, 'cron.pause')}")


@click.command
@name_of_job
@with_settings()
def resume(*, loaded: Loaded, name: str) -> None:
    """Resume a paused job. `all` resumes every job.

    Example: watchbell cron resume backup
    """
    click.echo(f"resumed {_switched(loaded.settings, name, jobs.resume, 'cron.resume')}")


def _switched(settings: Settings, name: str, turn: Callable[..., Any], action: str) -> str:
    async def switched(store: Store) -> list[str]:
        found: list[str] = await turn(store, name, reading(settings.cron))
        if found:
            await record_change(store, action, subject_of(found, "job"))
        return found

    names = with_store(settings, switched)
    return f"job {plain(names[0])}" if len(names) == 1 else f"{len(names):,} jobs"


@click.command
@click.argument("names", nargs=-1, metavar="[JOB]...", type=storable)
@with_settings()
@as_json
def validate(*, loaded: Loaded, names: tuple[str, ...], as_json: bool) -> int:
    """Validate the definitions of the given jobs, or of all. Errors are also written into the
    definition. The exit code is 1 if a job is invalid.

    Example: watchbell cron validate
    """
    how = reading(loaded.settings.cron)
    found = with_store(loaded.settings, lambda store: jobs.validate(store, names, how))
    wrong = {name: one for name, one in found.items() if isinstance(one, Invalid)}
    if as_json:
        texts = {name: [error.text for error in one.errors] for name, one in wrong.items()}
        print_json({name: texts.get(name, []) for name in found})
        return 1 if wrong else 0
    for name, one in wrong.items():
        click.echo(f"{plain(name)}: {plain(one.text)}")
    click.echo(f"{len(found) - len(wrong):,} of {counted(len(found), 'job')} valid")
    return 1 if wrong else 0
