"""The role of cron: one instance of the fleet that serves the job list."""

from watchbell.cron import instance
from watchbell.cron.validation import LONGEST_GRACE
from watchbell.roles.role import STOP_SECONDS, Context, Role
from watchbell.settings import Settings, secret_variables


async def run(context: Context) -> None:
    settings = context.settings
    secrets = secret_variables(settings)
    await instance.run(context.store, settings.cron, settings.data, context.show_status, secrets)


def _stop_seconds(settings: Settings) -> float:
    """The role ends when its runs have; that may take as long as a job may run."""
    return settings.cron.stop_wait + LONGEST_GRACE + STOP_SECONDS


ROLE = Role("cron", "runs cron jobs when they are due", run, _stop_seconds)
