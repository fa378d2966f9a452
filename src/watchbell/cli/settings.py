"""`watchbell settings`."""

import click
import msgspec

from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.gateways import catalogue
from watchbell.settings import Loaded


class Row(msgspec.Struct):
    name: str
    value: str | int
    origin: str


@click.command
@with_settings("store.port")
@as_json
def command(*, loaded: Loaded, as_json: bool) -> None:
    """Show all settings and where each value comes from: the default, a line of the settings file,
    a WATCHBELL_* variable or an option. Secrets are hidden.

    Example: watchbell settings --config watchbell.toml
    """
    rows = [Row(name, value, loaded.origins[name]) for name, value in loaded.shown().items()]
    rows += [
        Row(
            f"gateways.{one.name}.{name}",
            value,
            loaded.origins["gateways"].partition(", line")[0] if name in one.given else "default",
        )
        for one in catalogue.configured(loaded.settings)
        for name, value in one.shown()
    ]
    if as_json:
        print_json(rows)
    else:
        show_table(["setting", "value", "from"], [[r.name, _text(r.value), r.origin] for r in rows])


def _text(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
