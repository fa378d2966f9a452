"""`watchbell archive`: one file for each kind of command."""

import click

from watchbell.cli.groups import LazyGroup

_FILES = {
    "adding": {"add": "add"},
    "changes": {
        "concurrency": "concurrency",
        "delay": "delay",
        "ignore": "ignore",
        "ignore-set": "ignore_set",
        "note": "note",
        "pause": "pause",
        "reports": "reports",
        "resume": "resume",
        "unignore": "unignore",
    },
    "ends": {"abort": "abort", "expire": "expire"},
    "files": {"check": "check", "replay": "replay"},
    "listing": {"list": "list_crawls", "pending": "pending", "status": "status"},
    "log": {"log": "log"},
    "pipelines": {"forget": "forget", "pipelines": "list_pipelines", "stop": "stop"},
    "record": {"explain": "explain", "show": "show", "whereis": "whereis"},
    "sets": {"sets": "sets"},
}
"""The commands of each file, with the function of each."""

_PLACES = {
    command: f"{__name__}.{file}:{function}"
    for file, commands in _FILES.items()
    for command, function in commands.items()
}


@click.group(cls=LazyGroup, places=dict(sorted(_PLACES.items())))
def command() -> None:
    """Archive sites into WARC files, and replay what was archived. A crawl is named by its ident or
    by its URL.

    Example: watchbell archive add https://example.com/ --wait
    """
