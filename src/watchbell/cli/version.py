"""`watchbell version`."""

import json
import platform

import click

from watchbell import __version__


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, as_json: bool) -> None:
    """Show the versions of Watchbell and Python.

    Example: watchbell version --json
    """
    python = platform.python_version()
    if as_json:
        click.echo(json.dumps({"watchbell": __version__, "python": python}))
    else:
        click.echo(f"watchbell {__version__} (Python {python})")
