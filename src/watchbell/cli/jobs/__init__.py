"""`watchbell jobs`: one file for each kind of command."""

import click

from watchbell.cli.groups import LazyGroup

_FILES = {
    "changes": {
        "abort": "abort",
        "delete": "delete",
        "rerun": "rerun",
        "resume": "resume",
        "suspend": "suspend",
        "tag": "tag",
    },
    "listing": {"list": "list_jobs", "search": "search"},
    "log": {"log": "log"},
    "record": {"show": "show"},
}
"""The commands of each file, with the function of each."""

_PLACES = {
    command: f"{__name__}.{file}:{function}"
    for file, commands in _FILES.items()
    for command, function in commands.items()
}


@click.group(cls=LazyGroup, places=dict(sorted(_PLACES.items())))
def command() -> None:
    """Watch, search, abort and rerun jobs: the runs of events. Where a command takes JOB|EVENT, an
    event stands for its latest job.

    Example: watchbell jobs log "Nightly backup" --follow
    """
