"""`watchbell cron import` and `export`."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from watchbell.cli.arguments import confirm, yes_option
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import plain, zone
from watchbell.cli.options import print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.cron import imports, overview
from watchbell.cron.crontab_file import Entry
from watchbell.cron.imports import Form
from watchbell.cron.model import Invalid
from watchbell.cron.reading import reading
from watchbell.cron.validation import from_fields
from watchbell.errors import Refused
from watchbell.schedule.crontab_lines import Skipped
from watchbell.settings import Loaded, Settings, environment, for_children
from watchbell.store.opening import opened
from watchbell.units import counted

_SHOWN = 60


@click.command("import")
@click.argument("form", type=click.Choice(["crontab", "json"]), metavar="crontab|json")
@click.argument("file", default="", metavar="[FILE|-]")
@click.option(
    "--users", is_flag=True, help="Lines have a user after the times, as in /etc/crontab."
)
@click.option("--replace", is_flag=True, help="Replace jobs of the same name.")
@yes_option
@with_settings()
def import_jobs(
    *, loaded: Loaded, form: Form, file: str, users: bool, replace: bool, yes: bool
) -> None:
    """Import jobs from a crontab or from JSON. JSON is what `watchbell cron export` writes. The
    jobs are listed before you confirm. Without FILE, a crontab is read from `crontab -l`, and JSON
    from standard input.

    \b
    Examples:
      watchbell cron import crontab
      watchbell cron import crontab /etc/crontab --users
    """
    found = _entries(form, file, users)
    entries = [one for one in found if isinstance(one, Entry)]
    how = reading(loaded.settings.cron)
    rows = []
    for one in entries:
        job = from_fields(one.name, one.definition, how)
        if isinstance(job, Invalid):
            raise Refused(
                f"job {plain(one.name)!r} is invalid: {plain(job.text)}; nothing was imported"
            )
        rows.append([plain(one.name), job.schedule.describes(), plain(job.cmd, _SHOWN)])
    if rows:
        show_table(["job", "schedule", "command"], rows)
    for skipped in found:
        if isinstance(skipped, Skipped):
            reason = f"{plain(skipped.reason)}: {plain(skipped.text)}"
            click.echo(f"line {skipped.line} is skipped: {reason}")
    if not entries:
        raise Refused("there are no jobs to import")
    if form == "crontab":
        _warn_of_zone(entries, how.zone)
    confirm("Import these jobs?", yes=yes)
    asyncio.run(_imported(loaded.settings, entries, replace))
    click.echo(f"imported {counted(len(entries), 'job')}")


def _warn_of_zone(entries: list[Entry], fleet: ZoneInfo) -> None:
    """A crontab without a zone means that of its machine; a job without one, that of the fleet."""
    now = datetime.fromtimestamp(SYSTEM.now(), UTC)
    differs = now.astimezone(zone()).utcoffset() != now.astimezone(fleet).utcoffset()
    if differs and any("timezone" not in one.definition["cron_args"] for one in entries):
        click.echo(
            f"Times without a time zone will mean {fleet.key}, which differs from this machine's. "
            "To set another, add a line such as CRON_TZ=Europe/Rome before them."
        )


def _entries(form: Form, file: str, users: bool) -> list[Entry | Skipped]:
    text = _text(file or ("-" if form == "json" else ""))
    try:
        return list(imports.entries(form, text, has_users=users))
    except Refused as error:
        raise Refused(f"{file or '-'}: {error}") from None


def _text(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode(errors="replace")
        if file:
            return Path(file).read_text(errors="replace")
        clean = for_children(environment())
        done = subprocess.run(["crontab", "-l"], capture_output=True, check=False, env=clean)  # noqa: S607
    except OSError as error:
        name = file or "crontab -l"
        raise Refused(f"{name} can't be read: {error.strerror or error}") from None
    if done.returncode:
        raise Refused(f"crontab -l: {plain(done.stderr.decode(errors='replace').strip())}")
    return done.stdout.decode(errors="replace")


async def _imported(settings: Settings, entries: list[Entry], replace: bool) -> None:
    how = reading(settings.cron)
    async with opened(settings) as store:
        plan = await imports.planned(store, entries, how)
        known = next((one.entry.name for one in plan if one.is_known), None)
        if known is not None and not replace:
            raise Refused(
                f"the job {plain(known)!r} exists already; nothing was imported; "
                "--replace replaces existing jobs"
            )
        await imports.make(store, plan, how, replace=replace)
        names = ", ".join(one.entry.name for one in plan)
        await record_change(store, "cron.import", counted(len(plan), "job"), names)


@click.command
@click.option(
    "--form",
    type=click.Choice(["json", "crontab"]),
    default="json",
    show_default=True,
    help="Format of the output.",
)
@with_settings()
def export(*, loaded: Loaded, form: str) -> None:
    """Export all jobs to standard output. JSON can be imported again; a crontab has what can be
    expressed in one.

    Example: watchbell cron export > jobs.json
    """
    how = reading(loaded.settings.cron)
    found = with_store(loaded.settings, lambda store: overview.listed(store, how, SYSTEM.now()))
    if form == "json":
        _export_json(found)
        return
    crontab = imports.Crontab(reading(loaded.settings.cron))
    for one in found:
        click.echo(crontab.lines(one.name, one.definition, one.job, paused=one.is_paused))


def _export_json(found: list[overview.Listed]) -> None:
    print_json({one.name: one.definition for one in found if isinstance(one.definition, dict)})
    for one in found:
        if not isinstance(one.definition, dict):
            reason = "; ".join(error.text for error in one.errors)
            click.echo(f"{plain(one.name)} is skipped: {plain(reason)}", err=True)
