"""`watchbell dashboards`."""

from watchbell.cli.definition_commands import Kind, commands
from watchbell.cli.formatting import plain
from watchbell.jobs.dashboards import Dashboard


def _cells(dashboard: Dashboard) -> list[str]:
    return [str(len(dashboard.panels)), plain(dashboard.notes, 80) or "-"]


command = commands(
    Kind(
        kind="dashboard",
        summary="Manage dashboards: pages of plots and lists that people arrange.",
        example="night_shift",
        columns=["panels", "notes"],
        cells=_cells,
        can_disable=False,
    )
)
