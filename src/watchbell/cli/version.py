"""`watchbell version`."""

import json
import platform

import click

from watchbell import __version__


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(*, as_json: bool) -> None:
    """Show the version of Watchbell and of the Python that runs it.

    Example: watchbell version --json
    """
    python = platform.python_version()
    if as_json:
        click.echo(json.dumps({"watchbell": __version__, "python": python}))
    else:
        click.echo(f"watchbell {__version__} (Python {python})")
