"""Reports to the fleet that this process is there, and the state of its roles."""

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
from watchbell.store import processes
from watchbell.store.client import Store
from watchbell.store.enduring import enduring
from watchbell.store.presence import Presence
from watchbell.store.processes import Process, RoleReport

EVERY = 5.0


async def run(store: Store, statuses: Sequence[Status], every: float = EVERY) -> None:
    """Runs until cancelled; then removes the process from the list if the store can be reached."""
    name = ids.process_name()
    present = Presence(lambda: processes.report(store, _process(name, statuses)), every)
    try:
        await enduring(present.run, "presence", "report that this process is there")
    finally:
        with suppress(StoreUnavailable, ResponseError, TimeoutError):
            async with asyncio.timeout(1):
                await processes.leave(store, name)


def _process(name: str, statuses: Sequence[Status]) -> Process:
    return Process(
        name=name,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=watchbell.__version__,
        roles=[
            RoleReport(
                name=one.role.name,
                state=one.state,
                words=one.words or one.role.summary,
                since=one.since,
                failures=one.failures,
            )
            for one in statuses
        ],
    )
