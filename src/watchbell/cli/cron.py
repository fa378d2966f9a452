"""`watchbell cron`."""

import asyncio
import importlib
import shlex
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import click
from msgspec import Struct

from watchbell.cli.audited import record_change, subject_of
from watchbell.cli.cron_options import changed, described, unsetting
from watchbell.cli.cron_times import dated, never
from watchbell.cli.formatting import limited, others, plain, since, storable, when
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.cron import definitions, jobs, overview
from watchbell.cron.model import Invalid, parsed
from watchbell.cron.overview import Listed
from watchbell.cron.reading import reading
from watchbell.cron.run_texts import conduct_in_words
from watchbell.errors import NotFound, Refused
from watchbell.settings import Loaded, Settings

TTL = 60

name_of_job = click.argument("name", metavar="JOB", type=storable)


_MODULES = {
    **dict.fromkeys(["trigger", "output"], "watchbell.cli.cron_output"),
    **dict.fromkeys(["runs", "terminate", "kill"], "watchbell.cli.cron_runs"),
    **dict.fromkeys(["instances", "drain", "reload"], "watchbell.cli.cron_runs"),
    **dict.fromkeys(["import", "export"], "watchbell.cli.cron_files"),
    "preview": "watchbell.cli.cron_times",
}
"""Where the commands are that this module does not have; imported only when they are used."""


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_MODULES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return super().get_command(ctx, cmd_name)
        found: list[click.Command] = importlib.import_module(_MODULES[cmd_name]).COMMANDS
        return next(one for one in found if one.name == cmd_name)


@click.group(cls=Commands)
def command() -> None:
    """Run commands on a schedule, on a fleet in which nobody leads: any number of instances
    serve one list of jobs, and each fire of a job runs once, unless it is to run everywhere.

    Example: watchbell cron add backup --at "30 2 * * *" --tz Europe/Rome -- pg_dump shop
    """


@command.command
@name_of_job
@described
@click.option("--paused", is_flag=True, help="It does not fire before it is resumed.")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@with_settings()
def add(*, loaded: Loaded, name: str, paused: bool, words: tuple[str, ...], **given: Any) -> None:
    """Add a job. A command of one word is given to the shell as it is; of several, each is quoted.

    \b
    Examples:
      watchbell cron add backup --at "30 2 * * *" --tz Europe/Rome -- pg_dump shop
      watchbell cron add beat --on second=*/10 -- 'date >> /tmp/beat'
    """
    if not given["at"] and not given["fields"]:
        raise click.UsageError("say when: --at EXPR, or --on FIELD=VALUE")
    blank = {"cron_args": {}, "job_args": {"lock": True, "ttl": TTL}}
    definition = changed(blank, _line(words), given)
    if paused:
        definition["job_state"] = {"paused": True}
    asyncio.run(_save(loaded.settings, name, definition, "new"))


@command.command
@name_of_job
@described
@unsetting
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]")
@with_settings()
def edit(
    *, loaded: Loaded, name: str, words: tuple[str, ...], unset: tuple[str, ...], **given: Any
) -> None:
    """Change a job. What is given replaces what it says, all else stays.

    Example: watchbell cron edit backup --at "0 3 * * *" --limit "2 hours"
    """
    if not words and not unset and all(value in (None, ()) for value in given.values()):
        raise click.UsageError("say what to change; `watchbell cron edit --help` lists it")
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
        raise Refused(f"the definition of {name!r} is no JSON object; remove it and add it anew")
    await _save(settings, name, change(known), "known", replaces=jobs.version(raw))


