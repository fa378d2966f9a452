"""`watchbell store`."""

import click

from watchbell.cli.options import with_settings
from watchbell.errors import Refused
from watchbell.settings import Loaded
from watchbell.store import aof, embedded


@click.group
def command() -> None:
    """Look after the embedded store's files.

    Example: watchbell store repair --data /srv/watchbell
    """


@command.command
@with_settings()
@click.option("--yes", is_flag=True, help="Do not ask before anything is dropped.")
def repair(*, loaded: Loaded, yes: bool) -> None:
    """Cut damaged data off the embedded store's files, so that it starts again.

    Everything written after the damage is dropped. Copies of it stay in the folder, named
    *.torn. Try to restore a backup first: `up` says what is damaged.

    Example: watchbell store repair --data /srv/watchbell
    """
    if loaded.settings.store.url:
        raise Refused("a store at a URL is not ours to repair; leave --store and store.url out")
    with embedded.held(loaded.settings.data):
        damage = embedded.find_damage(loaded.settings.data)
        if damage is None:
            click.echo(f"Nothing to repair in {loaded.settings.data / aof.FOLDER}.")
            return
        click.echo(f"{damage.describe()}.")
        if damage.kind is aof.Kind.SNAPSHOT:
            raise Refused(embedded.RESTORE)
        if not yes:
            click.confirm(f"Drop these {damage.lost:,} bytes?", abort=True)
        copies = aof.cut(damage)
    click.echo(f"Done. A copy of what was dropped is in {aof.names(copies)}.")
