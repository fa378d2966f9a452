"""`watchbell archive sets`."""

import click

from watchbell.archive import ignore_sets
from watchbell.cli.arguments import storable
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.errors import NotFound
from watchbell.settings import Loaded


@click.command
@click.argument("name", metavar="[SET]", type=storable, required=False)
@with_settings()
@as_json
def sets(*, loaded: Loaded, name: str | None, as_json: bool) -> None:
    """List ignore sets, or the patterns of one.

    \b
    Examples:
      watchbell archive sets
      watchbell archive sets global
    """
    found = with_store(loaded.settings, ignore_sets.every)
    if name is not None:
        if name not in found:
            raise NotFound(f"there is no ignore set {plain(name, 100)!r}")
        if as_json:
            print_json(found[name])
            return
        for pattern in found[name]:
            click.echo(plain(pattern, 5_000))
        return
    if as_json:
        print_json(found)
        return
    rows = [[plain(one), f"{len(found[one]):,}"] for one in sorted(found)]
    show_table(["set", "patterns"], rows, right=["patterns"])
