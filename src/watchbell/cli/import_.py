"""`watchbell import`."""

import asyncio
import sys
from typing import Any

import click
import yaml  # type: ignore[import-untyped]

from watchbell.alerting.flapjack_import import Copied, FlapjackImport
from watchbell.cli.audited import record_change
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, Refused
from watchbell.gateways import flapjack_settings
from watchbell.gateways.flapjack_settings import Translated
from watchbell.settings import Loaded, Settings
from watchbell.store import health
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.opening import opened
from watchbell.store.url import StoreURL

_SHOWN = 20
_NOUNS = {
    "contacts": ("contact", "contacts"),
    "rules": ("rule", "rules"),
    "entities": ("entity", "entities"),
    "checks": ("check", "checks"),
    "changes": ("state change", "state changes"),
    "windows": ("maintenance window", "maintenance windows"),
}


@click.group
def command() -> None:
    """Take over from another system.

    Example: watchbell import flapjack --from redis://flapjack.example.com:6380/0 --dry-run
    """


@command.command
@click.option("--from", "source", metavar="URL", help="The Redis of Flapjack 0.9 or 1.x.")
@click.option(
    "--yaml",
    "file",
    type=click.File("rb"),
    metavar="FILE",
    help="Flapjack's settings; what they mean here is printed as TOML.",
)
@click.option(
    "--environment", default="production", metavar="NAME", help="The part of FILE to translate."
)
@click.option("--dry-run", is_flag=True, help="Show what would be copied, and copy nothing.")
@with_settings()
@as_json
def flapjack(
    *, loaded: Loaded, source: str | None, file: Any, environment: str, dry_run: bool, as_json: bool
) -> None:
    """Copy everything from Flapjack. That is: contacts, rules, entities, checks, history and
    maintenance, from another Redis. What exists here already stays as it is, so the command can be
    repeated. Queues are not copied: let Flapjack empty them first.

    To go on with the same Redis instead, there is nothing to copy: give it to `--store`.

    Example: watchbell import flapjack --from redis://flapjack.example.com:6380/0 --dry-run
    """
    if source is None and file is None:
        raise click.UsageError("give --from URL, --yaml FILE, or both")
    translated = None if file is None else _translated(file, environment)
    copied = None if source is None else asyncio.run(_copied(loaded.settings, source, dry_run))
    if as_json:
        settings, left = (translated.tables, translated.left) if translated else (None, [])
        print_json({"copied": copied, "settings": settings, "not_translated": left})
    else:
        if copied is not None:
            _show(copied, dry_run)
        if translated is not None:
            _show_settings(translated)
    if copied is not None and copied.refused:
        sys.exit(1)


def _translated(file: Any, environment: str) -> Translated:
    try:
        document = yaml.safe_load(file)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        line = " ".join(str(error).split())
        raise Refused(f"{file.name} is no YAML: {line[:300]}") from error
    return flapjack_settings.translate(document, environment)


async def _copied(settings: Settings, source: str, dry_run: bool) -> Copied:
    async with Store(_source(source)) as other, opened(settings) as store:
        await health.admit(other)
        if other.url == store.url:
            raise Refused("--from is the store of Watchbell itself: there is nothing to copy")
        now = int(SYSTEM.now())
        copied = await FlapjackImport(other, store, now, dry_run=dry_run).run(_progress)
        if not dry_run:
            await record_change(store, "flapjack.import", other.url.redacted(), _words(copied))
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    return copied


def _source(url: str) -> StoreURL:
    try:
        return store_url.parse(url)
    except BadSettings as error:
        raise BadSettings(f"--from: {str(error).removeprefix('store.url: ')}") from error


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{what}: {done:,} of {total:,}", err=True, nl=False)


def _words(copied: Copied) -> str:
    counts = ((getattr(copied, name), *nouns) for name, nouns in _NOUNS.items())
    return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in counts)


def _is_any(copied: Copied) -> bool:
    return any(getattr(copied, name) for name in _NOUNS)


def _show(copied: Copied, dry_run: bool) -> None:
    click.echo(f"{'Would copy' if dry_run else 'Copied'} {_words(copied)}.")
    if not copied.skipped and not _is_any(copied):
        click.echo("There is nothing of a Flapjack; is it the right database, as in HOST:PORT/1?")
        return
    known = len(copied.skipped) - len(copied.refused)
    if known:
        verb = "exists" if known == 1 else "exist"
        click.echo(f"{known:,} more {verb} here already and stay as they are.")
    for one in copied.refused[:_SHOWN]:
        click.echo(f"Not copied: {one.kind} {one.name}: {one.reason}", err=True)
    if len(copied.refused) > _SHOWN:
        click.echo(f"and {len(copied.refused) - _SHOWN:,} more; --json lists all", err=True)
    click.echo(
        "New checks alert at once here, while Flapjack starts each with 100 years of maintenance; "
        "alerting.new_check_maintenance changes that."
    )


def _show_settings(translated: Translated) -> None:
    click.echo(translated.toml() or "# nothing to set\n", nl=False)
    for line in translated.left:
        click.echo(f"Not translated: {line}", err=True)
