"""Tells the fleet that this process is there, and how its roles fare."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress

from redis.exceptions import ResponseError

import watchbell
from watchbell import ids
from watchbell.errors import StoreUnavailable
from watchbell.roles.supervisor import Status
from watchbell.store import presence
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.presence import Process, RoleSeen

EVERY = 5.0


async def run(store: Store, statuses: Sequence[Status], every: float = EVERY) -> None:
    """Until cancelled, which is told as well where the store can be reached."""
    name = ids.process_name()

    async def tell() -> None:
        while True:
            await patiently(lambda: presence.tell(store, _process(name, statuses)))
            await asyncio.sleep(every)

    try:
        await enduring(tell, "presence", "report that this process is there")
    finally:
        with suppress(StoreUnavailable, ResponseError, TimeoutError):
            async with asyncio.timeout(1):
                await presence.leave(store, name)


def _process(name: str, statuses: Sequence[Status]) -> Process:
    return Process(
        name=name,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=watchbell.__version__,
        roles=[
            RoleSeen(
                name=one.role.name,
                state=one.state,
                words=one.words or one.role.summary,
                since=one.since,
                failures=one.failures,
            )
            for one in statuses
        ],
    )
