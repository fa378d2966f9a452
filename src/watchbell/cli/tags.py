"""`watchbell tags`."""

from watchbell.cli.definition_commands import Kind, commands
from watchbell.cli.formatting import plain
from watchbell.jobs.model import Tag


def _cells(tag: Tag) -> list[str]:
    return [plain(tag.notes, 80) or "-"]


command = commands(
    Kind(
        kind="tag",
        summary="Manage tags, which events and jobs can have, and by which jobs are found.",
        example="nightly",
        columns=["notes"],
        cells=_cells,
        can_disable=False,
    )
)
