"""The role of jobs: brings each from its launch to its record."""

from watchbell.files import objects
from watchbell.jobs import conductor
from watchbell.roles import gc_tuning
from watchbell.roles.role import Context, Role
from watchbell.web.server_url import server_url


async def run(context: Context) -> None:
    settings = context.settings
    files = objects.opened(settings.files, settings.data, later=True)
    gc_tuning.collect_seldom()
    await conductor.run(context.store, settings, files, server_url(settings), context.show_status)


ROLE = Role("conductor", "launches jobs, gives them to servers and records their end", run)
