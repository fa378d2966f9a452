"""The broker: repeats failures that were posted to `/state`; one works, others wait."""

import asyncio
from contextlib import suppress

from watchbell.errors import LockLost, Refused
from watchbell.roles.role import Context, Role
from watchbell.store.lock import locked
from watchbell.web.alerting.intake.states import EVERY, States
from watchbell.web.keys import Web

_LEASE = 60.0


async def run(context: Context, every: float = EVERY, lease: float = _LEASE) -> None:
    key = Web(context.store.prefix).broker()
    while True:
        with suppress(Refused, LockLost):
            async with locked(context.store, key, lease):
                await _work(context, every)
        context.show_status("another broker is at work")
        await asyncio.sleep(every)


async def _work(context: Context, every: float) -> None:
    states, repeated = States(context.store), 0
    while True:
        repeated += await states.repeat(int(context.clock.now()))
        context.show_status(f"failures repeated: {repeated:,}" if repeated else "")
        await asyncio.sleep(every)


ROLE = Role("broker", "repeats posted failures while they last", run)
