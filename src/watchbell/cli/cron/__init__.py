"""`watchbell cron`: one file for each kind of command."""

import click

from watchbell.cli.groups import LazyGroup

_FILES = {
    "convert": {"convert": "convert"},
    "files": {"export": "export", "import": "import_jobs"},
    "instances": {"drain": "drain", "instances": "list_instances", "reload": "reload"},
    "jobs": {
        "add": "add",
        "edit": "edit",
        "pause": "pause",
        "remove": "remove",
        "resume": "resume",
        "validate": "validate",
    },
    "listing": {"list": "list_jobs", "show": "show"},
    "output": {"output": "output", "trigger": "trigger"},
    "preview": {"preview": "preview"},
    "runs": {"kill": "kill", "runs": "runs", "terminate": "terminate"},
}
"""The commands of each file, with the function of each."""

_PLACES = {
    command: f"{__name__}.{file}:{function}"
    for file, commands in _FILES.items()
    for command, function in commands.items()
}


@click.group(cls=LazyGroup, places=dict(sorted(_PLACES.items())))
def command() -> None:
    """Run commands on a schedule, on any number of machines. All instances share one list of jobs;
    each run of a job happens once, on one of them, unless the job runs everywhere.

    Example: watchbell cron add backup --at "30 2 * * *" --tz Europe/Rome -- pg_dump shop
    """