def _line(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else shlex.join(words)


async def _save(
    settings: Settings, name: str, definition: Any, mode: jobs.Mode, replaces: str = ""
) -> None:
    how = reading(settings.cron)
    async with opened(settings) as store:
        job = await jobs.save(store, name, definition, how, mode, replaces=replaces)
        action = "cron.create" if mode == "new" else "cron.replace"
        await record_change(store, action, name, job.schedule.describes())
    click.echo(f"{plain(name)}: {job.schedule.describes()}")
    following = job.schedule.next_after(SYSTEM.now())
    if job.is_paused:
        click.echo("it is paused")
    else:
        told = f"next at {dated(job.schedule, following)}" if following else never(job.schedule)
        click.echo(told, nl=bool(told))


class Row(Struct, kw_only=True):
    """A job in the list, for programs."""

    name: str
    schedule: str = ""
    next: int | None = None
    paused: bool = False
    running: int = 0
    last_status: str = ""
    last_ended: float | None = None
    errors: list[str] = []
    definition: Any = None


@command.command("list")
@limited(100)
@with_settings()
@as_json
def list_jobs(*, loaded: Loaded, limit: int, as_json: bool) -> None:
    """List the jobs. When each is due, how it fared, what is wrong with its definition.

    Example: watchbell cron list
    """
    found, total = asyncio.run(_listed(loaded.settings, limit))
    if as_json:
        print_json([_row(one) for one in found])
        return
    if not found:
        click.echo("There is no job; `watchbell cron add --help` says how to make one.")
        return
    now = int(SYSTEM.now())
    show_table(["job", "next", "last", "schedule"], [_told(one, now) for one in found])
    if more := others(total - len(found)):
        click.echo(more)


async def _listed(settings: Settings, limit: int) -> tuple[list[Listed], int]:
    how, now = reading(settings.cron), SYSTEM.now()
    async with opened(settings) as store:
        if limit:
            return await overview.first(store, how, now, limit)
        found = await overview.listed(store, how, now)
        return found, len(found)


def _row(one: Listed) -> Row:
    return Row(
        name=one.name,
        schedule=one.job.schedule.describes() if one.job else "",
        next=one.next_fire,
        paused=one.is_paused,
        running=len(one.running),
        last_status=one.last.record.status if one.last else "",
        last_ended=one.last.ended if one.last else None,
        errors=list(one.errors),
        definition=one.definition,
    )


def _told(one: Listed, now: int) -> list[str]:
    following = "paused" if one.is_paused else when(one.next_fire) if one.next_fire else "never"
    if one.errors:
        return [plain(one.name), "not valid", _last(one, now), plain("; ".join(one.errors), 200)]
    assert one.job is not None
    return [plain(one.name), following, _last(one, now), one.job.schedule.describes()]


def _last(one: Listed, now: int) -> str:
    if one.running:
        return f"running ({len(one.running)})"
    if one.last is None or one.last.ended is None:
        return "-"
    return f"{one.last.record.status}, {since(int(one.last.ended), now)} ago"


@command.command
@name_of_job
@with_settings()
@as_json
def show(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Show one job: its definition, its next fires, its last run.

    Example: watchbell cron show backup
    """
    settings, now = loaded.settings, SYSTEM.now()
    found = asyncio.run(_shown(settings, name, now))
    if as_json:
        print_json(_row(found))
        return
    print_json(found.definition)
    for error in found.errors:
        click.echo(f"not valid: {plain(error)}")
    if found.job:
        click.echo(f"\n{found.job.schedule.describes()}")
        for fire in islice(found.job.schedule.fires_between(now, now + 10 * 366 * 86_400), 3):
            click.echo(f"  {dated(found.job.schedule, fire)}")
        for line in conduct_in_words(found.job.options):
            click.echo(line)
    if found.obstacle:
        click.echo(plain(found.obstacle))
    click.echo(f"{'paused; ' if found.is_paused else ''}last run: {_last(found, int(now))}")
    for run in found.running:
        click.echo(f"  under way: {run}")


async def _shown(settings: Settings, name: str, now: float) -> Listed:
    async with opened(settings) as store:
        return await overview.shown(store, name, reading(settings.cron), now)


@command.command
@name_of_job
@with_settings()
def remove(*, loaded: Loaded, name: str) -> None:
    """Remove a job and what is known of its runs. A run under way goes on to its end.

    Example: watchbell cron remove backup
    """

    async def work() -> None:
        async with opened(loaded.settings) as store:
            await jobs.remove(store, name)
            await record_change(store, "cron.remove", name)

    asyncio.run(work())
    click.echo(f"removed {plain(name)}")


@command.command
@name_of_job
@with_settings()
def pause(*, loaded: Loaded, name: str) -> None:
    """Let a job fire no more until it is resumed. `all` means every job.

    Example: watchbell cron pause backup
    """
    click.echo(f"paused {_turned(loaded.settings, name, jobs.pause, 'cron.pause')}")


@command.command
@name_of_job
@with_settings()
def resume(*, loaded: Loaded, name: str) -> None:
    """Let a paused job fire again. `all` means every job.

    Example: watchbell cron resume backup
    """
    click.echo(f"resumed {_turned(loaded.settings, name, jobs.resume, 'cron.resume')}")


def _turned(settings: Settings, name: str, turn: Callable[..., Any], action: str) -> str:
    async def work() -> list[str]:
        async with opened(settings) as store:
            found: list[str] = await turn(store, name, reading(settings.cron))
            if found:
                await record_change(store, action, subject_of(found, "job"))
            return found

    names = asyncio.run(work())
    return plain(names[0]) if len(names) == 1 else f"{len(names):,} jobs"


@command.command
@click.argument("names", nargs=-1, metavar="[JOB]...", type=storable)
@with_settings()
@as_json
def validate(*, loaded: Loaded, names: tuple[str, ...], as_json: bool) -> int:
    """Check the definitions of jobs. Of these, or of all; what is wrong with one is written into
    it. The exit code is 1 if one is not valid.

    Example: watchbell cron validate
    """

    async def work() -> dict[str, Any]:
        async with opened(loaded.settings) as store:
            return await jobs.validate(store, names, reading(loaded.settings.cron))

    found = asyncio.run(work())
    wrong = {name: one.errors for name, one in found.items() if isinstance(one, Invalid)}
    if as_json:
        print_json({name: list(wrong.get(name, ())) for name in found})
        return 1 if wrong else 0
    for name, errors in wrong.items():
        click.echo(f"{plain(name)}: {plain('; '.join(errors))}")
    click.echo(f"{len(found) - len(wrong):,} of {len(found):,} jobs are valid")
    return 1 if wrong else 0
