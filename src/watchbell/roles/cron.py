"""The role of cron: one instance of the fleet that serves the job list."""

from watchbell.cron import instance
from watchbell.roles.role import Context, Role
from watchbell.settings import secret_variables


async def run(context: Context) -> None:
    settings = context.settings
    secrets = secret_variables(settings)
    await instance.run(context.store, settings.cron, settings.data, context.say, secrets)


ROLE = Role("cron", "runs jobs when they are due, together with others", run)
