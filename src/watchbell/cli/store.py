"""`watchbell store`."""

import click

from watchbell.cli.arguments import confirm, yes_option
from watchbell.cli.options import with_settings
from watchbell.errors import Refused
from watchbell.settings import Loaded
from watchbell.store import aof, embedded
from watchbell.units import counted


@click.group
def command() -> None:
    """Repair the files of the embedded store.

    Example: watchbell store repair --data /srv/watchbell
    """


@command.command
@with_settings()
@yes_option
def repair(*, loaded: Loaded, yes: bool) -> None:
    """Remove damaged data, so that the embedded store starts again.

    Everything written after the damage is removed. A copy stays in the folder, named *.torn. Try
    to restore a backup first; `watchbell up` reports what is damaged.

    Example: watchbell store repair --data /srv/watchbell
    """
    if loaded.settings.store.url:
        raise Refused("only the embedded store can be repaired; leave out --store and store.url")
    with embedded.held(loaded.settings.data):
        damage = embedded.find_damage(loaded.settings.data)
        if damage is None:
            click.echo(f"Nothing to repair in {loaded.settings.data / aof.FOLDER}.")
            return
        click.echo(f"{damage.describe()}.")
        if damage.kind is aof.Kind.SNAPSHOT:
            raise Refused(embedded.RESTORE)
        confirm(f"Remove {counted(damage.lost, 'byte')}?", yes=yes)
        copies = aof.cut(damage)
    click.echo(f"Done. A copy of what was removed is in {aof.names(copies)}.")
