"""The role of the archive's store: logs, lost crawls, pipelines, history."""

from watchbell.archive import archivist
from watchbell.roles.role import Context, Role


async def run(context: Context) -> None:
    await archivist.run(context.store, context.settings.archive, context.clock, context.show_status)


ROLE = Role("archivist", "counts, broadcasts and trims logs of crawls, and revives lost ones", run)
