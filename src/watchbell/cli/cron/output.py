"""`watchbell cron trigger` and `output`."""

import asyncio
from math import inf

import click

from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.cli.output_lines import print_lines
from watchbell.cron import history, jobs, latest_runs, run_texts, triggers
from watchbell.cron.history import RunRecord
from watchbell.cron.reading import reading
from watchbell.cron.triggers import Answer, Trigger
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened

_ANSWER_WAIT = 10.0
"""Seconds within which an instance that lives answers a trigger, also on a busy machine."""


@click.command
@click.argument("name", metavar="JOB", type=storable)
@click.option(
    "--wait", is_flag=True, help="Print the output, and exit with the exit code of the run."
)
@with_settings()
def trigger(*, loaded: Loaded, name: str, wait: bool) -> int:
    """Run a job now. With --wait, the exit code is that of the run: 128 plus the number of the
    signal if one ended it, 1 if it did not start.

    \b
    Examples:
      watchbell cron trigger backup
      watchbell cron trigger backup --wait && echo done
    """
    return asyncio.run(_trigger(loaded.settings, name, wait))


async def _trigger(settings: Settings, name: str, wait: bool) -> int:
    async with opened(settings) as store:
        made = await jobs.trigger(store, name, reading(settings.cron))
        await record_change(store, "cron.trigger", name)
        found = (await triggers.answers(store, [made], _ANSWER_WAIT))[name]
        if wait:
            return await _awaited(store, made, found)
    if not found:
        click.echo(f"triggered {plain(name)}; `watchbell cron runs {plain(name)}` shows its runs")
    for answer in found:
        click.echo(f"triggered {plain(name)}: {_outcome(answer)}")
    return 1 if found and all(answer.skipped for answer in found) else 0


def _outcome(answer: Answer) -> str:
    if answer.run:
        return f"run {answer.run}"
    return f"waiting: {answer.waits}" if answer.waits else f"not started: {answer.skipped}"


async def _awaited(store: Store, made: Trigger, found: list[Answer]) -> int:
    """The first exit code other than 0, of all instances that ran the job."""
    if not found:
        raise Refused(
            f"no instance answered within {_ANSWER_WAIT:g} s; "
            f"`watchbell cron runs {plain(made.job)}` shows whether the job ran"
        )
    for answer in found:
        if answer.waits:
            click.echo(f"{plain(made.job)} is waiting: {answer.waits}", err=True)
    codes = []
    for answer in (await triggers.answers(store, [made], inf, final=True))[made.job]:
        if answer.skipped:
            raise Refused(f"{plain(made.job)} was not started: {answer.skipped}")
        await _follow(store, answer.run, times=False)
        ended = await history.run(store, answer.run)
        codes.append(run_texts.status_code(ended.record))
        if codes[-1]:
            ending = run_texts.ending(ended.record, ended.detail)
            click.echo(f"{plain(made.job)}: {plain(ending)}", err=True)
    return next((code for code in codes if code), 0)


@click.command
@click.argument("which", metavar="JOB|RUN", type=storable)
@click.option("--follow", "-f", is_flag=True, help="Continue until the run ends.")
@click.option("--times", is_flag=True, help="Show the time of each line.")
@with_settings()
def output(*, loaded: Loaded, which: str, follow: bool, times: bool) -> None:
    """Print the output of a run, byte for byte. Name a job for its latest run, or a run by its id
    or the beginning of it.

    \b
    Examples:
      watchbell cron output backup
      watchbell cron output 3f0c --follow
    """
    asyncio.run(_output(loaded.settings, which, follow, times))


async def _output(settings: Settings, which: str, follow: bool, times: bool) -> None:
    async with opened(settings) as store:
        seen = await latest_runs.run_or_latest(store, which)
        if follow:
            printed = await _follow(store, seen.id, times)
        else:
            printed = await _dump(store, seen, times)
    if not printed and seen.record.output:
        click.echo("the full output is no longer kept; these are the last lines", err=True)
        click.echo(seen.record.output, nl=not seen.record.output.endswith("\n"))


async def _follow(store: Store, run: str, times: bool) -> bool:
    """Whether there was any output."""
    printed = False
    async for lines in history.follow(store, run):
        printed = True
        print_lines(lines, times)
    return printed


async def _dump(store: Store, seen: RunRecord, times: bool) -> bool:
    last, printed = None, history.output(store, seen.id)
    while lines := await printed.lines(last):
        last = lines[-1]
        print_lines(lines, times)
    return last is not None
