"""The purger: keeps history within its bounds; of all that run, one works and the others wait."""

import asyncio
from contextlib import suppress

from watchbell import logs
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.purge import Purged, purge
from watchbell.errors import LockLost, Refused
from watchbell.roles.role import Context, Role
from watchbell.store.lock import locked

_EVERY = 3600.0
_LOOK_AGAIN = 60.0
_LEASE = 300.0


async def run(
    context: Context, every: float = _EVERY, look_again: float = _LOOK_AGAIN, lease: float = _LEASE
) -> None:
    key = AlertingOwn(context.store.prefix).purging()
    while True:
        with suppress(Refused, LockLost):
            async with locked(context.store, key, lease):
                await _work(context, every)
        context.show_status("another purger is at work")
        await asyncio.sleep(look_again)


async def _work(context: Context, every: float) -> None:
    while True:
        now = int(context.clock.now())
        done = await purge(
            context.store,
            context.settings.alerting,
            now,
            lambda so_far: context.show_status(f"{so_far.checks:,} checks examined"),
        )
        logs.get(role="purger").info("purged", **counts(done))
        context.show_status(f"history of {done.checks:,} checks is within its bounds")
        await asyncio.sleep(every)


def counts(done: Purged) -> dict[str, int]:
    """What was removed, where anything was."""
    return {name: n for name in done.__struct_fields__ if (n := getattr(done, name))}


ROLE = Role("purger", "removes old history", run)
