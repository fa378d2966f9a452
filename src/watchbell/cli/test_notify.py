"""`watchbell test-notify`."""

import asyncio

import click

from watchbell.alerting import entities, event
from watchbell.alerting.intake import submit
from watchbell.alerting.model import split_id
from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


@click.command
@click.argument("check", metavar="ENTITY[:CHECK]", type=storable)
@click.option(
    "--summary",
    type=storable,
    default="Testing notifications to all contacts",
    show_default=True,
    metavar="TEXT",
    help="The text of the test message.",
)
@with_settings()
def command(*, loaded: Loaded, check: str, summary: str) -> None:
    """Send a test notification: everybody who would be alerted if the check were critical gets a
    message that says it is a test. Without CHECK, the check is called `test`.

    Example: watchbell test-notify web-1:HTTP
    """
    entity, name = split_id(check)
    entity, name = entity.lower(), name or "test"
    asyncio.run(_sent(loaded.settings, entity, name, summary))
    click.echo(f"sent a test notification for {plain(f'{entity}:{name}')}")


async def _sent(settings: Settings, entity: str, check: str, summary: str) -> None:
    async with opened(settings) as store:
        if not await entities.holder(store, entity):
            raise NotFound(f"there is no entity {plain(entity)!r}; write ENTITY[:CHECK]")
        tested = event.try_notifications(entity, check, summary=summary, time=int(SYSTEM.now()))
        await submit(store, tested)
        await record_change(store, "check.test", f"{entity}:{check}", summary)
