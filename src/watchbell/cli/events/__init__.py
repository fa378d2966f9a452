"""`watchbell events`: one file for each kind of command."""

import click

from watchbell.cli.groups import LazyGroup

_FILES = {
    "changes": {
        "add": "add",
        "disable": "disable",
        "edit": "edit",
        "enable": "enable",
        "remove": "remove",
    },
    "files": {"export": "export", "import": "import_events"},
    "listing": {"list": "list_events", "next": "upcoming", "show": "show"},
    "revisions": {"flush": "flush", "history": "history", "restore": "restore"},
    "running": {"run": "run"},
}
"""The commands of each file, with the function of each."""

_PLACES = {
    command: f"{__name__}.{file}:{function}"
    for file, commands in _FILES.items()
    for command, function in commands.items()
}


@click.group(cls=LazyGroup, places=dict(sorted(_PLACES.items())))
def command() -> None:
    """Manage events: what to run, when and on which servers. Each run of an event is a job; see
    `watchbell jobs`.

    Example: watchbell events add "Nightly backup" --at "30 2 * * *" -- pg_dump shop
    """
