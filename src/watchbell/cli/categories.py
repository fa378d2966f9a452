"""`watchbell categories`."""

import click

from watchbell.cli.arguments import storable
from watchbell.cli.definition_commands import Kind, commands, yes_no
from watchbell.jobs.model import Category


def _cells(category: Category) -> list[str]:
    rules = [f"{len(category.limits)} limits"] if category.limits else []
    rules += [f"{len(category.actions)} actions"] if category.actions else []
    return [yes_no(category.enabled), ", ".join(rules) or "-"]


command = commands(
    Kind(
        kind="category",
        summary="Manage categories of events. The limits and actions of a category apply to all "
        "jobs of its events; events of a disabled category do not run.",
        example="backups",
        columns=["enabled", "for all its events"],
        cells=_cells,
        options=[click.option("--color", type=storable, help="The name of a colour.")],
    )
)
