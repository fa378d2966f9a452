"""`watchbell run ROLE`."""

import asyncio
import signal

import click

from watchbell import logs
from watchbell.cli.options import opened, with_settings
from watchbell.roles.catalogue import ROLES
from watchbell.roles.role import Role
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Loaded, Settings

_NAMES = [role.name for role in ROLES]


@click.command(epilog="\b\nRoles:\n" + "\n".join(f"  {r.name:<12}{r.summary}" for r in ROLES))
@click.argument("role", type=click.Choice(_NAMES), metavar="ROLE")
@with_settings()
def command(*, loaded: Loaded, role: str) -> None:
    """Run one role alone, as often as you like and on as many machines as you like: who does
    what is settled in the store. Uses the store of `watchbell up` on this machine, or --store.

    Example: watchbell run lookout --store redis://db.example.com
    """
    chosen = next(one for one in ROLES if one.name == role)
    asyncio.run(_run(chosen, loaded.settings))


async def _run(role: Role, settings: Settings) -> None:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, task.cancel)
    log = logs.get(role=role.name)
    try:
        async with opened(settings) as store:
            log.info("running", store=store.url.shown())
            await Supervisor([role], settings, store).run()
    except asyncio.CancelledError:
        log.info("stopped")
